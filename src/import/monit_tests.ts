import type * as written from "../domain/generated/written_config.ts";
import type { MonitCheck } from "./monit_connections.ts";
import { comparisonIn, has, type MonitToken, timeIn } from "./monit_statements.ts";
import { COMPARISONS } from "./status_codes.ts";
import { spanText } from "./span_text.ts";

/** Returns the parameters of a service's own check for a test, or why it has no counterpart. */
export type ReadTest<Parameters> = (test: readonly MonitToken[]) => Partial<Parameters> | string;

const SIZES: Readonly<Record<string, string>> = {
  b: "B",
  kb: "KiB",
  mb: "MiB",
  gb: "GiB",
  byte: "B",
  kilobyte: "KiB",
  megabyte: "MiB",
  gigabyte: "GiB",
};

/** A size of Monit, which counts by 1024; `null` for anything else. */
function sizeOf(value: number, unit: string): string | null {
  const name = SIZES[unit.replace(/s$/, "")] ?? SIZES[unit];
  return name === undefined ? null : `${value} ${name}`;
}

/** The number of failures of a problem: in a row, or of the last `within` results. */
export interface Failures {
  readonly threshold: number;
  readonly within?: number;
}

export const AT_ONCE: Failures = { threshold: 1 };

/** Splits `for 3 cycles` or `for 3 times within 5 cycles` off a test. */
export function readFailures(
  tokens: readonly MonitToken[],
): { readonly tokens: readonly MonitToken[]; readonly failures: Failures } {
  const cycles = tokens.findIndex(({ word }) => /^cycles?$/.test(word));
  if (cycles < 0) return { tokens, failures: AT_ONCE };
  const times = tokens.findIndex(({ word }) => /^times?$/.test(word));
  const within = Number(tokens[cycles - 1]?.text);
  const threshold = times < 0 ? within : Number(tokens[times - 1]?.text);
  const end = tokens.findIndex(({ word }, index) => index < cycles && (word === "for" || word === "within"));
  return {
    tokens: end > 0 ? tokens.slice(0, end) : tokens,
    failures: threshold >= 1 ? { threshold, ...(within > threshold && { within }) } : AT_ONCE,
  };
}

/** `space usage > 80%`, `space free < 1 GB`, and the same of inodes. */
export function readFilesystemTest(
  test: readonly MonitToken[],
): Pick<written.DiskSpaceParameters, "free" | "free_inodes"> | string {
  const key = has(test, "inode", "inodes") ? "free_inodes" : has(test, "space") ? "free" : null;
  const comparison = comparisonIn(test);
  if (key === null || comparison === null) return "use a script check";
  const { operator, value, unit } = comparison;
  const isFree = has(test, "free");
  if (isFree !== operator.startsWith("<")) return "a limit in the other direction";
  if (unit === "%") return { [key]: { critical_below: `${isFree ? value : Math.max(0, 100 - value)}%` } };
  const limit = key === "free" ? sizeOf(value, unit) : value;
  if (!isFree || limit === null) return "disk_space has limits of what is free";
  return { [key]: { critical_below: limit } };
}

/** `memory > 200 MB` and `uptime < 5 minutes` of a process. */
export function readProcessTest(
  test: readonly MonitToken[],
): Pick<written.ProcessParameters, "memory" | "age"> | string {
  if (has(test, "exist", "exists")) return {};
  const comparison = comparisonIn(test);
  if (has(test, "mem", "memory", "totalmem", "totalmemory") && comparison?.operator.startsWith(">")) {
    const size = sizeOf(comparison.value, comparison.unit);
    if (size === null) return "process has limits of memory in bytes";
    return { memory: { critical_above: size } };
  }
  const spanMs = timeIn(test, 0);
  if (has(test, "uptime") && comparison !== null && spanMs !== null) {
    const isAbove = comparison.operator.startsWith(">");
    return { age: { [isAbove ? "critical_above" : "critical_below"]: spanText(spanMs) } };
  }
  if (has(test, "restart", "restarts")) return "monitor restarts nothing";
  return "use a script check";
}

/** `timestamp > 26 hours` and `size < 1 MB` of a file. */
export function readFileTest(
  test: readonly MonitToken[],
): Pick<written.FileTimestampParameters, "warning_age" | "critical_age" | "size_min"> | string {
  if (has(test, "exist", "exists")) return {};
  const comparison = comparisonIn(test);
  const ageMs = timeIn(test, 0);
  const isTime = has(test, "timestamp", "mtime", "modification");
  if (isTime && !has(test, "changed") && comparison?.operator.startsWith(">") && ageMs !== null) {
    return { warning_age: spanText(ageMs), critical_age: spanText(ageMs) };
  }
  const size = comparison === null ? null : sizeOf(comparison.value, comparison.unit);
  if (has(test, "size") && !has(test, "changed") && comparison?.operator.startsWith("<") && size !== null) {
    return { size_min: size };
  }
  return "use a script check";
}

export function systemCheck(test: readonly MonitToken[]): MonitCheck | string {
  const comparison = comparisonIn(test);
  if (comparison === null || !comparison.operator.startsWith(">")) return "use a script check";
  const { value, unit } = comparison;
  if (has(test, "swap")) {
    const limit = unit === "%" ? `${value}%` : sizeOf(value, unit);
    if (limit === null) return "the unit has no counterpart";
    return { kind: "memory", parameters: { available: {}, swap_used: { critical_above: limit } } };
  }
  if (has(test, "memory", "mem")) {
    if (unit !== "%") return "memory has limits of what is available";
    return { kind: "memory", parameters: { available: { critical_below: `${Math.max(0, 100 - value)}%` } } };
  }
  const [load] = test.flatMap(({ word }, index) => {
    const minutes = /^loadavg(?:\(?(\d+)min\)?)?$/.exec(word)?.[1] ??
      (word === "loadavg" ? test[index + 2]?.word.replace("min", "") : null);
    return minutes === null || minutes === undefined ? [] : [minutes];
  });
  if (load === undefined) return "use a script check";
  if (!has(test, "core")) return "load counts for each processor: divide the limit by their number";
  return {
    kind: "load",
    parameters: { load5: {}, [`load${load}`]: { critical_above: value } },
  };
}

export type ExitCodes = NonNullable<written.ScriptParameters["exit_code_conditions"]>;

/** Conditions of exit codes for `status != 0` and the like. */
export function exitCodeConditions(test: readonly MonitToken[]): ExitCodes | string {
  if (has(test, "changed")) return "a change of the status has no counterpart";
  const comparison = comparisonIn(test);
  if (comparison === null) return "use exit_code_conditions";
  const fails = COMPARISONS[comparison.operator];
  const codes = [0, 1, 2, 3, 4, 5, 126, 127, comparison.value];
  return Object.fromEntries(
    codes.map((code) => [String(code), fails(code, comparison.value) ? "critical" : "ok"]),
  );
}
