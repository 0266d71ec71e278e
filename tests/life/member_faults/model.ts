/**
 * Compares the database and the received notifications with the truth. Each difference is a line of text.
 *
 * - Each period of a target is decided at most once, in order, and one that is long enough is decided.
 * - Each decision is notified under one id, in order. If a member failed open, late and duplicate ones are counted.
 * - The hourly sums of each check are the sums of its accepted runs, of which there are no more than its target had.
 * - No check is without a run for longer than is guaranteed.
 */
import { type Arrival, type Period, periodIn, type Truth } from "./truth.ts";

/** The final data of a check in the database. */
export interface KeptCheck {
  readonly name: string;
  readonly confirmed: string;
  /** Accepted runs, as its record counts them, and as the hourly sums do. */
  readonly runs: number;
  readonly summed: number;
  /** In the order in which they were stored. */
  readonly changes: readonly { readonly from: string; readonly to: string; readonly output: string }[];
}

/** A time in which something failed; `performance.now()`. */
export interface FaultTime {
  readonly fault: string;
  readonly fromMs: number;
  readonly toMs: number;
  /**
   * The part that failed: a member may leave a gap of 7 seconds; while the database does not respond nothing is
   * guaranteed.
   */
  readonly affects: "member" | "database" | "nothing";
}

export interface Facts {
  readonly truth: Truth;
  readonly kept: readonly KeptCheck[];
  readonly faults: readonly FaultTime[];
  /** How long this process, and so all of the machine, paused, and when. */
  readonly pauses: readonly { readonly atMs: number; readonly ms: number }[];
  /** Whether a member sent notifications without the database. */
  readonly hasFailedOpen: boolean;
  /** From when to when runs are expected. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** The counted notifications. */
export interface Counts {
  readonly problems: number;
  readonly recoveries: number;
  readonly notifications: number;
  /** Arrived again under the same id. */
  readonly duplicates: number;
  /** Arrived under another id, or out of order: a difference unless a member failed open. */
  readonly surplus: number;
  /** Marked as sent while failing open. */
  readonly open: number;
  readonly served: number;
  readonly accepted: number;
  /** The longest time without a run of a check; milliseconds. */
  readonly longestGapMs: number;
}

const INTERVAL_MS = 1_000;
/** Guaranteed after a death, besides the interval. */
const TAKEN_OVER_MS = 7_000;
/** After an outage a member connects again within the longest backoff, and starts counting heartbeats again. */
const RECONNECTED_MS = 8_000 + 3_500;
/** Results are written together within a second. */
const WRITTEN_MS = 1_000;

/** See the top of the file. */
export function compare(facts: Facts): { readonly differences: readonly string[]; readonly counts: Counts } {
  const { truth, kept } = facts;
  const differences: string[] = [];
  const counts = {
    problems: 0,
    recoveries: 0,
    notifications: 0,
    duplicates: 0,
    surplus: 0,
    open: 0,
    served: 0,
    accepted: 0,
    longestGapMs: 0,
  };
  for (const name of truth.names) {
    const check = kept.find((one) => one.name === name);
    if (check === undefined) {
      differences.push(`${name}: has no record`);
      continue;
    }
    const report = (text: string): void => void differences.push(`${name}: ${text}`);
    const periods = truth.periods.get(name) ?? [];
    const decided = compareDecisions(check, { periods, facts, report });
    const arrivals = arrivalsOf(truth, name);
    const { hasFailedOpen } = facts;
    compareNotifications({ decided, periods, arrivals, counts, hasFailedOpen, report });
    compareRuns(check, { facts, counts, report });
  }
  return { differences, counts };
}

interface Comparison {
  readonly periods: readonly Period[];
  report(text: string): void;
}

/** Returns the periods that were decided, in order. */
function compareDecisions(
  { changes, confirmed }: KeptCheck,
  { periods, facts, report }: Comparison & { readonly facts: Facts },
): readonly number[] {
  const decided: number[] = [];
  // The first ok is no change.
  let condition = changes[0]?.from === "pending" ? "pending" : "ok";
  for (const { from, to, output } of changes) {
    const index = periodIn(output, (decided.at(-1) ?? -1) + 1, periods);
    if (from !== condition) report(`changed from ${from} to ${to}, but was ${condition}`);
    condition = to;
    if (index === null) report(`"${output}" was decided twice, or out of order, after ${decided.join(" ")}`);
    else decided.push(index);
  }
  if (condition !== confirmed) report(`is ${confirmed}, but changed to ${condition} last`);
  for (const [place, { index, fromMs }] of periods.entries()) {
    const toMs = Math.min(periods[place + 1]?.fromMs ?? facts.toMs, facts.toMs);
    const lastedMs = toMs - Math.max(fromMs, facts.fromMs);
    if (lastedMs <= allowedGapMs(facts, fromMs, toMs) + WRITTEN_MS) continue;
    const last = decided.findLast((one) => one <= index) ?? 0;
    if (last % 2 === index % 2) continue;
    report(`period ${index} lasted ${Math.round(lastedMs)} ms and was not decided: ${decided.join(" ")}`);
  }
  return decided;
}

function arrivalsOf({ arrivals }: Truth, name: string): readonly Arrival[] {
  return arrivals.filter(({ notification }) => notification.check === name);
}

const OPEN = /shared state unreachable/;

interface Notified extends Comparison {
  readonly decided: readonly number[];
  readonly arrivals: readonly Arrival[];
  readonly counts: { -readonly [name in keyof Counts]: number };
  readonly hasFailedOpen: boolean;
}

function compareNotifications(
  { decided, periods, arrivals, counts, hasFailedOpen, report }: Notified,
): void {
  const ids = new Set<string>();
  const notified = new Set<number>();
  let last = -1;
  const notePeriod = (event: string, output: string): void => {
    if (OPEN.test(output)) counts.open++;
    const next = periodIn(output, last + 1, periods);
    const index = next ?? periodIn(output, 0, periods);
    if (index !== null) notified.add(index);
    if (next !== null && decided.includes(next)) {
      last = next;
      return;
    }
    counts.surplus++;
    if (hasFailedOpen) return;
    report(`${event} "${output}" ${next === null ? "came twice or late" : "was not decided"}: after ${last}`);
  };
  for (const { notification: { id, event, output, missed_problem: missed } } of arrivals) {
    const isMissedNew = missed !== null && !ids.has(missed.id);
    if (missed !== null && !isMissedNew || ids.has(id)) counts.duplicates++;
    if (isMissedNew) notePeriod("problem", missed.output);
    if (!ids.has(id)) {
      counts.notifications++;
      notePeriod(event, output);
    }
    for (const one of [id, missed?.id]) if (one !== undefined) ids.add(one);
  }
  for (const index of decided) {
    if (index % 2 === 0) counts.recoveries++;
    else counts.problems++;
    if (index > 0 && !notified.has(index)) report(`period ${index} was decided, but not notified`);
  }
}

function compareRuns(
  { name, runs, summed }: KeptCheck,
  { facts, counts, report }: Pick<Notified, "counts" | "report"> & { readonly facts: Facts },
): void {
  const served = facts.truth.runs.get(name) ?? [];
  counts.served += served.length;
  counts.accepted += runs;
  if (runs !== summed) report(`${runs} runs were accepted, but the hourly sums are ${summed}`);
  if (runs > served.length) report(`${runs} runs were accepted of ${served.length}`);
  const times = [facts.fromMs, ...served.filter((ms) => ms > facts.fromMs && ms < facts.toMs), facts.toMs];
  for (const [index, toMs] of times.entries()) {
    const fromMs = times[index - 1] ?? toMs;
    counts.longestGapMs = Math.max(counts.longestGapMs, toMs - fromMs);
    const allowedMs = allowedGapMs(facts, fromMs, toMs);
    if (toMs - fromMs <= allowedMs) continue;
    report(`did not run for ${Math.round(toMs - fromMs)} ms, ${Math.round(allowedMs)} at most`);
  }
}

/** Returns how long a check may go without a run, given the faults meanwhile. */
export function allowedGapMs({ faults, pauses }: Facts, fromMs: number, toMs: number): number {
  const meanwhile = faults.filter((one) => one.fromMs < toMs && one.toMs > fromMs - TAKEN_OVER_MS);
  const members = meanwhile.filter(({ affects }) => affects === "member").length;
  const outages = faults.filter((one) =>
    one.affects === "database" && one.fromMs < toMs && one.toMs + RECONNECTED_MS > fromMs
  );
  const outageMs = outages.reduce((sum, one) => sum + one.toMs - one.fromMs + RECONNECTED_MS, 0);
  const pausedMs = pauses.filter(({ atMs }) => atMs > fromMs && atMs < toMs)
    .reduce((sum, { ms }) => sum + ms, 0);
  return INTERVAL_MS + TAKEN_OVER_MS * Math.max(1, members) + outageMs + pausedMs;
}
