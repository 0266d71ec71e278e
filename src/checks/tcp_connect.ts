import { startDeadline } from "../shared/deadline.ts";
import type { TcpConnectCheck } from "../domain/check.ts";
import { hostAndPort, permissionsOfTls } from "../domain/runtime_permissions.ts";
import type { CheckKindEntry, ObserveContext, ParameterProblem } from "../domain/check_kind.ts";
import type { CheckResult } from "../domain/result.ts";
import type { Connection, ConnectionPhase } from "../domain/connections.ts";
import { ANSWER_BYTES_MAX, type AnswerSearch, searchAnswer } from "./answer_search.ts";
import { failureVerdict, timeoutText } from "./connection_words.ts";
import { quote } from "../shared/quote.ts";

/** The `tcp_connect` kind. */
export const tcpConnectKind: CheckKindEntry<"tcp_connect"> = {
  observe: observeTcpConnect,
  limit: "network",
  warnings: findWarnings,
  requiredPermissions: ({ parameters: { host, port, tls } }) => ({
    net: [hostAndPort(host, port)],
    ...permissionsOfTls(tls),
  }),
};

/**
 * Connects, sends what is to be sent, and reads until the expected text has come. That no connection comes about, or
 * not the expected text, is a violation; the output says how far it came. The time limit covers all of it.
 */
async function observeTcpConnect(
  check: TcpConnectCheck,
  context: ObserveContext,
): Promise<CheckResult> {
  const { system: { clock, connections }, signal } = context;
  const { host, port, tls, send, expect } = check.parameters;
  signal.throwIfAborted();
  using deadline = startDeadline(clock, check.timeoutMs, signal);
  const course = new Course(() => clock.monotonicMs());
  const search = expect === undefined ? null : searchAnswer(expect);
  let connection: Connection | null = null;
  try {
    connection = await connections.connect(
      { host, port, ...tls && { tls: { serverName: host, authorities: [] } } },
      { onPhase: (phase) => course.enter(phase), signal: deadline.signal },
    );
    course.enter("sending");
    if (send !== undefined) await connection.write(new TextEncoder().encode(send));
    course.enter("reading");
    const violation = search === null ? null : await readUntilFound(connection, search, check);
    signal.throwIfAborted();
    return deadline.signal.aborted && violation !== null
      ? violated(check, course, limitText(check, course, search))
      : violation === null
      ? passed(check, course)
      : violated(check, course, violation);
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.signal.aborted) return violated(check, course, limitText(check, course, search));
    const verdict = failureVerdict(connections.explain(error, { host, port }, course.phase), { host, port });
    const text = `${verdict.text}${soFar(search)}`;
    return verdict.isObstacle ? checkResult("unknown", text, course) : violated(check, course, text);
  } finally {
    connection?.close();
  }
}

/** What is being done, and when the connection stood. */
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
    const since = (timeMs: number): number => Math.round((timeMs - this.#startMs) * 10) / 10;
    return {
      ...this.#connectedMs !== null && { connect_ms: since(this.#connectedMs) },
      total_ms: since(this.#nowMs()),
    };
  }
}

/** Answers what is wrong with the answer; `null` when the expected text came. */
async function readUntilFound(
  connection: Connection,
  search: AnswerSearch,
  { parameters: { expect = "" } }: TcpConnectCheck,
): Promise<string | null> {
  while (!search.found) {
    if (search.full) {
      return `response does not contain ${quote(expect)} in its first ${ANSWER_BYTES_MAX / 1024} KiB: ${
        quote(search.text())
      }`;
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

function limitText(check: TcpConnectCheck, course: Course, search: AnswerSearch | null): string {
  const { expect = "" } = check.parameters;
  const text = timeoutText(check.timeoutMs, course.phase, check.parameters);
  return course.phase === "reading" ? `${text}, expected ${quote(expect)}${soFar(search)}` : text;
}

function soFar(search: AnswerSearch | null): string {
  return search === null || search.length === 0 ? "" : `; it had sent ${quote(`${search.text()}…`)}`;
}

function passed({ parameters: { expect, tls } }: TcpConnectCheck, course: Course): CheckResult {
  const how = tls ? "connected with TLS" : "connected";
  return checkResult("ok", expect === undefined ? how : `${how}, response contains ${quote(expect)}`, course);
}

function violated({ parameters: { asWarning } }: TcpConnectCheck, course: Course, text: string): CheckResult {
  return checkResult(asWarning ? "warning" : "critical", text, course);
}

function checkResult(condition: CheckResult["condition"], output: string, course: Course): CheckResult {
  return { condition, output, detail: "", metrics: course.metrics(), performanceData: "" };
}

function findWarnings(
  { parameters: { send, expect, tls, port } }: TcpConnectCheck,
): readonly ParameterProblem[] {
  const warnings: ParameterProblem[] = [];
  if (expect !== undefined && new TextEncoder().encode(expect).length > ANSWER_BYTES_MAX) {
    warnings.push({
      path: ["expect"],
      message: `is longer than the ${ANSWER_BYTES_MAX / 1024} KiB that are read of a response`,
    });
  }
  if (send === "") warnings.push({ path: ["send"], message: "is empty, so nothing is sent" });
  if (!tls && TLS_PORTS.has(port)) {
    warnings.push({ path: ["port"], message: `${port} is usually a TLS port, but "tls" is not set` });
  }
  return warnings;
}

/** HTTPS, SMTP, LDAP, IMAP and POP3 with TLS from the start (IANA's list of service names). */
const TLS_PORTS: ReadonlySet<number> = new Set([443, 465, 636, 993, 995]);
