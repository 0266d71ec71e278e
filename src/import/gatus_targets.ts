import { canonicalAddress } from "../shared/ip_address.ts";
import type * as written from "../domain/generated/written_config.ts";
import { asText, asWord, type Foreign } from "./foreign_value.ts";
import {
  expectResponse,
  expiryOf,
  type GatusCondition,
  leftOutReason,
  milliseconds,
  parseCondition,
} from "./gatus_conditions.ts";
import type { SourceItem } from "./config_draft.ts";
import { escapePattern, parseHostAndPort, partOfGlob, spanText } from "./span_text.ts";

type Target = (written.CheckByKind & Pick<written.CheckSettings, "invert">) | { readonly reason: string };

interface TargetSource {
  readonly endpoint: Foreign;
  readonly rest: string;
  readonly url: string;
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

function httpTarget(source: TargetSource): Target {
  const { endpoint, url, conditions, item } = source;
  const method = endpoint.text("method")?.toUpperCase() ?? "GET";
  const client = endpoint.object("client");
  const headers = endpoint.object("headers").toTexts();
  const text = endpoint.body("body");
  const isGraphql = endpoint.boolean("graphql") === true;
  const body = isGraphql ? JSON.stringify({ query: text ?? "" }) : text;
  if (isGraphql) headers["Content-Type"] ??= "application/json";
  const hasBody = body !== undefined && method !== "GET" && method !== "HEAD";
  if (body !== undefined && !hasBody) item.leaveOut("body", `${method} has no body`);
  if (hasBody && /\[[A-Z]+_[A-Z_0-9]+\]/.test(body)) {
    item.leaveOut("body", "its placeholders are sent as they are");
  }
  const tls = client.object("tls");
  const [certificate, key] = [tls.text("certificate-file"), tls.text("private-key-file")];
  const hasPair = certificate !== undefined && key !== undefined;
  const isInsecure = client.boolean("insecure") === true && /^https:/i.test(url);
  if (isInsecure && hasPair) {
    item.leaveOut("client.insecure", "not with a client certificate: write tls.ca_file");
  }
  const response = expectResponse(conditions, (condition, reason) => item.leaveOut(condition, reason));
  return {
    kind: "http_request",
    parameters: {
      request: {
        target: item.url(url),
        ...(method !== "GET" && { method: asWord<written.HttpMessage["method"]>(method) }),
        ...(Object.keys(headers).length > 0 && { headers: item.headers(headers) }),
        ...(hasBody && { body: item.body(body) }),
        ...(client.boolean("ignore-redirect") === true && { redirects: "refuse" }),
        ...(hasPair ? { tls: { certificate, key } } : isInsecure ? { tls: { verify: false } } : {}),
      },
      ...(Object.keys(response).length > 0 && { response }),
    },
  };
}

function pingTarget(source: TargetSource): Target {
  const host = parseHostAndPort(source.rest)?.host;
  if (host === undefined) return { reason: "the URL has no host" };
  const limits = source.conditions.filter(isUpperLimit);
  leaveOthers(source, isUpperLimit);
  const [limitMs] = limits.flatMap(({ right }) => milliseconds(right) ?? []);
  return {
    kind: "ping",
    parameters: { host, ...(limitMs !== undefined && { round_trip: { critical_above: spanText(limitMs) } }) },
  };
}

function isUpperLimit({ left, operator, right }: GatusCondition): boolean {
  return left === "[RESPONSE_TIME]" && (operator === "<" || operator === "<=") &&
    milliseconds(right) !== null;
}

function tcpTarget(source: TargetSource): Target {
  const { endpoint, rest, item } = source;
  const place = parseHostAndPort(rest);
  if (place?.port === undefined) return { reason: "the URL has no host and port" };
  const body = endpoint.body("body");
  const send = body && item.body(body);
  const expect = source.conditions.map(expectedPart).find((part) => part !== null);
  leaveOthers(source, (condition) => expect !== undefined && expectedPart(condition) === expect);
  return { kind: "tcp_connect", parameters: { host: place.host, port: place.port, send, expect } };
}

function grpcTarget(source: TargetSource): Target {
  const place = parseHostAndPort(source.rest);
  if (place?.port === undefined) return { reason: "the URL has no host and port" };
  leaveOthers(source, () => false);
  const tls = source.url.startsWith("grpcs:") || undefined;
  const verify = tls && source.endpoint.object("client").boolean("insecure") ? false : undefined;
  return { kind: "grpc_health", parameters: { host: place.host, port: place.port, tls, verify } };
}

function websocketTarget(source: TargetSource): Target {
  const { endpoint, url, item } = source;
  const body = endpoint.body("body");
  const expect = body === undefined
    ? undefined
    : source.conditions.map(expectedPart).find((part) => part !== null);
  leaveOthers(source, (condition) => expect !== undefined && expectedPart(condition) === expect);
  const headers = endpoint.object("headers").toTexts();
  const isInsecure = endpoint.object("client").boolean("insecure") === true && /^wss:/i.test(url);
  return {
    kind: "websocket",
    parameters: {
      url: item.url(url),
      ...(Object.keys(headers).length > 0 && { headers: item.headers(headers) }),
      ...(body !== undefined && { send: item.body(body) }),
      ...(expect !== undefined && { expect: escapePattern(expect) }),
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

const STARTTLS_PORTS: Readonly<Record<number, written.TlsCertificateParameters["starttls"]>> = {
  25: "smtp",
  110: "pop3",
  143: "imap",
  587: "smtp",
};

function certificateTarget(source: TargetSource): Target {
  const place = parseHostAndPort(source.rest);
  if (place === null) return { reason: "the URL has no host" };
  const port = place.port ?? 443;
  const isStarttls = source.url.startsWith("starttls:");
  const expiries = source.conditions.filter(isExpiry);
  leaveOthers(source, isExpiry);
  if (source.endpoint.body("body") !== undefined) {
    source.item.leaveOut("body", "tls_certificate sends nothing");
  }
  return {
    kind: "tls_certificate",
    parameters: {
      host: place.host,
      port,
      ...(source.endpoint.object("client").boolean("insecure") === true && { verify: false }),
      ...(isStarttls && { starttls: STARTTLS_PORTS[port] ?? "smtp" }),
      ...Object.assign({}, ...expiries.map(expiryOf)),
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
  const place = parseHostAndPort(rest);
  const isAddress = place !== null && canonicalAddress(place.host) !== null;
  if (!isAddress) item.leaveOut("url", "server must be an IP address; the resolver of the machine is used");
  const server = isAddress ? `${place.host}${place.port === undefined ? "" : `:${place.port}`}` : undefined;
  const isValue = ({ left, operator, right }: GatusCondition) =>
    left === "[BODY]" && operator === "==" && !/^(?:pat|any)\(/.test(right);
  const isSuccess = ({ left, operator, right }: GatusCondition) =>
    left === "[DNS_RCODE]" && operator === "==" && right === "NOERROR";
  leaveOthers(source, (condition) => isValue(condition) || isSuccess(condition));
  const contains = conditions.filter(isValue).map(({ right }) => right);
  return {
    kind: "dns_lookup",
    parameters: {
      name: name.replace(/\.$/, ""),
      type: asWord(dns.text("query-type")?.toUpperCase() ?? "A"),
      ...(server !== undefined && { server }),
      ...(contains.length > 0 && { contains }),
    },
  };
}
