import { type CheckOf, type CheckResult, checkResult } from "../domain/check.ts";
import type { DnsAnswer, DnsServerAddress, RecordType } from "../domain/connections.ts";
import {
  hostAndPort,
  NET_ALL,
  type RequiredPermissions,
  RESOLVER_FILE,
} from "../domain/runtime_permissions.ts";
import type { CheckKindEntry, ObserveContext, ParameterProblem } from "../domain/check_kind.ts";
import type { System } from "../domain/system.ts";
import { startDeadline } from "../shared/deadline.ts";
import { asciiName, canonicalAddress } from "../shared/ip_address.ts";
import { roundedMs } from "../shared/json_values.ts";
import { counted, firstItems, quote } from "../shared/text.ts";

export const dnsLookupKind: CheckKindEntry<"dns_lookup"> = {
  observe: observeDnsLookup,
  limit: "network",
  hasResponded: ({ metrics }) => metrics["records"] !== undefined,
  target: {
    form: "NAME",
    parametersOf: ({ text }) => ({ name: text }),
    nameOf: ({ text }) => `dns_${text}`,
    subjectsOf: ({ parameters: { name, type } }) => [`dns ${type} ${name.toLowerCase()}`],
    textOf: ({ parameters: { name, type } }) => `${name} ${type}`,
  },
  errors: findErrors,
  requiredPermissions: permissionsOfDnsLookup,
};

interface ServerAnswer {
  /** As the config names it; `null`: the resolver of the machine. */
  readonly server: string | null;
  readonly answer: DnsAnswer;
}

/**
 * Queries every server at the same time. All must return the same records, and these must match the expected ones. A
 * server that returns none, or does not respond within the timeout, is a failure.
 */
async function observeDnsLookup(check: CheckOf<"dns_lookup">, context: ObserveContext): Promise<CheckResult> {
  const { system: { clock, dns }, signal } = context;
  const { type, server } = check.parameters;
  using deadline = startDeadline(clock, check.timeoutMs, signal);
  const startMs = clock.monotonicMs();
  const name = absoluteName(check.parameters.name, type);
  const answers = await Promise.all(
    serversOf(server).map(async (server): Promise<ServerAnswer> => {
      const address = server === null ? null : parseServer(server);
      const answer = await dns.lookUp({ name, type, server: address }, deadline.signal).catch((error) => {
        if (!deadline.isTimeUp) throw error;
        return { reason: `timeout after ${check.timeoutMs / 1000} s`, isObstacle: false };
      });
      return { server, answer };
    }),
  );
  signal.throwIfAborted();
  const lookupMs = roundedMs(clock.monotonicMs() - startMs);
  const counts = answers.flatMap(({ answer }) => "records" in answer ? [answer.records.length] : []);
  const { condition, output } = evaluate(answers, check);
  return checkResult(condition, output, {
    ...counts.length > 0 && { records: Math.min(...counts) },
    lookup_ms: lookupMs,
  });
}

function evaluate(
  answers: readonly ServerAnswer[],
  { parameters }: CheckOf<"dns_lookup">,
): Pick<CheckResult, "condition" | "output"> {
  const { canonical = canonicalNames } = RECORD_FORMS[parameters.type];
  const violations: string[] = [];
  const obstacles: string[] = [];
  const different = new Map<string, { readonly records: readonly string[]; readonly servers: string[] }>();
  for (const { server, answer } of answers) {
    const place = server ?? "the resolver of this machine";
    if ("reason" in answer) {
      if (answer.isObstacle) obstacles.push(answer.reason);
      else violations.push(`${answer.reason} (${place})`);
      continue;
    }
    const key = JSON.stringify(answer.records.map(canonical).sort());
    different.getOrInsert(key, { records: answer.records, servers: [] }).servers.push(place);
  }
  const groups = [...different.values()];
  const from = (servers: readonly string[]): string =>
    groups.length > 1 ? ` from ${servers.join(" and ")}` : "";
  const found = groups.map(({ records, servers }) => `${listed(records)}${from(servers)}`);
  if (groups.length > 1) violations.push(`servers disagree: ${found.join("; ")}`);
  for (const { records, servers } of groups) {
    violations.push(...unmetBy(records, parameters).map((text) => `${text}${from(servers)}`));
  }
  const problems = [...violations, ...obstacles];
  const what = `${parameters.type} of ${parameters.name}`;
  if (problems.length === 0) {
    const sources = answers.length > 1 ? ` from all ${answers.length} servers` : "";
    return { condition: "ok", output: `${what}: ${found.join("")}${sources}` };
  }
  const bad = parameters.asWarning ? "warning" : "critical";
  return { condition: violations.length > 0 ? bad : "unknown", output: `${what}: ${problems.join("; ")}` };
}

function unmetBy(
  records: readonly string[],
  { type, values, contains = [], count, atLeast }: CheckOf<"dns_lookup">["parameters"],
): readonly string[] {
  const { canonical = canonicalNames } = RECORD_FORMS[type];
  const known = new Set(records.map(canonical));
  const unmet: string[] = [];
  const expected = new Set(values?.map(canonical));
  if (values !== undefined && (known.size !== expected.size || known.difference(expected).size > 0)) {
    unmet.push(`found ${listed(records)}, expected ${listed(values)}`);
  }
  for (const value of contains) {
    if (!known.has(canonical(value))) unmet.push(`found ${listed(records)} without ${quote(value)}`);
  }
  if (count !== undefined && records.length !== count) {
    unmet.push(`found ${counted(records.length, "record")}, expected ${count}`);
  }
  if (atLeast !== undefined && records.length < atLeast) {
    unmet.push(`found ${counted(records.length, "record")}, expected at least ${atLeast}`);
  }
  return unmet;
}

const LISTED_MAX = 5;

function listed(records: readonly string[]): string {
  return firstItems(records.toSorted().map(quote), LISTED_MAX).join(", ");
}

function serversOf(server: CheckOf<"dns_lookup">["parameters"]["server"]): readonly (string | null)[] {
  return server === undefined ? [null] : typeof server === "string" ? [server] : [...new Set(server)];
}

const PORT = 53;

/** Parses an IP address, or one with a port: `[::1]:5353`. */
function parseServer(text: string): DnsServerAddress | null {
  const plain = canonicalAddress(text);
  if (plain !== null) return { host: plain, port: PORT };
  const [, host = "", digits = ""] = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(text) ?? [];
  const address = canonicalAddress(host);
  const port = Number(digits);
  const isBracketed = text.startsWith("[") && text.includes("]:");
  if (address === null || address.includes(":") !== isBracketed || port < 1 || port > 65_535) return null;
  return { host: address, port };
}

/** Without `server`, the runtime asks the resolvers of this machine, and grants must name them. */
async function permissionsOfDnsLookup(
  { parameters: { server } }: CheckOf<"dns_lookup">,
  { dns }: Pick<System, "dns">,
): Promise<RequiredPermissions> {
  const named = serversOf(server).flatMap((text) => text === null ? [] : parseServer(text) ?? []);
  const servers = named.length > 0 ? named : await dns.machineServers();
  const net = servers.map(({ host, port }) => hostAndPort(host, port));
  if (named.length > 0) return { net };
  return {
    net: net.length > 0 ? net : [NET_ALL],
    read: [RESOLVER_FILE],
    netCaution:
      `${net.length > 0 ? `${net.join(" and ")} is` : "all addresses, for"} the resolver of this machine: ` +
      'set "server" to use the flags elsewhere',
    isOfMachine: true,
  };
}

function* findErrors({ parameters }: CheckOf<"dns_lookup">): Generator<ParameterProblem> {
  const { name, type, server } = parameters;
  const { isValid, example } = RECORD_FORMS[type];
  if (!isDomainName(name) && !(type === "PTR" && canonicalAddress(name) !== null)) {
    yield { path: ["name"], message: "is not a domain name, expected labels of 1 to 63 characters" };
  }
  for (const text of serversOf(server)) {
    if (text === null || parseServer(text) !== null) continue;
    const expected = "expected one such as 192.0.2.53 or [2001:db8::53]:5353";
    yield { path: ["server"], message: `${quote(text)} is not an IP address, ${expected}` };
  }
  for (const key of ["values", "contains"] as const) {
    for (const value of parameters[key] ?? []) {
      if (isValid(value)) continue;
      yield { path: [key], message: `contains no ${type} record, expected one such as ${example}` };
    }
  }
}

interface RecordForm {
  readonly isValid: (text: string) => boolean;
  readonly example: string;
  /** How records are compared. @default {@linkcode canonicalNames} */
  readonly canonical?: (text: string) => string;
}

/** Names are compared without regard to case and final dots, numbers as they are. */
const canonicalNames = (text: string): string =>
  text.toLowerCase().split(/\s+/).map((word) => word.replace(/(?<=.)\.$/, "")).join(" ");

const matches = (pattern: RegExp) => (text: string): boolean => pattern.test(text);

const NAME: RecordForm = { isValid: matches(/^\S+$/), example: "www.example.org" };

const same = (text: string): string => text;

const RECORD_FORMS: Readonly<Record<RecordType, RecordForm>> = {
  A: {
    isValid: (text) => canonicalAddress(text) !== null && !text.includes(":"),
    example: "192.0.2.1",
    canonical: same,
  },
  AAAA: {
    isValid: (text) => canonicalAddress(text) !== null && text.includes(":"),
    example: "2001:db8::1",
    canonical: (text) => canonicalAddress(text) ?? text,
  },
  CNAME: NAME,
  NS: NAME,
  PTR: NAME,
  MX: { isValid: matches(/^\d+\s+\S+$/), example: "10 mail.example.org" },
  SRV: { isValid: matches(/^(?:\d+\s+){3}\S+$/), example: "10 5 5060 sip.example.org" },
  SOA: {
    isValid: matches(/^\S+\s+\S+(?:\s+\d+){5}$/),
    example: "ns1.example.org admin.example.org 2026010101 3600 900 604800 300",
  },
  CAA: { isValid: matches(/^\d+ \w+ ".*"$/s), example: '0 issue "letsencrypt.org"', canonical: same },
  TXT: { isValid: () => true, example: "v=spf1 -all", canonical: same },
};

/** Returns the absolute name to query; for the `PTR` record of an IP address, its name in the reverse zone. */
function absoluteName(name: string, type: RecordType): string {
  const address = type === "PTR" ? canonicalAddress(name) : null;
  if (address === null) return name.replace(/\.?$/, ".");
  if (!address.includes(":")) return `${address.split(".").reverse().join(".")}.in-addr.arpa.`;
  const [head = "", tail = ""] = address.split("::");
  const groups = (part: string): readonly string[] => part === "" ? [] : part.split(":");
  const missing = 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...new Array<string>(missing).fill("0"), ...groups(tail)];
  return `${all.map((group) => group.padStart(4, "0")).join("").split("").reverse().join(".")}.ip6.arpa.`;
}

/** Returns whether a name server can be asked for a name (RFC 1035, section 2.3.4). */
function isDomainName(name: string): boolean {
  const sent = asciiName(name);
  return sent.length <= 254 && /^(?:[!--/-~]{1,63}\.)*[!--/-~]{1,63}\.?$/.test(sent);
}
