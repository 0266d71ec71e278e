import assert from "node:assert/strict";
import fc from "../support/property.ts";
import {
  addDuration,
  addMetricValues,
  type DurationLimits,
  judgeDurations,
  judgeMetrics,
  type MetricLimits,
} from "../../src/condition/duration_rule.ts";
import type { DurationHistory, MetricHistory } from "../../src/domain/store.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/shared/time_units.ts";
import { campaign } from "../../testing/seed.ts";

const WEEK_MS = 7 * DAY_MS;
/** A Monday, 00:00 UTC. */
const MONDAY_MS = Date.UTC(2026, 0, 5);

interface Run {
  readonly nowMs: number;
  readonly durationMs: number;
}

function historyOf(limits: DurationLimits, runs: readonly Run[]): DurationHistory | null {
  return runs.reduce<DurationHistory | null>((history, run) => addDuration(limits, history, run), null);
}

function judge(limits: DurationLimits, runs: readonly Run[], nowMs = runs.at(-1)?.nowMs ?? 0) {
  return judgeDurations(limits, historyOf(limits, runs), nowMs);
}

/** Runs a minute apart. */
function minutely(durationsMs: readonly number[], fromMs = MONDAY_MS): readonly Run[] {
  return durationsMs.map((durationMs, index) => ({ nowMs: fromMs + index * MINUTE_MS, durationMs }));
}

const HOURLY = { overMs: HOUR_MS } as const;

Deno.test("judgeDurations() decides as the exact percentile of the runs in the time does", () => {
  const limits = { ...HOURLY, p50AboveMs: 100, p95AboveMs: 1000, p99AboveMs: 5000 };
  const runs = fc.array(
    fc.record({
      gapMs: fc.integer({ min: 1, max: 3 * MINUTE_MS }),
      durationMs: fc.integer({ min: 1, max: 6000 }),
    }),
    { maxLength: 400 },
  );
  fc.assert(
    fc.property(runs, (gaps) => {
      let nowMs = MONDAY_MS;
      const all = gaps.map(({ gapMs, durationMs }) => ({ nowMs: nowMs += gapMs, durationMs }));
      const partMs = HOUR_MS / 12;
      const inTime = all.filter((run) => Math.floor(run.nowMs / partMs) > Math.floor(nowMs / partMs) - 12)
        .map(({ durationMs }) => durationMs).sort((one, other) => one - other);
      const exceeds = (share: number, limitMs: number, runsMin: number): boolean =>
        inTime.length >= runsMin && (inTime[Math.ceil(share * inTime.length) - 1] ?? 0) > limitMs;
      assert.deepEqual(judge(limits, all, nowMs).map(({ isExceeded }) => isExceeded), [
        exceeds(0.5, 100, 10),
        exceeds(0.95, 1000, 20),
        exceeds(0.99, 5000, 100),
      ]);
    }),
    { numRuns: campaign(1000) },
  );
});

Deno.test("judgeDurations() has the words of each verdict", async (t) => {
  const limits = { ...HOURLY, p95AboveMs: 1000 };
  const fast = Array.from({ length: 57 }, () => 50);
  const rows: readonly (readonly [name: string, runs: readonly Run[], text: string])[] = [
    ["no run", [], "p95 above 1 s: not known, 0 runs in 1 h, 20 required"],
    ["few runs", minutely(fast.slice(0, 19)), "p95 above 1 s: not known, 19 runs in 1 h, 20 required"],
    ["fast", minutely([...fast, 2000]), "p95 not above 1 s: 1 of 58 runs in 1 h took longer"],
    ["slow", minutely([...fast, 2000, 2000, 2000]), "p95 not above 1 s: 3 of 60 runs in 1 h took longer"],
    [
      "slower",
      minutely([...fast.slice(1), 2000, 2000, 2000, 1001]),
      "p95 above 1 s: 4 of 60 runs in 1 h took longer",
    ],
    [
      "not slower than it",
      minutely([...fast, 1000, 1000, 1000, 1000].slice(1)),
      "p95 not above 1 s: 0 of 60 runs in 1 h took longer",
    ],
  ];
  for (const [name, runs, text] of rows) {
    await t.step(name, () => assert.deepEqual(judge(limits, runs).map((verdict) => verdict.text), [text]));
  }
});

Deno.test("addDuration() begins again with other limits, and keeps what is usual", () => {
  const limits = { ...HOURLY, p95AboveMs: 1000, slowerThanUsual: 3 };
  const runs = minutely(Array.from({ length: 200 }, () => 50));
  const before = historyOf(limits, runs) ?? assert.fail();
  const after = addDuration({ ...limits, p95AboveMs: 2000 }, before, {
    nowMs: MONDAY_MS + 200 * MINUTE_MS,
    durationMs: 60,
  });
  assert.deepEqual(after.parts.map(([, ...counts]) => counts), [[1, 0, 0, 0]]);
  assert.equal(after.medians, before.medians);
  assert.equal(after.medians.trim().length, 3);
});

Deno.test("judgeDurations() knows nothing of other limits until the next run", () => {
  const runs = minutely(Array.from({ length: 20 }, () => 200));
  const history = historyOf({ ...HOURLY, p50AboveMs: 100 }, runs);
  const [verdict] = judgeDurations({ ...HOURLY, p50AboveMs: 100_000 }, history, runs.at(-1)?.nowMs ?? 0);
  assert.deepEqual(verdict, {
    isExceeded: false,
    text: "p50 above 1 min 40 s: not known, 0 runs in 1 h, 10 required",
  });
});

Deno.test("what is usual is the median of the same hour of the week, of as many weeks as are known", () => {
  const limits = { ...HOURLY, slowerThanUsual: 3 };
  const MONDAY_9 = MONDAY_MS + 9 * HOUR_MS;
  // Each hour has its own duration, on Monday at nine 40 ms, and one week was slow.
  const weekOf = (week: number): readonly Run[] =>
    Array.from({ length: 7 * 24 * 6 }, (_, index) => {
      const nowMs = MONDAY_MS + week * WEEK_MS + index * 10 * MINUTE_MS;
      const hour = Math.floor(index / 6);
      return { nowMs, durationMs: (hour === 9 ? 40 : 500) * (week === 2 ? 10 : 1) };
    });
  let history: DurationHistory | null = null;
  const texts: string[] = [];
  for (let week = 0; week < 7; week++) {
    const runs = weekOf(week);
    const before = runs.filter(({ nowMs }) => nowMs < MONDAY_9 + week * WEEK_MS);
    for (const run of before) history = addDuration(limits, history, run);
    // Thirteen runs in the hour, twice as slow as usual.
    let present: DurationHistory | null = history;
    for (let minute = 0; minute < 13; minute++) {
      present = addDuration(limits, present, {
        nowMs: MONDAY_9 + week * WEEK_MS + minute * MINUTE_MS,
        durationMs: 130,
      });
    }
    const [verdict = assert.fail()] = judgeDurations(
      limits,
      present,
      MONDAY_9 + week * WEEK_MS + 13 * MINUTE_MS,
    );
    texts.push(verdict.text);
    assert.ok(JSON.stringify(present).length < 1500, "the state of a check is small");
    for (const run of runs.slice(before.length)) history = addDuration(limits, history, run);
  }
  const usual = "3 times slower than the usual 39 ms of this hour of the week";
  assert.deepEqual(texts.slice(0, 2), [
    "3 times slower than usual: not known, on 0 weeks, 2 required",
    "3 times slower than usual: not known, on 1 week, 2 required",
  ]);
  assert.match(texts[2] ?? "", new RegExp(`^${usual}, on 2 weeks: 1[37] of \\d+ runs in 1 h took longer$`));
  // The slow week is one of three, then of four.
  assert.match(texts[3] ?? "", new RegExp(`^${usual}, on 3 weeks: 1\\d of`));
  assert.match(texts[4] ?? "", new RegExp(`^${usual}, on 4 weeks: 1\\d of`));
  assert.match(texts[6] ?? "", new RegExp(`^${usual}, on 4 weeks: 1\\d of`));
});

Deno.test("what is usual forgets hours without runs, and weeks that are long ago", () => {
  const limits = { ...HOURLY, slowerThanUsual: 2 };
  const hourOf = (week: number): Run => ({ nowMs: MONDAY_MS + week * WEEK_MS, durationMs: 100 });
  const textAt = (weeks: readonly number[], week: number): string =>
    judgeDurations(limits, historyOf(limits, weeks.map(hourOf)), hourOf(week).nowMs)[0]?.text ?? "";
  assert.match(textAt([0, 1, 2], 2), /on 2 weeks: not known, 1 run/);
  assert.match(textAt([0, 2, 3], 3), /on 2 weeks: not known, 1 run/);
  assert.match(textAt([0, 1, 6], 6), /not known, on 0 weeks/);
  assert.match(
    textAt([0, 1, 2, 3, 4], 4),
    /2 times slower than the usual \d+ ms of this hour of the week, on 4 weeks: not known, 1 run/,
  );
});

Deno.test("a clock that is set back loses the counts after it, and nothing else", () => {
  const limits = { ...HOURLY, p95AboveMs: 1000, slowerThanUsual: 3 };
  const later = historyOf(limits, minutely(Array.from({ length: 100 }, () => 2000), MONDAY_MS + DAY_MS));
  const back = addDuration(limits, later, { nowMs: MONDAY_MS, durationMs: 20 });
  assert.deepEqual(judgeDurations(limits, back, MONDAY_MS).map(({ text }) => text), [
    "p95 above 1 s: not known, 1 run in 1 h, 20 required",
    "3 times slower than usual: not known, on 0 weeks, 2 required",
  ]);
});

Deno.test("a clock that is wrong for some runs loses nothing of what it returns to", async (t) => {
  const limits = { ...HOURLY, p95AboveMs: 1000, slowerThanUsual: 3 };
  const hours = Array.from({ length: 4 * 7 * 24 }, (_, index) => ({
    nowMs: MONDAY_MS + index * HOUR_MS,
    durationMs: 100,
  }));
  const fromMs = MONDAY_MS + 4 * WEEK_MS;
  const runs = [...hours, ...minutely(Array.from({ length: 70 }, () => 100), fromMs)];
  const text = (all: readonly Run[]) => judge(limits, all, fromMs + 69 * MINUTE_MS).map((one) => one.text);
  const known = text(runs);
  assert.match(known.join("\n"), /: 0 of 60 runs .*\n.* on 4 weeks: 0 of 60 runs in 1 h took longer$/);
  for (const [name, stepMs] of [["year", 365 * DAY_MS], ["week", WEEK_MS], ["day", DAY_MS]] as const) {
    for (const [direction, sign] of [["ahead", 1], ["back", -1]] as const) {
      await t.step(`a ${name} ${direction}`, () => {
        const wrong = [65, 66].map((minute) => ({
          nowMs: fromMs + minute * MINUTE_MS + sign * stepMs,
          durationMs: 5000,
        }));
        const stepped = runs.toSpliced(-4, 0, ...wrong);
        assert.deepEqual(text(stepped), known);
        const { hour, medians, levels } = historyOf(limits, stepped) ?? assert.fail();
        const whole = historyOf(limits, runs) ?? assert.fail();
        assert.deepEqual({ hour, medians, levels }, {
          hour: whole.hour,
          medians: whole.medians,
          levels: whole.levels,
        });
      });
    }
  }
});

Deno.test("a clock that is set back at the end of an hour keeps the median of that hour", () => {
  const limits = { ...HOURLY, slowerThanUsual: 3 };
  const runs = minutely(Array.from({ length: 61 }, () => 100));
  const back = { nowMs: MONDAY_MS + 59 * MINUTE_MS, durationMs: 5000 };
  const after = { nowMs: MONDAY_MS + 2 * HOUR_MS, durationMs: 100 };
  const mediansOf = (all: readonly Run[]) => historyOf(limits, all)?.medians;
  assert.equal(mediansOf([...runs, back, after]), mediansOf([...runs, after]));
});

Deno.test("judgeMetrics() counts the values of each name alone, also below zero", () => {
  const limits = { offset: { ...HOURLY, p50Above: -5 }, constructor: { ...HOURLY, p95Above: 1 } };
  const historyOf = (values: readonly number[]) =>
    values.reduce<MetricHistory | null>((history, offset, index) =>
      addMetricValues(limits, history, {
        values: new Map(index % 2 === 0 ? [["offset", offset], ["other", 9]] : [["other", 9]]),
        nowMs: MONDAY_MS + index * MINUTE_MS,
      }), null);
  const texts = (values: readonly number[]) =>
    judgeMetrics(limits, historyOf(values), MONDAY_MS + HOUR_MS / 2).map(({ text }) => text);
  const unknown = "constructor: p95 above 1: not known, 0 values in 1 h, 20 required";
  assert.deepEqual(texts(Array.from({ length: 24 }, () => -4)), [
    "offset: p50 above -5: 12 of 12 values in 1 h were higher",
    unknown,
  ]);
  assert.deepEqual(texts(Array.from({ length: 24 }, () => -5)), [
    "offset: p50 not above -5: 0 of 12 values in 1 h were higher",
    unknown,
  ]);
});

/** The history of a value that is the same for ten minutes at one hour of each week. */
function weekly(limit: MetricLimits[string], values: readonly (number | null)[]): MetricHistory | null {
  return values.reduce<MetricHistory | null>(
    (history, value, week) =>
      Array.from({ length: 10 }, (_, minute) => MONDAY_MS + week * WEEK_MS + minute * MINUTE_MS)
        .reduce<MetricHistory | null>((before, nowMs) =>
          addMetricValues({ size: limit }, before, {
            values: new Map(value === null ? [] : [["size", value]]),
            nowMs,
          }), history),
    null,
  );
}

Deno.test("judgeMetrics() compares values with the same hour of the weeks before", async (t) => {
  const higher = { ...HOURLY, moreThanUsual: 3 };
  const lower = { ...HOURLY, lessThanUsual: 4 };
  const usual = (level: string, weeks: number): string =>
    `usual ${level} of this hour of the week, on ${weeks} weeks`;
  const rows: readonly (readonly [
    name: string,
    limit: MetricLimits[string],
    values: readonly (number | null)[],
    text: string,
  ])[] = [
    [
      "higher",
      higher,
      [5, 5, 16],
      `3 times more than the ${usual("5", 2)}: 10 of 10 values in 1 h were higher`,
    ],
    [
      "not higher",
      higher,
      [5, 5, 15],
      `not 3 times more than the ${usual("5", 2)}: 0 of 10 values in 1 h were higher`,
    ],
    [
      "lower",
      lower,
      [80, 80, 19],
      `4 times less than the ${usual("80", 2)}: 10 of 10 values in 1 h were lower`,
    ],
    [
      "not lower",
      lower,
      [80, 80, 20],
      `not 4 times less than the ${usual("80", 2)}: 0 of 10 values in 1 h were lower`,
    ],
    ["one week", higher, [5, 900], "3 times more than usual: not known, on 1 week, 2 required"],
    [
      "absent for weeks",
      higher,
      [5, null, null, null, 5, 900],
      "3 times more than usual: not known, on 1 week, 2 required",
    ],
    [
      "absent once",
      higher,
      [5, null, 5, 15],
      `not 3 times more than the ${usual("5", 2)}: 0 of 10 values in 1 h were higher`,
    ],
    [
      "one week of four is odd",
      higher,
      [7, 7, 9e9, 7, 22],
      `3 times more than the ${usual("7", 4)}: 10 of 10 values in 1 h were higher`,
    ],
    [
      "zero",
      higher,
      [0, 0, 1],
      `3 times more than the ${usual("0", 2)}: 10 of 10 values in 1 h were higher`,
    ],
    [
      "below zero",
      higher,
      [-5, -5, 9],
      `3 times more than the ${usual("-5", 2)}: not known, the usual is below zero`,
    ],
    [
      "once zero",
      higher,
      [0, 10, 15],
      `not 3 times more than the ${usual("5", 2)}: 0 of 10 values in 1 h were higher`,
    ],
  ];
  for (const [name, limit, values, text] of rows) {
    await t.step(name, () => {
      const nowMs = MONDAY_MS + (values.length - 1) * WEEK_MS + 10 * MINUTE_MS;
      const verdicts = judgeMetrics({ size: limit }, weekly(limit, values), nowMs);
      assert.deepEqual(verdicts.map((verdict) => verdict.text), [`size: ${text}`]);
    });
  }
});

Deno.test("what is usual of values has three digits of any number, and a bounded size", () => {
  const limit = { ...HOURLY, moreThanUsual: 2 };
  const amount = fc.double({ noNaN: true, min: 1e-150, max: 1e150 });
  const value = fc.oneof(fc.constant(0), amount, amount.map((one) => -one));
  fc.assert(
    fc.property(value, fc.array(value, { minLength: 1, maxLength: 60 }), (one, others) => {
      const history = weekly(limit, [one, one, one]);
      const [verdict] = judgeMetrics({ size: limit }, history, MONDAY_MS + 2 * WEEK_MS);
      const usual = Number(/ usual (\S+) of this hour/.exec(verdict?.text ?? "")?.[1]);
      assert.ok(Math.abs(usual - one) <= 0.0051 * Math.abs(one), `${usual}, not ${one}`);
      const full = others.reduce<MetricHistory | null>(
        (before, size, index) =>
          addMetricValues({ size: limit }, before, {
            values: new Map([["size", size]]),
            nowMs: MONDAY_MS + 2 * WEEK_MS + index * MINUTE_MS,
          }),
        history,
      );
      // That of before the gap of a week is kept.
      assert.ok(JSON.stringify(full).length < 5000, String(JSON.stringify(full).length));
    }),
    { numRuns: campaign(200) },
  );
});
