import type { ConfigDraft } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import { after, comparisonIn, has, type MonitToken, timeIn } from "./monit_statements.ts";
import { intervalText, spanText } from "./span_text.ts";
import { statusesThat } from "./status_codes.ts";

export type MonitCheck = written.CheckByKind & Pick<written.CheckSettings, "timeout">;

interface ConnectionOptions {
  /** The host of the service; of a process the own one. */
  readonly host: string;
  readonly name: string;
  readonly item: string;
  readonly draft: ConfigDraft;
}

/** The first text of a server, by protocol. */
const BANNERS: Readonly<Record<string, string>> = {
  ftp: "220",
  imap: "* OK",
  imaps: "* OK",
  pop: "+OK",
  pops: "+OK",
  smtp: "220",
  smtps: "220",
  ssh: "SSH-",
};
/** Protocols with TLS from the first byte. */
const SECURE: readonly string[] = ["https", "imaps", "pops", "smtps"];

/** Translates `failed …`: a connection, a request or pings. */
export function connectionCheck(
  test: readonly MonitToken[],
  options: ConnectionOptions,
): MonitCheck | string {
  const timeoutMs = timeIn(test, Math.max(0, test.findIndex(({ word }) => word === "timeout")));
  const timeout = has(test, "timeout") && timeoutMs !== null ? { timeout: intervalText(timeoutMs) } : {};
  const host = after(test, "host", "address") ?? options.host;
  if (has(test, "ping", "ping4", "ping6", "icmp")) {
    const count = Number(after(test, "count"));
    // A timeout of Monit is for one reply.
    return { kind: "ping", parameters: { host, ...(count >= 1 && count <= 1000 && { count }) } };
  }
  const url = after(test, "url");
  if (url !== undefined) return { ...timeout, ...requestCheck(test, url, options) };
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
    return { ...timeout, ...requestCheck(test, target, options) };
  }
  const certificate = certificateOf(test);
  if (certificate !== null) {
    return { ...timeout, kind: "tls_certificate", parameters: { host, port, ...certificate } };
  }
  return { ...timeout, ...tcpCheck(test, { host, port, protocol, isSecure }, options) };
}

/** `certificate valid > 14 days`. */
function certificateOf(test: readonly MonitToken[]): written.HttpExpectationCertificate | null {
  const index = test.findIndex(({ word }) => word === "certificate");
  const leftMs = index < 0 ? null : timeIn(test, index);
  return leftMs === null
    ? null
    : { warning_before_expiry: spanText(leftMs), critical_before_expiry: spanText(leftMs) };
}

function tcpCheck(
  test: readonly MonitToken[],
  { host, port, protocol, isSecure }: {
    readonly host: string;
    readonly port: number;
    readonly protocol: string;
    readonly isSecure: boolean;
  },
  { name, item, draft }: ConnectionOptions,
): MonitCheck {
  const banner = BANNERS[protocol];
  if (protocol !== "" && protocol !== "default" && protocol !== "generic" && banner === undefined) {
    draft.leaveOut(item, `protocol ${protocol}`, "only the connection is checked; use a script check");
  }
  const [send, expect] = [after(test, "send"), after(test, "expect")];
  const isPattern = expect !== undefined && /[.*+?[\](){}|^$]/.test(expect);
  if (isPattern) draft.leaveOut(item, "expect", "a regular expression; tcp_connect expects a text");
  const expected = expect === undefined || isPattern ? banner : unescape(expect);
  return {
    kind: "tcp_connect",
    parameters: {
      ...{ host, port },
      ...(isSecure && { tls: true }),
      ...(send !== undefined && { send: draft.body(unescape(send), name, item) }),
      ...(expected !== undefined && { expect: expected }),
    },
  };
}

function unescape(text: string): string {
  return text.replaceAll("\\r", "\r").replaceAll("\\n", "\n").replaceAll("\\t", "\t");
}

function requestCheck(
  test: readonly MonitToken[],
  url: string,
  { name, item, draft }: ConnectionOptions,
): MonitCheck {
  const certificate = certificateOf(test);
  const [username, password] = [after(test, "username"), after(test, "password")];
  const method = after(test, "method")?.toUpperCase();
  const target = username !== undefined && password !== undefined
    ? draft.urlWithLogin(url, { username, password }, { name, source: item })
    : draft.url(url, name, item);
  if (has(test, "headers", "hostheader", "checksum")) {
    draft.leaveOut(item, "http headers or checksum", "write request.headers by hand");
  }
  return {
    kind: "http_request",
    parameters: {
      request: { target, ...(method === "HEAD" && { method }) },
      response: {
        status_code: statusOf(test),
        ...contentOf(test),
        ...(certificate !== null && { certificate }),
      },
    },
  };
}

/** Without a rule, Monit accepts statuses below 400. */
function statusOf(test: readonly MonitToken[]) {
  const index = test.findIndex(({ word }) => word === "status");
  const rule = index < 0 ? null : comparisonIn(test.slice(index));
  const accepts = rule === null ? (status: number) => status < 400 : COMPARISONS[rule.operator]?.(rule.value);
  return statusesThat(accepts ?? (() => true)) ?? null;
}

const COMPARISONS: Readonly<Record<string, (value: number) => (status: number) => boolean>> = {
  "==": (value) => (status) => status === value,
  "!=": (value) => (status) => status !== value,
  ">": (value) => (status) => status > value,
  ">=": (value) => (status) => status >= value,
  "<": (value) => (status) => status < value,
  "<=": (value) => (status) => status <= value,
};

/** `content = "pattern"`: a regular expression. */
function contentOf(test: readonly MonitToken[]): written.HttpExpectation {
  const index = test.findIndex(({ word }) => word === "content");
  const pattern = index < 0 ? undefined : test.slice(index).find(({ word }) => word === "")?.text;
  if (pattern === undefined || pattern === "") return {};
  const isNot = test[index + 1]?.word === "!=";
  const isPlain = !/[\\.*+?()|[\]{}^$]/.test(pattern);
  return { [`${isNot ? "not_" : ""}${isPlain ? "body_part" : "body_pattern"}`]: pattern };
}
