/** Reports of agents as JSON: what `schemas/report.schema.json` describes. */
import type { Awaited } from "../domain/check.ts";
import {
  type ReportBatch,
  REPORTED_BYTES_MAX,
  type ReportedResult,
  type ReportReply,
} from "../domain/reports.ts";
import { truncateBytes } from "../shared/text.ts";
import { DAY_MS } from "../shared/time_units.ts";

interface WrittenResult
  extends Pick<ReportedResult, "sequence" | "check" | "condition" | "output" | "detail" | "metrics"> {
  readonly performance_data: string;
  readonly duration_ms: number;
  readonly late_ms: number | null;
  readonly age_ms: number;
  readonly next_run_in_ms: number;
  readonly overdue_in_ms: number;
  readonly awaits?: Exclude<Awaited, "report">;
  readonly interrupted?: boolean;
}

export function writeResult(result: ReportedResult): string {
  const { sequence, check, condition, output, detail, metrics, awaits, isInterrupted = false } = result;
  const written: WrittenResult = {
    ...{ sequence, check, condition, output, detail, performance_data: result.performanceData, metrics },
    duration_ms: result.durationMs,
    late_ms: result.lateMs,
    age_ms: Math.round(result.ageMs),
    next_run_in_ms: Math.round(result.nextRunInMs),
    overdue_in_ms: Math.round(result.overdueInMs),
    ...awaits !== undefined && awaits !== "report" && { awaits },
    ...isInterrupted && { interrupted: true },
  };
  return JSON.stringify(written);
}

/** Joins results that are written one by one, so that their size is known. */
export function writeBatch(facts: Omit<ReportBatch, "results">, results: readonly string[]): string {
  return `${JSON.stringify(facts).slice(0, -1)},"results":[${results.join(",")}]}`;
}

/** Reads a request; returns what is wrong with it as a text. */
export async function readBatch(text: string): Promise<ReportBatch | string> {
  const value = parse(text);
  if (value === undefined) return "the body is no JSON";
  const { default: validate } = await import("../config/generated/validate_report.js") as ValidatorModule;
  if (!validate(value)) {
    const [error] = validate.errors ?? [];
    return `the body is no report: ${
      error?.instancePath || "/"
    } fails "${error?.keyword}" of report.schema.json`;
  }
  const { results, ...facts } = value as Omit<ReportBatch, "results"> & {
    readonly results: readonly WrittenResult[];
  };
  const isOrdered = results.every(({ sequence }, index) => sequence > (results[index - 1]?.sequence ?? 0));
  if (!isOrdered) return "the results are not in the order of their sequence";
  return { ...facts, results: results.map(readResult) };
}

interface ValidatorModule {
  readonly default: ((value: unknown) => boolean) & {
    readonly errors?: readonly { readonly instancePath: string; readonly keyword: string }[] | null;
  };
}

/** Two leap days are further apart by eight years at most. A result with more than all monitors can show counts as this. */
const MS_MAX = 20 * 366 * DAY_MS;

/** What is too long is cut: a result that is rejected would hold up all that the agent has. */
function readResult(written: WrittenResult): ReportedResult {
  const { sequence, check, condition, metrics, awaits, late_ms } = written;
  return {
    ...{ sequence, check, condition, metrics },
    output: truncateBytes(written.output, REPORTED_BYTES_MAX.output),
    detail: truncateBytes(written.detail, REPORTED_BYTES_MAX.detail),
    performanceData: truncateBytes(written.performance_data, REPORTED_BYTES_MAX.output),
    durationMs: Math.min(written.duration_ms, MS_MAX),
    lateMs: late_ms === null ? null : Math.min(Math.max(0, late_ms), MS_MAX),
    ageMs: written.age_ms,
    nextRunInMs: Math.min(written.next_run_in_ms, MS_MAX),
    overdueInMs: Math.min(written.overdue_in_ms, MS_MAX),
    ...awaits !== undefined && { awaits },
    ...written.interrupted === true && { isInterrupted: true },
  };
}

export function writeReply({ received, rejected }: ReportReply): string {
  return `${JSON.stringify({ received, rejected })}\n`;
}

/** Returns a reply; `null`: it is none. */
export function readReply(text: string): ReportReply | null {
  const value = parse(text);
  if (typeof value !== "object" || value === null) return null;
  const { received, rejected } = value as Readonly<Record<string, unknown>>;
  if (!Number.isSafeInteger(received) || !Array.isArray(rejected)) return null;
  return { received: Number(received), rejected: rejected.filter((name) => typeof name === "string") };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
