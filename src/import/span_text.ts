import { counted } from "../shared/text.ts";
import { canonicalAddress } from "../shared/ip_address.ts";
import { asWord } from "./foreign_text.ts";
import type * as written from "../domain/generated/written_config.ts";

const UNITS: readonly (readonly [name: string, lengthMs: number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
];

/** Writes a time span for a config, such as `90 seconds`; below a second in milliseconds. */
export function spanText(spanMs: number): string {
  if (spanMs < 1000) return `${Math.max(1, Math.round(spanMs))} ms`;
  const seconds = Math.round(spanMs / 1000) * 1000;
  const [name, lengthMs] = UNITS.find(([, length]) => seconds % length === 0) ?? ["second", 1000];
  return counted(seconds / lengthMs, name);
}

/** Writes the interval of a schedule, at least a second. */
export function intervalText(spanMs: number): string {
  return spanText(Math.max(1000, spanMs));
}

/** Units of Go and of Prometheus. */
const UNIT_MS: Readonly<Record<string, number>> = {
  ...{ ns: 1e-6, us: 1e-3, "\u00b5s": 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 },
  ...{ d: 86_400_000, w: 7 * 86_400_000, y: 365 * 86_400_000 },
};

/** Reads a duration of Go, such as `1h45m30s`; `null` for anything else. */
export function parseGoDuration(text: string): number | null {
  return /^(?:\d+(?:\.\d+)?(?:[nu\u00b5m]?s|m|h))+$/.test(text) ? sumOf(text) : null;
}

/** Reads a duration of Prometheus, such as `1d12h`; `null` for anything else. */
export function parsePrometheusDuration(text: string): number | null {
  return /^(?:\d{1,15}(?:ms|[smhdwy]))+$/.test(text) ? sumOf(text) : null;
}

function sumOf(text: string): number {
  return [...text.matchAll(/([\d.]+)([a-z\u00b5]+)/g)]
    .reduce((sum, [, count, unit = ""]) => sum + Number(count) * (UNIT_MS[unit] ?? 0), 0);
}

interface HostAndPort {
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number | undefined;
}

/** Parses `host`, `host:port` or `[address]:port`, ignoring a path after a slash; `null` for anything else. */
export function parseHostAndPort(text: string): HostAndPort | null {
  const [authority = ""] = text.split(/[/?#]/);
  const match = /^(?:\[([0-9a-f:.%]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(authority);
  if (match === null) {
    return /^[0-9a-f]*:[0-9a-f:.]+$/i.test(authority) ? { host: authority, port: undefined } : null;
  }
  const [, address, name = "", port] = match;
  return { host: address ?? name, port: port === undefined ? undefined : Number(port) };
}

/** The same; `null` also without a port. */
export function parseServer(text: string): { readonly host: string; readonly port: number } | null {
  const { host = "", port } = parseHostAndPort(text) ?? {};
  return port === undefined ? null : { host, port };
}

/** The server of a DNS lookup, an IP address with or without a port; `undefined` for anything else. */
export function dnsServerIn(text: string, usualPort?: number): string | undefined {
  const { host = "", port = usualPort } = parseHostAndPort(text) ?? {};
  if (canonicalAddress(host) === null) return undefined;
  if (port === undefined) return host;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** A lookup of a name, with or without the dot at its end. The validation of the draft removes one of another type. */
export function dnsLookup(
  name: string,
  { type = "A", server, contains = [] }: {
    readonly type?: string | undefined;
    readonly server: string | undefined;
    readonly contains?: readonly string[];
  },
): written.CheckByKind {
  const found = contains.length > 0 ? contains : undefined;
  const what = { name: name.replace(/\.$/, ""), type: asWord<"A">(type.toUpperCase()), server };
  return { kind: "dns_lookup", parameters: { ...what, contains: found } };
}

/** Escapes a text for a regular expression (RE2). */
export function escapePattern(text: string): string {
  return text.replaceAll(/[\\.+*?()|[\]{}^$]/g, "\\$&");
}

/** A pattern with `*` and `?` as a regular expression (RE2) for the whole text, newlines included. */
export function globPattern(glob: string): string {
  const inner = [...glob.replaceAll(/\*+/g, "*")].map((sign) =>
    sign === "*" ? ".*" : sign === "?" ? "." : escapePattern(sign)
  ).join("");
  return `(?s)^${inner}$`;
}

/** The text between the `*` of a pattern such as `*text*`; `null` if the pattern means anything else. */
export function partOfGlob(glob: string): string | null {
  const [, part] = /^\*+([^*?[\]]+)\*+$/.exec(glob) ?? [];
  return part ?? null;
}

/** Turns `.data[0].name` into a path of RFC 9535; `null` if it has anything but names and indexes. */
export function standardJsonPath(path: string): string | null {
  const parts = path.matchAll(/\.?([^.[\]'"\s()*$]+)|\[(\d+)\]|\[(?:'([^'\]]+)'|"([^"\]]+)")\]/gy);
  let standard = "$";
  let length = 0;
  for (const [whole, name, index, single, double] of parts) {
    length += whole.length;
    const key = name ?? single ?? double ?? "";
    standard += index !== undefined
      ? `[${index}]`
      : /^[A-Za-z_]\w*$/.test(key)
      ? `.${key}`
      : `['${key.replaceAll(/['\\]/g, "\\$&")}']`;
  }
  return length === path.length ? standard : null;
}

/** The keys of expectations in `json`, by the operators of other tools. */
export const JSON_COMPARISONS = {
  "<": "less_than",
  "<=": "at_most",
  ">": "greater_than",
  ">=": "at_least",
} as const;

/** Comparisons of two numbers by their operators. */
export const COMPARISONS: Readonly<
  Record<"==" | "!=" | "<" | "<=" | ">" | ">=", (one: number, other: number) => boolean>
> = {
  "==": (one, other) => one === other,
  "!=": (one, other) => one !== other,
  "<": (one, other) => one < other,
  "<=": (one, other) => one <= other,
  ">": (one, other) => one > other,
  ">=": (one, other) => one >= other,
};

const LOWEST = 100;
const HIGHEST = 599;

/** Writes the statuses that a rule accepts in the shortest form; `undefined` if it accepts none. */
export function statusesThat(accepts: (status: number) => boolean): written.HttpExpectation["status_code"] {
  const statuses = Array.from({ length: HIGHEST - LOWEST + 1 }, (_, index) => LOWEST + index).filter(accepts);
  if (statuses.length === 0) return undefined;
  if (statuses.length === HIGHEST - LOWEST + 1) return null;
  const byClass = Map.groupBy(statuses, (status) => Math.floor(status / 100));
  const shortest = [...byClass].flatMap<number | string>(([first, members]) =>
    members.length === 100 ? [`${first}xx`] : members
  );
  const [only] = shortest;
  return shortest.length === 1 && only !== undefined ? only : shortest;
}

export const MINUTES_OF_DAY = 24 * 60;

/** Writes a minute as `hh:mm`; one of the next day counts from its midnight. */
export function timeOfDay(minute: number): string {
  return new Date(minute * 60_000).toISOString().slice(11, 16);
}
