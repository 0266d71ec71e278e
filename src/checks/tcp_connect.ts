import { type CheckOf, type CheckResult, checkResult } from "../domain/check.ts";
import type { TcpConnectParameters } from "../domain/generated/config.ts";
import { hostAndPort, permissionsOfTls } from "../domain/runtime_permissions.ts";
import type { CheckKindEntry, ObserveContext, ParameterProblem } from "../domain/check_kind.ts";
import type {
  Connection,
  ConnectionPhase,
  ConnectionTarget,
  TlsExpectations,
} from "../domain/connections.ts";
import { failureVerdict, refusalBy, timeoutText, trustErrors, trustWarnings } from "./certificate_verdict.ts";
import { observeWithAuthorities } from "./every_address.ts";
import { roundedMs } from "../shared/json_values.ts";
import { quote } from "../shared/text.ts";
import { hostPortIn, nameFor, nameForPath, portSubject } from "./targets.ts";
import { isLoopback } from "../shared/ip_address.ts";

export const tcpConnectKind: CheckKindEntry<"tcp_connect"> = {
  observe: observeTcpConnect,
  limit: "network",
  target: {
    form: "HOST:PORT",
    claims: ({ text, pathKind }) => hostPortIn(text) !== null || pathKind === "other",
    parametersOf: ({ text, path, pathKind }) => {
      const found = hostPortIn(text);
      if (found !== null) return { ...found };
      return pathKind === "other" ? { socket: path } : null;
    },
    nameOf: ({ text, path }) => {
      const { host, port } = hostPortIn(text) ?? { host: nameForPath(path), port: "" };
      return nameFor(`${isLoopback(host) ? "port" : host}_${port}`);
    },
    subjectsOf: ({ parameters: { host = "", port = 0, socket } }) => [
      socket === undefined ? portSubject(host, port) : `socket ${socket}`,
    ],
    textOf: ({ parameters: { host = "", port = 0, socket } }) => socket ?? hostAndPort(host, port),
    goesDown: true,
  },
  warnings: findWarnings,
  errors: (check) => [...findErrors(check)],
  requiredPermissions: ({ parameters }) => {
    const { host, port, socket } = targetOf(parameters);
    if (socket !== undefined) return { read: [socket], write: [socket] };
    const { tls, caFile } = parameters;
    return {
      net: [hostAndPort(host, port)],
      ...permissionsOfTls(tls),
      ...caFile !== undefined && { read: [caFile] },
    };
  },
};

/** `errors` makes sure that there is either a socket, or host and port. */
function targetOf({ host = "", port = 0, connectTo = host, socket }: TcpConnectParameters): ConnectionTarget {
  return { host: connectTo, port, ...socket !== undefined && { socket } };
}

/**
 * Connects, sends the configured text, and reads until the expected text has arrived. A failed connection, or another
 * text, is a violation; the output names the phase. The timeout covers everything.
 */
async function observeTcpConnect(
  check: CheckOf<"tcp_connect">,
  context: ObserveContext,
): Promise<CheckResult> {
  const { host = "", tls, serverName = host } = check.parameters;
  const refuses = refusalBy(check.parameters);
  return await observeWithAuthorities(check, targetOf(check.parameters), {
    context,
    observe: (target, { authorities, signal }) => {
      const expectations = {
        serverName,
        authorities,
        ...refuses !== undefined && { refuses },
      };
      return observe(target, { ...context.system, check, signal, ...tls && { tls: expectations } });
    },
  });
}

interface Run extends Pick<ObserveContext["system"], "clock" | "connections"> {
  readonly check: CheckOf<"tcp_connect">;
  /** Absent: in clear text. */
  readonly tls?: TlsExpectations;
  /** Ends it: the timeout, or the end of the run. */
  readonly signal: AbortSignal;
}

async function observe(target: ConnectionTarget, { check, clock, connections, signal, tls }: Run) {
  const { send, expect } = check.parameters;
  const course = new Course(() => clock.monotonicMs());
  const search = expect === undefined ? null : searchAnswer(expect);
  const limitReached = (): CheckResult =>
    violated(check, course, limitText(check, { course, search, target }));
  let connection: Connection | null = null;
  try {
    connection = await connections.connect(
      { ...target, ...tls !== undefined && { tls } },
      { onPhase: (phase) => course.enter(phase), signal },
    );
    course.enter("sending");
    if (send !== undefined) await connection.write(new TextEncoder().encode(send));
    course.enter("reading");
    const violation = search === null ? null : await readUntilFound(connection, search, check);
    if (violation === null) return passed(check, course);
    if (signal.aborted) return limitReached();
    // The text may be behind what was read.
    return search?.isCut === true
      ? checkResult("unknown", violation, course.metrics())
      : violated(check, course, violation);
  } catch (error) {
    if (signal.aborted) return limitReached();
    const verdict = failureVerdict(connections.explain(error, target, course.phase), target);
    const text = `${verdict.text}${soFar(search)}`;
    return verdict.isObstacle
      ? checkResult("unknown", text, course.metrics())
      : violated(check, course, text);
  } finally {
    connection?.close();
  }
}

/** The current phase, and when the connection was established. */
class Course {
  phase: ConnectionPhase = "connecting";
  readonly #nowMs: () => number;
  readonly #startMs: number;
  #connectedMs: number | null = null;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
  }

  enter(phase: ConnectionPhase): void {
    if (this.phase === "connecting" && phase !== "connecting") this.#connectedMs = this.#nowMs();
    this.phase = phase;
  }

  metrics(): Readonly<Record<string, number>> {
    const since = (timeMs: number): number => roundedMs(timeMs - this.#startMs);
    return {
      ...this.#connectedMs !== null && { connect_ms: since(this.#connectedMs) },
      total_ms: since(this.#nowMs()),
    };
  }
}

/** Returns the error of the response; `null` if the expected text arrived. */
async function readUntilFound(
  connection: Connection,
  search: AnswerSearch,
  { parameters: { expect = "" } }: CheckOf<"tcp_connect">,
): Promise<string | null> {
  while (!search.found) {
    if (search.isCut) {
      return `cannot search all of the response for ${quote(expect)}, only its first ${
        ANSWER_BYTES_MAX / 1024
      } KiB: ${quote(search.text())}`;
    }
    const bytes = await connection.read();
    if (bytes === null) {
      return search.length === 0
        ? `connection closed by the server without a response, expected ${quote(expect)}`
        : `response does not contain ${quote(expect)}: ${quote(search.text())}`;
    }
    search.add(bytes);
  }
  return null;
}

function limitText(
  { parameters: { expect = "" }, timeoutMs }: CheckOf<"tcp_connect">,
  { course, search, target }: {
    readonly course: Course;
    readonly search: AnswerSearch | null;
    readonly target: ConnectionTarget;
  },
): string {
  const text = timeoutText(timeoutMs, course.phase, target);
  return course.phase === "reading" ? `${text}, expected ${quote(expect)}${soFar(search)}` : text;
}

function soFar(search: AnswerSearch | null): string {
  return search === null || search.length === 0 ? "" : `; it had sent ${quote(`${search.text()}…`)}`;
}

function passed({ parameters: { expect, tls } }: CheckOf<"tcp_connect">, course: Course): CheckResult {
  const how = tls ? "connected with TLS" : "connected";
  const output = expect === undefined ? how : `${how}, response contains ${quote(expect)}`;
  return checkResult("ok", output, course.metrics());
}

function violated(
  { parameters: { asWarning } }: CheckOf<"tcp_connect">,
  course: Course,
  text: string,
): CheckResult {
  return checkResult(asWarning ? "warning" : "critical", text, course.metrics());
}

function findWarnings({ parameters }: CheckOf<"tcp_connect">) {
  const { send, expect, tls, port } = parameters;
  const warnings: ParameterProblem[] = [...trustWarnings(parameters)];
  if (expect !== undefined && new TextEncoder().encode(expect).length > ANSWER_BYTES_MAX) {
    warnings.push({
      path: ["expect"],
      message: `is longer than the ${ANSWER_BYTES_MAX / 1024} KiB that are read of a response`,
    });
  }
  if (send === "") warnings.push({ path: ["send"], message: "is empty, so nothing is sent" });
  if (!tls && port !== undefined && TLS_PORTS.has(port)) {
    warnings.push({ path: ["port"], message: `${port} is usually a TLS port, but "tls" is not set` });
  }
  return warnings;
}

const TCP_KEYS = ["host", "port", "connectTo", "serverName", "fingerprint", "verify", "caFile"] as const;

const TLS_KEYS: readonly string[] = ["server_name", "fingerprint", "verify", "ca_file"];

function* findErrors({ parameters }: CheckOf<"tcp_connect">): Generator<ParameterProblem> {
  const { host, port, socket, tls, everyAddress, fingerprint, send } = parameters;
  const given = [
    ...TCP_KEYS.filter((key) => parameters[key] !== undefined).map((key) =>
      key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    ),
    ...tls ? ["tls"] : [],
    ...everyAddress ? ["every_address"] : [],
  ];
  if (socket !== undefined) {
    for (const key of given) {
      yield { path: [key], message: `"${key}" cannot be used with "socket": remove one of them` };
    }
  } else if (host === undefined || port === undefined) {
    yield { path: [], message: `expected "host" and "port", or "socket"` };
  }
  yield* trustErrors(parameters);
  if (fingerprint !== undefined && send !== undefined) {
    yield {
      path: ["send"],
      message:
        '"send" cannot be used with "fingerprint": a server with a copy of the certificate could read it',
    };
  }
  if (tls) return;
  for (const key of given) {
    if (socket !== undefined || !TLS_KEYS.includes(key)) continue;
    yield { path: [key], message: `"${key}" requires "tls": true` };
  }
}

/** HTTPS, SMTP, LDAP, IMAP and POP3 with TLS from the start (IANA's list of service names). */
const TLS_PORTS: ReadonlySet<number> = new Set([443, 465, 636, 993, 995]);

const ANSWER_BYTES_MAX = 64 * 1024;

/** The part of a response that was read, and whether it contains the expected text. */
interface AnswerSearch {
  readonly found: boolean;
  /** Whether more has come than is read. */
  readonly isCut: boolean;
  /** How much has come, in bytes. */
  readonly length: number;
  add(bytes: Uint8Array): void;
  /** Returns the beginning of the received bytes, decoded as UTF-8. */
  text(): string;
}

/**
 * Searches for a text in a response that arrives in parts of any size. It compares bytes, so that any response can be
 * read, and compares each byte about once, so that a response in many parts costs no more than a whole one.
 */
function searchAnswer(expected: string): AnswerSearch {
  const wanted = new TextEncoder().encode(expected);
  const answer = new Uint8Array(ANSWER_BYTES_MAX);
  let length = 0;
  let found = false;
  let isCut = false;
  return {
    get found() {
      return found;
    },
    get isCut() {
      return isCut;
    },
    get length() {
      return length;
    },
    add(bytes) {
      // The expected text may have begun in an earlier part.
      const from = Math.max(0, length - wanted.length + 1);
      const part = bytes.subarray(0, ANSWER_BYTES_MAX - length);
      answer.set(part, length);
      length += part.length;
      isCut ||= part.length < bytes.length;
      found ||= holds(answer.subarray(from, length), wanted);
    },
    text: () => new TextDecoder().decode(answer.subarray(0, length)),
  };
}

function holds(bytes: Uint8Array, wanted: Uint8Array): boolean {
  const [first] = wanted;
  if (first === undefined) return true;
  for (let start = bytes.indexOf(first); start >= 0; start = bytes.indexOf(first, start + 1)) {
    if (wanted.every((byte, index) => bytes[start + index] === byte)) return true;
  }
  return false;
}
