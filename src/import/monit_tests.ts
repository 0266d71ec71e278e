import type * as written from "../domain/generated/written_config.ts";
import { COMPARISONS, intervalText, spanText, statusesThat } from "./span_text.ts";
import type { SourceItem } from "./config_draft.ts";
import { decodeText, type ForeignFile, importError } from "./foreign_text.ts";
import { hideInAddress } from "../config/credentials.ts";

/** Returns the parameters of a service's own check for a test, or why it has no counterpart. */
export type ReadTest<Parameters> = (test: MonitTokens) => Partial<Parameters> | string;

const SIZES: Readonly<Record<string, string>> = {
  ...{ b: "B", kb: "KiB", mb: "MiB", gb: "GiB" },
  ...{ byte: "B", kilobyte: "KiB", megabyte: "MiB", gigabyte: "GiB" },
};

/** A size of Monit, which counts by 1024; `null` for anything else. */
function sizeOf(value: number, unit: string): string | null {
  const name = SIZES[unit.replace(/s$/, "")];
  return name === undefined ? null : `${value} ${name}`;
}

/** The number of failures of a problem: in a row, or of the last `within` results. */
export interface Failures {
  readonly threshold: number;
  readonly within?: number;
}

export const AT_ONCE: Failures = { threshold: 1 };

/** Splits `for 3 cycles` or `for 3 times within 5 cycles` off a test. */
export function readFailures(tokens: MonitTokens): { tokens: MonitTokens; failures: Failures } {
  const cycles = tokens.findIndex(({ word }) => /^cycles?$/.test(word));
  if (cycles < 0) return { tokens, failures: AT_ONCE };
  const times = tokens.findIndex(({ word }) => /^times?$/.test(word));
  const within = Number(tokens[cycles - 1]?.text);
  const threshold = times < 0 ? within : Number(tokens[times - 1]?.text);
  const end = tokens.findIndex(({ word }, index) => index < cycles && (word === "for" || word === "within"));
  return {
    tokens: end > 0 ? tokens.slice(0, end) : tokens,
    failures: threshold >= 1 ? { threshold, ...(within > threshold && { within }) } : AT_ONCE,
  };
}

/** `space usage > 80%`, `space free < 1 GB`, and the same of inodes. */
export function readFilesystemTest(test: MonitTokens): Partial<written.DiskSpaceParameters> | string {
  const key = has(test, "inode", "inodes") ? "free_inodes" : has(test, "space") ? "free" : null;
  const comparison = comparisonIn(test);
  if (key === null || comparison === null) return "use a script check";
  const { operator, value, unit } = comparison;
  const isFree = has(test, "free");
  if (isFree !== operator.startsWith("<")) return "a limit in the other direction";
  if (unit === "%") return { [key]: { critical_below: `${isFree ? value : Math.max(0, 100 - value)}%` } };
  const limit = key === "free" ? sizeOf(value, unit) : value;
  if (!isFree || limit === null) return "disk_space has limits of what is free";
  return { [key]: { critical_below: limit } };
}

/** `memory > 200 MB` and `uptime < 5 minutes` of a process. */
export function readProcessTest(test: MonitTokens): Partial<written.ProcessParameters> | string {
  if (has(test, "exist", "exists")) return {};
  const comparison = comparisonIn(test);
  if (has(test, "mem", "memory", "totalmem", "totalmemory") && comparison?.operator.startsWith(">")) {
    const size = sizeOf(comparison.value, comparison.unit);
    if (size === null) return "process has limits of memory in bytes";
    return { memory: { critical_above: size } };
  }
  const spanMs = timeIn(test, 0);
  if (has(test, "uptime") && comparison !== null && spanMs !== null) {
    const isAbove = comparison.operator.startsWith(">");
    return { age: { [isAbove ? "critical_above" : "critical_below"]: spanText(spanMs) } };
  }
  if (has(test, "restart", "restarts")) return 'write "at_most" of an "action"';
  return "use a script check";
}

/** `link`, `download > 1 MB/s` and `upload > 1 MB/s` of an interface. */
export function readNetworkTest(test: MonitTokens): Partial<written.NetworkInterfaceParameters> | string {
  if (has(test, "failed", "down") && has(test, "link")) return {};
  const key = has(test, "download") ? "received" : has(test, "upload") ? "sent" : null;
  const comparison = comparisonIn(test);
  if (key === null || comparison === null || has(test, "total")) return "no counterpart";
  const size = sizeOf(comparison.value, comparison.unit.replace(/\/s$/, ""));
  if (!comparison.operator.startsWith(">") || size === null) {
    return "traffic has upper limits in bytes per second";
  }
  return { [key]: { critical_above: size } };
}

/** `timestamp > 26 hours` and `size < 1 MB` of a file. */
export function readFileTest(test: MonitTokens): Partial<written.FileTimestampParameters> | string {
  if (has(test, "exist", "exists")) return {};
  const comparison = comparisonIn(test);
  const ageMs = timeIn(test, 0);
  const isTime = has(test, "timestamp", "mtime", "modification");
  if (isTime && !has(test, "changed") && comparison?.operator.startsWith(">") && ageMs !== null) {
    return { warning_age: spanText(ageMs), critical_age: spanText(ageMs) };
  }
  const size = comparison === null ? null : sizeOf(comparison.value, comparison.unit);
  if (has(test, "size") && !has(test, "changed") && comparison?.operator.startsWith("<") && size !== null) {
    return { size_min: size };
  }
  return "use a script check";
}

/**
 * Returns the check of a test of what is in a file, or of who may change it: `content`, which Monit searches in what was
 * added since the last cycle, `permission`, `uid` and `checksum`. `null`: it is about something else.
 */
export function contentCheck(test: MonitTokens, path: string): MonitCheck | string | null {
  const index = test.findIndex(({ word }) => word === "content" || word === "match");
  if (index >= 0) {
    const [operator, ...rest] = test.slice(index + 1);
    const pattern = operator?.text === "=" || operator?.text === "==" ? rest[0] : operator;
    if (operator?.text === "!=" || pattern === undefined) return "write content_pattern of a file check";
    return { kind: "log", parameters: { path, pattern: pattern.text } };
  }
  const mode = after(test, "permission", "perm");
  if (mode !== undefined) return { kind: "file", parameters: { path, mode: mode.padStart(4, "0") } };
  const owner = after(test, "uid");
  if (owner !== undefined) {
    return { kind: "file", parameters: { path, owner: /^\d+$/.test(owner) ? Number(owner) : owner } };
  }
  return has(test, "checksum") ? "Monit has MD5 and SHA-1: write sha256 of a file check" : null;
}

export function systemCheck(test: MonitTokens): MonitCheck | string {
  const comparison = comparisonIn(test);
  if (comparison === null || !comparison.operator.startsWith(">")) return "use a script check";
  const { value, unit } = comparison;
  if (has(test, "swap")) {
    const limit = unit === "%" ? `${value}%` : sizeOf(value, unit);
    if (limit === null) return "the unit has no counterpart";
    return { kind: "memory", parameters: { available: {}, swap_used: { critical_above: limit } } };
  }
  if (has(test, "memory", "mem")) {
    if (unit !== "%") return "memory has limits of what is available";
    return { kind: "memory", parameters: { available: { critical_below: `${Math.max(0, 100 - value)}%` } } };
  }
  const [load] = test.flatMap(({ word }, index) =>
    /^loadavg\(?(\d+)min\)?$/.exec(word)?.[1] ??
      (word === "loadavg" ? test[index + 2]?.word.replace("min", "") : undefined) ?? []
  );
  if (load === undefined) return "use a script check";
  if (!has(test, "core")) return "load counts for each processor: divide the limit by their number";
  return { kind: "load", parameters: { load5: {}, [`load${load}`]: { critical_above: value } } };
}

export type ExitCodes = NonNullable<written.ScriptParameters["exit_code_conditions"]>;

/** Conditions of exit codes for `status != 0` and the like. */
export function exitCodeConditions(test: MonitTokens): ExitCodes | string {
  if (has(test, "changed")) return "a change of the status has no counterpart";
  const comparison = comparisonIn(test);
  if (comparison === null) return "use exit_code_conditions";
  const fails = COMPARISONS[comparison.operator];
  const codes = [0, 1, 2, 3, 4, 5, 126, 127, comparison.value];
  return Object.fromEntries(codes.map((code) => [code, fails(code, comparison.value) ? "critical" : "ok"]));
}

export type MonitCheck = written.CheckByKind & Pick<written.CheckSettings, "timeout">;

const PROTOCOLS: Readonly<Record<string, NonNullable<written.TcpConnectParameters["protocol"]>>> = {
  ...{ ftp: "ftp", imap: "imap", imaps: "imap", pop: "pop3", pops: "pop3" },
  ...{ smtp: "smtp", smtps: "smtp", ssh: "ssh" },
};
/** Kinds that need a login, which Monit does without. */
const WITH_LOGIN: Readonly<Record<string, string>> = { mysql: "mysql_query", pgsql: "postgres_query" };
/** Protocols with TLS from the first byte. */
const SECURE: readonly string[] = ["https", "imaps", "pops", "smtps"];

/** Translates `failed …`: a connection, a request or pings. */
export function connectionCheck(test: MonitTokens, ownHost: string, item: SourceItem): MonitCheck | string {
  const timeoutMs = timeIn(test, Math.max(0, test.findIndex(({ word }) => word === "timeout")));
  const timeout = has(test, "timeout") && timeoutMs !== null ? { timeout: intervalText(timeoutMs) } : {};
  const host = after(test, "host", "address") ?? ownHost;
  if (has(test, "ping", "ping4", "ping6", "icmp")) {
    const count = Number(after(test, "count"));
    // A timeout of Monit is for one reply.
    return { kind: "ping", parameters: { host, ...(count >= 1 && count <= 1000 && { count }) } };
  }
  const url = after(test, "url");
  if (url !== undefined) return { ...timeout, ...requestCheck(test, url, item) };
  const socket = after(test, "unixsocket", "unix");
  if (socket !== undefined) return { ...timeout, kind: "tcp_connect", parameters: { socket } };
  const port = Number(after(test, "port"));
  if (!Number.isInteger(port) || port < 1) return "no port, URL or socket";
  if (after(test, "type")?.toLowerCase() === "udp") return "no check for UDP; use a script check";
  const protocol = after(test, "protocol", "proto")?.toLowerCase() ?? "";
  const isSecure = has(test, "ssl", "tls", "tcpssl") || SECURE.includes(protocol);
  if (protocol === "http" || protocol === "https") {
    const path = after(test, "request") ?? "/";
    const authority = `${host}${port === (isSecure ? 443 : 80) ? "" : `:${port}`}`;
    const target = `${isSecure ? "https" : "http"}://${authority}${path.startsWith("/") ? "" : "/"}${path}`;
    return { ...timeout, ...requestCheck(test, target, item) };
  }
  const certificate = certificateOf(test);
  if (certificate !== undefined) {
    return { ...timeout, kind: "tls_certificate", parameters: { host, port, ...certificate } };
  }
  return { ...timeout, ...tcpCheck(test, { host, port, tls: isSecure || undefined, protocol }, item) };
}

/** `certificate valid > 14 days`. */
function certificateOf(test: MonitTokens): written.HttpExpectationCertificate | undefined {
  const index = test.findIndex(({ word }) => word === "certificate");
  const leftMs = index < 0 ? null : timeIn(test, index);
  if (leftMs === null) return undefined;
  return { warning_before_expiry: spanText(leftMs), critical_before_expiry: spanText(leftMs) };
}

function tcpCheck(
  test: MonitTokens,
  { protocol, ...server }: { host: string; port: number; tls: true | undefined; protocol: string },
  item: SourceItem,
): MonitCheck {
  if (protocol === "redis") return { kind: "redis_command", parameters: server };
  const steps = stepsOf(test, item);
  if (steps.length > 0) return { kind: "tcp_connect", parameters: { ...server, steps } };
  const known = PROTOCOLS[protocol];
  if (!["", "default", "generic"].includes(protocol) && known === undefined) {
    const other = WITH_LOGIN[protocol];
    const advice = other === undefined ? "" : `: write a ${other} check`;
    item.leaveOut(`protocol ${protocol}`, `only the connection is checked${advice}`);
  }
  return { kind: "tcp_connect", parameters: { ...server, protocol: known } };
}

/** `send` and `expect`, as often as they are given. */
function stepsOf(test: MonitTokens, item: SourceItem): readonly written.TcpStep[] {
  const steps: written.TcpStep[] = [];
  for (const [index, { word }] of test.entries()) {
    const text = test[index + 1]?.text;
    if (text === undefined) continue;
    if (word === "send") steps.push({ send: item.body(unescape(text)) });
    if (word !== "expect") continue;
    const expect = unescape(text).replace(/\r?\n$/, "");
    const last = steps.at(-1);
    if (last?.send !== undefined && last.expect === undefined) steps[steps.length - 1] = { ...last, expect };
    else steps.push({ expect });
  }
  return steps;
}

function unescape(text: string): string {
  return text.replaceAll("\\r", "\r").replaceAll("\\n", "\n").replaceAll("\\t", "\t");
}

function requestCheck(test: MonitTokens, url: string, item: SourceItem): MonitCheck {
  const login = { username: after(test, "username"), password: after(test, "password") };
  const method = after(test, "method")?.toUpperCase();
  if (has(test, "headers", "hostheader", "checksum")) {
    item.leaveOut("http headers or checksum", "write request.headers by hand");
  }
  return {
    kind: "http_request",
    parameters: {
      request: { target: item.url(url, login), ...(method === "HEAD" && { method }) },
      response: { status_code: statusOf(test), ...contentOf(test), certificate: certificateOf(test) },
    },
  };
}

/** Without a rule, Monit accepts statuses below 400. */
function statusOf(test: MonitTokens) {
  const index = test.findIndex(({ word }) => word === "status");
  const rule = index < 0 ? null : comparisonIn(test.slice(index));
  const { operator, value } = rule ?? { operator: "<", value: 400 } as const;
  return statusesThat((status) => COMPARISONS[operator](status, value)) ?? null;
}

/** `content = "pattern"`: a regular expression. */
function contentOf(test: MonitTokens): written.HttpExpectation {
  const index = test.findIndex(({ word }) => word === "content");
  const pattern = index < 0 ? undefined : test.slice(index).find(({ word }) => word === "")?.text;
  if (pattern === undefined || pattern === "") return {};
  const isNot = test[index + 1]?.word === "!=";
  const isPlain = !/[\\.*+?()|[\]{}^$]/.test(pattern);
  return { [`${isNot ? "not_" : ""}${isPlain ? "body_part" : "body_pattern"}`]: pattern };
}

/** A word, a quoted text or a sign of a control file. */
interface MonitToken {
  readonly text: string;
  /** In small letters, which Monit does not distinguish; empty for a quoted text. */
  readonly word: string;
}

export type MonitTokens = readonly MonitToken[];

/** A statement that begins with `set`, `include` or `check`. */
export interface MonitStatement {
  readonly tokens: MonitTokens;
  /** Of a check: its tests and settings, each from its keyword on. */
  readonly parts: readonly MonitTokens[];
}

const TOKEN =
  /\s+|#[^\n]*|"((?:[^"\\]|\\.)*)"|'([^']*)'|([a-z][a-z0-9+.-]*:\/\/[^\s"',{}]+)|(>=|<=|==|!=|<>|[<>=])|(\{[^{}]*\}|[,;()])|([^\s"'{}<>=!,;()#]+|[!{}])/giy;

/** @throws {ConfigError} If a quoted text does not end. */
export function parseMonit(file: ForeignFile): readonly MonitStatement[] {
  const text = decodeText(file).replaceAll("${", () => "$${");
  const tokens: MonitToken[] = [];
  let end = 0;
  for (const [whole, double, single, url, operator, sign, plain] of text.matchAll(TOKEN)) {
    end += whole.length;
    const quoted = double?.replaceAll(/\\(["\\])/g, "$1") ?? single;
    const found = quoted ?? url ?? operator ?? sign ?? plain;
    if (found === undefined) continue;
    tokens.push({ text: found, word: quoted === undefined ? found.toLowerCase() : "" });
  }
  if (end === text.length) return splitStatements(tokens);
  throw importError(file, "1 error", { text, problems: [{ message: "a quote is not closed", offset: end }] });
}

const STATEMENTS: readonly string[] = ["set", "include", "check"];
const TYPES: readonly string[] = [
  ...["process", "file", "fifo", "filesystem", "device", "directory"],
  ...["host", "remote", "system", "program", "network"],
];
/** Words that begin a part of a check, unless `then` or `else` is before them. */
const PARTS: readonly string[] = [
  ...["if", "start", "stop", "restart", "every", "depends", "depend", "group", "alert", "noalert"],
  ...["mode", "onreboot"],
];

function splitStatements(tokens: MonitTokens): readonly MonitStatement[] {
  const statements: { tokens: MonitToken[]; parts: MonitToken[][] }[] = [];
  let part: MonitToken[] = [];
  for (const [index, token] of tokens.entries()) {
    const [before = "", next = ""] = [tokens[index - 1]?.word, tokens[index + 1]?.word];
    const isAction = before === "then" || before === "else";
    const begins = STATEMENTS.includes(token.word) && !isAction && before !== "=" &&
      (token.word !== "check" || TYPES.includes(next));
    const current = statements.at(-1);
    if (begins) {
      part = [token];
      statements.push({ tokens: part, parts: [] });
    } else if (current !== undefined) {
      const isPart = current.tokens[0]?.word === "check" && !isAction &&
        (PARTS.includes(token.word) || token.word === "not" && next === "every") && before !== "not" &&
        !(token.word === "if" && before === "else");
      if (isPart) current.parts.push(part = []);
      part.push(token);
    }
  }
  return statements;
}

/** The token after one of some words; `undefined` if none of them is there. */
export function after(tokens: MonitTokens, ...words: readonly string[]): string | undefined {
  const index = tokens.findIndex(({ word }) => words.includes(word));
  if (index < 0) return undefined;
  return tokens.slice(index + 1).find(({ word }) => !NOISE.includes(word))?.text;
}

const NOISE: readonly string[] = ["=", "==", "is", "on", "with", "using", "and", "the", "at", "("];

export function has(tokens: MonitTokens, ...words: readonly string[]): boolean {
  return tokens.some(({ word }) => words.includes(word));
}

/** Returns the words of a part, for the list of dropped parts. */
export function shownTokens(tokens: MonitTokens): string {
  return tokens.map(({ text, word }, index) => {
    if (word === "") return '"…"';
    return tokens[index - 1]?.word === "password" ? "(hidden)" : hideInAddress(text);
  }).join(" ");
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ...{ ms: 1, second: 1000, minute: 60_000, hour: 3_600_000 },
  ...{ day: 86_400_000, month: 30 * 86_400_000 },
};

/** A number with a unit of time, such as `5 seconds`, anywhere after a place. */
export function timeIn(tokens: MonitTokens, from: number): number | null {
  for (let index = from; index < tokens.length - 1; index++) {
    const number = Number(tokens[index]?.text);
    const unit = UNIT_MS[tokens[index + 1]?.word.replace(/(?<!^m)s$/, "") ?? ""];
    if (Number.isFinite(number) && unit !== undefined) return number * unit;
  }
  return null;
}

const OPERATORS: Readonly<Record<string, keyof typeof COMPARISONS>> = {
  ...{ ">": ">", gt: ">", greater: ">", ">=": ">=", "<": "<", lt: "<", less: "<", "<=": "<=" },
  ...{ "=": "==", "==": "==", eq: "==", equal: "==", "!=": "!=", ne: "!=", notequal: "!=", "<>": "!=" },
};

/** A comparison such as `usage > 80 %`; the unit is in small letters. */
function comparisonIn(tokens: MonitTokens) {
  for (const [index, { word }] of tokens.entries()) {
    const operator = OPERATORS[word];
    if (operator === undefined) continue;
    const rest = tokens.slice(index + 1).filter(({ word }) => word !== "than" && word !== "to");
    const [, digits = "", attached = ""] = /^(\d+(?:\.\d+)?)(.*)$/.exec(rest[0]?.text ?? "") ?? [];
    if (digits === "") continue;
    const unit = attached === "" ? rest[1]?.word ?? "" : attached.toLowerCase();
    return { operator, value: Number(digits), unit };
  }
  return null;
}
