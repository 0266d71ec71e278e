import { asHeard, conditionOf, describeStale, type ShownCheck } from "../../engine/check_status.ts";
import { CHECK_KINDS } from "../../checks/registry.ts";
import type { Check, CheckKind } from "../../domain/check.ts";
import type { ConditionCounts } from "../../domain/condition.ts";
import type { CheckRecord, ConditionChange, RollupSum, Store } from "../../domain/store.ts";
import { asObserved, lastedIn, observedUntil } from "../../state/availability.ts";
import { NO_RUNS } from "../../shared/duration_histogram.ts";
import type { ShortChange } from "./outages.ts";
import { readObjectives } from "./read_objectives.ts";
import { type CheckHistory, type RunSums, summarize, type Summary, type SummaryInput } from "./summarize.ts";

const CHECKS_AT_A_TIME = 50;
const CHANGES_MAX = 1000;

interface GatherSummaryOptions extends Omit<SummaryInput, "checks" | "queued" | "caused"> {
  /** The opened state; `null`: nothing yet. */
  readonly store:
    | Pick<Store, "rollupSums" | "changes" | "outbox" | "deliveries" | "journal" | "silences">
    | null;
  /** Those of the config; only active ones count. */
  readonly checks: readonly (ShownCheck & Partial<Pick<Check, "objective" | "connectivity" | "rehearsed">>)[];
  /** Only checks with one of these tags. @default all */
  readonly tags?: readonly string[] | undefined;
  recordOf(name: string): CheckRecord | null;
  /** The present wall time: the period may have ended earlier. */
  readonly nowMs: number;
  /** Yields to other work; called between steps of some milliseconds. */
  pause(): Promise<unknown>;
}

/** @throws {StoreError} If the state can't be read. */
export async function gatherSummary(options: GatherSummaryOptions): Promise<Summary> {
  const { store, tags, sinceMs, untilMs, timeZone, hostName, monitor, notes, removed, pause } = options;
  const checks = options.checks.filter((check) =>
    check.active && (tags === undefined || check.tags.some((tag) => tags.includes(tag)))
  );
  const histories: CheckHistory[] = [];
  for (let index = 0; index < checks.length; index += CHECKS_AT_A_TIME) {
    await pause();
    histories.push(...await readHistories(checks.slice(index, index + CHECKS_AT_A_TIME), options));
  }
  const names = new Set(checks.map(({ name }) => name));
  const queued = ((await store?.outbox())?.notifications ?? []).filter(({ notification: { check } }) =>
    tags === undefined || names.has(check)
  );
  return summarize({
    sinceMs,
    untilMs,
    timeZone,
    hostName,
    ...monitor !== undefined && { monitor },
    ...notes !== undefined && { notes },
    ...removed !== undefined && { removed },
    queued,
    caused: await store?.deliveries({ checks: [...names], sinceMs, untilMs, haveCause: true }) ?? [],
    checks: histories,
  });
}

type Sums = RunSums & { readonly lastedMs: ConditionCounts };

async function readHistories(
  checks: GatherSummaryOptions["checks"],
  { store, recordOf, sinceMs, untilMs, nowMs, pause, monitor }: GatherSummaryOptions,
): Promise<readonly CheckHistory[]> {
  const names = checks.map(({ name }) => name);
  const read = async (fromMs: number, toMs: number): Promise<(name: string) => Sums> =>
    finder(await store?.rollupSums(names, { sinceMs: fromMs, untilMs: toMs - 1, each: "check" }) ?? []);
  const sumsOf = await read(sinceMs, untilMs);
  const beforeOf = await read(2 * sinceMs - untilMs, sinceMs);
  const notRunning = monitor?.notRunning ?? null;
  const objectives = await readObjectives(store, checks, {
    untilMs,
    ranUntilMs: notRunning?.sinceMs ?? null,
  });
  const histories: CheckHistory[] = [];
  for (const check of checks) {
    const { name, title = null, kind } = check;
    await pause();
    const stored = recordOf(name);
    const known = conditionOf(check, asHeard(check, stored, recordOf), nowMs, notRunning);
    const record = asObserved(check, stored, notRunning?.sinceMs ?? null);
    const sums = sumsOf(name);
    histories.push({
      name,
      title,
      present: {
        ...known,
        reason: describeStale({ check, state: known.state, record: stored, notRunning }, nowMs),
      },
      isJob: await hasCheckIns(kind),
      objective: objectives.get(name) ?? null,
      rehearsal: await rehearsalOf(check, record),
      // An outage is not known to last any more.
      record: record !== null && ["not_running", "in_future"].includes(known.state)
        ? endedAt(record, untilMs)
        : record,
      sums: { ...sums, lastedMs: lastedIn(sums, record, untilMs) },
      before: beforeOf(name),
      ...await readChanges(name, { store, sinceMs }),
    });
  }
  return histories;
}

/** Returns a record that is overdue since the end of its observed time. */
function endedAt(record: CheckRecord, untilMs: number): CheckRecord {
  const { observedAtMs } = record.condition;
  const lastMs = observedAtMs !== null && observedAtMs > untilMs ? -Infinity : observedAtMs;
  const endMs = observedUntil(record, untilMs, true)?.untilMs ?? lastMs;
  return { ...record, condition: { ...record.condition, observedAtMs: endMs }, overdueAtMs: endMs };
}

async function hasCheckIns(kind: string | null): Promise<boolean> {
  if (kind === null || !Object.hasOwn(CHECK_KINDS, kind)) return false;
  return (await CHECK_KINDS[kind as CheckKind]()).hasCheckIns === true;
}

async function rehearsalOf(
  { kind, rehearsed }: GatherSummaryOptions["checks"][number],
  record: CheckRecord | null,
): Promise<CheckHistory["rehearsal"]> {
  if (kind === null || rehearsed === undefined) return null;
  const { rehearsalOf } = await CHECK_KINDS[kind as CheckKind]();
  const last = rehearsalOf?.(record?.last?.memory ?? null, rehearsed.key) ?? null;
  return { provenAtMs: last?.provenAtMs ?? null };
}

const NO_SUMS: Sums = {
  runs: 0,
  durationTotalMs: 0,
  durationMaxMs: 0,
  durations: NO_RUNS,
  lastedMs: { ok: 0, unknown: 0, warning: 0, critical: 0 },
};

function finder(sums: readonly RollupSum[]): (name: string) => Sums {
  const byName = new Map(sums.map((sum) => [sum.name, sum]));
  return (name) => byName.get(name) ?? NO_SUMS;
}

async function readChanges(
  name: string,
  { store, sinceMs }: Pick<GatherSummaryOptions, "store" | "sinceMs">,
): Promise<Pick<CheckHistory, "changes" | "earlier">> {
  const changes = await store?.changes(name, { sinceMs: sinceMs + 1, limit: CHANGES_MAX }) ?? [];
  const from = { atMs: sinceMs, skip: 0 };
  const [earlier] = await store?.changes(name, { sinceMs: -Infinity, limit: 1, from }) ?? [];
  return {
    changes: changes.map(withoutTrace),
    earlier: earlier === undefined ? null : withoutTrace(earlier),
  };
}

function withoutTrace({ trace: _, ...change }: ConditionChange): ShortChange {
  return change;
}
