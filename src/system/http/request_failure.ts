/**
 * The runtime reports the reason of a failed request only in the text of its errors. The URL is removed from it first:
 * it may contain credentials and words that look like an error.
 */
import { messageOf } from "../../shared/describe_error.ts";
import { oneLine } from "../../shared/truncate.ts";
import { describeDuration } from "../../domain/duration.ts";
import type { RequestFailure } from "../../domain/requests.ts";
import { explainTrustError } from "../tls/trust.ts";

interface ErrorCircumstances {
  /** Whether it comes from a connection on which the TLS handshake had succeeded. @default {false} */
  readonly isBehindHandshake?: boolean;
}

/**
 * Describes an error of the runtime's `fetch`, or of reading the body of its response.
 *
 * The description never contains the target's credentials, path or query; host and port at most.
 */
export function explainRequestError(
  error: unknown,
  target: string,
  { isBehindHandshake = false }: ErrorCircumstances = {},
): RequestFailure {
  if (error instanceof Deno.errors.NotCapable) {
    return { phase: "permission", reason: missingGrant(error, target) };
  }
  const trust = explainTrustError(error);
  if (trust !== null) return { phase: "settings", reason: trust };
  // By its name, since its module is loaded only where it is needed.
  if (error instanceof Error && error.name === "TlsSettingsError") {
    return { phase: "settings", reason: error.message };
  }
  const text = `${isBehindHandshake ? "(SendRequest) " : ""}${withoutAddress(messageOf(error))}`;
  for (const { pattern, phase, reason } of RULES) {
    const found = pattern.exec(text);
    if (found !== null) {
      return { phase, reason: typeof reason === "string" ? reason : reason(found[1] ?? "") };
    }
  }
  return { phase: phaseOfUnknown(text), reason: withoutNoise(text) };
}

/** The meaning of one kind of error text. The first rule that matches decides. */
interface Rule {
  readonly pattern: RegExp;
  readonly phase: RequestFailure["phase"];
  /** A function gets the pattern's first group. */
  readonly reason: string | ((detail: string) => string);
}

const NOT_DECRYPTED = "data of the server cannot be decrypted: it was altered in transit";

const NOT_TLS_ANY_MORE = "data of the server is no longer valid TLS";

/** Texts in errors of a connection whose handshake had succeeded. */
function afterHandshake({ source }: RegExp): RegExp {
  return new RegExp(`\\(SendRequest\\).*(?:${source})`);
}

/** Puts spaces into a name of the TLS library: `HandshakeFailure` becomes `handshake failure`. */
function wordsOf(name: string): string {
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, " ").toLowerCase();
}

/** Certificates come first: their texts may quote a part of the certificate. */
const RULES: readonly Rule[] = [
  {
    pattern: /invalid peer certificate: UnknownIssuer/,
    phase: "TLS",
    reason: "certificate is not trusted (unknown issuer)",
  },
  {
    pattern: /invalid peer certificate: .*CaUsedAsEndEntity/,
    phase: "TLS",
    reason: "certificate is not trusted (self-signed or a CA certificate)",
  },
  {
    pattern: /invalid peer certificate: certificate expired: .*\((\d+) seconds ago\)/,
    phase: "TLS",
    reason: (seconds) => `certificate expired ${describeDuration(Number(seconds) * 1000)} ago`,
  },
  {
    pattern: /invalid peer certificate: (?:Expired|certificate expired)/,
    phase: "TLS",
    reason: "certificate expired",
  },
  {
    pattern: /invalid peer certificate: (?:NotValidYet|certificate not valid yet)/,
    phase: "TLS",
    reason: "certificate is not valid yet",
  },
  {
    pattern: /invalid peer certificate: certificate not valid for name ("[^"]*")/,
    phase: "TLS",
    reason: (name) => `certificate is not valid for name ${name}`,
  },
  {
    pattern: /invalid peer certificate: NotValidForName/,
    phase: "TLS",
    reason: "certificate is not valid for this name",
  },
  {
    pattern: /invalid peer certificate: .*?(\w+)\W*$/,
    phase: "TLS",
    reason: (name) => `certificate is not accepted (${wordsOf(name)})`,
  },
  {
    pattern: /received fatal alert: CertificateRequired/,
    phase: "TLS",
    reason: "server requires a client certificate",
  },
  // After a handshake that this side has completed, the server may still reject its certificate; other errors do not
  // belong to the handshake, and the request may have been read (RFC 8446, section 6.2).
  {
    pattern: /received fatal alert: (\w*Certificate\w*|UnknownCA|AccessDenied|DecryptError)/,
    phase: "TLS",
    reason: (alert) => `server refused the handshake (${wordsOf(alert)})`,
  },
  {
    pattern: afterHandshake(/received fatal alert: (\w+)/),
    phase: "head",
    reason: (alert) => `server ended the connection with a TLS alert (${wordsOf(alert)})`,
  },
  // The words of the HTTP library, which are hardly others than those of the TLS library.
  {
    pattern: /received unexpected message from connection/,
    phase: "head",
    reason: "server sent unexpected data",
  },
  { pattern: afterHandshake(/received corrupt message/), phase: "head", reason: NOT_TLS_ANY_MORE },
  { pattern: afterHandshake(/received unexpected|peer misbehaved/), phase: "head", reason: NOT_TLS_ANY_MORE },
  { pattern: afterHandshake(/cannot decrypt peer's message/), phase: "head", reason: NOT_DECRYPTED },
  { pattern: /cannot decrypt peer's message/, phase: "TLS", reason: NOT_DECRYPTED },
  {
    pattern: /received corrupt message of type InvalidContentType/,
    phase: "TLS",
    reason: "response is not TLS",
  },
  { pattern: /received corrupt message/, phase: "TLS", reason: "response is malformed TLS" },
  {
    pattern: /received fatal alert: (\w+)/,
    phase: "TLS",
    reason: (alert) => `server refused the handshake (${wordsOf(alert)})`,
  },
  {
    pattern: /peer misbehaved: (\w+)/,
    phase: "TLS",
    reason: (fault) => `TLS protocol violation by the server (${wordsOf(fault)})`,
  },
  {
    pattern: /received unexpected/,
    phase: "TLS",
    reason: "TLS protocol violation by the server (unexpected message)",
  },
  { pattern: /peer is incompatible/, phase: "TLS", reason: "no TLS version or cipher in common" },
  { pattern: /tls handshake eof/, phase: "TLS", reason: "connection closed during the handshake" },
  {
    pattern: /Too many open files|os error 10024\b/,
    phase: "machine",
    reason: "too many open files on this machine",
  },
  {
    pattern: /dns error: .*Temporary failure in name resolution/,
    phase: "resolving",
    reason: "no response from a name server",
  },
  { pattern: /dns error/, phase: "resolving", reason: "name does not resolve" },
  { pattern: /Connection refused|os error 10061\b/, phase: "connecting", reason: "connection refused" },
  {
    pattern: /Network is unreachable|os error 10051\b/,
    phase: "connecting",
    reason: "network is unreachable",
  },
  { pattern: /No route to host|os error 10065\b/, phase: "connecting", reason: "no route to the host" },
  {
    pattern: /tcp connect error: .*(?:timed out|os error 10060\b)/,
    phase: "connecting",
    reason: "no response to the connection attempt",
  },
  {
    pattern: /tcp connect error: .*(?:Connection reset by peer|os error 10054\b)/,
    phase: "connecting",
    reason: "connection reset by the server",
  },
  // After the connection is established, an error of connecting is one of the handshake.
  {
    pattern: /\(Connect\): .*(?:Connection reset by peer|os error 10054\b)/,
    phase: "TLS",
    reason: "connection reset by the server",
  },
  {
    pattern: /\(SendRequest\): .*(?:[Cc]onnection reset|Broken pipe|os error 10054\b)/,
    phase: "head",
    reason: "connection reset by the server",
  },
  {
    pattern:
      /connection closed before message completed|peer closed connection without sending TLS close_notify/,
    phase: "head",
    reason: "connection closed before a response head",
  },
  { pattern: /invalid HTTP version parsed/, phase: "head", reason: "response is not HTTP" },
  { pattern: /invalid HTTP status-code parsed/, phase: "head", reason: "response has no valid status" },
  { pattern: /invalid HTTP header parsed/, phase: "head", reason: "response has a malformed header" },
  {
    pattern: /invalid content-length parsed/,
    phase: "head",
    reason: "response has a malformed content-length",
  },
  {
    pattern: /transfer-encoding parsed/,
    phase: "head",
    reason: "response has a transfer-encoding that its HTTP version does not have",
  },
  { pattern: /message head is too large/, phase: "head", reason: "head is too large" },
  {
    pattern: /error reading a body from connection/,
    phase: "body",
    reason: "connection closed early or malformed body",
  },
  { pattern: /unexpected end of file/, phase: "body", reason: "compressed data is cut short" },
  {
    pattern: /gzip|deflate|brotli|CRC computed|amount of bytes read/,
    phase: "body",
    reason: "compressed data is malformed",
  },
  { pattern: /Connection reset by peer/, phase: "body", reason: "connection reset by the server" },
];

function missingGrant(error: Error, target: string): string {
  const grant = /access to "([^"]+)"/.exec(error.message)?.[1] ?? hostAndPort(target);
  return `needs network access to "${grant}": grant --allow-net=${grant}`;
}

function hostAndPort(target: string): string {
  const url = new URL(target);
  if (url.port !== "") return url.host;
  return `${url.hostname}:${url.protocol === "https:" ? 443 : 80}`;
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
