import type * as written from "../domain/generated/written_config.ts";
import { after, comparisonIn, has, type MonitToken, timeIn } from "./monit_statements.ts";
import type { SourceItem } from "./source_item.ts";
import { intervalText, spanText } from "./span_text.ts";
import { COMPARISONS, statusesThat } from "./status_codes.ts";

export type MonitCheck = written.CheckByKind & Pick<written.CheckSettings, "timeout">;

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
  ownHost: string,
  item: SourceItem,
): MonitCheck | string {
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
  if (certificate !== null) {
    return { ...timeout, kind: "tls_certificate", parameters: { host, port, ...certificate } };
  }
  return { ...timeout, ...tcpCheck(test, { host, port, protocol, isSecure }, item) };
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
  item: SourceItem,
): MonitCheck {
  const banner = BANNERS[protocol];
  if (protocol !== "" && protocol !== "default" && protocol !== "generic" && banner === undefined) {
    item.leaveOut(`protocol ${protocol}`, "only the connection is checked; use a script check");
  }
  const [send, expect] = [after(test, "send"), after(test, "expect")];
  const isPattern = expect !== undefined && /[.*+?[\](){}|^$]/.test(expect);
  if (isPattern) item.leaveOut("expect", "a regular expression; tcp_connect expects a text");
  const expected = expect === undefined || isPattern ? banner : unescape(expect);
  return {
    kind: "tcp_connect",
    parameters: {
      ...{ host, port },
      ...(isSecure && { tls: true }),
      ...(send !== undefined && { send: item.body(unescape(send)) }),
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
  item: SourceItem,
): MonitCheck {
  const certificate = certificateOf(test);
  const login = { username: after(test, "username"), password: after(test, "password") };
  const method = after(test, "method")?.toUpperCase();
  if (has(test, "headers", "hostheader", "checksum")) {
    item.leaveOut("http headers or checksum", "write request.headers by hand");
  }
  return {
    kind: "http_request",
    parameters: {
      request: { target: item.url(url, login), ...(method === "HEAD" && { method }) },
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
  const { operator, value } = rule ?? { operator: "<", value: 400 } as const;
  return statusesThat((status) => COMPARISONS[operator](status, value)) ?? null;
}

/** `content = "pattern"`: a regular expression. */
function contentOf(test: readonly MonitToken[]): written.HttpExpectation {
  const index = test.findIndex(({ word }) => word === "content");
  const pattern = index < 0 ? undefined : test.slice(index).find(({ word }) => word === "")?.text;
  if (pattern === undefined || pattern === "") return {};
  const isNot = test[index + 1]?.word === "!=";
  const isPlain = !/[\\.*+?()|[\]{}^$]/.test(pattern);
  return { [`${isNot ? "not_" : ""}${isPlain ? "body_part" : "body_pattern"}`]: pattern };
}
