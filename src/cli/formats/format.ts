import { type Condition, mostUrgentFirst, type ShownCondition } from "../../domain/condition.ts";
import type { Check, Result } from "../../domain/check.ts";
import { printable, printableBlock, truncate } from "../../shared/text.ts";
import { pathFromHere } from "../../config/source.ts";
import type { System } from "../../domain/system.ts";
import { describeFileError } from "../../shared/describe_error.ts";
import { type Invocation, option, type OptionSpec, UsageError } from "../command_definition.ts";

export interface RunRecord {
  readonly result: Result;
  /** Consecutive check results of at least this severity; for `ok`: that were `ok`. 1 or more. */
  readonly occurrences: number;
  /** `null`: none, the check is pending. */
  readonly confirmed: Condition | null;
}

/** A result as the formats of test tools show it: that of a check, or of a scenario. */
export interface TestedResult extends Pick<Result, "condition" | "output" | "detail" | "durationMs"> {
  readonly check: { readonly kind: string; readonly name: string; readonly title?: string | undefined };
}

export interface TestedRun extends Omit<RunSummary, "records"> {
  readonly records: readonly { readonly result: TestedResult }[];
}

export interface RunSummary {
  /** The highest severity; if nothing ran, of the stored conditions; `unknown` without any. */
  readonly condition: Condition;
  /** Why there are neither records nor unfinished checks, such as `no check is active`; `null`: something ran. */
  readonly reason: string | null;
  /** Wall time, milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The duration of the whole run, by the monotonic clock. */
  readonly durationMs: number;
  /** In the config's order. */
  readonly records: readonly RunRecord[];
  /** Names of checks that had no result when the run was interrupted, in the config's order. */
  readonly unfinished: readonly string[];
  readonly inactiveCount: number;
  readonly hostName: string;
}

export interface FormatOptions {
  readonly color: boolean;
  /** Width to keep to; `null` when it is not a terminal. */
  readonly columns: number | null;
  /** Returns whether a condition fails the run, after `--fail-on`. */
  fails(condition: Condition): boolean;
  /** Returns the place of a check in the config; `null`: a scenario, which is none. */
  locate(name: string): { readonly file: string; readonly line: number; readonly column: number } | null;
}

export interface TestFormat {
  summary(run: TestedRun, options: FormatOptions): string;
}

/** A way to print a run. Texts end with a line feed, or are empty. */
export interface Format {
  /** Called for each result as it comes. @default nothing is printed */
  record?(record: RunRecord, options: FormatOptions): string;
  summary(summary: RunSummary, options: FormatOptions): string;
}

export const NO_RESULT = "no result (interrupted)";

/** Why nothing ran. Without an active check nothing is known, otherwise the stored conditions are. */
export const NO_ACTIVE_CHECK = "no check is active";
export const NO_CHECK_DUE = "no check is due";

const NOT_OK_MAX = 5;
const NAME_LENGTH_MAX = 60;
const OUTPUT_LENGTH_MAX = 100;

type NamedCondition = Readonly<Record<"name" | "output", string> & { condition: ShownCondition }>;

/** Such as `no check is due; web is unknown: never ran; db is pending: critical, 1 of 3`. */
export function notDueReason(checks: readonly NamedCondition[]): string {
  const notOk = checks.filter(({ condition }) => condition !== "ok")
    .toSorted((one, other) => mostUrgentFirst(one.condition, other.condition));
  const more = notOk.length - NOT_OK_MAX;
  return [
    NO_CHECK_DUE,
    ...notOk.slice(0, NOT_OK_MAX).map(({ name, condition, output }) => {
      const described = output === "" ? "" : `: ${truncate(printable(output), OUTPUT_LENGTH_MAX)}`;
      return `${truncate(printable(name), NAME_LENGTH_MAX)} is ${condition}${described}`;
    }),
    ...more > 0 ? [`${more} more ${more === 1 ? "is" : "are"} not ok`] : [],
  ].join("; ");
}

/** The name of the test that fails if nothing ran and not everything is known to be ok. */
export const NO_CHECKS = "checks";

/** A trace as lines below its check. */
export function renderTrace(trace: string): string {
  return trace === "" ? "" : `${printableBlock(trace).split("\n").map((line) => `  ${line}`).join("\n")}\n`;
}

/** The trace of a check with a heading; runs may leave none. */
export function traceOf({ name }: Check, trace: string | undefined): string {
  return `trace of ${printable(name)}:\n${renderTrace(trace || "nothing sent or received")}\n`;
}

// The files of `--output FORMAT=FILE`: results in a format, in addition to stdout.

export interface OutputFile<Format extends string> {
  readonly format: Format;
  readonly path: string;
}

export function outputOption(description: string): OptionSpec {
  const whole = `${description} in a format, in addition to stdout (repeatable)`;
  return option("--output FORMAT=FILE", whole, { repeatable: true });
}

/** @throws {UsageError} If a value has another form, or an unknown format. */
export function readOutputs<Format extends string>(
  invocation: Invocation,
  formats: readonly Format[],
  hint: string,
): readonly OutputFile<Format>[] {
  return invocation.texts("output").map((value) => {
    const [, name, path] = /^([^=]*)=(.+)$/s.exec(value) ?? [];
    const format = formats.find((other) => other === name);
    if (format !== undefined && path !== undefined) return { format, path };
    const expected = `FORMAT=FILE with one of ${formats.join(", ")}`;
    throw new UsageError(`--output is "${value}", expected ${expected}`, hint);
  });
}

/** Replaces a file; returns the error, if any. */
export async function writeOutput(given: string, text: string, system: System): Promise<string | null> {
  const path = pathFromHere(given, system);
  try {
    await system.files.replace(path, text);
    return null;
  } catch (error) {
    return `cannot write "${path}": ${describeFileError(error, { path, access: "write" })}`;
  }
}
