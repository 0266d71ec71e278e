/** Keys of other tools, with the equivalents here. Kinds are in the schema, as `x-hints`. */
import { nearest } from "./nearest.ts";
import type { SchemaView } from "./schema_view.ts";

const URLS = "url uri endpoint href";
const TARGET = '"request": { "target": "https://example.org/" }';

/**
 * Names in lower case, without `_` and `-`; the key that an object must accept for this entry to be meant; and the hint,
 * if it is not that key. The first one that fits counts.
 */
const FOREIGN_KEYS: readonly (readonly [names: string, instead: string, hint?: string])[] = [
  ["type checktype plugin", "kind"],
  ["enabled enable", "active"],
  ["disabled paused muted", "active", 'write "active": false'],
  ["retries retry maxattempts maxcheckattempts failurethreshold", "threshold"],
  ["alerts alert alerting notify contacts channels", "notifications"],
  ["description label displayname", "title"],
  ["labels groups group", "tags"],
  ["dependencies parents requires", "depends_on"],
  ["env", "environment"],
  [URLS, "target"],
  ["from", "sender"],
  ["to recipients", "receivers"],
  ["cmd command exec", "path", 'write "path" and "arguments"'],
  [
    "interval every frequency checkinterval period",
    "schedule",
    'write "schedule": { "regular_interval": "5 minutes" }',
  ],
  [URLS, "request", `write ${TARGET}`],
  [URLS, "parameters", `write "parameters": { ${TARGET} }`],
  [
    "host hostname port cmd command exec",
    "parameters",
    'move it into "parameters"; the kind decides its name there',
  ],
  ...["verify", "tls", "request", "parameters"].map((instead) =>
    [
      "insecure insecureskipverify skiptlsverify tlsskipverify verify ignoretls",
      instead,
      'trust the certificate by "ca_file" or "fingerprint"; "verify": false accepts any server',
    ] as const
  ),
];

/** The equivalent key, `null` if it is not a single one, and the hint without a final period. */
type MeantKey = Readonly<{ key: string | null; hint: string }>;

/** Finds the meaning of another tool's key in an object with these keys; `undefined` if it is unknown. */
export function meantKey(name: string, known: readonly string[]): MeantKey | undefined {
  const plain = plainName(name);
  const found = FOREIGN_KEYS.find(([names, key]) => names.split(" ").includes(plain) && known.includes(key));
  if (found === undefined) return undefined;
  const [, instead, hint] = found;
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

export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, "");
}
