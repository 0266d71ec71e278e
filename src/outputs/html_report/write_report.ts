import type { Clock } from "../../domain/clock.ts";
import { createYield } from "../../shared/deadline.ts";
import { isPublicCheck, publicPage } from "./public_report.ts";
import { renderPublicPage } from "./render_public_page.ts";
import { renderReport } from "./render_report.ts";
import {
  asObserved,
  type Availability,
  availabilityOf,
  lastedIn,
  type RunCounts,
} from "../../state/availability.ts";
import { type Condition, CONDITIONS, eachCondition, mostUrgentFirst } from "../../domain/condition.ts";
import type { Silence } from "../../domain/outbox.ts";
import type { CheckRecord, RollupSum, Store } from "../../domain/store.ts";
import { shownNotifications } from "../../engine/outbox_status.ts";
import { lastingSilences } from "../../engine/silences.ts";
import { type CheckStatus, inactiveNames, type ShownCheck, statusOf } from "../../engine/check_status.ts";
import { readServices } from "../../state/read_store.ts";
import {
  DAYS_SHOWN,
  HOURS_SHOWN,
  type PageCheck,
  type PageDay,
  type PageFacts,
  type PageSlot,
  type ReportSnapshot,
} from "./snapshot.ts";
import { firstHourMs } from "./strips.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";

interface PageOptions extends Omit<GatherOptions, "pause"> {
  /** Tags of the checks that the page for everybody shows; absent: the page shows everything. */
  readonly public?: readonly string[] | undefined;
  readonly clock: Pick<Clock, "monotonicMs" | "after">;
}

/** @throws {StoreError} If the state cannot be read. */
export async function writeReport(
  { clock, public: tags, checks, isWhole, ...options }: PageOptions,
): Promise<string> {
  const pause = createYield(clock);
  const shown = tags === undefined ? checks : checks.filter((check) => isPublicCheck(check, tags));
  const gathered = await gatherReport({
    ...options,
    checks: shown,
    isWhole: isWhole && tags === undefined,
    pause,
  });
  const pieces = tags === undefined ? renderReport(gathered) : renderPublicPage(publicPage(gathered));
  let text = "";
  for (const piece of pieces) {
    text += piece.toString();
    await pause();
  }
  return text;
}

const CHANGES_EACH = 5;
/** On the page of one check. */
const CHANGES_OF_ONE_CHECK = 50;
/** So many are read at a time: the store reads synchronously, and blocks everything else meanwhile. */
const CHECKS_AT_A_TIME = 4;

interface GatherOptions {
  /** The opened state; `null`: nothing yet. */
  readonly store: Store | null;
  /** Every check that is to be shown, inactive ones included, in the config's order. */
  readonly checks: readonly ShownCheck[];
  /** Whether these are all of the config: then pending notifications of checks that left it are shown too. */
  readonly isWhole: boolean;
  /** Those of the page that need no looking up. */
  readonly facts: PageFacts;
  /** The record of a check, if a newer one than the store's is in memory. */
  recordOf?(name: string): CheckRecord | null;
  /** Yields to other work; called between steps of some milliseconds. */
  pause(): Promise<void>;
}

/** @throws {StoreError} If the state cannot be read. */
async function gatherReport(options: GatherOptions): Promise<ReportSnapshot> {
  const { store, checks, isWhole, facts, pause } = options;
  const { nowMs } = facts;
  const active = checks.filter((check) => check.active);
  const inactive = inactiveNames(checks);
  const recordOf = options.recordOf ?? await keptRecords(store);
  const records = checks.flatMap(({ name }) => recordOf(name) ?? []);
  const silences = lastingSilences(await store?.silences(nowMs) ?? [], records);
  const shown: PageCheck[] = [];
  for (let index = 0; index < active.length; index += CHECKS_AT_A_TIME) {
    await pause();
    const some = active.slice(index, index + CHECKS_AT_A_TIME);
    shown.push(...await gatherChecks(some, { store, facts, recordOf, inactive, silences }));
  }
  const names = new Set(checks.map((check) => check.name));
  const isShown = (name: string | null): boolean => isWhole || name === null || names.has(name);
  return {
    ...facts,
    checks: shown,
    ...facts.isOfOneCheck === true && shown.length === 1 &&
      { own: await gatherOwn(active.map(({ name }) => name), store, nowMs) },
    inactive: checks.filter((check) => !check.active),
    rows: shownNotifications(await store?.outbox(), nowMs).filter((row) => isShown(row.notification.check)),
    members: isWhole ? await readServices(store) : null,
    silences: silences.filter(({ check }) => isShown(check)),
    failedReload: (await store?.monitorRun())?.failedReload ?? null,
  };
}

const HOURS_OF_CHART = 7 * 24;

async function gatherOwn(names: readonly string[], store: Store | null, nowMs: number) {
  const untilMs = (Math.floor(nowMs / HOUR_MS) + 1) * HOUR_MS;
  const sinceMs = untilMs - HOURS_OF_CHART * HOUR_MS;
  const sums = await store?.rollupSums(names, { sinceMs, untilMs, each: "hour" }) ?? [];
  const byStart = new Map(sums.map((sum) => [sum.startMs, meanOf(sum)]));
  return {
    hourMeansMs: Array.from(
      { length: HOURS_OF_CHART },
      (_, hour) => byStart.get(sinceMs + hour * HOUR_MS) ?? null,
    ),
    deliveries: await store?.deliveries({ checks: names, sinceMs: 0, untilMs: nowMs }) ?? [],
    actions: (await Promise.all(names.map((name) => store?.actions(name) ?? []))).flat(),
  };
}

type RecordOf = (name: string) => CheckRecord | null;

async function keptRecords(store: Store | null): Promise<RecordOf> {
  const records = new Map((await store?.records() ?? []).map((record) => [record.name, record]));
  return (name) => records.get(name) ?? null;
}

interface ChecksOptions {
  readonly store: Store | null;
  readonly facts: PageFacts;
  readonly recordOf: RecordOf;
  readonly inactive: ReadonlySet<string>;
  readonly silences: readonly Silence[];
}

async function gatherChecks(
  checks: readonly ShownCheck[],
  { store, facts: { nowMs, isOfOneCheck, notRunning }, recordOf, inactive, silences }: ChecksOptions,
): Promise<readonly PageCheck[]> {
  const names = checks.map((check) => check.name);
  const sums = async ({ days, each }: typeof SPANS[number]): Promise<Sums> =>
    Map.groupBy(
      await store?.rollupSums(names, { sinceMs: nowMs - days * DAY_MS, untilMs: nowMs, each }) ?? [],
      ({ name }) => name,
    );
  const sumsOfSpans: Sums[] = [];
  for (const span of SPANS) sumsOfSpans.push(await sums(span));
  const recent = new Map((await store?.recentRuns(names) ?? []).map(({ name, runs }) => [name, runs]));
  const limit = isOfOneCheck === true ? CHANGES_OF_ONE_CHECK : CHANGES_EACH;
  const found: PageCheck[] = [];
  for (const check of checks) {
    const record = recordOf(check.name);
    const status = statusOf(check, { recordOf, inactive, silences, notRunning, nowMs });
    const own = sumsOfSpans.map((sums) => sums.get(check.name) ?? []);
    found.push({
      ...status,
      spans: SPANS.map(({ label, days }, index) => ({
        label,
        ms: days * DAY_MS,
        ...addUp(own[index] ?? [], asObserved(check, record, notRunning?.sinceMs ?? null), nowMs),
      })),
      hours: withPresent(toHours(own[0] ?? [], nowMs), { status, slotMs: HOUR_MS, nowMs }),
      days: withPresent(toDays(own.at(-1) ?? [], nowMs), { status, slotMs: DAY_MS, nowMs }),
      recent: recent.get(check.name) ?? [],
      changes: await store?.changes(check.name, { sinceMs: 0, limit }) ?? [],
    });
  }
  return found;
}

/** The first one is read by hours and the last one by days, which the strips show. */
const SPANS = [
  { label: "24 h", days: 1, each: "hour" },
  { label: "7 d", days: 7, each: "check" },
  { label: `${DAYS_SHOWN} d`, days: DAYS_SHOWN, each: "day" },
] as const;

type Sums = ReadonlyMap<string, readonly RollupSum[]>;

function addUp(
  sums: readonly RollupSum[],
  record: CheckRecord | null,
  nowMs: number,
): Availability & RunCounts {
  const total = (pick: (sum: RollupSum) => number): number =>
    sums.reduce((subtotal, sum) => subtotal + pick(sum), 0);
  const runs = total((sum) => sum.runs);
  const lastedMs = eachCondition((condition) => total((sum) => sum.lastedMs[condition]));
  return {
    ...availabilityOf(lastedIn({ runs, lastedMs }, record, nowMs)),
    runs,
    failedRuns: total(({ failedRuns }) => failedRuns),
    failedStreakMax: sums.reduce((most, sum) => Math.max(most, sum.failedStreakMax), 0),
  };
}

function toHours(sums: readonly RollupSum[], nowMs: number): readonly PageSlot[] {
  const byStart = new Map(sums.map((sum) => [sum.startMs, sum]));
  const firstMs = firstHourMs(nowMs);
  return Array.from({ length: HOURS_SHOWN }, (_, index) => toSlot(byStart.get(firstMs + index * HOUR_MS)));
}

function toDays(sums: readonly RollupSum[], nowMs: number): readonly PageDay[] {
  const byDay = new Map(sums.map((sum) => [Math.floor(sum.startMs / DAY_MS), sum]));
  const today = Math.floor(nowMs / DAY_MS);
  return Array.from({ length: DAYS_SHOWN }, (_, index) => {
    const sum = byDay.get(today - DAYS_SHOWN + 1 + index);
    return { ...toSlot(sum), durationMeanMs: sum === undefined ? null : meanOf(sum) };
  });
}

function toSlot(sum: RollupSum | undefined): PageSlot {
  if (sum === undefined) return { highest: null, failedRuns: 0 };
  return { highest: highestOf(sum) ?? (sum.failedRuns > 0 ? "pending" : null), failedRuns: sum.failedRuns };
}

/** Adds the condition to the hours or days since the last run, though it has not lasted until another run. */
function withPresent<Slot extends PageSlot>(
  slots: readonly Slot[],
  { status: { condition, state, record }, slotMs, nowMs }: {
    readonly status: CheckStatus;
    readonly slotMs: number;
    readonly nowMs: number;
  },
): readonly Slot[] {
  if (state !== "current") return slots;
  const slotOf = (timeMs: number): number => Math.floor(timeMs / slotMs);
  const since = slotOf(nowMs) - slotOf(Math.min(record?.condition.observedAtMs ?? nowMs, nowMs));
  return slots.map((slot, index) => {
    if (index < slots.length - 1 - since) return slot;
    const [highest = condition] = [condition, slot.highest ?? condition].sort(mostUrgentFirst);
    return { ...slot, highest };
  });
}

const HIGHEST_FIRST = CONDITIONS.toReversed();

function highestOf({ lastedMs }: RollupSum): Condition | null {
  return HIGHEST_FIRST.find((condition) => lastedMs[condition] > 0) ?? null;
}

function meanOf({ runs, durationTotalMs }: RollupSum): number | null {
  return runs === 0 ? null : durationTotalMs / runs;
}
