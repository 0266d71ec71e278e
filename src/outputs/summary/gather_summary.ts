import { asHeard, conditionOf, describeStale, type ShownCheck } from "../../engine/check_status.ts";
import { CHECK_KINDS } from "../../checks/registry.ts";
import type { Check, CheckKind } from "../../domain/check.ts";
import type { ConditionCounts } from "../../domain/condition.ts";
import type { CheckRecord, ConditionChange, Store } from "../../domain/store.ts";
import { asObserved, lastedIn, observedUntil } from "../../state/availability.ts";
import { NO_RUNS } from "../../shared/histograms.ts";
import {
  type CheckHistory,
  type Period,
  type RunSums,
  type ShortChange,
  summarize,
  type Summary,
  type SummaryInput,
} from "./summarize.ts";
import { readObjectives } from "./read_objectives.ts";
import type { Sender } from "../../engine/sender.ts";
import type { SharedState } from "../../domain/membership.ts";
import type { SummarySettings } from "../../domain/channel.ts";
import type { System } from "../../domain/system.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";
import { createYield } from "../../shared/deadline.ts";
import type { StateRepository } from "../../state/state_repository.ts";
import { summaryNotification } from "./render_summary.ts";

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
  const { store, checks: all, tags, recordOf: _, nowMs: __, pause, ...facts } = options;
  const { sinceMs, untilMs } = facts;
  const checks = all.filter((check) =>
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
    ...facts,
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
  const read = async (fromMs: number, toMs: number): Promise<(name: string) => Sums> => {
    const span = { sinceMs: fromMs, untilMs: toMs - 1, each: "check" } as const;
    const sums = new Map((await store?.rollupSums(names, span) ?? []).map((sum) => [sum.name, sum]));
    return (name) => sums.get(name) ?? NO_SUMS;
  };
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

export interface QueueSummaryOptions {
  readonly settings: SummarySettings;
  /** All checks of the config. */
  readonly checks: readonly Check[];
  readonly repository: StateRepository;
  /** The state, if several processes share it. */
  readonly shared: SharedState | null;
  readonly sender: Pick<Sender, "queuedSummary" | "send">;
  readonly system: Pick<System, "clock" | "hostName" | "randomId">;
}

/**
 * Queues the summary of the last scheduled time, unless it was queued. After a downtime that is one summary, however many
 * were missed; with a new schedule, the first one comes at its next time.
 *
 * @throws {StoreError} If the state can't be read or written; a further call queues it.
 */
export async function queueDueSummary(options: QueueSummaryOptions): Promise<void> {
  const { settings, repository, system, sender } = options;
  const { times } = settings;
  const { store } = repository;
  const nowMs = system.clock.wallMs();
  const schedule = `${times.expression} ${times.timeZone}`;
  const last = await store.queuedSummary();
  // Far ahead: the clock was set back since. The clocks of several members differ by less.
  if (last === null || last.schedule !== schedule || last.scheduledMs - nowMs > DAY_MS) {
    await store.queueSummary({ schedule, scheduledMs: nowMs }, last, []);
    return;
  }
  if (times.after(last.scheduledMs) > nowMs) return;
  const scheduledMs = lastTime(times, nowMs);
  if (scheduledMs === null || scheduledMs <= last.scheduledMs) return;
  await repository.flush();
  const summary = await readSummary(options, periodOf(settings, scheduledMs));
  const queued = sender.queuedSummary(
    summaryNotification(summary, {
      // Not derived from the time: another installation may have the same schedule and receivers.
      id: `summary-${system.randomId()}`,
      nowMs,
      nextAtMs: times.after(scheduledMs),
    }),
  );
  if (await store.queueSummary({ schedule, scheduledMs }, last, queued)) sender.send(queued);
}

async function readSummary(
  { settings: { times, tags }, checks, repository, shared, system }: QueueSummaryOptions,
  period: Period,
): Promise<Summary> {
  const { clock } = system;
  const nowMs = clock.wallMs();
  // Those that other members run.
  const others = await shared?.store.readOthers(checks.map(({ name }) => name)) ?? [];
  const byName = new Map(others.map((record) => [record.name, record]));
  return await gatherSummary({
    ...period,
    store: repository.store,
    checks,
    tags,
    recordOf: (name) => byName.get(name) ?? repository.recordOf(name, nowMs),
    nowMs,
    timeZone: times.timeZone,
    hostName: system.hostName(),
    pause: createYield(clock),
  });
}

type Times = SummarySettings["times"];

/** Times that come once in 28 years are found, 29 February on a certain weekday among them. */
const SEARCHED_MS = 2 ** 18 * HOUR_MS;

/** Returns the last time of an expression that is not later than another; `null`: none in many years. */
export function lastTime(times: Times, untilMs: number): number | null {
  for (let backMs = HOUR_MS; backMs <= SEARCHED_MS; backMs *= 2) {
    let last: number | null = null;
    for (let atMs = times.after(untilMs - backMs); atMs <= untilMs; atMs = times.after(atMs)) last = atMs;
    if (last !== null) return last;
  }
  return null;
}

/**
 * Returns the period of the summary of a scheduled time: the configured one, by default since the scheduled time before.
 * A week with a DST change counts as one week, so that no hour is left out or counted twice.
 */
export function periodOf({ times, periodMs }: SummarySettings, scheduledMs: number): Period {
  const beforeMs = lastTime(times, scheduledMs - 1);
  if (periodMs === undefined) return { sinceMs: beforeMs ?? scheduledMs - 7 * DAY_MS, untilMs: scheduledMs };
  const sinceMs = scheduledMs - periodMs;
  const isChange = beforeMs !== null && periodMs >= DAY_MS && Math.abs(beforeMs - sinceMs) <= HOUR_MS;
  return { sinceMs: isChange ? beforeMs : sinceMs, untilMs: scheduledMs };
}

/** Returns the period of a summary that is made at any time: as long as that of the last scheduled one. */
export function periodUntil(settings: SummarySettings, nowMs: number): Period {
  const { sinceMs, untilMs } = periodOf(settings, lastTime(settings.times, nowMs) ?? nowMs);
  return { sinceMs: nowMs - (untilMs - sinceMs), untilMs: nowMs };
}
