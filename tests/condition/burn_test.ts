import assert from "node:assert/strict";
import { burnAfter, type BurnPolicy, describeBurn, withTold } from "../../src/condition/burn.ts";
import type { Burn, Condition } from "../../src/domain/condition.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/shared/time_units.ts";
import { campaign, testRandom } from "../../testing/seed.ts";

const START_MS = Date.UTC(2026, 0, 31, 10);
const EACH_MINUTE = { regularIntervalMs: MINUTE_MS, attentiveIntervalMs: MINUTE_MS };
const POLICY: BurnPolicy = { objective: { percent: 99.9, windowMs: 30 * DAY_MS }, schedule: EACH_MINUTE };
const LETTERS: Readonly<Record<string, Condition>> = { O: "ok", F: "critical", U: "unknown", W: "warning" };

interface Walked {
  readonly burn: Burn | undefined;
  readonly nowMs: number;
  /** The rate of the alert after each result; 0: none. */
  readonly rates: readonly number[];
}

/** Returns the burn after results at an interval, such as `OFFO`, or `O*60`. */
function walk(results: string, policy = POLICY, intervalMs = MINUTE_MS): Walked {
  const letters = results.replaceAll(
    /(\w)\*(\d+)/g,
    (_, letter: string, count: string) => letter.repeat(+count),
  );
  let burn: Burn | undefined;
  let nowMs = START_MS;
  const rates: number[] = [];
  for (let index = 0; index < letters.length; index++) {
    const [before = "ok", after = "ok"] = [letters[index - 1], letters[index]]
      .map((letter) => LETTERS[letter ?? ""] ?? "ok");
    nowMs = START_MS + index * intervalMs;
    const gap = index === 0 ? null : { fromMs: nowMs - intervalMs, toMs: nowMs, before, after };
    burn = burnAfter(burn, policy, { gap, nowMs });
    rates.push(burn?.alert?.rate ?? 0);
  }
  return { burn, nowMs, rates };
}

Deno.test("burnAfter() alerts of many short outages, and not of one failed run", () => {
  assert.equal(walk("O*60").burn, undefined, "nothing was down");
  assert.deepEqual(walk("O*60FO*60").rates.filter((rate) => rate > 0), []);
  assert.deepEqual(walk("O*60FFO*60").rates.filter((rate) => rate > 0), []);
  const { rates } = walk("O*60FOOFOOFOO");
  assert.deepEqual(
    rates.slice(60),
    [0, 0, 0, 0, 0, 0, 14.4, 14.4, 14.4],
    "the third one is more than a mistake",
  );
  assert.equal(walk("W*60").burn, undefined, "a warning is no outage");
});

Deno.test("burnAfter() goes by the time, not by the number of results", () => {
  const of = (percent: number): BurnPolicy => ({ ...POLICY, objective: { percent, windowMs: 30 * DAY_MS } });
  // 14.4 times the budget of 99 % are 8.64 minutes of an hour.
  assert.equal(walk("O*60F*9", of(99)).rates.at(-1), 0);
  assert.equal(walk("O*60F*10", of(99)).rates.at(-1), 14.4);
  const fast = { regularIntervalMs: MINUTE_MS / 6, attentiveIntervalMs: MINUTE_MS / 6 };
  assert.equal(walk("O*360F*52", { ...of(99), schedule: fast }, MINUTE_MS / 6).rates.at(-1), 0);
  assert.equal(walk("O*360F*54", { ...of(99), schedule: fast }, MINUTE_MS / 6).rates.at(-1), 14.4);
});

Deno.test("burnAfter() alerts of a slow burn by the longer windows, and of a fast one again", () => {
  const policy: BurnPolicy = { ...POLICY, objective: { percent: 99, windowMs: 30 * DAY_MS } };
  // 8 % down is less than 14.4 times 1 %, and more than 6 times.
  const slow = walk("O*46F*4".repeat(8), policy);
  assert.deepEqual(new Set(slow.rates), new Set([0, 6]));
  const fast = walk(`${"O*46F*4".repeat(8)}F*30`, policy);
  assert.deepEqual(fast.rates.at(-1), 14.4);
  assert.equal(fast.burn?.alert?.isTold, false);
  // An outage of 215 minutes is over, and a short one makes more than 216 minutes of six hours.
  const wide: BurnPolicy = { ...POLICY, objective: { percent: 90, windowMs: 30 * DAY_MS } };
  assert.equal(walk("O*60F*215O*25F*3", wide).rates.at(-1), 0);
  assert.equal(walk("O*60F*215O*2F*18", wide).rates.at(-1), 6);
});

Deno.test("burnAfter() ends an alert once the long window burns no more, and keeps that it was told until then", () => {
  const policy: BurnPolicy = { ...POLICY, objective: { percent: 99, windowMs: 30 * DAY_MS } };
  const burning = walk("O*60F*10", policy);
  const { alert } = burning.burn ?? assert.fail();
  let burn: Burn | undefined = withTold(burning.burn ?? assert.fail(), alert ?? assert.fail());
  let ended = 0;
  for (let minute = 1; minute <= 7 * 60; minute++) {
    const nowMs = burning.nowMs + minute * MINUTE_MS;
    const gap = { fromMs: nowMs - MINUTE_MS, toMs: nowMs, before: "ok", after: "ok" } as const;
    burn = burnAfter(burn, policy, { gap, nowMs });
    if (burn?.alert?.isTold === true) ended = minute;
  }
  assert.ok(ended > 45 && ended <= 60, `it ended after ${ended} minutes`);
  assert.deepEqual(burn?.recent, [], "6 hours later");
  assert.equal(burn?.days.length, 1);
});

Deno.test("burnAfter() forgets everything after the time of the objective, and what is in the future", () => {
  const { burn } = walk("OFFFO");
  const later = (days: number) => burnAfter(burn, POLICY, { gap: null, nowMs: START_MS + days * DAY_MS });
  assert.equal(later(29)?.days.length, 1);
  assert.equal(later(32), undefined);
  assert.equal(later(-1), undefined);
});

Deno.test("describeBurn() has the rate, and the time until the error budget is used up", () => {
  const { burn, nowMs } = walk("O*60F*5");
  const text = (some: Burn | undefined) =>
    describeBurn(some ?? assert.fail(), { rate: 14.4 }, { objective: POLICY.objective, nowMs });
  // 4.5 of 60 minutes; 43.2 - 4.5 minutes are left.
  assert.equal(
    text(burn),
    "75.0 times too fast (down 4 min 30 s of 1 h): 8 h 36 min until the error budget of 99.9% in 30 d is used up",
  );
  const used = walk("O*10F*45");
  assert.equal(
    describeBurn(used.burn ?? assert.fail(), { rate: 6 }, { objective: POLICY.objective, nowMs: used.nowMs }),
    "123.6 times too fast (down 44 min 30 s of 6 h): the error budget of 99.9% in 30 d is used up",
  );
  // Of the first span, three of its five minutes are in the window.
  const part = walk("OF*5O*57");
  const words = describeBurn(part.burn ?? assert.fail(), { rate: 14.4 }, { ...POLICY, nowMs: part.nowMs });
  assert.match(words, /\(down 3 min 12 s of 1 h\)/);
});

Deno.test("burnAfter() adds up the downtime that a walk through all gaps adds up, within a span of it", () => {
  const random = testRandom("burn");
  for (let count = 0; count < campaign(300, 12); count++) {
    const gaps: { fromMs: number; toMs: number; before: Condition; after: Condition }[] = [];
    let burn: Burn | undefined;
    let nowMs = START_MS;
    let before: Condition = "ok";
    for (let run = 0; run < 300; run++) {
      const after = random.pick<Condition>(["ok", "ok", "ok", "critical", "critical", "unknown"]);
      const toMs = nowMs + Math.round(random.pick([0.2, 1, 7]) * (0.5 + random.next()) * MINUTE_MS);
      const gap = { fromMs: nowMs, toMs, before, after };
      const isObserved = !random.oneIn(10);
      if (isObserved) gaps.push(gap);
      nowMs = toMs;
      before = after;
      burn = burnAfter(burn, POLICY, { gap: isObserved ? gap : null, nowMs });
    }
    const downIn = (windowMs: number): number =>
      gaps.reduce((sum, gap) => {
        const isDown = [gap.before, gap.after].filter((one) => one === "critical").length;
        const isUp = [gap.before, gap.after].filter((one) => one === "ok").length;
        const share = isUp === 2 ? 0 : isDown === 2 ? 1 : 0.5;
        return sum + share * Math.max(0, gap.toMs - Math.max(gap.fromMs, nowMs - windowMs));
      }, 0);
    const sum = (burn?.recent ?? []).reduce((subtotal, { downMs }) => subtotal + downMs, 0);
    assert.ok(sum >= downIn(6 * HOUR_MS) - 1, `${sum} is less than ${downIn(6 * HOUR_MS)}`);
    assert.ok(sum <= downIn(6 * HOUR_MS + 5 * MINUTE_MS) + 1);
    const days = (burn?.days ?? []).reduce((subtotal, { downMs }) => subtotal + downMs, 0);
    assert.ok(Math.abs(days - downIn(30 * DAY_MS)) < 1);
    assert.ok((burn?.recent.length ?? 0) <= 73);
  }
});
