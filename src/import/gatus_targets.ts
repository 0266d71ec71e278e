import { canonicalAddress } from "../shared/ip_address.ts";
import type { ConfigDraft } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import {
  asBody,
  asBoolean,
  asObject,
  asText,
  asTexts,
  asWord,
  fieldOf,
  type Foreign,
} from "./foreign_value.ts";
import {
  expectResponse,
  expiryOf,
  type GatusCondition,
  leftOutReason,
  milliseconds,
  parseCondition,
} from "./gatus_conditions.ts";
import { parseHostAndPort } from "./host_and_port.ts";
import { partOfGlob } from "./patterns.ts";
import { spanText } from "./span_text.ts";

type Target = written.CheckByKind | { readonly reason: string };

interface Options {
  readonly item: string;
  readonly name: string;
  readonly draft: ConfigDraft;
}

interface TargetSource {
  readonly endpoint: Foreign;
  /** Without the scheme. */
  readonly rest: string;
  readonly url: string;
  readonly conditions: readonly GatusCondition[];
  readonly options: Options;
}

export function translateTarget(endpoint: Foreign, options: Options): Target {
  const { item, draft } = options;
  const url = asText(fieldOf(endpoint, "url")) ?? "";
  const conditions = asTexts(fieldOf(endpoint, "conditions")).flatMap((text) => {
    const condition = parseCondition(text);
    if (condition === null) draft.leaveOut(item, text, "not a condition");
    return condition ?? [];
  });
  const source = { endpoint, rest: url.replace(/^[a-z]+:\/\//i, ""), url, conditions, options };
  if (fieldOf(endpoint, "dns") !== undefined) return dnsTarget(source);
  const scheme = url.startsWith("${env:") ? "https" : /^([a-z]+):\/\//i.exec(url)?.[1]?.toLowerCase() ?? "";
  return TARGETS[scheme]?.(source) ?? { reason: SCHEME_REASONS[scheme] ?? "the URL has an unknown scheme" };
}

const SCHEME_REASONS: Readonly<Record<string, string>> = {
  grpc: "no check for gRPC; use a script check",
  grpcs: "no check for gRPC; use a script check",
  sctp: "no check for SCTP; use a script check",
  udp: "no check for UDP; use a script check",
  ws: "no check for WebSocket; use a script check",
  wss: "no check for WebSocket; use a script check",
};

const TARGETS: Readonly<Record<string, (source: TargetSource) => Target>> = {
  http: httpTarget,
  https: httpTarget,
  icmp: pingTarget,
  ssh: sshTarget,
  starttls: certificateTarget,
  tcp: tcpTarget,
  tls: certificateTarget,
};

function leave({ options: { draft, item } }: TargetSource, condition: string, reason: string): void {
  draft.leaveOut(item, condition, reason);
}

/** Lists every condition that a kind has no counterpart for. */
function leaveOthers(source: TargetSource, handled: (condition: GatusCondition) => boolean): void {
  for (const condition of source.conditions) {
    const reason = handled(condition) ? null : leftOutReason(condition);
    if (reason !== null) leave(source, condition.text, reason);
  }
}

function httpTarget(source: TargetSource): Target {
  const { endpoint, url, conditions, options: { name, item, draft } } = source;
  const method = asText(fieldOf(endpoint, "method"))?.toUpperCase() ?? "GET";
  const client = asObject(fieldOf(endpoint, "client"));
  const headers: Record<string, string> = Object.fromEntries(
    Object.entries(asObject(fieldOf(endpoint, "headers"))).map((
      [header, value],
    ) => [header, asText(value) ?? ""]),
  );
  const written = asBody(fieldOf(endpoint, "body"));
  const isGraphql = asBoolean(fieldOf(endpoint, "graphql")) === true;
  const body = isGraphql ? JSON.stringify({ query: written ?? "" }) : written;
  if (isGraphql) headers["Content-Type"] ??= "application/json";
  const hasBody = body !== undefined && method !== "GET" && method !== "HEAD";
  if (body !== undefined && !hasBody) draft.leaveOut(item, "body", `${method} has no body`);
  if (hasBody && /\[[A-Z]+_[A-Z_0-9]+\]/.test(body)) {
    draft.leaveOut(item, "body", "its placeholders are sent as they are");
  }
  const tls = asObject(fieldOf(client, "tls"));
  const [certificate, key] = [
    asText(fieldOf(tls, "certificate-file")),
    asText(fieldOf(tls, "private-key-file")),
  ];
  const response = expectResponse(conditions, (condition, reason) => leave(source, condition, reason));
  return {
    kind: "http_request",
    parameters: {
      request: {
        target: draft.url(url, name, item),
        ...(method !== "GET" && { method: asWord<written.HttpMessage["method"]>(method) }),
        ...(Object.keys(headers).length > 0 && { headers: draft.headers(headers, name, item) }),
        ...(hasBody && { body: draft.body(body, name, item) }),
        ...(asBoolean(fieldOf(client, "ignore-redirect")) === true && { redirects: "refuse" }),
        ...(certificate !== undefined && key !== undefined && { tls: { certificate, key } }),
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
  const { endpoint, rest, options: { name, item, draft } } = source;
  const place = parseHostAndPort(rest);
  if (place?.port === undefined) return { reason: "the URL has no host and port" };
  const body = asBody(fieldOf(endpoint, "body"));
  const expect = source.conditions.map(expectedPart).find((part) => part !== null);
  leaveOthers(source, (condition) => expect !== undefined && expectedPart(condition) === expect);
  return {
    kind: "tcp_connect",
    parameters: {
      host: place.host,
      port: place.port,
      ...(body !== undefined && { send: draft.body(body, name, item) }),
      ...(expect !== undefined && { expect }),
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
  const login = asObject(fieldOf(source.endpoint, "ssh"));
  if (Object.values(login).some((value) => asText(value) !== undefined)) {
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
  if (asBody(fieldOf(source.endpoint, "body")) !== undefined) {
    source.options.draft.leaveOut(source.options.item, "body", "tls_certificate sends nothing");
  }
  return {
    kind: "tls_certificate",
    parameters: {
      host: place.host,
      port,
      ...(isStarttls && { starttls: STARTTLS_PORTS[port] ?? "smtp" }),
      ...Object.assign({}, ...expiries.map(expiryOf)),
    },
  };
}

function isExpiry(condition: GatusCondition): boolean {
  return condition.left === "[CERTIFICATE_EXPIRATION]" && expiryOf(condition) !== null;
}

function dnsTarget(source: TargetSource): Target {
  const { endpoint, rest, conditions, options: { item, draft } } = source;
  const dns = asObject(fieldOf(endpoint, "dns"));
  const name = asText(fieldOf(dns, "query-name"));
  if (name === undefined) return { reason: "dns.query-name is missing" };
  const place = parseHostAndPort(rest);
  const isAddress = place !== null && canonicalAddress(place.host) !== null;
  if (!isAddress) {
    draft.leaveOut(item, "url", "server must be an IP address; the resolver of the machine is used");
  }
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
      type: asWord(asText(fieldOf(dns, "query-type"))?.toUpperCase() ?? "A"),
      ...(server !== undefined && { server }),
      ...(contains.length > 0 && { contains }),
    },
  };
}
