/** Between the rows of checks, changes and roll-ups, and what they stand for. */
import type { SQLInputValue } from "node:sqlite";
import { type Condition, CONDITIONS } from "../domain/condition.ts";
import type { ConditionCounts, ConditionState } from "../domain/condition_state.ts";
import type { CheckRecord, ConditionChange, KeptResult, Rollup, RollupSum } from "../domain/store.ts";
import { copyConditionState, copyKeptResult } from "./copies.ts";
import {
  conditionIn,
  encodedTextIn,
  encodeText,
  type Members,
  membersOf,
  numberIn,
  numberListsIn,
  numberOrNullIn,
  objectOf,
  textIn,
} from "./members.ts";

/**
 * The columns `name, condition, last, next_run_at_ms, interval_ms, missed_runs, seen_at_ms` of a record, its four
 * counts and `duration_total_ms`.
 */
export function rowOfRecord(record: CheckRecord): readonly SQLInputValue[] {
  return [
    encodeText(record.name),
    JSON.stringify(copyConditionState(record.condition)),
    record.last === null ? null : JSON.stringify(copyKeptResult(record.last)),
    record.nextRunAtMs,
    record.intervalMs,
    record.missedRuns,
    record.seenAtMs,
    ...CONDITIONS.map((condition) => record.runs[condition]),
    record.durationTotalMs,
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
    name: encodedTextIn(row, "name"),
    condition: conditionStateOf(membersOf(textIn(row, "condition"))),
    last: last === null ? null : keptResultOf(membersOf(textIn(row, "last"))),
    nextRunAtMs: numberOrNullIn(row, "next_run_at_ms"),
    intervalMs: numberIn(row, "interval_ms"),
    missedRuns: numberIn(row, "missed_runs"),
    runs: countsOf((condition) => numberIn(row, `runs_${condition}`)),
    durationTotalMs: numberIn(row, "duration_total_ms"),
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
    output: encodedTextIn(row, "output"),
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
    failedStreakMax: numberIn(row, "failed_streak_max"),
  };
}

type SumNumbers = readonly [number, number, number, number, number, number, number, number, number];

/**
 * The sums in a row of a name and its packed sums, the oldest first; those that begin together are added.
 *
 * @throws {UnreadableRowError} If they are none.
 */
export function sumsOfRow(row: Members): readonly RollupSum[] {
  const name = encodedTextIn(row, "name");
  const sums = new Map<number, RollupSum>();
  for (const list of numberListsIn(row, "sums", 9) as readonly (readonly number[] & SumNumbers)[]) {
    const [startMs, runs, failedRuns, failedStreakMax, ok, unknown, warning, critical, durationTotalMs] =
      list;
    const before = sums.get(startMs);
    sums.set(startMs, {
      name,
      startMs,
      runs: runs + (before?.runs ?? 0),
      failedRuns: failedRuns + (before?.failedRuns ?? 0),
      failedStreakMax: Math.max(failedStreakMax, before?.failedStreakMax ?? 0),
      lastedMs: {
        ok: ok + (before?.lastedMs.ok ?? 0),
        unknown: unknown + (before?.lastedMs.unknown ?? 0),
        warning: warning + (before?.lastedMs.warning ?? 0),
        critical: critical + (before?.lastedMs.critical ?? 0),
      },
      durationTotalMs: durationTotalMs + (before?.durationTotalMs ?? 0),
    });
  }
  return [...sums.values()].sort((one, other) => one.startMs - other.startMs);
}

function conditionStateOf(members: Members): ConditionState {
  return {
    confirmed: conditionIn(members, "confirmed"),
    confirmedSinceMs: numberOrNullIn(members, "confirmedSinceMs"),
    atLeast: countsIn(members, "atLeast"),
    atMost: countsIn(members, "atMost"),
    observed: members["observed"] === null ? null : conditionIn(members, "observed"),
    observedAtMs: numberOrNullIn(members, "observedAtMs"),
    problemBeganAtMs: numberOrNullIn(members, "problemBeganAtMs"),
    notified: conditionIn(members, "notified"),
    notifiedAtMs: numberOrNullIn(members, "notifiedAtMs"),
    notifiedProblemBeganAtMs: numberOrNullIn(members, "notifiedProblemBeganAtMs"),
  };
}

function keptResultOf(members: Members): KeptResult {
  return {
    condition: conditionIn(members, "condition"),
    output: textIn(members, "output"),
    detail: textIn(members, "detail"),
    performanceData: textIn(members, "performanceData"),
    // The first versions kept neither of these two.
    metrics: members["metrics"] === undefined ? {} : numbersIn(members, "metrics"),
    startedAtMs: numberIn(members, "startedAtMs"),
    durationMs: numberIn(members, "durationMs"),
    lateMs: members["lateMs"] === undefined ? null : numberOrNullIn(members, "lateMs"),
  };
}

function numbersIn(members: Members, name: string): Readonly<Record<string, number>> {
  const numbers = objectOf(members[name], name);
  return Object.fromEntries(Object.keys(numbers).map((key) => [key, numberIn(numbers, key)]));
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
