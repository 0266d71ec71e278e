import type { Clock } from "../../domain/clock.ts";
import { createYield } from "../../shared/deadline.ts";
import { isPublicCheck, publicPage, renderPublicRest, renderPublicTop } from "./public_page.ts";
import { type PageHistories, type PagePiece, type PageRow, type PageRows, pieceText } from "./page_rows.ts";
import { mostDetailed, renderRest, renderTop } from "./render_report.ts";
import type { Markup } from "../markup.ts";
import {
  asObserved,
  type Availability,
  availabilityOf,
  lastedIn,
  type RunCounts,
} from "../../state/availability.ts";
import { CONDITIONS, eachCondition, mostUrgentFirst } from "../../domain/condition.ts";
import { MEASURED_MAX, measuredIn } from "../../state/metric_sums.ts";
import type { CheckRecord, NamedMetricHour, RollupSum, Store } from "../../domain/store.ts";
import { shownNotifications } from "../outbox_status.ts";
import { lastingSilences } from "../../engine/suppression.ts";
import { type CheckStatus, inactiveNames, type ShownCheck, statusOf } from "../../engine/check_status.ts";
import { readServices } from "../../state/read_store.ts";
import {
  DAYS_SHOWN,
  HOURS_SHOWN,
  NO_HISTORY,
  type PageCheck,
  type PageDay,
  type PageFacts,
  type PageHistory,
  type PageSlot,
  type ReportSnapshot,
} from "./snapshot.ts";
import { pageScale } from "./strips.ts";
import { type Percentiles, percentilesOf } from "../../shared/histograms.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";

interface PageOptions extends Omit<GatherOptions, "pause"> {
  /** Tags of the checks that the page for everybody shows; absent: the page shows everything. */
  readonly public?: readonly string[] | undefined;
  /** The histories of checks without details. @default read for each page */
  readonly histories?: PageHistories | undefined;
  /** The rows of the page, for {@linkcode pagePieces}. @default each is rendered */
  readonly rows?: PageRows | undefined;
  readonly clock: Pick<Clock, "monotonicMs" | "after">;
  /** Called with the time that a step took, before others get theirs. */
  readonly onWork?: ((workMs: number) => void) | undefined;
}

/** @throws {StoreError} If the state cannot be read. */
export async function writeReport(options: PageOptions): Promise<string> {
  let text = "";
  for await (const pieces of pagePieces(options)) {
    text += pieces.map(pieceText).join("");
  }
  return text;
}

/**
 * Returns the page in pieces, some milliseconds of work at a time. Those above the checks come before their history is
 * read.
 *
 * @throws {StoreError} If the state cannot be read.
 */
export async function* pagePieces(
  { clock, onWork, public: tags, checks, isWhole, histories, rows, ...options }: PageOptions,
): AsyncGenerator<readonly PagePiece[]> {
  const pause = createYield(clock, { onWork });
  const isPublic = tags !== undefined;
  const gathered = await gatherStatuses({
    ...options,
    checks: isPublic ? checks.filter((check) => isPublicCheck(check, tags)) : checks,
    isWhole: isWhole && !isPublic,
    pause,
  });
  const top = isPublic ? renderPublicTop(publicPage(gathered)) : renderTop(gathered);
  yield Array.from(top, toPiece);
  await pause();
  const snapshot = await addHistory(gathered, { store: options.store, isPublic, histories, pause });
  let pieces: PagePiece[] = [];
  for (const piece of isPublic ? renderPublicRest(publicPage(snapshot)) : renderRest(snapshot, rows)) {
    pieces.push(toPiece(piece));
    if (!await pause()) continue;
    yield pieces;
    pieces = [];
  }
  yield pieces;
}

function toPiece(piece: Markup | PageRow): PagePiece {
  return "html" in piece ? piece : piece.toString();
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
  pause(): Promise<unknown>;
}

/**
 * Returns the present state of all checks, without their history.
 *
 * @throws {StoreError} If the state cannot be read.
 */
async function gatherStatuses(options: GatherOptions): Promise<ReportSnapshot> {
  const { store, checks, isWhole, facts, pause } = options;
  const { nowMs, notRunning } = facts;
  const inactive = inactiveNames(checks);
  const recordOf = options.recordOf ?? await keptRecords(store);
  const records = checks.flatMap(({ name }) => recordOf(name) ?? []);
  const silences = lastingSilences(await store?.silences(nowMs) ?? [], records);
  const shown: PageCheck[] = [];
  for (const check of checks) {
    if (!check.active) continue;
    shown.push({ ...statusOf(check, { recordOf, inactive, silences, notRunning, nowMs }), ...NO_HISTORY });
    await pause();
  }
  const names = new Set(checks.map((check) => check.name));
  const isShown = (name: string | null): boolean => isWhole || name === null || names.has(name);
  return {
    ...facts,
    checks: shown,
    inactive: checks.filter((check) => !check.active),
    rows: shownNotifications(await store?.outbox(), nowMs).filter((row) => isShown(row.notification.check)),
    members: isWhole ? await readServices(store) : null,
    silences: silences.filter(({ check }) => isShown(check)),
    failedReload: (await store?.monitorRun())?.failedReload ?? null,
  };
}

/** @throws {StoreError} If the state cannot be read. */
async function addHistory(
  snapshot: ReportSnapshot,
  { store, isPublic, histories, pause }: Pick<PageOptions, "store" | "histories"> & {
    readonly isPublic: boolean;
    pause(): Promise<unknown>;
  },
): Promise<ReportSnapshot> {
  const { checks, nowMs, isOfOneCheck = false } = snapshot;
  const { detailsMax } = pageScale(checks.length, isOfOneCheck);
  const detailed = new Set(isPublic ? [] : mostDetailed(checks).slice(0, detailsMax));
  const found = new Map<PageCheck, PageHistory>();
  const others: PageCheck[] = [];
  for (const status of checks) {
    const history = detailed.has(status) ? null : histories?.get(status, nowMs) ?? null;
    if (history === null) others.push(status);
    else found.set(status, history);
    await pause();
  }
  for (const isDetailed of [true, false]) {
    const some = others.filter((status) => detailed.has(status) === isDetailed);
    for (let index = 0; index < some.length; index += CHECKS_AT_A_TIME) {
      await pause();
      const part = some.slice(index, index + CHECKS_AT_A_TIME);
      for (const [status, history] of await readHistories(part, { store, snapshot, isDetailed })) {
        found.set(status, history);
        if (!isDetailed) histories?.keep(status, history, nowMs);
      }
    }
  }
  const whole: PageCheck[] = [];
  for (const status of checks) {
    whole.push({ ...status, ...found.get(status) });
    await pause();
  }
  return {
    ...snapshot,
    checks: whole,
    ...isOfOneCheck && checks[0] !== undefined &&
      { own: await gatherOwn(checks[0].check.name, store, nowMs) },
  };
}

const HOURS_OF_CHART = 7 * 24;

async function gatherOwn(name: string, store: Store | null, nowMs: number) {
  const names = [name];
  const hour = { slotMs: HOUR_MS, count: HOURS_OF_CHART, nowMs };
  const day = { slotMs: DAY_MS, count: DAYS_SHOWN, nowMs };
  const untilMs = (Math.floor(nowMs / HOUR_MS) + 1) * HOUR_MS;
  const sinceMs = untilMs - HOURS_OF_CHART * HOUR_MS;
  const sinceDayMs = (Math.floor(nowMs / DAY_MS) + 1 - DAYS_SHOWN) * DAY_MS;
  const hours = await store?.rollupSums(names, { sinceMs, untilMs, each: "hour" }) ?? [];
  const days = await store?.rollupSums(names, { sinceMs: sinceDayMs, untilMs: nowMs, each: "day" }) ?? [];
  const toPercentiles = (sum: RollupSum | undefined): Percentiles | null =>
    sum === undefined ? null : percentilesOf(sum);
  return {
    measured: measuredOf(lastSlots(await store?.metricHours(names, { sinceMs, untilMs }) ?? [], hour)),
    hours: lastSlots(hours, hour).map(toPercentiles),
    days: lastSlots(days, day).map(toPercentiles),
    deliveries: await store?.deliveries({ checks: names, sinceMs: 0, untilMs: nowMs }) ?? [],
    actions: await store?.actions(name) ?? [],
  };
}

/** Returns the measured values of each hour of the charts, in the order of their names in the last hour. */
function measuredOf(
  hours: readonly (NamedMetricHour | undefined)[],
): NonNullable<ReportSnapshot["own"]>["measured"] {
  const names = new Set(hours.toReversed().flatMap((hour) => Object.keys(hour?.sums ?? {})));
  return [...names].slice(0, MEASURED_MAX).map((name) => [
    name,
    hours.map((hour) => {
      const sum = hour?.sums[name];
      return sum === undefined ? null : measuredIn(sum);
    }),
  ]);
}

/** Returns what is known of each of the last hours or days, the present one last; `undefined`: nothing. */
function lastSlots<Known extends { readonly startMs: number }>(
  known: readonly Known[],
  { slotMs, count, nowMs }: Readonly<Record<"slotMs" | "count" | "nowMs", number>>,
): readonly (Known | undefined)[] {
  const bySlot = new Map(known.map((one) => [Math.floor(one.startMs / slotMs), one]));
  const first = Math.floor(nowMs / slotMs) - count + 1;
  return Array.from({ length: count }, (_, index) => bySlot.get(first + index));
}

async function keptRecords(store: Store | null): Promise<(name: string) => CheckRecord | null> {
  const records = new Map((await store?.records() ?? []).map((record) => [record.name, record]));
  return (name) => records.get(name) ?? null;
}

/** Reads the histories of some checks; without details, only the days. */
async function readHistories(
  statuses: readonly PageCheck[],
  { store, snapshot: { nowMs, isOfOneCheck, notRunning }, isDetailed }: {
    readonly store: Store | null;
    readonly snapshot: ReportSnapshot;
    readonly isDetailed: boolean;
  },
): Promise<readonly (readonly [PageCheck, PageHistory])[]> {
  const names = statuses.map(({ check }) => check.name);
  const sums = async ({ days, each }: typeof SPANS[number]): Promise<Sums> =>
    Map.groupBy(
      await store?.rollupSums(names, { sinceMs: nowMs - days * DAY_MS, untilMs: nowMs, each }) ?? [],
      ({ name }) => name,
    );
  const spans = isDetailed ? SPANS : SPANS.slice(-1);
  const sumsOfSpans: Sums[] = [];
  for (const span of spans) sumsOfSpans.push(await sums(span));
  const recent = new Map(
    (isDetailed ? await store?.recentRuns(names) ?? [] : []).map(({ name, runs }) => [name, runs]),
  );
  const limit = isOfOneCheck === true ? CHANGES_OF_ONE_CHECK : CHANGES_EACH;
  const found: [PageCheck, PageHistory][] = [];
  for (const status of statuses) {
    const { check, record } = status;
    const own = sumsOfSpans.map((sums) => sums.get(check.name) ?? []);
    const hours = isDetailed
      ? lastSlots(own[0] ?? [], { slotMs: HOUR_MS, count: HOURS_SHOWN, nowMs }).map(toSlot)
      : [];
    const days = lastSlots(own.at(-1) ?? [], { slotMs: DAY_MS, count: DAYS_SHOWN, nowMs }).map(toDay);
    found.push([status, {
      isDetailed,
      spans: spans.map(({ label, days }, index) => ({
        label,
        ms: days * DAY_MS,
        ...addUp(own[index] ?? [], asObserved(check, record, notRunning?.sinceMs ?? null), nowMs),
      })),
      hours: withPresent(hours, { status, slotMs: HOUR_MS, nowMs }),
      days: withPresent(days, { status, slotMs: DAY_MS, nowMs }),
      recent: recent.get(check.name) ?? [],
      changes: isDetailed ? await store?.changes(check.name, { sinceMs: 0, limit }) ?? [] : [],
    }]);
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

function toDay(sum: RollupSum | undefined): PageDay {
  return { ...toSlot(sum), durationP95Ms: sum === undefined ? null : percentilesOf(sum)?.p95 ?? null };
}

function toSlot(sum: RollupSum | undefined): PageSlot {
  if (sum === undefined) return { highest: null, failedRuns: 0 };
  const { lastedMs, failedRuns } = sum;
  const highest = HIGHEST_FIRST.find((condition) => lastedMs[condition] > 0);
  return { highest: highest ?? (failedRuns > 0 ? "pending" : null), failedRuns };
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
