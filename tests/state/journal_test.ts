import assert from "node:assert/strict";
import type { Condition } from "../../src/domain/condition.ts";
import type { JournalRow, JournalRun } from "../../src/domain/store.ts";
import {
  type Added,
  addReview,
  addRun,
  isAfterGapAt,
  journalRows,
  journalToleranceMs,
  stableText,
  timesOf,
} from "../../src/state/journal.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/shared/time_units.ts";
import { UnreadableRowError } from "../../src/state/codec.ts";
import type { Random } from "../../testing/random.ts";
import { campaign, testRandom } from "../../testing/seed.ts";
import { HOSTILE_TEXTS } from "./hostile.ts";
import { NOW_MS, OK_RUN } from "./records.ts";

/** A run that is `ok` and like the one before, at a time from `NOW_MS` on. */
function runAt(ms: number, fields: Partial<JournalRun> = {}): JournalRun {
  return { ...OK_RUN, endedAtMs: NOW_MS + ms, ...fields };
}

/** The rows of some runs, the blocks that left the record, and the number of bytes of all. */
function keep(runs: readonly JournalRun[]): {
  readonly rows: readonly JournalRow[];
  readonly blocks: readonly Uint8Array[];
  readonly record: Uint8Array | null;
} {
  let record: Uint8Array | null = null;
  const blocks: Uint8Array[] = [];
  for (const run of runs) {
    const added: Added = record !== null && run.output === REVIEW
      ? addReview(record, run.endedAtMs)
      : addRun(record, run);
    record = added.journal;
    if (added.block !== null) blocks.push(added.block.rows);
  }
  return { rows: journalRows(blocks, record, EVER), blocks, record };
}

/** The output of a row for a notification that was decided without a result. */
const REVIEW = "no run";

const EVER = { sinceMs: -Infinity, untilMs: Infinity };

/** Each row as its offset, its length, its runs and its condition. */
function shortened(rows: readonly JournalRow[]): readonly unknown[] {
  return rows.map(({ firstMs, lastMs, runs, condition }) => [
    firstMs - NOW_MS,
    lastMs - firstMs,
    runs,
    condition,
  ]);
}

/** Runs every minute, each condition so many times. */
function everyMinute(
  parts: readonly (readonly [count: number, fields?: Partial<JournalRun>])[],
): readonly JournalRun[] {
  let minute = 0;
  return parts.flatMap(([count, fields]) =>
    Array.from({ length: count }, () => runAt(minute++ * MINUTE_MS, fields))
  );
}

Deno.test("addRun() has one row a day for a check that stays ok, in 13 bytes", () => {
  const { rows, blocks, record } = keep(everyMinute([[10 * 1440]]));
  assert.equal(rows.length, 10);
  assert.deepEqual(rows[9], {
    condition: "ok",
    awaits: null,
    isLate: false,
    firstMs: NOW_MS + 9 * DAY_MS,
    lastMs: NOW_MS + 10 * DAY_MS - MINUTE_MS,
    runs: 1440,
    intervalMs: MINUTE_MS,
    gap: "none",
    isInterrupted: false,
    output: "",
  });
  assert.deepEqual(blocks.map(({ length }) => length), [8 * 13]);
  assert.equal(record?.length, 16 + 2 * 13);
});

Deno.test("addRun() begins a row at another condition, reason, interval, or thing to wait for", () => {
  const failing = { condition: "critical", output: "timeout after 1.25 s" } as const;
  const { rows } = keep([
    ...everyMinute([
      [3],
      [1, failing],
      [1, { ...failing, output: "timeout after 1.4 s" }],
      [2, { ...failing, output: "status is 500" }],
      [1, { ...failing, output: "status is 503" }],
      [1, { condition: "unknown", awaits: "job", output: "never ran" }],
      [1, { condition: "unknown", output: "never ran" }],
    ]),
    runAt(10 * MINUTE_MS),
    runAt(10 * MINUTE_MS + 10_000),
    runAt(10 * MINUTE_MS + 20_000),
    runAt(11 * MINUTE_MS + 20_000),
  ]);
  assert.deepEqual(shortened(rows), [
    [0, 2 * MINUTE_MS, 3, "ok"],
    [3 * MINUTE_MS, MINUTE_MS, 2, "critical"],
    [5 * MINUTE_MS, MINUTE_MS, 2, "critical"],
    [7 * MINUTE_MS, 0, 1, "critical"],
    [8 * MINUTE_MS, 0, 1, "unknown"],
    [9 * MINUTE_MS, 0, 1, "unknown"],
    [10 * MINUTE_MS, 20_000, 3, "ok"],
    [11 * MINUTE_MS + 20_000, 0, 1, "ok"],
  ]);
  assert.deepEqual(rows.map(({ output }) => output).slice(1, 4), [
    "timeout after 1.25 s",
    "status is 500",
    "status is 503",
  ]);
});

Deno.test("addRun() begins a row at a decision, addReview() adds one without runs", () => {
  const decision = { isDecisive: true } as const;
  const { rows } = keep([
    ...everyMinute([[3], [1, decision], [2], [1, decision], [1, decision], [1]]),
    runAt(8 * MINUTE_MS + 100.5, { output: REVIEW }),
    runAt(8 * MINUTE_MS + 200.5, { output: REVIEW }),
    runAt(9 * MINUTE_MS),
    runAt(10 * MINUTE_MS),
  ]);
  assert.deepEqual(shortened(rows), [
    [0, 2 * MINUTE_MS, 3, "ok"],
    [3 * MINUTE_MS, 2 * MINUTE_MS, 3, "ok"],
    [6 * MINUTE_MS, 0, 1, "ok"],
    [7 * MINUTE_MS, MINUTE_MS, 2, "ok"],
    [8 * MINUTE_MS + 100, 0, 0, "ok"],
    [8 * MINUTE_MS + 200, 0, 0, "ok"],
    [9 * MINUTE_MS, MINUTE_MS, 2, "ok"],
  ]);
  const many = keep([runAt(0), ...Array.from({ length: 99 }, (_, ms) => runAt(ms + 1, { output: REVIEW }))]);
  assert.equal(many.rows.length, 100);
  assert.ok(many.blocks.length > 2);
});

Deno.test("addRun() begins a row after a gap, and fills none", () => {
  const late = 3 * HOUR_MS;
  const { rows } = keep([
    ...everyMinute([[5]]),
    runAt(late, { isAfterGap: true, isInterrupted: true }),
    runAt(late + MINUTE_MS),
    runAt(late + 3 * MINUTE_MS), // one was skipped
    runAt(late + 4 * MINUTE_MS, { isInterrupted: true }), // suspended for some seconds
  ]);
  assert.deepEqual(shortened(rows), [
    [0, 4 * MINUTE_MS, 5, "ok"],
    [late, MINUTE_MS, 2, "ok"],
    [late + 3 * MINUTE_MS, 0, 1, "ok"],
    [late + 4 * MINUTE_MS, 0, 1, "ok"],
  ]);
  assert.deepEqual(rows.map(({ gap, isInterrupted }) => [gap, isInterrupted]), [
    ["none", false],
    ["first", true],
    ["none", false],
    ["none", true],
  ]);
});

Deno.test("addRun() has one row of regular calls that are each overdue", () => {
  const { rows } = keep([0, 1, 2, 3].map((hour) => runAt(hour * HOUR_MS, { isAfterGap: true })));
  assert.deepEqual(rows.map(({ runs, intervalMs, gap }) => [runs, intervalMs, gap]), [[4, HOUR_MS, "each"]]);
});

Deno.test("addRun() begins a row if the clock is set back, and keeps the order of the runs", () => {
  const { rows } = keep([runAt(0), runAt(MINUTE_MS), runAt(MINUTE_MS), runAt(-HOUR_MS), runAt(-9 * DAY_MS)]);
  assert.deepEqual(shortened(rows), [
    [0, MINUTE_MS, 2, "ok"],
    [MINUTE_MS, 0, 1, "ok"],
    [-HOUR_MS, 0, 1, "ok"],
    [-9 * DAY_MS, 0, 1, "ok"],
  ]);
  const { rows: [, last] } = keep([0, 1000, 2000, 1900].map((ms) => runAt(ms)));
  assert.deepEqual([last?.firstMs, last?.runs], [NOW_MS + 1900, 1]);
});

Deno.test("addRun() keeps every output, once for the rows in a row that have it", () => {
  const texts = HOSTILE_TEXTS.filter((text) => text.length <= 80);
  const runs = texts.flatMap((output, index) => [
    runAt(index * MINUTE_MS, { condition: "critical", output }),
    runAt(index * MINUTE_MS + 1),
  ]);
  const { rows } = keep(runs);
  assert.deepEqual(
    rows.filter(({ condition }) => condition === "critical").map(({ output }) => stableText(output)),
    texts.map((text) => stableText(text.toWellFormed())),
  );
  const long = "é".repeat(1000);
  const flapping = keep(everyMinute(
    Array.from(
      { length: 8 },
      (_, index) => [1, index % 2 === 0 ? { condition: "critical", output: long } : {}],
    ),
  ));
  assert.equal(flapping.rows[0]?.output, `${"é".repeat(126)}…`);
  const sizes = keep(everyMinute(
    Array.from({ length: 9 }, (_, index) => [
      1,
      index % 2 === 0 ? { condition: "critical", output: `no response after 10.${index} s` } : {},
    ]),
  )).record?.length ?? 0;
  assert.ok(sizes < 16 + 2 * 36 + 7 * 10, `${sizes} bytes`);
});

Deno.test("journalRows() returns the rows in a span of time", () => {
  const { blocks, record } = keep(everyMinute([[2000]]));
  const firsts = (sinceMs: number, untilMs: number): readonly number[] =>
    journalRows(blocks, record, { sinceMs, untilMs }).map(({ firstMs }) => firstMs - NOW_MS);
  assert.deepEqual(firsts(NOW_MS + DAY_MS - MINUTE_MS, Infinity), [0, DAY_MS]);
  assert.deepEqual(firsts(NOW_MS + DAY_MS - MINUTE_MS + 1, Infinity), [DAY_MS]);
  assert.deepEqual(firsts(-Infinity, NOW_MS + DAY_MS - 1), [0]);
  assert.deepEqual(journalRows([], null, EVER), []);
});

Deno.test("journalRows() rejects what is no journal", () => {
  const record = keep(everyMinute([[2, { condition: "critical", output: "refused" }], [1]])).record ??
    assert.fail();
  for (let length = 0; length < record.length; length++) {
    const cut = record.subarray(0, length);
    try {
      journalRows([], cut, EVER);
    } catch (error) {
      assert.ok(error instanceof UnreadableRowError, `${length} bytes: ${error}`);
    }
  }
  assert.throws(() => journalRows([Uint8Array.of(0, 0)], null, EVER), UnreadableRowError);
  assert.throws(() => journalRows([new Uint8Array(40).fill(255)], null, EVER), UnreadableRowError);
});

/** A history of runs: bursts at an interval, with jitter; in between gaps, steps of the clock, other intervals. */
function randomHistory(random: Random): readonly JournalRun[] {
  const runs: JournalRun[] = [];
  let timeMs = NOW_MS + Math.floor(random.below(DAY_MS));
  let intervalMs = 60_000;
  let condition: Condition = "ok";
  const length = 1 + random.below(60);
  while (runs.length < length) {
    if (random.oneIn(8)) intervalMs = random.pick([1_000, 7_500, 10_000, 60_000, 61_000, HOUR_MS, DAY_MS]);
    if (random.oneIn(6)) condition = random.pick(["ok", "unknown", "warning", "critical"]);
    const isGap = random.oneIn(12);
    const stepMs = random.oneIn(25) ? random.pick([-HOUR_MS, -1, HOUR_MS, -40 * DAY_MS]) : 0;
    timeMs += intervalMs + (isGap ? random.below(5 * intervalMs) : 0) + stepMs;
    const jitterMs = random.below(random.pick([0, 20, 900, intervalMs / 2]));
    const isLate = random.oneIn(20);
    runs.push({
      endedAtMs: timeMs + jitterMs,
      condition,
      awaits: !isLate && random.oneIn(20) ? random.pick(["checks", "job"]) : null,
      isLate,
      isAfterGap: isGap || random.oneIn(15),
      isInterrupted: isGap && random.oneIn(2),
      isDecisive: random.oneIn(15),
      output: random.pick([
        "",
        "refused",
        `status is ${random.pick([500, 503])}`,
        `took ${random.below(9).toFixed(2)} s`,
        `${"x".repeat(250)} ${Math.floor(random.below(1e6))}`,
      ]),
    });
  }
  return runs;
}

Deno.test("journalRows() returns the runs that addRun() added, within the tolerance", () => {
  const random = testRandom("journal");
  for (let round = 0; round < campaign(4_000, 100); round++) {
    const runs = randomHistory(random);
    const decoded = keep(runs).rows.flatMap((row) => timesOf(row).map((ms, index) => ({ row, ms, index })));
    assert.equal(decoded.length, runs.length, `round ${round}`);
    for (const [place, { row, ms, index }] of decoded.entries()) {
      const run = runs[place] ?? assert.fail();
      const isEnd = index === 0 || index === row.runs - 1;
      const offMs = Math.abs(ms - Math.floor(run.endedAtMs));
      assert.ok(offMs <= (isEnd ? 0 : journalToleranceMs(row) + 1), `round ${round}: off by ${offMs} ms`);
      assert.deepEqual(
        [row.condition, row.awaits, isAfterGapAt(row, index), row.isInterrupted && index === 0],
        [run.condition, run.awaits, run.isAfterGap, run.isInterrupted],
      );
      const output = run.condition === "ok" ? "" : run.output;
      assert.equal(stableText(row.output).slice(0, 200), stableText(output).slice(0, 200));
    }
  }
});
