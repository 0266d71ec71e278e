/**
 * Reads the JUnit XML that a test runner printed, such as Playwright or pytest. There is no standard: what counts is each
 * `testcase`, and the `failure` or `error` in it.
 */
import sax from "sax";
import type { CheckOf } from "../domain/check.ts";
import type { ObserveContext } from "../domain/check_kind.ts";
import type { Condition } from "../domain/condition.ts";
import type { ProcessEnd } from "../domain/processes.ts";
import { createYield } from "../shared/deadline.ts";
import { formatPerformanceDatum, plainNumber } from "../shared/performance_data.ts";
import { counted, firstItems, oneLine, printableBlock, truncate } from "../shared/text.ts";

interface JunitFindings {
  readonly condition: Condition;
  /** Empty if the output suffices. */
  readonly reason: string;
  readonly output: string;
  readonly detail: string;
  readonly metrics: Readonly<Record<string, number>>;
  readonly performanceData: string;
}

interface Test {
  readonly name: string;
  readonly seconds: number | null;
  isSkipped: boolean;
  /** What the report has of the failure; `null`: it passed, or was skipped. */
  failure: string | null;
}

interface Report {
  readonly tests: readonly Test[];
  readonly countedFailures: number;
  /** Why it may not be the whole report; `null`: it is. */
  readonly problem: string | null;
}

const FAILED_NAMES_MAX = 3;
const FAILED_DETAILS_MAX = 20;
const FAILURE_CHARACTERS_MAX = 500;
const DURATIONS_MAX = 100;

/**
 * Returns what the report of a command that exited amounts to. A failed test counts, whatever the exit code and the rest
 * of the report; `ok` are only a whole report with a test that ran, and an exit code that is.
 */
export async function evaluateJunit(
  { end: { code, stdout, stderr }, check: { parameters } }: {
    readonly end: Extract<ProcessEnd, { readonly ended: "exited" }>;
    readonly check: CheckOf<"script">;
  },
  { system: { clock }, signal }: Pick<ObserveContext, "system" | "signal">,
): Promise<JunitFindings> {
  const report = await readReport(printableBlock(stdout.text), {
    pause: createYield(clock),
    isWhole: !stdout.truncated,
    signal,
  });
  const { tests, problem } = report;
  const failed = tests.filter(({ failure }) => failure !== null);
  const skipped = tests.filter(({ isSkipped }) => isSkipped);
  const passedCount = tests.length - failed.length - skipped.length;
  const found = {
    detail: failed.slice(0, FAILED_DETAILS_MAX).map(({ name, failure }) => `${name}: ${failure}`).join("\n"),
    metrics: { tests: tests.length, failed: failed.length, skipped: skipped.length },
    performanceData: tests.slice(0, DURATIONS_MAX).flatMap(durationOf).join(" "),
  };
  const byCode = parameters.exitCodeConditions?.[code] ?? (code === 0 ? "ok" : "unknown");
  if (failed.length > 0 || report.countedFailures > 0) {
    const names = firstItems(failed.map(describeFailure), FAILED_NAMES_MAX).join("; ");
    const output = failed.length > 0
      ? `${failed.length} of ${counted(tests.length, "test")} failed: ${names}`
      : `the report counts ${counted(report.countedFailures, "failed test")} without a name`;
    const condition = parameters.conditionOnMismatch ?? "critical";
    return { ...found, condition, reason: problem ?? "", output };
  }
  const lack = problem ?? (passedCount > 0 ? "" : "no test ran");
  const passed = `${counted(passedCount, "test")} passed`;
  const isAll = skipped.length === 0;
  const printed = oneLine(stderr.text.split("\n").find((line) => line.trim() !== "") ?? "");
  return {
    ...found,
    condition: lack !== "" && byCode === "ok" ? "unknown" : byCode,
    reason: [code === 0 ? "" : `exit code ${code}`, lack].filter((part) => part !== "").join(", "),
    output: tests.length === 0 ? printed : `${passed}${isAll ? "" : `, ${skipped.length} skipped`}`,
  };
}

function describeFailure({ name, failure }: Test): string {
  const [message = ""] = (failure ?? "").split("\n");
  return [name, oneLine(message, 100)].filter((part) => part !== "").join(": ");
}

function durationOf({ name, seconds }: Test): readonly string[] {
  if (seconds === null) return [];
  const label = name.replaceAll("=", " ");
  return [formatPerformanceDatum({ label, value: plainNumber(seconds), unit: "s", limits: [] })];
}

/** The package has no types. */
interface Parser {
  /** Of the position, from 0 on. */
  readonly line: number;
  onerror: (error: Error) => void;
  onopentag: (tag: Tag) => void;
  onclosetag: (name: string) => void;
  ontext: (text: string) => void;
  oncdata: (text: string) => void;
  write(text: string): void;
  close(): void;
}

interface Tag {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** The parser blocks for this many characters at most. */
const CHUNK_LENGTH = 16 * 1024;

/** Nothing is opened, and no entity of a document type is expanded: it is an error. */
async function readReport(
  text: string,
  { pause, isWhole, signal }: {
    readonly pause: () => Promise<boolean>;
    readonly isWhole: boolean;
    readonly signal: AbortSignal;
  },
): Promise<Report> {
  // Package managers print a line of their own first.
  const start = text.search(/<\?xml|<testsuite/);
  if (start < 0) return { tests: [], countedFailures: 0, problem: "no JUnit report" };
  const reader = new ReportReader();
  const end = text.lastIndexOf(">") + 1;
  for (let from = start; from < end && reader.problem === null; from += CHUNK_LENGTH) {
    reader.write(text.slice(from, Math.min(end, from + CHUNK_LENGTH)));
    await pause();
    signal.throwIfAborted();
  }
  if (isWhole && reader.problem === null) reader.close();
  const problem = isWhole ? reader.problem : "the report is too long";
  return { tests: reader.tests, countedFailures: reader.countedFailures, problem };
}

class ReportReader {
  readonly tests: Test[] = [];
  /** Why the rest cannot be read; `null`: nothing is wrong so far. */
  problem: string | null = null;
  readonly #parser: Parser = sax.parser(true, { strictEntities: true });
  #depth = 0;
  #hasEnded = false;
  /** By the root element, by those in it, and failures outside of the tests, such as of a setup. */
  readonly #failures = { root: 0, suites: 0, outside: 0 };
  #test: Test | null = null;
  /** The text of the failure that is open; `null`: none is. */
  #text: string | null = null;

  constructor() {
    this.#parser.onerror = ({ message }) => {
      const [error = ""] = message.split("\n");
      this.#fail(`line ${this.#parser.line + 1}: ${oneLine(error)}`);
    };
    this.#parser.onopentag = (tag) => this.#open(tag);
    this.#parser.onclosetag = (name) => this.#close(name);
    this.#parser.ontext = this.#parser.oncdata = (text) => {
      if (this.#text !== null && this.#text.length < FAILURE_CHARACTERS_MAX) {
        this.#text += text.slice(0, FAILURE_CHARACTERS_MAX);
      }
    };
  }

  get countedFailures(): number {
    return Math.max(...Object.values(this.#failures));
  }

  write(text: string): void {
    this.#parser.write(text);
  }

  close(): void {
    this.#parser.close();
  }

  #fail(reason: string): void {
    this.problem ??= `cannot read the report: ${reason}`;
  }

  #open({ name, attributes }: Tag): void {
    // The parser goes on after an error, and no longer knows which element is open.
    if (this.problem !== null) return;
    const depth = this.#depth++;
    if (depth === 0 && this.#hasEnded) this.#fail("it is followed by another one");
    else if (name === "testsuite" || name === "testsuites") {
      const failures = numberOf(attributes["failures"]) + numberOf(attributes["errors"]);
      if (depth === 0) this.#failures.root += failures;
      if (depth === 1) this.#failures.suites += failures;
    } else if (depth === 0) {
      this.#fail(`the root element is <${oneLine(name)}>, expected <testsuites>`);
    } else if (name === "testcase") {
      const { time = NaN, classname = "", name = "" } = attributes;
      const seconds = Number(time);
      this.#test = {
        // `classname` is the file in Playwright, the module in pytest.
        name: [classname, name].map((part) => oneLine(part)).filter((part) => part !== "").join(": "),
        seconds: Number.isFinite(seconds) && seconds >= 0 ? seconds : null,
        isSkipped: false,
        failure: null,
      };
      this.tests.push(this.#test);
    } else if (name === "failure" || name === "error") {
      if (this.#test === null) return void this.#failures.outside++;
      this.#text = `${attributes["message"] ?? ""}\n`;
      this.#test.failure ??= "";
    } else if (this.#test !== null && name === "skipped") this.#test.isSkipped = true;
  }

  #close(name: string): void {
    if (this.problem !== null) return;
    this.#hasEnded = --this.#depth === 0;
    if (name === "testcase") this.#test = null;
    if (this.#text === null || this.#test === null || name !== "failure" && name !== "error") return;
    this.#test.isSkipped = false;
    this.#test.failure ||= truncate(this.#text.trim(), FAILURE_CHARACTERS_MAX);
    this.#text = null;
  }
}

function numberOf(text: string | undefined): number {
  const count = Number(text ?? 0);
  return Number.isInteger(count) && count > 0 ? count : 0;
}
