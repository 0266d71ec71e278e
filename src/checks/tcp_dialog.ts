/** The dialog of a `tcp_connect` check: each step sends a text, waits for a line, and may start TLS. */
import type { Clock } from "../domain/clock.ts";
import type { Connection, ConnectionPhase, TlsExpectations } from "../domain/connections.ts";
import type { TcpStep } from "../domain/generated/config.ts";
import { endsWithin, startDeadline, unlessAborted } from "../shared/deadline.ts";
import { roundedMs } from "../shared/json_values.ts";
import { quote } from "../shared/text.ts";
import {
  capturedNames,
  compileLinePattern,
  type LineMatch,
  metricName,
  replaceCaptured,
  stepName,
} from "./body_pattern.ts";
import { compareText } from "./http/json_comparisons.ts";

interface DialogOptions {
  readonly clock: Clock;
  readonly tls: TlsExpectations | null;
  /** Whether a text without a newline may be a line: a prompt, or the last one. A cut line of a protocol is none. */
  readonly acceptsPrompts: boolean;
  enter(phase: ConnectionPhase): void;
  /** Aborts everything, with the connection. */
  readonly signal: AbortSignal;
}

interface DialogEnd {
  readonly metrics: Readonly<Record<string, number>>;
  /** Captured values that were sent again. */
  readonly secrets: readonly string[];
  /** The step that failed, with its reason or with an error of the connection; `null`: all passed. */
  readonly failure:
    | null
    | { readonly step: string } & (StepProblem | { readonly error: unknown; readonly received: string });
}

interface StepProblem {
  readonly text: string;
  /** Whether the right line may still follow. @default false */
  readonly isObstacle?: boolean;
}

/** Runs the steps in their order, up to the first that fails. */
export async function holdDialog(
  connection: Connection,
  steps: readonly TcpStep[],
  { clock, tls, acceptsPrompts, enter, signal }: DialogOptions,
): Promise<DialogEnd> {
  const lines = new Lines(connection, acceptsPrompts ? clock : null);
  const captured = new Map<string, string>();
  const sent = new Set(steps.flatMap(({ send = "" }) => capturedNames(send)));
  const metrics: Record<string, number> = {};
  let failure: DialogEnd["failure"] = null;
  for (const [index, step] of steps.entries()) {
    const startMs = clock.monotonicMs();
    const name = stepName(step, index);
    using deadline = step.timeoutMs === undefined ? null : startDeadline(clock, step.timeoutMs, signal);
    const run = { connection, lines, captured, enter, tls, nowMs: clock.wallMs() };
    lines.begin();
    try {
      const problem = await unlessAborted(runStep(step, run), deadline?.signal ?? signal);
      if (problem !== null) failure = { step: name, ...problem };
    } catch (error) {
      const received = `${expectation(step)}${soFar(lines.received)}`;
      failure = deadline?.isTimeUp
        ? { step: name, text: `timeout after ${(step.timeoutMs ?? 0) / 1000} s${received}` }
        : { step: name, error, received };
    }
    metrics[`step_${metricName(name)}_ms`] = roundedMs(clock.monotonicMs() - startMs);
    if (failure !== null) break;
  }
  return { metrics, secrets: [...sent].flatMap((name) => captured.get(name) ?? []), failure };
}

interface StepRun extends Pick<DialogOptions, "tls" | "enter"> {
  readonly connection: Connection;
  readonly lines: Lines;
  readonly captured: Map<string, string>;
  readonly nowMs: number;
}

async function runStep(step: TcpStep, run: StepRun): Promise<StepProblem | null> {
  const { connection, lines, captured, tls, enter } = run;
  if (step.send !== undefined) {
    enter("sending");
    const text = replaceCaptured(step.send, (name) => captured.get(name) ?? "");
    await connection.write(new TextEncoder().encode(text));
  }
  const problem = await awaitLine(step, run) ?? await compareCaptured(step, run);
  if (problem !== null || !step.startTls) return problem;
  // In clear text, an attacker could have put it there (CVE-2011-0411).
  if (lines.hasMore) return { text: "server sent more in front of TLS" };
  enter("TLS");
  if (connection.startTls === undefined || tls === null) throw new Error("TLS can be started once, over TCP");
  await connection.startTls(tls);
  return null;
}

async function awaitLine(step: TcpStep, { lines, captured, enter }: StepRun): Promise<StepProblem | null> {
  const { expect, reject } = step;
  if (expect === undefined) return null;
  enter("reading");
  const compileWith = (pattern: string) =>
    compileLinePattern(
      replaceCaptured(pattern, (name) => (captured.get(name) ?? "").replaceAll(SIGN, "\\$&")),
    );
  const expected = await compileWith(expect);
  const rejected = reject === undefined ? null : await compileWith(reject);
  const judge = (line: string): Verdict | null => {
    const match = expected.match(line);
    if (match !== null || rejected === null) return match;
    const other = rejected.match(line);
    return other === null || other === "too_long" ? other : "rejected";
  };
  const found = await lines.find(judge);
  if (found === null) {
    const when = lines.received === "" ? " without a response" : "";
    return { text: `connection closed by the server${when}${expectation(step)}${soFar(lines.received)}` };
  }
  const { line, verdict } = found;
  if (verdict === "too_long") {
    const text = `cannot search all of the response${expectation(step)}${soFar(lines.received)}`;
    return { text, isObstacle: true };
  }
  if (verdict === "rejected") return { text: `server replied ${quote(line)}${expectation(step)}` };
  for (const [name, value] of Object.entries(verdict.groups)) {
    // Sent again, a control character could be a command of its own.
    // deno-lint-ignore no-control-regex
    if (!/^[^\0-\x1f\x7f]+$/.test(value)) {
      return { text: `cannot capture ${quote(name)}: it is empty or has control characters` };
    }
    captured.set(name, value);
  }
  return null;
}

/** What a line is: the expected one, a rejected one, or one too many. */
type Verdict = LineMatch | "rejected" | "too_long";

/** A character with a meaning in patterns. */
const SIGN = /[\\^$.*+?()[\]{}|]/g;

async function compareCaptured(
  { captured: wishes = {} }: TcpStep,
  { captured, nowMs }: StepRun,
): Promise<StepProblem | null> {
  for (const [name, wish] of Object.entries(wishes)) {
    const problem = await compareText(captured.get(name) ?? "", wish, nowMs);
    if (problem !== null) return { text: `${name} is ${problem}` };
  }
  return null;
}

function expectation({ expect }: TcpStep): string {
  return expect === undefined ? "" : `, expected a line that matches ${quote(expect)}`;
}

function soFar(received: string): string {
  return received === "" ? "" : `; it had sent ${quote(received)}`;
}

/** Of a step. */
const RECEIVED_BYTES_MAX = 64 * 1024;

/** How long a server is silent behind a text without a newline until that is a line: a prompt. */
const PROMPT_MS = 250;

class Lines {
  readonly #connection: Connection;
  /** That of the silence behind a prompt; `null`: every line ends with a newline. */
  readonly #clock: Clock | null;
  readonly #decoder = new TextDecoder();
  #rest = "";
  /** A read that goes on; a prompt does not wait for its end. */
  #reading: Promise<Uint8Array | null> | null = null;
  #bytes = 0;
  #received = "";

  constructor(connection: Connection, clock: Clock | null) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** Whether something came behind the last line, or may be on its way. */
  get hasMore(): boolean {
    return this.#rest !== "" || this.#reading !== null;
  }

  /** The text that was read since the step began, or its begin. */
  get received(): string {
    return `${this.#received}${this.#rest}`;
  }

  begin(): void {
    this.#bytes = 0;
    this.#received = "";
  }

  /** Returns the first line with a verdict; `null`: there was none before the end. */
  async find(judge: (line: string) => Verdict | null): Promise<{ line: string; verdict: Verdict } | null> {
    const take = (length: number): { line: string; verdict: Verdict } | null => {
      const line = this.#take(length).replace(/\r?\n$/, "");
      const verdict = judge(line);
      return verdict === null ? null : { line, verdict };
    };
    while (true) {
      for (let end = this.#rest.indexOf("\n"); end >= 0; end = this.#rest.indexOf("\n")) {
        const found = take(end + 1);
        if (found !== null) return found;
      }
      if (this.#bytes > RECEIVED_BYTES_MAX) return { line: "", verdict: "too_long" };
      const reading = this.#reading ??= this.#connection.read();
      reading.catch(() => {});
      const isSilent = this.#clock !== null && this.#rest !== "" &&
        !await endsWithin(this.#clock, PROMPT_MS, reading);
      // A prompt that does not match may go on.
      if (isSilent && judge(this.#rest) !== null) return take(this.#rest.length);
      const chunk = await reading;
      this.#reading = null;
      if (chunk === null) return this.#clock === null || this.#rest === "" ? null : take(this.#rest.length);
      this.#bytes += chunk.length;
      this.#rest += this.#decoder.decode(chunk, { stream: true });
    }
  }

  #take(length: number): string {
    const taken = this.#rest.slice(0, length);
    this.#rest = this.#rest.slice(length);
    if (this.#received.length < RECEIVED_BYTES_MAX) this.#received += taken;
    return taken;
  }
}
