import { chosenEnvironment, PASSED_VARIABLES } from "../shared/find_command.ts";
import { type CheckOf, type CheckResult, unknownResult } from "../domain/check.ts";
import type { ScriptParameters } from "../domain/generated/config.ts";
import { type Condition, severity } from "../domain/condition.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import type { CapturedText, ProcessEnd } from "../domain/processes.ts";
import { nameForPath } from "./targets.ts";

export const scriptKind: CheckKindEntry<"script"> = {
  observe: observeScript,
  limit: "process",
  target: {
    form: "COMMAND",
    parametersOf: ({ text, path }) => ({ path: text.includes("/") ? path : text }),
    nameOf: ({ path }) => nameForPath(path).replace(/(?<=.)\.\w+$/, ""),
    subjectsOf: ({ parameters }) => [`command ${[parameters.path, ...parameters.arguments].join(" ")}`],
    // Arguments may be passwords.
    textOf: ({ parameters: { path } }) => path,
  },
  requiredPermissions: ({ parameters }) => ({ run: [parameters.path], env: PASSED_VARIABLES }),
};

/**
 * Runs the command and reads its exit code as a condition, its output as a plugin's.
 *
 * Anything but an exit code of 0 to 3 is `unknown` (a timeout: the configured condition), and the output has the reason
 * before the command's own first line.
 */
export async function observeScript(check: CheckOf<"script">, context: ObserveContext): Promise<CheckResult> {
  const end = await context.system.processes.run({
    path: check.parameters.path,
    arguments: check.parameters.arguments,
    environment: chosenEnvironment(context.system.environment, {
      ...check.parameters.environment,
      // A variable cannot contain a NUL.
      MONITOR_CHECK: check.name.replaceAll("\0", "\uFFFD"),
    }),
    directory: context.directory,
    timeoutMs: check.timeoutMs,
    outputBytesMax: outputBytesMax(check.parameters),
  }, context.signal);
  if (end.ended === "not_started") {
    return unknownResult(`cannot start "${check.parameters.path}": ${end.reason}`);
  }
  return await describe(end, check, context);
}

/** The maximum size that is kept of stdout and of stderr, each. */
function outputBytesMax({ outputFormat }: ScriptParameters): number {
  return outputFormat === "junit" ? 1024 * 1024 : 64 * 1024;
}

/** The exit codes that are conditions (Monitoring Plugins guidelines, "Plugin Return Codes"). */
const CONDITIONS_BY_EXIT_CODE: readonly Condition[] = ["ok", "warning", "critical", "unknown"];

type StartedEnd = Exclude<ProcessEnd, { readonly ended: "not_started" }>;

async function describe(
  end: StartedEnd,
  check: CheckOf<"script">,
  context: ObserveContext,
): Promise<CheckResult> {
  const { stdout, stderr } = end;
  const isStdoutEmpty = stdout.text.trim() === "";
  const shown = isStdoutEmpty ? stderr : stdout;
  const text = wholeLines(shown);
  const report = end.ended === "exited" && check.parameters.outputFormat === "junit"
    ? await (await import("./script_junit.ts")).evaluateJunit({ end, check }, context)
    : null;
  const verdict = report ?? evaluate(end, check);
  const printed = report ?? (isStdoutEmpty ? readPlainOutput(text) : readPluginOutput(text));
  // Of a command that was cut off the last number may be a part of the real one.
  const performanceData = end.ended === "exited" ? printed.performanceData : "";
  // A command that failed has no data about the target.
  const compared =
    end.ended === "exited" && verdict.condition !== "unknown" && expectsOutput(check.parameters)
      ? await (await import("./script_expectations.ts")).evaluatePrinted(check.parameters, {
        exitCondition: verdict.condition,
        text,
        isWhole: !shown.truncated,
        performanceData,
      })
      : { condition: verdict.condition, reasons: [], metrics: {} };
  const isWorse = severity(compared.condition) > severity(verdict.condition);
  const notes = [
    printed.detail,
    end.ended === "exited" && end.leftovers ? "(terminated the processes that it left behind)" : "",
    shown.truncated
      ? `(it printed more than ${outputBytesMax(check.parameters) / 1024} KiB; the rest is dropped)`
      : "",
  ];
  const condition = isWorse ? compared.condition : verdict.condition;
  const reason = [verdict.reason, ...compared.reasons].filter((reason) => reason !== "").join("; ");
  return {
    condition,
    output: describeOutput({ condition, reason, printed: printed.output }, end),
    detail: notes.filter((note) => note !== "").join("\n"),
    metrics: end.ended === "exited" ? { exit_code: end.code, ...report?.metrics, ...compared.metrics } : {},
    performanceData,
  };
}

function expectsOutput(parameters: ScriptParameters): boolean {
  const { outputPart, outputPattern, value, performanceDataRanges } = parameters;
  return outputPart !== undefined || outputPattern !== undefined || value !== undefined ||
    performanceDataRanges === true;
}

/** A failure without a word would leave a notification without a reason. */
function describeOutput(
  { condition, reason, printed }: {
    readonly condition: Condition;
    readonly reason: string;
    readonly printed: string;
  },
  end: StartedEnd,
): string {
  const isSilent = printed === "" && end.ended === "exited";
  if (isSilent && (end.code !== 0 || condition !== "ok" && reason === "")) {
    return `${reason === "" ? `exit code ${end.code}` : reason}, no output`;
  }
  return [reason, printed].filter((part) => part !== "").join(": ");
}

/** The reason is empty if the command's output suffices. */
function evaluate(end: StartedEnd, check: CheckOf<"script">) {
  if (end.ended === "timed_out") {
    const fate = end.survives ? "cannot be terminated" : "terminated";
    const reason = `timeout after ${check.timeoutMs / 1000} s, ${fate}`;
    return { condition: check.parameters.conditionOnTimeout, reason };
  }
  if (end.ended === "signalled") {
    const name = end.signal.startsWith("SIG") ? end.signal : `signal ${end.signal}`;
    return { condition: "unknown", reason: `terminated by ${name}` } as const;
  }
  const condition = check.parameters.exitCodeConditions?.[end.code] ?? CONDITIONS_BY_EXIT_CODE[end.code];
  if (condition !== undefined) return { condition, reason: "" };
  return { condition: "unknown", reason: `exit code ${end.code} (0 to 3 are conditions)` } as const;
}

/** Without the line that was cut in two, unless it is the only one. */
function wholeLines({ text, truncated }: CapturedText): string {
  const lastBreak = text.lastIndexOf("\n");
  return truncated && lastBreak > 0 ? text.slice(0, lastBreak + 1) : text;
}

interface PluginOutput {
  /** The first line without its performance data. */
  readonly output: string;
  readonly detail: string;
  /** Without the `|` before it, on one line. */
  readonly performanceData: string;
}

/**
 * Parses the output of a plugin by the Monitoring Plugins guidelines ("Plugin Output for Nagios":
 * https://www.monitoring-plugins.org/doc/guidelines.html): on the first line performance data follows `|`, and in the
 * later lines everything after one `|` is further performance data, which is joined by spaces.
 *
 * Many scripts are no plugins and print tables with `|` in their later lines, so there it counts only if the rest of
 * the text parses as performance data. Blank lines at the beginning are skipped.
 */
export function readPluginOutput(text: string): PluginOutput {
  const [firstLine = "", ...laterLines] = lines(text);
  const [output, first] = cutAtBar(firstLine);
  const later = laterLines.join("\n");
  const [before, after] = cutAtBar(later);
  const isData = PERFORMANCE_DATA.test(after);
  return {
    output: output.trimEnd(),
    detail: (isData ? before : later).trimEnd(),
    performanceData: [first, ...isData ? after.split("\n") : []]
      .map((part) => part.trim()).filter((part) => part !== "").join(" "),
  };
}

export function readPlainOutput(text: string): PluginOutput {
  const [output = "", ...laterLines] = lines(text);
  return { output: output.trimEnd(), detail: laterLines.join("\n").trimEnd(), performanceData: "" };
}

/** The lines from the first one on that is not blank, without the carriage returns of Windows newlines (CRLF). */
function lines(text: string): readonly string[] {
  const all = text.split("\n").map((line) => line.endsWith("\r") ? line.slice(0, -1) : line);
  const start = all.findIndex((line) => line.trim() !== "");
  return start < 0 ? [] : all.slice(start);
}

function cutAtBar(text: string): readonly [before: string, after: string] {
  const bar = text.indexOf("|");
  return bar < 0 ? [text, ""] : [text.slice(0, bar), text.slice(bar + 1)];
}

/**
 * `label=value[unit][;warn[;crit[;min[;max]]]]`, separated by white space. A label with spaces or `=` is in single
 * quotes, in which a quote is doubled; the value is a number, or `U` for undetermined. No two neighboring repetitions
 * match the same characters, so hostile text costs no more than its length.
 */
const PERFORMANCE_DATA = /^\s*(?:(?:'(?:[^'\n]|'')+'|[^\s'=|]+)=(?:U|[-+]?[0-9.,])[^\s|]*(?:\s+|$))+$/;
