/**
 * The runtime reports the reason of a failed request only in the text of its errors. The URL is removed from it first:
 * it may contain credentials and words that look like an error.
 */
import { messageOf, systemCodeOf } from "../shared/describe_error.ts";
import { oneLine } from "../shared/text.ts";
import { hostAndPort, hostAndPortOf } from "../domain/runtime_permissions.ts";
import { describeDuration } from "../domain/duration.ts";
import type {
  ConnectionFailure,
  ConnectionPhase,
  ConnectionTarget,
  RequestFailure,
} from "../domain/connections.ts";
import { explainTrustError } from "./tls/trust.ts";
import { NO_NAME_SERVER } from "../shared/failure_words.ts";
import { StartTlsRefusal } from "./tls/start_tls.ts";

/** Describes an error of the runtime's `fetch`, without the target's credentials, path and query. */
export function explainRequestError(
  error: unknown,
  target: string,
  { isBehindHandshake = false }: { readonly isBehindHandshake?: boolean } = {},
): RequestFailure {
  if (error instanceof Deno.errors.NotCapable) {
    const place = /access to "([^"]+)"/.exec(error.message)?.[1] ?? hostAndPortOf(target);
    return { phase: "permission", reason: missingNetwork(place) };
  }
  const trust = explainTrustError(error);
  if (trust !== null) return { phase: "settings", reason: trust };
  // By its name, since its module is loaded only where it is needed.
  if (error instanceof Error && error.name === "TlsSettingsError") {
    return { phase: "settings", reason: error.message };
  }
  const text = `${isBehindHandshake ? "(SendRequest) " : ""}${withoutAddress(messageOf(error))}`;
  for (const [phase, pattern, reason] of RULES) {
    const found = pattern.exec(text);
    if (found !== null) {
      return { phase, reason: typeof reason === "string" ? reason : reason(found[1] ?? "") };
    }
  }
  return { phase: phaseOfUnknown(text), reason: withoutNoise(text) };
}

/** The meaning of one kind of error text; a function gets the pattern's first group. The first rule that matches decides. */
type Rule = readonly [
  phase: RequestFailure["phase"],
  pattern: RegExp,
  reason: string | ((detail: string) => string),
];

const NOT_DECRYPTED = "data of the server cannot be decrypted: it was altered in transit";

const NOT_TLS_ANY_MORE = "data of the server is no longer valid TLS";

function afterHandshake({ source }: RegExp): RegExp {
  return new RegExp(`\\(SendRequest\\).*(?:${source})`);
}

/** Puts spaces into a name of the TLS library: `HandshakeFailure` becomes `handshake failure`. */
function wordsOf(name: string): string {
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, " ").toLowerCase();
}

/** By what is behind `invalid peer certificate: `. */
const CERTIFICATE_RULES: readonly (readonly [pattern: RegExp, reason: Rule[2]])[] = [
  [/UnknownIssuer/, "certificate is not trusted (unknown issuer)"],
  [/.*CaUsedAsEndEntity/, "certificate is not trusted (self-signed or a CA certificate)"],
  [
    /certificate expired: .*\((\d+) seconds ago\)/,
    (seconds) => `certificate expired ${describeDuration(Number(seconds) * 1000)} ago`,
  ],
  [/(?:Expired|certificate expired)/, "certificate expired"],
  [/(?:NotValidYet|certificate not valid yet)/, "certificate is not valid yet"],
  [/certificate not valid for name ("[^"]*")/, (name) => `certificate is not valid for name ${name}`],
  [/NotValidForName/, "certificate is not valid for this name"],
  [/.*?(\w+)\W*$/, (name) => `certificate is not accepted (${wordsOf(name)})`],
];

const RESET = "connection reset by the server";
const NO_RESPONSE = "no response to the connection attempt";

/** Certificates come first: their texts may quote a part of the certificate. */
const RULES: readonly Rule[] = [
  ...CERTIFICATE_RULES.map(([{ source }, reason]): Rule => [
    "TLS",
    new RegExp(`invalid peer certificate: ${source}`),
    reason,
  ]),
  ["TLS", /received fatal alert: CertificateRequired/, "server requires a client certificate"],
  // After a handshake that this side has completed, the server may still reject its certificate; other errors do not
  // belong to the handshake, and the request may have been read (RFC 8446, section 6.2).
  [
    "TLS",
    /received fatal alert: (\w*Certificate\w*|UnknownCA|AccessDenied|DecryptError)/,
    (alert) => `server refused the handshake (${wordsOf(alert)})`,
  ],
  [
    "head",
    afterHandshake(/received fatal alert: (\w+)/),
    (alert) => `server ended the connection with a TLS alert (${wordsOf(alert)})`,
  ],
  // The words of the HTTP library, which are hardly others than those of the TLS library.
  ["head", /received unexpected message from connection/, "server sent unexpected data"],
  ["head", afterHandshake(/received corrupt message/), NOT_TLS_ANY_MORE],
  ["head", afterHandshake(/received unexpected|peer misbehaved/), NOT_TLS_ANY_MORE],
  ["head", afterHandshake(/cannot decrypt peer's message/), NOT_DECRYPTED],
  ["TLS", /cannot decrypt peer's message/, NOT_DECRYPTED],
  ["TLS", /received corrupt message of type InvalidContentType/, "response is not TLS"],
  ["TLS", /received corrupt message/, "response is malformed TLS"],
  ["TLS", /received fatal alert: (\w+)/, (alert) => `server refused the handshake (${wordsOf(alert)})`],
  ["TLS", /peer misbehaved: (\w+)/, (fault) => `TLS protocol violation by the server (${wordsOf(fault)})`],
  ["TLS", /received unexpected/, "TLS protocol violation by the server (unexpected message)"],
  ["TLS", /peer is incompatible/, "no TLS version or cipher in common"],
  ["TLS", /tls handshake eof/, "connection closed during the handshake"],
  ["machine", /Too many open files|os error 10024\b/, "too many open files on this machine"],
  ["resolving", /dns error: .*Temporary failure in name resolution/, NO_NAME_SERVER],
  ["resolving", /dns error/, "name does not resolve"],
  ["connecting", /Connection refused|os error 10061\b/, "connection refused"],
  ["connecting", /Network is unreachable|os error 10051\b/, "network is unreachable"],
  ["connecting", /No route to host|os error 10065\b/, "no route to the host"],
  ["connecting", /tcp connect error: .*(?:timed out|os error 10060\b)/, NO_RESPONSE],
  ["connecting", /tcp connect error: .*(?:Connection reset by peer|os error 10054\b)/, RESET],
  // After the connection is established, an error of connecting is one of the handshake.
  ["TLS", /\(Connect\): .*(?:Connection reset by peer|os error 10054\b)/, RESET],
  ["head", /\(SendRequest\): .*(?:[Cc]onnection reset|Broken pipe|os error 10054\b)/, RESET],
  [
    "head",
    /connection closed before message completed|peer closed connection without sending TLS close_notify/,
    "connection closed before a response head",
  ],
  ["head", /invalid HTTP version parsed/, "response is not HTTP"],
  ["head", /invalid HTTP status-code parsed/, "response has no valid status"],
  ["head", /invalid HTTP header parsed/, "response has a malformed header"],
  ["head", /invalid content-length parsed/, "response has a malformed content-length"],
  [
    "head",
    /transfer-encoding parsed/,
    "response has a transfer-encoding that its HTTP version does not have",
  ],
  ["head", /message head is too large/, "head is too large"],
  ["body", /error reading a body from connection/, "connection closed early or malformed body"],
  ["body", /unexpected end of file/, "compressed data is cut short"],
  ["body", /gzip|deflate|brotli|CRC computed|amount of bytes read/, "compressed data is malformed"],
  ["body", /Connection reset by peer/, RESET],
];

/** The place is a host and a port. */
export function missingNetwork(place: string): string {
  return `needs network access to "${place}": grant --allow-net=${place}`;
}

/** A URL has no spaces, so the first `): client error (` is the runtime's own. */
function withoutAddress(text: string): string {
  return text
    .replace(/^error sending request .*?\): (?=client error \()/s, "")
    .replace(/\bhttps?:\/\/\S+/gi, "the target");
}

function phaseOfUnknown(text: string): RequestFailure["phase"] {
  if (text.includes("(Connect)")) return "connecting";
  return text.includes("(SendRequest)") ? "head" : "body";
}

function withoutNoise(text: string): string {
  const reason = oneLine(text.replace(/client error \(\w+\): /, "").replace(/ ?\(os error \d+\)/g, ""));
  return reason === "" ? "the runtime gives no reason" : reason;
}

export function explainConnectionError(
  error: unknown,
  { host, port, socket }: ConnectionTarget,
  phase: ConnectionPhase,
): ConnectionFailure {
  const code = systemCodeOf(error);
  if (error instanceof Deno.errors.NotCapable && socket !== undefined) {
    const access = error.message.includes("write access") ? "write" : "read";
    const reason = `needs ${access} access to "${socket}": grant --allow-${access}=${socket}`;
    return { phase: "permission", reason };
  }
  if (error instanceof Deno.errors.NotCapable || code === "EPERM") {
    const [, datagrams] = /^UDP (.*)$/.exec(messageOf(error)) ?? [];
    return { phase: "permission", reason: missingNetwork(datagrams ?? hostAndPort(host, port)) };
  }
  const trust = explainTrustError(error);
  if (trust !== null) return { phase: "settings", reason: trust };
  if (error instanceof StartTlsRefusal) return { phase, reason: error.message };
  const text = `${messageOf(error)} ${code}`;
  if (phase === "TLS" && ENDED.test(text)) return { phase, reason: "connection closed during the handshake" };
  const rule = CONNECTION_RULES.find(([, pattern]) => pattern.test(text));
  if (rule !== undefined) return { phase: rule[0] ?? phase, reason: rule[2] };
  const isBehindHandshake = phase === "sending" || phase === "reading";
  const { reason } = explainRequestError(error, "https://server.invalid", { isBehindHandshake });
  return { phase, reason };
}

const ENDED = /unexpected end of file|peer closed connection without sending/;

/** The meaning of one kind of error text, with its phase if known. The first that matches decides. */
type ConnectionRule = readonly [phase: ConnectionFailure["phase"] | null, pattern: RegExp, reason: string];

const CONNECTION_RULES: readonly ConnectionRule[] = [
  ["machine", /Too many open files|EMFILE|os error 10024\b/, "too many open files on this machine"],
  ["resolving", /Temporary failure in name resolution|EAI_AGAIN/, NO_NAME_SERVER],
  [
    "resolving",
    /failed to lookup address|No such host is known|No address associated|ENOTFOUND/,
    "name does not resolve",
  ],
  [null, /No such file or directory/, "socket does not exist"],
  ["machine", /Permission denied/, "permission denied"],
  [null, /Connection refused|ECONNREFUSED|os error 10061\b/, "connection refused"],
  // `node:tls` over a socket reports a reset in the last words.
  [null, /Connection reset by peer|ECONNRESET|os error 10054\b|write UNKNOWN/, RESET],
  [null, /Broken pipe|EPIPE/, "connection closed by the server"],
  [null, /Network is unreachable|ENETUNREACH|os error 10051\b/, "network is unreachable"],
  [null, /No route to host|EHOSTUNREACH|os error 10065\b/, "no route to the host"],
  [null, /Connection timed out|ETIMEDOUT|os error 10060\b/, NO_RESPONSE],
  [null, ENDED, "connection closed by the server"],
];
