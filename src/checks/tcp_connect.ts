import { type CheckOf, type CheckResult, checkResult } from "../domain/check.ts";
import type { TcpConnectParameters, TcpStep } from "../domain/generated/config.ts";
import { hostAndPort, permissionsOfServer } from "../domain/runtime_permissions.ts";
import type { CheckKindEntry, ObserveContext, ParameterProblem } from "../domain/check_kind.ts";
import type {
  Connection,
  ConnectionPhase,
  ConnectionTarget,
  TlsExpectations,
} from "../domain/connections.ts";
import {
  type ConnectionVerdict,
  failureVerdict,
  refusalBy,
  timeoutText,
  trustErrors,
  trustWarnings,
} from "./certificate_verdict.ts";
import { observeWithAuthorities } from "./every_address.ts";
import { roundedMs } from "../shared/json_values.ts";
import { createRedactor } from "../shared/redact.ts";
import { counted, quote } from "../shared/text.ts";
import type { DialogEnd } from "./tcp_dialog.ts";
import { hasLogin, portOf, protocolIn, stepErrors, stepsOf } from "./tcp_steps.ts";
import { hostPortIn, nameFor, nameForPath, portSubject } from "./targets.ts";
import { isLoopback } from "../shared/ip_address.ts";

export const tcpConnectKind: CheckKindEntry<"tcp_connect"> = {
  observe: observeTcpConnect,
  limit: "network",
  hasResponded: ({ metrics }) => metrics["connect_ms"] !== undefined,
  target: {
    form: "HOST:PORT or PROTOCOL://HOST[:PORT]",
    claims: ({ text, pathKind }) =>
      hostPortIn(text) !== null || protocolIn(text) !== null || pathKind === "other",
    parametersOf: ({ text, path, pathKind }) => {
      const found = hostPortIn(text) ?? protocolIn(text);
      if (found !== null) return { ...found };
      return pathKind === "other" ? { socket: path } : null;
    },
    nameOf: ({ text, path }) => {
      const dialog = protocolIn(text);
      if (dialog !== null) return nameFor(`${dialog.protocol}_${dialog.host}`);
      const { host, port } = hostPortIn(text) ?? { host: nameForPath(path), port: "" };
      return nameFor(`${isLoopback(host) ? "port" : host}_${port}`);
    },
    subjectsOf: ({ parameters }) => [
      parameters.socket === undefined
        ? portSubject(parameters.host ?? "", portOf(parameters))
        : `socket ${parameters.socket}`,
    ],
    textOf: ({ parameters }) => parameters.socket ?? hostAndPort(parameters.host ?? "", portOf(parameters)),
    goesDown: true,
  },
  warnings: findWarnings,
  errors: (check) => [...findErrors(check)],
  requiredPermissions: ({ parameters }) =>
    permissionsOfServer(targetOf(parameters), { tls: usesTls(parameters), caFile: parameters.caFile }),
};

/** `errors` makes sure that there is either a socket, or host and port. */
function targetOf(parameters: TcpConnectParameters): ConnectionTarget {
  const { host = "", connectTo = host, socket } = parameters;
  return { host: connectTo, port: portOf(parameters), ...socket !== undefined && { socket } };
}

function startsTls(parameters: TcpConnectParameters): boolean {
  return stepsOf(parameters)?.some(({ startTls }) => startTls) === true;
}

function usesTls(parameters: TcpConnectParameters): boolean {
  return parameters.tls || startsTls(parameters);
}

/**
 * Connects, sends the configured text, and reads until the expected text has arrived, or holds a dialog. A failed
 * connection, or another text, is a violation; the output names the phase. The timeout covers everything.
 */
async function observeTcpConnect(
  check: CheckOf<"tcp_connect">,
  context: ObserveContext,
): Promise<CheckResult> {
  const { host = "", serverName = host } = check.parameters;
  const refuses = refusalBy(check.parameters);
  return await observeWithAuthorities(check, targetOf(check.parameters), {
    context,
    observe: (target, { authorities, signal }) => {
      const expectations = {
        serverName,
        authorities,
        ...refuses !== undefined && { refuses },
      };
      return observe(target, { ...context, ...context.system, check, signal, tls: expectations });
    },
  });
}

interface Run extends Pick<ObserveContext["system"], "clock" | "connections">, Pick<ObserveContext, "hide"> {
  readonly check: CheckOf<"tcp_connect">;
  readonly tls: TlsExpectations;
  /** Ends it: the timeout, or the end of the run. */
  readonly signal: AbortSignal;
}

async function observe(target: ConnectionTarget, { check, clock, connections, signal, tls, hide }: Run) {
  const { send, expect } = check.parameters;
  const steps = stepsOf(check.parameters);
  const course = new Course(() => clock.monotonicMs());
  const search = expect === undefined ? null : searchAnswer(expect);
  const limitReached = (): CheckResult =>
    violated(check, course, limitText(check, { course, search, target }));
  const describe = (error: unknown): ConnectionVerdict =>
    signal.aborted
      ? { isObstacle: false, text: timeoutText(check.timeoutMs, course.phase, target) }
      : failureVerdict(connections.explain(error, target, course.phase), target);
  let connection: Connection | null = null;
  try {
    connection = await connections.connect(
      { ...target, ...check.parameters.tls && { tls } },
      { onPhase: (phase) => course.enter(phase), signal },
    );
    course.enter("sending");
    if (steps !== null) {
      const { holdDialog } = await import("./tcp_dialog.ts");
      const end = await holdDialog(connection, steps, {
        ...{ clock, tls, signal, acceptsPrompts: check.parameters.protocol === undefined },
        enter: (phase) => course.enter(phase),
      });
      hide?.(end.secrets);
      return dialogResult(end, { check, course, steps, describe });
    }
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
    const verdict = describe(error);
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

function dialogResult(
  { failure, metrics, secrets }: DialogEnd,
  { check: { parameters: { asWarning, tls, protocol } }, course, steps, describe }: {
    readonly check: CheckOf<"tcp_connect">;
    readonly course: Course;
    readonly steps: readonly TcpStep[];
    describe(error: unknown): ConnectionVerdict;
  },
): CheckResult {
  const all = { ...course.metrics(), ...metrics };
  if (failure === null) {
    const done = protocol === undefined
      ? counted(steps.length, "step")
      : `${protocol} ${
        steps.flatMap(({ expect, name }) => expect === undefined ? [] : name ?? []).join(", ")
      }`;
    return checkResult("ok", `connected${tls ? " with TLS" : ""}, ${done} passed`, all);
  }
  const { isObstacle = false, text } = "error" in failure ? describe(failure.error) : failure;
  const received = "error" in failure && course.phase === "reading" ? failure.received : "";
  const condition = isObstacle ? "unknown" : asWarning ? "warning" : "critical";
  return checkResult(
    condition,
    createRedactor(secrets)(`${failure.step}: ${text}${received}`),
    all,
  );
}

function violated(
  { parameters: { asWarning } }: CheckOf<"tcp_connect">,
  course: Course,
  text: string,
): CheckResult {
  return checkResult(asWarning ? "warning" : "critical", text, course.metrics());
}

function findWarnings({ parameters }: CheckOf<"tcp_connect">) {
  const { send, expect, tls, port, login, startTls } = parameters;
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
  if (startTls === false && login !== undefined && !tls) {
    warnings.push({ path: ["start_tls"], message: "is false, so the login is sent in clear text" });
  }
  return warnings;
}

const TCP_KEYS = ["host", "port", "connectTo", "serverName", "fingerprint", "verify", "caFile"] as const;

const TLS_KEYS: readonly string[] = ["server_name", "fingerprint", "verify", "ca_file"];

/** What is sent and expected: one of them, or `send` with `expect`. */
const TALKS = ["protocol", "steps", "send", "expect"] as const;

function* findErrors({ parameters }: CheckOf<"tcp_connect">): Generator<ParameterProblem> {
  const { host, socket, tls, everyAddress, fingerprint, protocol, login, steps } = parameters;
  const given = [
    ...TCP_KEYS.filter((key) => parameters[key] !== undefined).map((key) =>
      key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    ),
    ...tls ? ["tls"] : [],
    ...everyAddress ? ["every_address"] : [],
  ];
  if (socket !== undefined) {
    for (const key of [...given, ...startsTls(parameters) ? ["start_tls"] : []]) {
      yield { path: [key], message: `"${key}" cannot be used with "socket": remove one of them` };
    }
  } else if (host === undefined || portOf(parameters) === 0) {
    yield { path: [], message: `expected "host" and "port", or "socket"` };
  }
  const [first = "", ...others] = TALKS.filter((key) => parameters[key] !== undefined);
  for (const key of others) {
    if (first === "send") continue;
    yield { path: [key], message: `"${key}" cannot be used with "${first}": remove one of them` };
  }
  if (protocol === undefined || !hasLogin(protocol)) {
    for (const key of ["login", "startTls"] as const) {
      if (parameters[key] === undefined) continue;
      const name = key === "login" ? key : "start_tls";
      const expected = protocol === undefined ? 'requires "protocol"' : `cannot be used with "${protocol}"`;
      yield { path: [name], message: `"${name}" ${expected}` };
    }
  }
  for (const key of ["username", "password"] as const) {
    if (!/[\r\n\0]/.test(login?.[key] ?? "")) continue;
    yield { path: ["login", key], message: "contains a line break, which would end the command" };
  }
  if (tls && startsTls(parameters)) {
    yield { path: ["tls"], message: `"tls" cannot be used with "start_tls": remove one of them` };
  }
  yield* stepErrors(steps ?? []);
  yield* trustErrors(parameters);
  const sends = first === "steps" ? steps?.some(({ send }) => send !== undefined) : first !== "expect";
  if (fingerprint !== undefined && first !== "" && sends === true) {
    yield {
      path: [first],
      message:
        `"${first}" cannot be used with "fingerprint": a server with a copy of the certificate could read it`,
    };
  }
  if (usesTls(parameters)) return;
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
