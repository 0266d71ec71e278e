/** `http_request` checks of every form of response, for faults at every byte. */
import { gunzipSync, gzipSync } from "node:zlib";
import { type CheckTarget, checkTarget, TLS_FAILURES, type Trust } from "./check_faults.ts";
import type { Course } from "./fault_proxy.ts";
import { type HttpExpectations, observeTarget } from "./http_check.ts";
import { type ReadResponse, readResponse } from "./http_rules.ts";
import { startServer } from "./http_servers.ts";
import { unharmedRecords } from "./tls_records.ts";

interface HttpForm {
  readonly name: string;
  readonly answers: Readonly<Record<string, string | Uint8Array>>;
  readonly expected: HttpExpectations;
  /** Returns whether a response that came fulfils the expectation. */
  isRight(response: ReadResponse): boolean;
  /** The only connection with faults. */
  readonly connection?: number;
}

const BODY = "all is well";
const JSON_BODY = `{"state": "well"}`;

function withLength(body: string): string {
  return `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

const CHUNKED =
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nall i\r\n6;a=b\r\ns well\r\n0\r\n\r\n";
const UNTIL_CLOSE = `HTTP/1.1 200 OK\r\nServer: test\r\n\r\n${BODY}`;
const REDIRECT = "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n";

const FORMS: readonly HttpForm[] = [
  {
    name: "a header",
    answers: { "/": withLength(BODY) },
    expected: { headers: { "content-type": "text/plain" } },
    isRight: ({ status, headers }) =>
      status === 200 && headers.get("content-type")?.join(", ") === "text/plain",
  },
  {
    name: "a text in a body with a length",
    answers: { "/": withLength(BODY) },
    expected: { bodyPart: BODY },
    // It is known as soon as it has arrived.
    isRight: ({ status, body }) => status === 200 && body.includes(BODY),
  },
  {
    name: "JSON",
    answers: { "/": withLength(JSON_BODY) },
    expected: { json: { "$.state": "well" } },
    isRight: ({ status, isWhole, body }) => status === 200 && isWhole && stateOf(body) === "well",
  },
  {
    name: "a text that must not be in a body in chunks",
    answers: { "/": CHUNKED },
    expected: { notBodyPart: "error" },
    isRight: ({ status, isWhole }) => status === 200 && isWhole,
  },
  {
    name: "a whole body up to the end of its connection",
    answers: { "/": UNTIL_CLOSE },
    expected: { bodyPattern: `^${BODY}$` },
    isRight: ({ status, isWhole, body }) => status === 200 && isWhole && body === BODY,
  },
  {
    name: "a compressed body",
    answers: { "/": compressed(BODY) },
    expected: { bodyPattern: `^${BODY}$` },
    // It has its own length and checksum, which prove that it is complete.
    isRight: ({ status, body }) => status === 200 && inflated(body) === BODY,
  },
  ...[undefined, 1].map((connection): HttpForm => ({
    name: `a redirect, with faults ${connection === undefined ? "before" : "behind"} it`,
    answers: { "/": REDIRECT, "/there": withLength(BODY) },
    expected: { notBodyPart: "error" },
    isRight: ({ status, isWhole }) => status === 200 && isWhole,
    ...connection !== undefined && { connection },
  })),
];

function stateOf(json: string): unknown {
  try {
    return JSON.parse(json).state;
  } catch {
    return undefined;
  }
}

function compressed(body: string): Uint8Array {
  const content = gzipSync(body);
  const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${content.length}\r\n\r\n`;
  return Uint8Array.from([...new TextEncoder().encode(head), ...content]);
}

/** The flags of a gzip member with a meaning (RFC 1952, section 2.3.1); the runtime reads no others. */
const GZIP_FLAGS = 0x1f;

function inflated(body: string): string | null {
  const bytes = Uint8Array.from(body, (character) => character.charCodeAt(0));
  bytes[3] = (bytes[3] ?? 0) & GZIP_FLAGS;
  try {
    return new TextDecoder().decode(gunzipSync(bytes));
  } catch {
    return null;
  }
}

/** Starts a check of each form of response, in clear text. */
export function startHttpTargets(): readonly CheckTarget[] {
  return FORMS.map(({ name, answers, expected, isRight, connection }) =>
    checkTarget({
      name: `http_request: ${name}`,
      server: startAnswers(answers),
      ...connection !== undefined && { connection },
      ask: (port, { timeoutMs, clock }) =>
        observeTarget(`http://127.0.0.1:${port}/`, { ...expected, timeoutMs, clock }),
      isRight: (courses) =>
        courses.some(({ server }) => {
          const response = readResponse(server);
          return response !== null && isRight(response);
        }),
      sentence: SENTENCE,
    })
  );
}

/** Its connections may linger; see the targets of `tls_certificate`. */
const UNVERIFIED: HttpExpectations = { request: { tls: { verify: false } } };

/**
 * A form of response, and how many records at the end may be harmed: the last record marks the end. If nothing else does,
 * it must have arrived.
 */
const TLS_FORMS: Readonly<
  Record<string, readonly [answer: string, HttpExpectations, needlessRecords: number]>
> = {
  "a body with a length": [withLength(BODY), { notBodyPart: "error" }, 1],
  "a whole body up to the end of its connection": [UNTIL_CLOSE, { notBodyPart: "error" }, 0],
  "a certificate": [withLength(BODY), {
    certificate: { warningBeforeExpiryMs: 0, criticalBeforeExpiryMs: 0 },
  }, 1],
  "a body with a length, unverified": [withLength(BODY), { notBodyPart: "error", ...UNVERIFIED }, 1],
  "a whole body up to the end of an unverified connection": [
    UNTIL_CLOSE,
    { notBodyPart: "error", ...UNVERIFIED },
    0,
  ],
};

/** Starts a check of each form of response, over TLS. */
export function startTlsHttpTargets({ certificate, path }: Trust): readonly CheckTarget[] {
  return Object.entries(TLS_FORMS).map(([name, [answer, expected, needlessRecords]]) =>
    checkTarget({
      name: `http_request over TLS: ${name}`,
      // The connection that reads a certificate may; see the targets of `tls_certificate`.
      ...(expected.certificate ?? expected.request) !== undefined && { mayLinger: true },
      server: startAnswers({ "/": answer }, certificate),
      ask: (port, { timeoutMs, clock }) => {
        const request = { tls: expected.request?.tls ?? { caFile: path } };
        return observeTarget(`https://127.0.0.1:${port}/`, { ...expected, request, timeoutMs, clock });
      },
      isRight: (courses, whole) => unharmed(courses) >= unharmed(whole) - needlessRecords,
      sentence: SENTENCE,
    })
  );
}

/** On the connection where most of them came. */
function unharmed(courses: readonly Course[]): number {
  return Math.max(0, ...courses.map(({ server }) => unharmedRecords(server)));
}

function startAnswers(
  answers: Readonly<Record<string, string | Uint8Array>>,
  certificate?: Trust["certificate"],
): ReturnType<typeof startServer> {
  return startServer(async (visitor) => {
    const [, path = ""] = /^\S+ (\S+) /.exec(await visitor.readHead()) ?? [];
    // If a fault has changed the path, it responds nevertheless; only the one after a redirect is required.
    await visitor.send(answers[path] ?? answers["/"] ?? "");
  }, certificate === undefined ? {} : { certificate });
}

const HEAD_FAILURES = [
  "response has a malformed content-length",
  "response has a malformed header",
  "response has a transfer-encoding that its HTTP version does not have",
  "response has no valid status",
  "response is not HTTP",
  "connection closed before a response head",
  "connection reset by the server",
  "server sent unexpected data",
  "server ended the connection with a TLS alert \\([a-z ]+\\)",
  "data of the server cannot be decrypted: it was altered in transit",
  "data of the server is no longer valid TLS",
];

const BODY_FAILURES = [
  "compressed data is malformed",
  "compressed data is cut short",
  "connection closed early or malformed body",
];

const VIOLATIONS = [
  "status is \\d{3}, expected 200",
  `header "content-type" is (?:".{0,40}"|missing), expected "text/plain"`,
  `body does not contain "all is well"`,
  `body does not match "\\^all is well\\$"`,
  "body is not JSON",
  "body is empty, expected JSON",
  `json "\\$\\.state" .*`,
];

const ENDS = [
  `timeout after [\\d.]+ s(?:, before a response head from \\S+| while reading the body)`,
  `reading the response head from \\S+ failed: (?:${HEAD_FAILURES.join("|")})`,
  `reading the body failed: (?:${BODY_FAILURES.join("|")})`,
  `TLS handshake with \\S+ failed: (?:${TLS_FAILURES.join("|")})`,
  `reading the certificate: (?:TLS handshake with \\S+ failed: (?:${
    TLS_FAILURES.join("|")
  })|timeout after [\\d.]+ s (?:while|during) .*)`,
  `redirect loop, left after 10 redirects`,
  `more than 10 redirects`,
  `redirect \\(status 302\\) .*`,
  `status is 302 without a Location, expected 200`,
];

const SENTENCE = new RegExp(
  `^(?:(?:${VIOLATIONS.join("|")})(?:; |$| (?=\\()))*(?:${ENDS.join("|")})?(?: ?\\(redirected to .*\\))?$`,
);
