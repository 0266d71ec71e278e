/** Keys of other tools, with the equivalents here. Kinds are in the schema, as `x-hints`. */
import { nearest } from "./nearest.ts";
import type { SchemaView } from "./schema_view.ts";

interface ForeignKey {
  /** In lower case, without `_` and `-`. */
  readonly names: readonly string[];
  /** The key that an object must accept for this entry to be meant. */
  readonly instead: string;
  /** The hint. Absent: the key of `instead`. */
  readonly hint?: string;
}

const TARGET = '"request": { "target": "https://example.org/" }';

/** The first one that fits counts. */
const FOREIGN_KEYS: readonly ForeignKey[] = [
  { names: ["type", "checktype", "plugin"], instead: "kind" },
  { names: ["enabled", "enable"], instead: "active" },
  { names: ["disabled", "paused", "muted"], instead: "active", hint: 'write "active": false' },
  {
    names: ["retries", "retry", "maxattempts", "maxcheckattempts", "failurethreshold"],
    instead: "threshold",
  },
  { names: ["alerts", "alert", "alerting", "notify", "contacts", "channels"], instead: "notifications" },
  { names: ["description", "label", "displayname"], instead: "title" },
  { names: ["labels", "groups", "group"], instead: "tags" },
  { names: ["dependencies", "parents", "requires"], instead: "depends_on" },
  { names: ["env"], instead: "environment" },
  { names: ["url", "uri", "endpoint", "href"], instead: "target" },
  { names: ["from"], instead: "sender" },
  { names: ["to", "recipients"], instead: "receivers" },
  { names: ["cmd", "command", "exec"], instead: "path", hint: 'write "path" and "arguments"' },
  {
    names: ["interval", "every", "frequency", "checkinterval", "period"],
    instead: "schedule",
    hint: 'write "schedule": { "regular_interval": "5 minutes" }',
  },
  { names: ["url", "uri", "endpoint", "href"], instead: "request", hint: `write ${TARGET}` },
  {
    names: ["url", "uri", "endpoint", "href"],
    instead: "parameters",
    hint: `write "parameters": { ${TARGET} }`,
  },
  {
    names: ["host", "hostname", "port", "cmd", "command", "exec"],
    instead: "parameters",
    hint: 'move it into "parameters"; the kind decides its name there',
  },
  ...["tls", "ca_file", "request", "parameters"].map((instead) => ({
    names: ["insecure", "insecureskipverify", "skiptlsverify", "tlsskipverify", "verify", "ignoretls"],
    instead,
    hint: 'name a private authority in "ca_file"; verification cannot be turned off',
  })),
];

/** The meaning of another tool's key in an object. */
interface MeantKey {
  /** The equivalent key; `null` if it is not a single one. */
  readonly key: string | null;
  /** The hint, without a final period. */
  readonly hint: string;
}

/** Finds the meaning of another tool's key in an object with these keys; `undefined` if it is unknown. */
export function meantKey(name: string, known: readonly string[]): MeantKey | undefined {
  const plain = plainName(name);
  const found = FOREIGN_KEYS.find(({ names, instead }) => names.includes(plain) && known.includes(instead));
  if (found === undefined) return undefined;
  const { instead, hint } = found;
  return hint === undefined ? { key: instead, hint: `did you mean "${instead}"?` } : { key: null, hint };
}

/** Finds the accepted word that another one means, by the hints of the schema or as the nearest; `null`: none. */
export function meantWord(
  word: string,
  { enum: accepted = [], hints }: Pick<SchemaView, "enum" | "hints">,
): { readonly word: string } | { readonly hint: string } | null {
  const words = accepted.filter((item) => typeof item === "string");
  const plain = plainName(word);
  const known = hints !== undefined && Object.hasOwn(hints, plain) ? hints[plain] : undefined;
  // A single word is the accepted one; a profile may lack it.
  if (known?.includes(" ")) return { hint: known };
  const meant = words.find((one) => one === known) ?? nearest(word, words);
  return meant === undefined ? null : { word: meant };
}

/** Returns a name without the spelling differences between tools. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, "");
}
