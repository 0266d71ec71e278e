import type * as written from "../domain/generated/written_config.ts";
import { asText, type Foreign } from "./foreign_text.ts";
import type { SourceItem } from "./config_draft.ts";
import {
  COMPARISONS,
  dnsLookup,
  dnsServerIn,
  escapePattern,
  globPattern,
  JSON_COMPARISONS,
  parseGoDuration,
  parseHostAndPort,
  parseServer,
  partOfGlob,
  spanText,
  standardJsonPath,
  statusesThat,
} from "./span_text.ts";
import type { JsonValue } from "../config/syntax.ts";

type Target = (written.CheckByKind & Pick<written.CheckSettings, "invert">) | { readonly reason: string };

interface TargetSource extends Readonly<Record<"rest" | "url", string>> {
  readonly endpoint: Foreign;
  readonly conditions: readonly GatusCondition[];
  readonly item: SourceItem;
}

export function translateTarget(endpoint: Foreign, item: SourceItem): Target {
  const url = endpoint.text("url") ?? "";
  const conditions = endpoint.texts("conditions").flatMap((text) => {
    const condition = parseCondition(text);
    if (condition === null) item.leaveOut(text, "not a condition");
    return condition ?? [];
  });
  // As the only condition: an HTTP response of any status is a connection.
  const [only] = conditions;
  const isInverted = conditions.length === 1 && only?.left === "[CONNECTED]" && only.operator === "==" &&
    only.right === "false" && !/^https?:/i.test(url);
  const source = {
    ...{ endpoint, url, item },
    rest: url.replace(/^[a-z]+:\/\//i, ""),
    conditions: isInverted ? [] : conditions,
  };
  if (endpoint.has("dns")) return dnsTarget(source);
  const scheme = url.startsWith("${env:") ? "https" : /^([a-z]+):\/\//i.exec(url)?.[1]?.toLowerCase() ?? "";
  const target = TARGETS[scheme]?.(source) ??
    { reason: SCHEME_REASONS[scheme] ?? "the URL has an unknown scheme" };
  return isInverted ? { invert: true, ...target } : target;
}

const SCHEME_REASONS: Readonly<Record<string, string>> = {
  sctp: "no check for SCTP; use a script check",
  udp: "no check for UDP; use a script check",
};

const TARGETS: Readonly<Record<string, (source: TargetSource) => Target>> = {
  grpc: grpcTarget,
  grpcs: grpcTarget,
  http: httpTarget,
  https: httpTarget,
  icmp: pingTarget,
  ssh: sshTarget,
  starttls: certificateTarget,
  tcp: tcpTarget,
  tls: certificateTarget,
  ws: websocketTarget,
  wss: websocketTarget,
};

/** Lists every condition that a kind has no counterpart for. */
function leaveOthers(source: TargetSource, handled: (condition: GatusCondition) => boolean): void {
  for (const condition of source.conditions) {
    const reason = handled(condition) ? null : leftOutReason(condition);
    if (reason !== null) source.item.leaveOut(condition.text, reason);
  }
}

function httpTarget({ endpoint, url, conditions, item }: TargetSource): Target {
  const client = endpoint.object("client");
  const headers = endpoint.object("headers").toTexts();
  const text = endpoint.body("body");
  const isGraphql = endpoint.boolean("graphql") === true;
  const body = isGraphql ? JSON.stringify({ query: text ?? "" }) : text;
  if (isGraphql) headers["Content-Type"] ??= "application/json";
  const hasField = /\[[A-Z]+_[A-Z_0-9]+\]/.test(body ?? "");
  if (hasField) item.leaveOut("body", "its placeholders are sent as they are");
  const files = client.object("tls");
  const [certificate, key] = [files.text("certificate-file"), files.text("private-key-file")];
  const tls = certificate !== undefined && key !== undefined ? { certificate, key } : undefined;
  const isInsecure = client.boolean("insecure");
  if (isInsecure && tls) item.leaveOut("client.insecure", "not with a client certificate: write tls.ca_file");
  const response = expectResponse(conditions, item);
  return {
    kind: "http_request",
    parameters: {
      request: item.request(url, {
        ...{ method: endpoint.text("method"), headers, body, tls, isInsecure },
        refusesRedirects: client.boolean("ignore-redirect"),
      }),
      ...(Object.keys(response).length > 0 && { response }),
    },
  };
}

function pingTarget(source: TargetSource): Target {
  const host = parseHostAndPort(source.rest)?.host;
  if (host === undefined) return { reason: "the URL has no host" };
  leaveOthers(source, isUpperLimit);
  const [round_trip] = source.conditions.filter(isUpperLimit)
    .map(({ right }) => ({ critical_above: spanText(milliseconds(right) ?? 0) }));
  return { kind: "ping", parameters: { host, round_trip } };
}

function isUpperLimit({ left, operator, right }: GatusCondition): boolean {
  return left === "[RESPONSE_TIME]" && (operator === "<" || operator === "<=") &&
    milliseconds(right) !== null;
}

function tcpTarget(source: TargetSource): Target {
  const { endpoint, rest, item } = source;
  const place = parseServer(rest);
  if (place === null) return { reason: "the URL has no host and port" };
  const body = endpoint.body("body");
  const send = body && item.body(body);
  const expect = source.conditions.map(expectedPart).find((part) => part !== null);
  leaveOthers(source, (condition) => expect !== undefined && expectedPart(condition) === expect);
  return { kind: "tcp_connect", parameters: { ...place, send, expect } };
}

function grpcTarget(source: TargetSource): Target {
  const place = parseServer(source.rest);
  if (place === null) return { reason: "the URL has no host and port" };
  leaveOthers(source, () => false);
  const tls = source.url.startsWith("grpcs:") || undefined;
  const verify = tls && source.endpoint.object("client").boolean("insecure") ? false : undefined;
  return { kind: "grpc_health", parameters: { ...place, tls, verify } };
}

function websocketTarget(source: TargetSource): Target {
  const { endpoint, url, item } = source;
  const body = endpoint.body("body");
  const expect = body && source.conditions.map(expectedPart).find((part) => part !== null);
  leaveOthers(source, (condition) => expect !== undefined && expectedPart(condition) === expect);
  const isInsecure = endpoint.object("client").boolean("insecure") === true && /^wss:/i.test(url);
  return {
    kind: "websocket",
    parameters: {
      ...{ url: item.url(url), headers: item.headers(endpoint.object("headers").toTexts()) },
      ...{ send: body && item.body(body), expect: expect && escapePattern(expect) },
      ...(isInsecure && { verify: false }),
    },
  };
}

/** The text that a response must contain, if a condition is about one. */
function expectedPart({ left, operator, right }: GatusCondition): string | null {
  if (left !== "[BODY]" || operator !== "==") return null;
  const [, glob] = /^pat\((.*)\)$/.exec(right) ?? [];
  return glob === undefined ? right : partOfGlob(glob);
}

/** Without a login, Gatus reads the banner. */
function sshTarget(source: TargetSource): Target {
  const login = source.endpoint.object("ssh");
  if (login.entries.some(([, value]) => asText(value) !== undefined)) {
    return { reason: "it logs in and runs a command; use a script check" };
  }
  const place = parseHostAndPort(source.rest);
  if (place === null) return { reason: "the URL has no host" };
  leaveOthers(source, ({ left, right }) => left === "[STATUS]" && right === "0");
  return { kind: "tcp_connect", parameters: { host: place.host, port: place.port ?? 22, expect: "SSH-" } };
}

/** Those of SMTP need no entry. */
const STARTTLS_PORTS: Readonly<Record<number, "pop3" | "imap">> = { 110: "pop3", 143: "imap" };

function certificateTarget(source: TargetSource): Target {
  const { endpoint, item } = source;
  const place = parseHostAndPort(source.rest);
  if (place === null) return { reason: "the URL has no host" };
  const { host, port = 443 } = place;
  const isStarttls = source.url.startsWith("starttls:");
  leaveOthers(source, isExpiry);
  item.leaveOutSet(endpoint, { body: "tls_certificate sends nothing" });
  return {
    kind: "tls_certificate",
    parameters: {
      ...{ host, port },
      ...(endpoint.object("client").boolean("insecure") === true && { verify: false }),
      ...(isStarttls && { starttls: STARTTLS_PORTS[port] ?? "smtp" }),
      ...Object.assign({}, ...source.conditions.filter(isExpiry).map(expiryOf)),
    },
  };
}

function isExpiry(condition: GatusCondition): boolean {
  return condition.left === "[CERTIFICATE_EXPIRATION]" && expiryOf(condition) !== null;
}

function dnsTarget(source: TargetSource): Target {
  const { endpoint, rest, conditions, item } = source;
  const dns = endpoint.object("dns");
  const name = dns.text("query-name");
  if (name === undefined) return { reason: "dns.query-name is missing" };
  const server = dnsServerIn(rest);
  if (server === undefined) {
    item.leaveOut("url", "server must be an IP address; the resolver of the machine is used");
  }
  const isValue = ({ left, operator, right }: GatusCondition) =>
    left === "[BODY]" && operator === "==" && !/^(?:pat|any)\(/.test(right);
  const isSuccess = ({ left, operator, right }: GatusCondition) =>
    left === "[DNS_RCODE]" && operator === "==" && right === "NOERROR";
  leaveOthers(source, (condition) => isValue(condition) || isSuccess(condition));
  const contains = conditions.filter(isValue).map(({ right }) => right);
  return dnsLookup(name, { type: dns.text("query-type"), server, contains });
}

/** A condition of Gatus, with its placeholder on the left. */
interface GatusCondition {
  readonly text: string;
  readonly left: string;
  readonly operator: Operator;
  readonly right: string;
}

/** In the order in which Gatus searches for them. */
const OPERATORS = ["==", "!=", "<=", ">=", ">", "<"] as const;
type Operator = typeof OPERATORS[number];

function parseCondition(text: string): GatusCondition | null {
  const operator = OPERATORS.find((candidate) => text.includes(` ${candidate} `));
  if (operator === undefined) return null;
  const [first = "", second = ""] = text.split(` ${operator} `).map((part) => part.trim());
  const isPlaceholder = (part: string) => /^(?:len\(|has\()?\[/.test(part);
  if (isPlaceholder(first) || !isPlaceholder(second)) return { text, left: first, operator, right: second };
  const mirrored = operator.replace(/[<>]/, (sign) => sign === "<" ? ">" : "<") as Operator;
  return { text, left: second, operator: mirrored, right: first };
}

/** An expectation in the making. */
type Response = { -readonly [Key in keyof written.HttpExpectation]: written.HttpExpectation[Key] };

type JsonComparisons = Record<string, written.JsonExpectationObject>;

function expectResponse(conditions: readonly GatusCondition[], item: SourceItem): written.HttpExpectation {
  const statusRules: ((status: number) => boolean)[] = [];
  const response: Response = {};
  const json: JsonComparisons = {};
  for (const condition of conditions) {
    const { left, text } = condition;
    const reason = left === "[STATUS]"
      ? expectStatus(condition, statusRules)
      : left === "[RESPONSE_TIME]"
      ? expectDuration(condition, response)
      : left === "[CERTIFICATE_EXPIRATION]"
      ? expectExpiry(condition, response)
      : left.includes("[BODY]")
      ? expectBody(condition, response, json)
      : leftOutReason(condition);
    if (reason !== null) item.leaveOut(text, reason);
  }
  const status_code = statusesThat((code) => statusRules.every((accepts) => accepts(code)));
  if (status_code === undefined) item.leaveOut("[STATUS]", "no status fits all conditions");
  return {
    ...(status_code !== 200 && { status_code }),
    ...response,
    ...(Object.keys(json).length > 0 && { json }),
  };
}

/** Returns why a condition without a counterpart is left out; `null` if the check implies it. */
function leftOutReason({ left, operator, right }: GatusCondition): string | null {
  if (left === "[CONNECTED]" && operator === "==" && right === "true") return null;
  return REASONS[left] ?? "no counterpart";
}

const REASONS: Readonly<Record<string, string>> = {
  "[DOMAIN_EXPIRATION]": "write a domain_expiry check of the registered domain",
  "[IP]": "use a dns_lookup check",
  "[CONNECTED]": "a failed connection can be expected as the only condition, without HTTP",
  "[STATUS]": "only HTTP has a status",
  "[RESPONSE_TIME]": "this kind of check has no limit of the duration but timeout",
};

function expectStatus(
  { operator, right }: GatusCondition,
  rules: ((status: number) => boolean)[],
): string | null {
  const accepts = textRule(right);
  const number = Number(right);
  if (operator === "==") rules.push((status) => accepts(String(status)));
  else if (operator === "!=") rules.push((status) => !accepts(String(status)));
  else if (!Number.isFinite(number)) return "not a number";
  else rules.push((status) => COMPARISONS[operator](status, number));
  return null;
}

/** Returns which texts `200`, `any(200, 429)` and `pat(2*)` accept. */
function textRule(right: string): (text: string) => boolean {
  const glob = argumentOf("pat", right);
  if (glob !== null) {
    // A status has three digits; a longer pattern would only take time.
    if (glob.length > STATUS_GLOB_LENGTH_MAX) return () => false;
    const pattern = new RegExp(globPattern(glob).replace("(?s)", ""), "s");
    return (text) => pattern.test(text);
  }
  const options = optionsOf(right) ?? [right];
  return (text) => options.includes(text);
}

const STATUS_GLOB_LENGTH_MAX = 20;

function argumentOf(name: string, call: string): string | null {
  return call.startsWith(`${name}(`) && call.endsWith(")") ? call.slice(name.length + 1, -1) : null;
}

function optionsOf(right: string): readonly string[] | null {
  return argumentOf("any", right)?.split(",").map((option) => option.trim()) ?? null;
}

/** Milliseconds of a plain number or a duration. */
function milliseconds(text: string): number | null {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : parseGoDuration(text);
}

function expectDuration(condition: GatusCondition, response: Response): string | null {
  if (!isUpperLimit(condition)) return "only an upper limit has a counterpart";
  response.critical_duration = spanText(milliseconds(condition.right) ?? 0);
  return null;
}

function expectExpiry(condition: GatusCondition, response: Response): string | null {
  const certificate = expiryOf(condition);
  if (certificate === null) return "only a lower limit has a counterpart";
  response.certificate = certificate;
  return null;
}

/** One limit of the time until expiry is both thresholds: Gatus has one severity. */
function expiryOf({ operator, right }: GatusCondition): written.HttpExpectationCertificate | null {
  const limitMs = milliseconds(right);
  if (operator !== ">" && operator !== ">=" || limitMs === null || limitMs < 1000) return null;
  return { warning_before_expiry: spanText(limitMs), critical_before_expiry: spanText(limitMs) };
}

function expectBody(condition: GatusCondition, response: Response, json: JsonComparisons): string | null {
  const { left, operator, right } = condition;
  if (/\[[A-Z_]+\]/.test(right)) return "a comparison of two values of the response";
  if (left === "[BODY]" && (operator === "==" || operator === "!=")) {
    return expectText(operator, right, response);
  }
  const [, call = "", rest = left] = /^(len|has)\((.*)\)$/s.exec(left) ?? [];
  const path = rest.startsWith("[BODY]") ? standardJsonPath(rest.slice("[BODY]".length)) : null;
  if (path === null) return "the JSON path has no counterpart";
  const compare = call === "has" ? presenceOf : call === "len" ? lengthOf : comparisonOf;
  const comparison = compare(operator, right);
  if (comparison === null) return "the comparison has no counterpart";
  const earlier = json[path] ?? {};
  if (Object.keys(comparison).some((name) => name in earlier)) {
    return "another condition of the same path has the same comparison";
  }
  json[path] = { ...earlier, ...comparison };
  return null;
}

function expectText(operator: "==" | "!=", right: string, response: Response): string | null {
  const glob = argumentOf("pat", right);
  const part = glob === null ? null : partOfGlob(glob);
  const options = (optionsOf(right) ?? [right]).map(escapePattern);
  const pattern = glob === null ? `^(?:${options.join("|")})$` : globPattern(glob);
  const name = `${operator === "==" ? "" : "not_"}${part === null ? "body_pattern" : "body_part"}` as const;
  if (name in response) return `a check has one ${name}`;
  response[name] = part ?? pattern;
  return null;
}

/** Gatus compares texts, so a number may be a text in JSON. */
function valuesOf(text: string): readonly JsonValue[] {
  if (text === "true" || text === "false") return [text === "true", text];
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) ? [Number(text), text] : [text];
}

function comparisonOf(operator: Operator, right: string): written.JsonExpectationObject | null {
  const number = Number(right);
  const [glob, options] = [argumentOf("pat", right), optionsOf(right)];
  if (operator === "==") {
    if (glob !== null) return { matches: globPattern(glob) };
    const values = (options ?? [right]).flatMap(valuesOf);
    return values.length === 1 ? { equals: values[0] } : { one_of: values };
  }
  if (operator === "!=") return (glob ?? options) === null ? { not_equals: valuesOf(right)[0] } : null;
  return Number.isFinite(number) ? { [JSON_COMPARISONS[operator]]: number } : null;
}

function presenceOf(operator: Operator, right: string): written.JsonExpectationObject | null {
  if (operator !== "==" && operator !== "!=" || right !== "true" && right !== "false") return null;
  return { exists: (operator === "==") === (right === "true") };
}

function lengthOf(operator: Operator, right: string): written.JsonExpectationObject | null {
  const number = Number(right);
  if (!Number.isInteger(number) || operator === "!=") return null;
  if (operator === "==") return { length: number };
  const limit = operator === "<" ? number - 1 : operator === ">" ? number + 1 : number;
  return { length: operator.startsWith("<") ? { at_most: limit } : { at_least: limit } };
}
