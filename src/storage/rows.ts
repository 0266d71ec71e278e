/** Between rows and what they stand for. */
import type { SQLInputValue } from "node:sqlite";
import { type Condition, CONDITIONS } from "../domain/condition.ts";
import type { ConditionCounts, ConditionState } from "../domain/condition_state.ts";
import type { CheckRecord, ConditionChange, KeptResult, Rollup } from "../domain/store.ts";
import { copyConditionState, copyKeptResult } from "./copies.ts";

/** A row that no monitor can have written. */
export class UnreadableRowError extends Error {
  /** The name of the class. */
  override readonly name = "UnreadableRowError";
}

/** Members by name, of a row or of parsed JSON. */
export type Members = Readonly<Record<string, unknown>>;

/** The columns `name, condition, last, next_run_at_ms, interval_ms, missed_runs, seen_at_ms` of a record. */
export function rowOfRecord(record: CheckRecord): readonly SQLInputValue[] {
  return [
    encodeText(record.name),
    JSON.stringify(copyConditionState(record.condition)),
    record.last === null ? null : JSON.stringify(copyKeptResult(record.last)),
    record.nextRunAtMs,
    record.intervalMs,
    record.missedRuns,
    record.seenAtMs,
  ];
}

/**
 * The record in a row of `checks`.
 *
 * @throws {UnreadableRowError} If it is none.
 */
export function recordOfRow(row: Members): CheckRecord {
  const last = row["last"];
  return {
    name: decodeText(textIn(row, "name")),
    condition: conditionStateOf(membersOf(textIn(row, "condition"))),
    last: last === null ? null : keptResultOf(membersOf(textIn(row, "last"))),
    nextRunAtMs: numberOrNullIn(row, "next_run_at_ms"),
    intervalMs: numberIn(row, "interval_ms"),
    missedRuns: numberIn(row, "missed_runs"),
    seenAtMs: numberIn(row, "seen_at_ms"),
  };
}

/**
 * The change in a row of `changes`.
 *
 * @throws {UnreadableRowError} If it is none.
 */
export function changeOfRow(name: string, row: Members): ConditionChange {
  return {
    name,
    atMs: numberIn(row, "at_ms"),
    from: conditionIn(row, "from_condition"),
    to: conditionIn(row, "to_condition"),
    output: decodeText(textIn(row, "output")),
  };
}

/**
 * The roll-up in a row of `rollups`.
 *
 * @throws {UnreadableRowError} If it is none.
 */
export function rollupOfRow(name: string, row: Members): Rollup {
  return {
    name,
    startMs: numberIn(row, "start_ms"),
    spanMs: numberIn(row, "span_ms"),
    observed: countsOf((condition) => numberIn(row, `observed_${condition}`)),
    lastedMs: countsOf((condition) => numberIn(row, `lasted_${condition}_ms`)),
    durationTotalMs: numberIn(row, "duration_total_ms"),
    durationMaxMs: numberIn(row, "duration_max_ms"),
  };
}

/**
 * Text as it is kept. The database would end it at a U+0000 and make every lone surrogate the same U+FFFD, so
 * that two names become one; text with either is kept as a JSON string. That begins with a quotation mark, and
 * so that nothing else does, text that begins with one is kept as JSON too.
 */
export function encodeText(text: string): string {
  return text.isWellFormed() && !text.includes("\0") && !text.startsWith('"') ? text : JSON.stringify(text);
}

/** The text that `encodeText` kept. */
function decodeText(kept: string): string {
  if (!kept.startsWith('"')) return kept;
  const text = parse(kept);
  if (typeof text !== "string") throw new UnreadableRowError("text is a string, not another JSON value");
  return text;
}

function conditionStateOf(members: Members): ConditionState {
  return {
    settled: conditionIn(members, "settled"),
    settledSinceMs: numberOrNullIn(members, "settledSinceMs"),
    atLeast: countsIn(members, "atLeast"),
    atMost: countsIn(members, "atMost"),
    observed: members["observed"] === null ? null : conditionIn(members, "observed"),
    observedAtMs: numberOrNullIn(members, "observedAtMs"),
    problemBeganAtMs: numberOrNullIn(members, "problemBeganAtMs"),
    reported: conditionIn(members, "reported"),
    reportedAtMs: numberOrNullIn(members, "reportedAtMs"),
    reportedProblemBeganAtMs: numberOrNullIn(members, "reportedProblemBeganAtMs"),
  };
}

function keptResultOf(members: Members): KeptResult {
  return {
    condition: conditionIn(members, "condition"),
    output: textIn(members, "output"),
    detail: textIn(members, "detail"),
    performanceData: textIn(members, "performanceData"),
    startedAtMs: numberIn(members, "startedAtMs"),
    durationMs: numberIn(members, "durationMs"),
  };
}

function countsIn(members: Members, name: string): ConditionCounts {
  const counts = objectOf(members[name], name);
  return countsOf((condition) => numberIn(counts, condition));
}

function countsOf(countFor: (condition: Condition) => number): ConditionCounts {
  return {
    ok: countFor("ok"),
    unknown: countFor("unknown"),
    warning: countFor("warning"),
    critical: countFor("critical"),
  };
}

function conditionIn(members: Members, name: string): Condition {
  const condition = CONDITIONS.find((known) => known === members[name]);
  if (condition === undefined) throw unreadable(name, "a condition");
  return condition;
}

function textIn(members: Members, name: string): string {
  const value = members[name];
  if (typeof value !== "string") throw unreadable(name, "text");
  return value;
}

function numberIn(members: Members, name: string): number {
  const value = members[name];
  if (typeof value !== "number") throw unreadable(name, "a number");
  return value;
}

function numberOrNullIn(members: Members, name: string): number | null {
  return members[name] === null ? null : numberIn(members, name);
}

function membersOf(json: string): Members {
  return objectOf(parse(json), "JSON");
}

function objectOf(value: unknown, name: string): Members {
  if (typeof value !== "object" || value === null) throw unreadable(name, "an object");
  return value as Members;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new UnreadableRowError("a row holds broken JSON", { cause: error });
  }
}

function unreadable(name: string, expected: string): UnreadableRowError {
  return new UnreadableRowError(`"${name}" of a row is not ${expected}`);
}
