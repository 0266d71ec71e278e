/** Keys that people bring from other tools, with what stands for them here. Kinds stand in the schema, as `x-hints`. */

/** A key of another tool. */
interface ForeignKey {
  /** In lower case, without `_` and `-`. */
  readonly names: readonly string[];
  /** The key that an object must accept for this entry to be meant. */
  readonly beside: string;
  /** What to write. Absent: the key of `beside`. */
  readonly hint?: string;
}

const TARGET = '"request": { "target": "https://example.org/" }';

/** The first one that fits counts. */
const FOREIGN_KEYS: readonly ForeignKey[] = [
  { names: ["type", "checktype", "plugin"], beside: "kind" },
  { names: ["enabled", "enable"], beside: "active" },
  { names: ["disabled", "paused", "muted"], beside: "active", hint: 'write "active": false' },
  { names: ["retries", "retry", "maxattempts", "maxcheckattempts", "failurethreshold"], beside: "threshold" },
  { names: ["alerts", "alert", "alerting", "notify", "contacts", "channels"], beside: "notifications" },
  { names: ["description", "label", "displayname"], beside: "title" },
  { names: ["labels", "groups", "group"], beside: "tags" },
  { names: ["dependencies", "parents", "requires"], beside: "depends_on" },
  { names: ["env"], beside: "environment" },
  { names: ["url", "uri", "endpoint", "href"], beside: "target" },
  { names: ["from"], beside: "sender" },
  { names: ["to", "recipients"], beside: "receivers" },
  { names: ["cmd", "command", "exec"], beside: "path", hint: 'write "path" and "arguments"' },
  {
    names: ["interval", "every", "frequency", "checkinterval", "period"],
    beside: "schedule",
    hint: 'write "schedule": { "regular_interval": "5 minutes" }',
  },
  { names: ["url", "uri", "endpoint", "href"], beside: "request", hint: `write ${TARGET}` },
  {
    names: ["url", "uri", "endpoint", "href"],
    beside: "parameters",
    hint: `write "parameters": { ${TARGET} }`,
  },
  {
    names: ["host", "hostname", "port", "cmd", "command", "exec"],
    beside: "parameters",
    hint: 'it belongs into "parameters"; the kind decides its name there',
  },
  ...["tls", "ca_file", "request", "parameters"].map((beside) => ({
    names: ["insecure", "insecureskipverify", "skiptlsverify", "tlsskipverify", "verify", "ignoretls"],
    beside,
    hint: 'certificates are always verified: name a private authority in "ca_file" or trust it machine-wide',
  })),
];

/** What a key of another tool means in an object. */
interface MeantKey {
  /** The key that it stands for; `null` where it is no single one. */
  readonly key: string | null;
  /** What to write; no final period. */
  readonly hint: string;
}

/** Finds what a key of another tool means in an object with these keys; `undefined` for an unknown one. */
export function meantKey(name: string, known: readonly string[]): MeantKey | undefined {
  const plain = plainName(name);
  const found = FOREIGN_KEYS.find(({ names, beside }) => names.includes(plain) && known.includes(beside));
  if (found === undefined) return undefined;
  const { beside, hint } = found;
  return hint === undefined ? { key: beside, hint: `did you mean "${beside}"?` } : { key: null, hint };
}

/** A name without what its spelling varies in from tool to tool. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, "");
}
