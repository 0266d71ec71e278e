/**
 * Availability as an interval: against simulated targets, whose true uptime is known. A target goes up and down at random;
 * runs come with jitter, are skipped, find no network, or do not happen for a while.
 */
import assert from "node:assert/strict";
import type { Condition } from "../../src/domain/condition.ts";
import type { JournalRun } from "../../src/domain/store.ts";
import { journalRows } from "../../src/state/journal.ts";
import { type Span, type SplitTime, splitTime } from "../../src/state/split_time.ts";
import { toObjective } from "../../src/outputs/summary/objectives.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../src/shared/time_units.ts";
import { journalOf, OK_RUN } from "./records.ts";
import { campaign, testRandom } from "../../testing/seed.ts";
import type { Random } from "../../testing/random.ts";

const SINCE = 1_000 * DAY_MS;

/** What happens to a check: a target that is down in some spans, and the runs of the monitor. */
interface World {
  readonly intervalMs: number;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly downs: readonly Span[];
  readonly maintenance: readonly Span[];
  readonly runs: readonly JournalRun[];
}

/** The shortest time for which a target is up or down: of that of any length, 1 ms. */
function worldOf(random: Random, shortest: (intervalMs: number) => number): World {
  const intervalMs = random.pick([10 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, HOUR_MS]);
  const attentiveMs = random.pick([intervalMs, intervalMs, Math.ceil(intervalMs / 6)]);
  const untilMs = SINCE + Math.floor(intervalMs * (50 + random.below(400)));
  const upMs = intervalMs * random.pick([0.3, 3, 30, 300]);
  const downMs = intervalMs * random.pick([0.1, 1, 5, 40]);
  /** Long enough for spans that last at the begin. */
  const marginMs = 100 * intervalMs;
  const downs = spansOf(random, {
    ...{ untilMs, marginMs },
    betweenMs: upMs,
    lengthMs: downMs,
    leastMs: shortest(intervalMs),
  });
  const rarely = (lengthMs: number): readonly Span[] =>
    random.oneIn(2)
      ? []
      : spansOf(random, { untilMs, marginMs, betweenMs: 200 * intervalMs, lengthMs, leastMs: 1 });
  const off = rarely(20 * intervalMs);
  const offline = rarely(10 * intervalMs);
  const maintenance = rarely(30 * intervalMs);
  const runs: JournalRun[] = [];
  let isInterrupted = false;
  for (let atMs = SINCE - 5 * intervalMs; atMs < untilMs + 5 * intervalMs;) {
    const last = runs.at(-1);
    const wantedMs = last?.condition === "critical" ? attentiveMs : intervalMs;
    if (isIn(off, atMs)) isInterrupted = true;
    else if (!random.oneIn(30)) {
      const isOffline = isIn(offline, atMs);
      const condition: Condition = isIn(downs, atMs) ? "critical" : random.pick(["ok", "ok", "warning"]);
      runs.push({
        endedAtMs: atMs,
        condition: isOffline && condition === "critical" ? "unknown" : condition,
        awaits: isOffline && condition === "critical" ? "checks" : null,
        isLate: false,
        isAfterGap: last === undefined || atMs - last.endedAtMs > 3 * wantedMs,
        isInterrupted,
        isDecisive: random.oneIn(50),
        output: "",
      });
      isInterrupted = false;
    }
    const isFailing = runs.at(-1)?.condition === "critical";
    atMs += Math.max(1, Math.round((isFailing ? attentiveMs : intervalMs) * (0.7 + random.below(0.6))));
  }
  return { intervalMs, sinceMs: SINCE, untilMs, downs, maintenance, runs };
}

function spansOf(
  random: Random,
  { untilMs, marginMs, betweenMs, lengthMs, leastMs }: Readonly<
    Record<"untilMs" | "marginMs" | "betweenMs" | "lengthMs" | "leastMs", number>
  >,
): readonly Span[] {
  const spans: Span[] = [];
  const exponential = (meanMs: number): number => Math.ceil(leastMs - Math.log(1 - random.next()) * meanMs);
  for (let atMs = SINCE - marginMs; atMs < untilMs + marginMs;) {
    const fromMs = atMs + exponential(betweenMs);
    const toMs = fromMs + exponential(lengthMs);
    spans.push({ fromMs, toMs });
    atMs = toMs;
  }
  return spans;
}

function isIn(spans: readonly Span[], atMs: number): boolean {
  return spans.some(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs);
}

function splitOf({ intervalMs, runs, sinceMs, untilMs, maintenance }: World): SplitTime {
  const { journal, blocks } = journalOf(runs);
  const rows = journalRows(blocks.map((block) => block.rows), journal, EVER);
  return splitTime(rows, {
    sinceMs,
    untilMs,
    maintenance,
    usesNetwork: true,
    ranUntilMs: null,
    observedGapMs: 3 * intervalMs,
  });
}

const EVER = { sinceMs: -Infinity, untilMs: Infinity };

interface Truth {
  readonly observedMs: number;
  readonly upMs: number;
}

/** The true uptime in the observed time: between results that follow each other, in the period, outside of maintenance. */
function truthOf(
  { intervalMs, runs, sinceMs, untilMs, downs, maintenance }: World,
  seenOnly: boolean,
): Truth {
  let observedMs = 0;
  let upMs = 0;
  for (const [index, after] of runs.entries()) {
    const before = runs[index - 1];
    if (before === undefined || after.isInterrupted) continue;
    if (after.isAfterGap && after.endedAtMs - before.endedAtMs > 3 * intervalMs) continue;
    if (before.awaits !== null || after.awaits !== null) continue;
    const gap = { fromMs: Math.max(before.endedAtMs, sinceMs), toMs: Math.min(after.endedAtMs, untilMs) };
    const observed = without([gap], maintenance.filter((span) => overlap(span, gap)));
    observedMs += lengthOf(observed);
    const isDown = before.condition === "critical";
    // No run saw what happened between two that are alike.
    const isAlike = seenOnly && isDown === (after.condition === "critical");
    upMs += isAlike
      ? isDown ? 0 : lengthOf(observed)
      : lengthOf(without(observed, downs.filter((span) => overlap(span, gap))));
  }
  return { observedMs, upMs };
}

function overlap(one: Span, other: Span): boolean {
  return one.fromMs < other.toMs && other.fromMs < one.toMs;
}

/** Returns the parts of spans that are in no other span. */
function without(spans: readonly Span[], others: readonly Span[]): readonly Span[] {
  return others.reduce((rest, other) =>
    rest.flatMap((span) => {
      if (other.toMs <= span.fromMs || other.fromMs >= span.toMs) return [span];
      return [
        { fromMs: span.fromMs, toMs: other.fromMs },
        { fromMs: other.toMs, toMs: span.toMs },
      ].filter(({ fromMs, toMs }) => toMs > fromMs);
    }), spans.filter(({ fromMs, toMs }) => toMs > fromMs));
}

function lengthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
}

const WORLDS = campaign(400, 40);

/** Asserts what holds of each world; returns how many had an outage. */
function walk(name: string, shortest: (intervalMs: number) => number, seenOnly: boolean): number {
  const random = testRandom(name);
  let outages = 0;
  for (let count = 0; count < WORLDS; count++) {
    const world = worldOf(random, shortest);
    const time = splitOf(world);
    const { upMs, downMs, uncertainMs } = time;
    const truth = truthOf(world, seenOnly);
    const shown = JSON.stringify({ count, intervalMs: world.intervalMs, time, truth });
    assert.equal(upMs + downMs + uncertainMs, truth.observedMs, shown);
    assert.ok(upMs <= truth.upMs && truth.upMs <= upMs + uncertainMs, shown);
    const { outages: seen, ...parts } = time;
    assert.equal(Object.values(parts).reduce((sum, ms) => sum + ms, 0), world.untilMs - SINCE, shown);
    assert.equal(
      time.maintenanceMs,
      lengthOf(without(
        [{ fromMs: SINCE, toMs: world.untilMs }],
        without([{ fromMs: SINCE, toMs: world.untilMs }], world.maintenance),
      )),
      shown,
    );
    outages += Number(seen > 0);
    assertVerdicts(world, time, truth);
  }
  return outages;
}

/** Asserts that no objective is called met that was missed, or the other way around. */
function assertVerdicts({ intervalMs, untilMs }: World, time: SplitTime, { observedMs, upMs }: Truth): void {
  const schedule = { regularIntervalMs: intervalMs, attentiveIntervalMs: intervalMs };
  for (const percent of [50, 90, 99, 99.9, 99.99, 100]) {
    const { verdict, budgetMs, tellingIntervalMs } = toObjective(
      { percent, windowMs: untilMs - SINCE },
      time,
      schedule,
    );
    const isMet = observedMs - upMs <= budgetMs;
    if (verdict === "met") assert.equal(isMet, true);
    // Without a budget, one outage that a run saw is too much, also if no time next to that run was observed.
    if (verdict === "missed") assert.equal(isMet && (budgetMs > 0 || time.outages === 0), false);
    if (tellingIntervalMs !== null) assert.ok(tellingIntervalMs <= intervalMs);
  }
}

Deno.test("splitTime() has the true uptime in its interval, if no outage and no recovery is shorter than a pause", () => {
  const outages = walk("long outages", (intervalMs) => 3.1 * intervalMs, false);
  assert.ok(outages > WORLDS / 4, `${outages} worlds had an outage`);
});

Deno.test("splitTime() has the true uptime in its interval, of any target, except for what no run saw", () => {
  const outages = walk("any outages", () => 1, true);
  assert.ok(outages > WORLDS / 4, `${outages} worlds had an outage`);
});

/** Results at some minutes, each with what is unusual about it. */
function minutesOf(runs: readonly (Partial<JournalRun> & { readonly minute: number })[]): World {
  return {
    intervalMs: MINUTE_MS,
    sinceMs: SINCE,
    untilMs: SINCE + 60 * MINUTE_MS,
    downs: [],
    maintenance: [],
    runs: runs.map(({ minute, ...run }) => ({ ...OK_RUN, ...run, endedAtMs: SINCE + minute * MINUTE_MS })),
  };
}

const MINUTES = { outages: 0, upMs: 0, downMs: 0, uncertainMs: 0, ownNetworkMs: 0, monitorOffMs: 0 };

Deno.test("splitTime() splits time by its cause", () => {
  const rows: readonly (readonly [
    string,
    Parameters<typeof minutesOf>[0],
    Readonly<Partial<Record<keyof SplitTime, number>>>,
  ])[] = [
    ["no run", [], { notObservedMs: 60 }],
    ["one run", [{ minute: 5 }], { notObservedMs: 60 }],
    ["two runs", [{ minute: 5 }, { minute: 6 }], { upMs: 1, notObservedMs: 59 }],
    [
      "an outage between its runs, and around them",
      [
        { minute: 0 },
        { minute: 1 },
        { minute: 2, condition: "critical" },
        { minute: 3, condition: "critical" },
        { minute: 4, condition: "warning" },
        { minute: 5 },
      ],
      { outages: 1, upMs: 2, downMs: 1, uncertainMs: 2, notObservedMs: 55 },
    ],
    [
      "unknown results",
      [{ minute: 0, condition: "unknown" }, { minute: 1, condition: "unknown" }, { minute: 2 }],
      { uncertainMs: 2, notObservedMs: 58 },
    ],
    [
      "no network here",
      [{ minute: 0 }, { minute: 1, condition: "unknown", awaits: "checks" }, { minute: 2 }],
      { ownNetworkMs: 2, notObservedMs: 58 },
    ],
    [
      "a stop",
      [{ minute: 0 }, { minute: 30, isInterrupted: true, isAfterGap: true }, { minute: 31 }],
      { monitorOffMs: 30, upMs: 1, notObservedMs: 29 },
    ],
    [
      "runs of a failing check, no later than those of one that is fine",
      [
        { minute: 0 },
        { minute: 1, condition: "critical" },
        { minute: 3, condition: "critical", isAfterGap: true },
        { minute: 5, condition: "critical", isAfterGap: true },
        { minute: 9, condition: "critical", isAfterGap: true },
        { minute: 10 },
      ],
      { outages: 1, downMs: 4, uncertainMs: 2, notObservedMs: 54 },
    ],
    [
      "overdue runs",
      [{ minute: 0 }, { minute: 30, isAfterGap: true }, { minute: 45, isAfterGap: true }],
      { notObservedMs: 60 },
    ],
  ];
  for (const [name, runs, expected] of rows) {
    const { outages = 0, ...parts } = expected;
    const inMs = Object.fromEntries(
      Object.entries(parts).map(([part, minutes]) => [part, minutes * MINUTE_MS]),
    );
    const nothing = { ...MINUTES, maintenanceMs: 0, notObservedMs: 0 };
    assert.deepEqual(splitOf(minutesOf(runs)), { ...nothing, outages, ...inMs }, name);
  }
});

Deno.test("splitTime() counts maintenance once, and no outage in it", () => {
  const world = minutesOf([
    { minute: 0 },
    { minute: 10 },
    { minute: 11, condition: "critical" },
    { minute: 12, condition: "critical" },
    { minute: 13 },
    { minute: 60 },
  ]);
  const span = (from: number, to: number): Span => ({
    fromMs: SINCE + from * MINUTE_MS,
    toMs: SINCE + to * MINUTE_MS,
  });
  const { outages, upMs, downMs, uncertainMs, maintenanceMs } = splitOf({
    ...world,
    maintenance: [span(11, 20), span(10, 13), span(-5, 1), span(59, 70)],
  });
  const minutes = [upMs, downMs, uncertainMs, maintenanceMs].map((ms) => ms / MINUTE_MS);
  assert.deepEqual([outages, ...minutes], [0, 48, 0, 0, 12]);
});

Deno.test("splitTime() counts each time once after the clock was set back", () => {
  const world = minutesOf([
    { minute: 0 },
    { minute: 30 },
    { minute: 20, isInterrupted: true, isAfterGap: true },
    { minute: 40 },
  ]);
  assert.equal(splitOf(world).upMs, 40 * MINUTE_MS);
});

Deno.test("splitTime() counts the time after the last run as off while no service runs", () => {
  const rows = journalRows([], journalOf([{ endedAtMs: SINCE + HOUR_MS }]).journal, EVER);
  const options = {
    sinceMs: SINCE,
    untilMs: SINCE + 2 * HOUR_MS,
    maintenance: [],
    usesNetwork: false,
    observedGapMs: 0,
  };
  assert.equal(splitTime(rows, { ...options, ranUntilMs: SINCE + HOUR_MS }).monitorOffMs, HOUR_MS);
  assert.equal(splitTime(rows, { ...options, ranUntilMs: SINCE }).monitorOffMs, 0, "a call ran it since");
  assert.equal(splitTime(rows, { ...options, ranUntilMs: null }).monitorOffMs, 0);
});
