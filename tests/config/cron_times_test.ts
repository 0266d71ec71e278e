import assert from "node:assert/strict";
import { CronExpressionParser } from "cron-parser";
import { createCronReader } from "../../src/config/cron_times.ts";
import type { CronTimes } from "../../src/domain/schedule.ts";
import { shortOrFull } from "../../testing/full_form.ts";
import { campaign } from "../../testing/seed.ts";

const createCronTimes = createCronReader();

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The time before and after a DST change that is compared minute by minute. */
const AROUND = 4 * HOUR;
/** With one leap year, or with three: those of 2028, 2032 and 2036. */
const YEARS = shortOrFull(1, 10);
const FROM = Date.UTC(2028, 0, 1);
const TO = Date.UTC(2028 + YEARS, 0, 1);

/** A whole hour in the north, half an hour in the south, and the same as the first elsewhere at another time. */
const ZONES = ["Europe/Zurich", "Australia/Lord_Howe", "America/New_York"].slice(0, campaign(3, 2));

/** Those whose minute or hour is open, and those of fixed times; all of them are compared around each DST change. */
const OPEN = ["*/7 * * * *", "30 * * * *", "*/15 2 * * *", "50 */2 * * *", "* 1-3 * * sun", "0 * 1-7 * *"];
const FIXED = "30 2 * * *; 15,45 1,2 * * *; 30 1-3 * * *; 0 3 * * sun; 10 2 1-7 4,10,11 *; 45 1 * * *".split(
  "; ",
);
/** Those that are compared whole: not too many times a day. */
const EVERY = "5 4 13 * fri; 15 8-18/5 * * mon-fri; 0 */6 * * *; 30 6 * * *; 0 0 1 * *; 0 12 29 2 *; @daily"
  .split("; ");
const WHOLE = shortOrFull(EVERY.slice(0, campaign(3, 1)), EVERY);

function timesOf(expression: string, zone: string): CronTimes {
  const times = createCronTimes(expression, zone);
  assert.ok(times !== null);
  return times;
}

function between(times: CronTimes, fromMs: number, toMs: number): number[] {
  const found: number[] = [];
  for (let atMs = times.after(fromMs - 1); atMs < toMs; atMs = times.after(atMs)) found.push(atMs);
  return found;
}

interface Change {
  readonly atMs: number;
  readonly beforeMs: number;
  readonly afterMs: number;
}

/** The DST changes of all years, with the offset from UTC. */
function changesIn(zone: string): readonly Change[] {
  const changes: Change[] = [];
  let next = Temporal.Instant.fromEpochMilliseconds(FROM).toZonedDateTimeISO(zone).getTimeZoneTransition(
    "next",
  );
  for (; next !== null && next.epochMilliseconds < TO; next = next.getTimeZoneTransition("next")) {
    changes.push({
      atMs: next.epochMilliseconds,
      beforeMs: next.subtract({ seconds: 1 }).offsetNanoseconds / 1e6,
      afterMs: next.offsetNanoseconds / 1e6,
    });
  }
  return changes;
}

function show(times: readonly number[], zone: string): readonly string[] {
  return times.map((ms) =>
    Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone).toString({
      smallestUnit: "minute",
      timeZoneName: "never",
    })
  );
}

for (const zone of ZONES) {
  Deno.test(`createCronReader() matches a second library for years, except at DST changes, in ${zone}`, () => {
    const changes = changesIn(zone);
    assert.strictEqual(changes.length, 2 * YEARS);
    // The second library fails at some changes of half an hour, with "loop limit exceeded": it is restarted after each.
    const ends = [...changes.map(({ atMs }) => atMs - DAY), TO];
    const starts = [FROM, ...changes.map(({ atMs }) => atMs + DAY)];
    for (const expression of WHOLE) {
      let count = 0;
      for (const [index, fromMs] of starts.entries()) {
        const toMs = ends[index] ?? TO;
        const dates = { currentDate: new Date(fromMs - 1), endDate: new Date(toMs - 1) };
        const other = CronExpressionParser.parse(expression, { ...dates, tz: zone });
        const expected: number[] = [];
        while (other.hasNext()) expected.push(other.next().getTime());
        assert.deepStrictEqual(between(timesOf(expression, zone), fromMs, toMs), expected, expression);
        count += expected.length;
      }
      assert.ok(count >= YEARS / 5, expression);
    }
  });

  Deno.test(`createCronReader() runs in open hours exactly when a second library expects it, in ${zone}`, () => {
    for (const expression of OPEN) {
      const other = CronExpressionParser.parse(expression, { tz: zone });
      for (const { atMs } of changesIn(zone)) {
        const expected: number[] = [];
        for (let ms = atMs - AROUND; ms < atMs + AROUND; ms += MINUTE) {
          if (other.includesDate(new Date(ms))) expected.push(ms);
        }
        const found = between(timesOf(expression, zone), atMs - AROUND, atMs + AROUND);
        assert.deepStrictEqual(show(found, zone), show(expected, zone), expression);
      }
    }
  });

  Deno.test(`createCronReader() keeps the number of fixed times that a second library finds minute by minute, in ${zone}`, () => {
    for (const expression of FIXED) {
      const other = CronExpressionParser.parse(expression, { tz: zone });
      const onWall = CronExpressionParser.parse(expression, { tz: "UTC" });
      for (const { atMs, beforeMs, afterMs } of changesIn(zone)) {
        const expected: number[] = [];
        const isLeftOut = minutes(atMs + beforeMs, atMs + afterMs).some((ms) =>
          onWall.includesDate(new Date(ms))
        );
        for (const ms of minutes(atMs - AROUND, atMs + AROUND)) {
          const wasShown = ms >= atMs && ms + afterMs < atMs + beforeMs;
          if (ms === atMs && isLeftOut || !wasShown && other.includesDate(new Date(ms))) expected.push(ms);
        }
        const found = between(timesOf(expression, zone), atMs - AROUND, atMs + AROUND);
        assert.deepStrictEqual(show(found, zone), show(expected, zone), expression);
      }
    }
  });
}

function minutes(fromMs: number, toMs: number): readonly number[] {
  return Array.from({ length: Math.max(0, (toMs - fromMs) / MINUTE) }, (_, index) => fromMs + index * MINUTE);
}

const SPRING = "2026-03-28T20:00:00Z";
const AUTUMN = "2026-10-24T20:00:00Z";

/** In Zurich the clock goes from 02:00 to 03:00 on 29 March 2026, and from 03:00 to 02:00 on 25 October. */
const NAMED: Readonly<
  Record<string, readonly [expression: string, from: string, expected: string, zone?: string]>
> = {
  "a fixed time in the skipped hour runs at once after it": [
    "30 2 * * *",
    SPRING,
    "29T03:00+02:00 30T02:30+02:00",
  ],
  "several fixed times in the skipped hour run once": [
    "10,20 2,3 * * *",
    SPRING,
    "29T03:00+02:00 29T03:10+02:00",
  ],
  "a fixed time in the repeated hour runs the first time": [
    "30 2 * * *",
    AUTUMN,
    "25T02:30+02:00 26T02:30+01:00",
  ],
  "an open hour that is skipped has no run": [
    "30 * * * *",
    "2026-03-29T00:00Z",
    "29T01:30+01:00 29T03:30+02:00",
  ],
  "an open hour that is repeated has its runs twice": [
    "@hourly",
    "2026-10-24T23:30Z",
    "25T02:00+02:00 25T02:00+01:00 25T03:00+01:00",
  ],
  "a fixed time on a day that a zone has left out does not run": [
    "30 2 * * *",
    "2011-12-29T00:00Z",
    "29T02:30-10:00 31T02:30+14:00",
    "Pacific/Apia",
  ],
};

for (const [name, [expression, from, expected, zone = "Europe/Zurich"]] of Object.entries(NAMED)) {
  Deno.test(`createCronReader(): ${name}`, () => {
    const times = timesOf(expression, zone);
    let atMs = Date.parse(from);
    const found = expected.split(" ").map(() => atMs = times.after(atMs));
    assert.strictEqual(show(found, zone).map((time) => time.slice("2026-03-".length)).join(" "), expected);
    // Repeated calls in any order return the same.
    for (const ms of found.toReversed()) assert.strictEqual(times.after(ms - 1), ms);
  });
}

Deno.test("createCronReader() finds no time for a date that never comes and for an invalid expression", () => {
  for (const never of ["0 0 30 2 *", "5 4 30 2 *", "* * 31 2,4,6,9,11 *"]) {
    assert.strictEqual(createCronTimes(never, "UTC"), null, never);
  }
  // Where both days are named, one of them is enough.
  for (const rare of ["0 0 29 2 *", "0 0 30 2 mon", "0 0 31 * *", "0 0 * 2 *"]) {
    assert.ok(createCronTimes(rare, "UTC") !== null, rare);
  }
  const dates = [":0", "2999-01-01T00:00:00", "2999-01-01"];
  // The fields of the second one are days that never come.
  const others = ["", "30 2 *", "* * * *", "60 * * * *", "* * * * * *", "@reboot", "*/0 * * * *"];
  for (const wrong of [...dates, ...others]) {
    assert.throws(() => createCronTimes(wrong, "UTC"), wrong);
  }
});
