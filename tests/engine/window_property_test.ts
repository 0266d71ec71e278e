/** Windows of every form against definitions that evaluate each minute by itself, over years with DST changes. */
import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { isInWindow, nextWindow, openWindow } from "../../src/engine/maintenance_windows.ts";
import { readTime } from "../../src/config/window_rules.ts";
import { WEEKDAYS } from "../../src/domain/schedule.ts";
import { campaign } from "../../testing/seed.ts";
import { type CalendarWindow, type MaintenanceWindow, MONTHS } from "../../src/domain/schedule.ts";

const MINUTE = 60_000;

/** Local time. */
interface Shown {
  readonly weekday: string;
  readonly month: string;
  readonly year: number;
  readonly day: number;
  /** Minutes after midnight. */
  readonly minute: number;
}

/** Returns a function that formats the local time of a time zone. */
function createWallClock(timeZone: string): (ms: number) => Shown {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    weekday: "short",
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  return (ms) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]));
    const partOf = (name: Intl.DateTimeFormatPartTypes): string => parts.get(name) ?? assert.fail(name);
    return {
      weekday: partOf("weekday").toLowerCase(),
      month: partOf("month").toLowerCase(),
      year: Number(partOf("year")),
      day: Number(partOf("day")),
      minute: Number(partOf("hour")) * 60 + Number(partOf("minute")),
    };
  };
}

/** Days, months and times of a window as the config has them. */
interface NaiveWindow {
  readonly days?: readonly string[];
  readonly daysOfMonth?: readonly (readonly [from: number, to: number])[];
  readonly months?: readonly string[];
  readonly fromMinute: number;
  readonly toMinute: number;
}

/** Whether the window is open in a minute. */
function isNaivelyOpen(window: NaiveWindow, { minute, ...today }: Shown): boolean {
  const { fromMinute, toMinute } = window;
  if (fromMinute < toMinute) return minute >= fromMinute && minute < toMinute && isNaiveDay(window, today);
  return minute >= fromMinute && isNaiveDay(window, today) ||
    minute < toMinute && isNaiveDay(window, dayBefore(today));
}

const MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const DAY_NAMES = "sun mon tue wed thu fri sat".split(" ");

type Day = Omit<Shown, "minute">;

function dayBefore({ year, month, day }: Day): Day {
  const date = new Date(Date.UTC(year, MONTH_NAMES.indexOf(month), day - 1));
  return {
    weekday: DAY_NAMES[date.getUTCDay()] ?? assert.fail(),
    month: MONTH_NAMES[date.getUTCMonth()] ?? assert.fail(),
    year: date.getUTCFullYear(),
    day: date.getUTCDate(),
  };
}

function isNaiveDay({ days, daysOfMonth, months }: NaiveWindow, today: Day): boolean {
  const { weekday, month, year, day } = today;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const length = month === "feb" ? isLeap ? 29 : 28 : ["apr", "jun", "sep", "nov"].includes(month) ? 30 : 31;
  // The 31 numbers of days, of which a shorter month has the first; from its end, -1 is its last.
  const numbersOf = (from: number, to: number): readonly number[] =>
    Array.from({ length: 31 }, (_, index) => index + 1).filter((number) => {
      const fromEnd = number - length - 1;
      return (from > 0 ? number >= from : fromEnd >= from) && (to > 0 ? number <= to : fromEnd <= to);
    });
  return (days === undefined || days.includes(weekday)) && (months === undefined || months.includes(month)) &&
    (daysOfMonth === undefined || daysOfMonth.some(([from, to]) => numbersOf(from, to).includes(day)));
}

const DAY = 24 * 60 * MINUTE;

/** An hour, half an hour, none, both hemispheres, a day that is skipped (2011-12-30 in Apia), changes at midnight. */
const ZONES = [
  "Europe/Zurich",
  "America/New_York",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "Pacific/Apia",
  "America/Asuncion",
  "Africa/Casablanca",
  "UTC",
];

const minutes = fc.oneof(fc.integer({ min: 0, max: 1439 }), fc.constantFrom(0, 30, 60, 90, 120, 150, 180));
const dayNumbers = fc.oneof(fc.integer({ min: 1, max: 31 }), fc.integer({ min: -31, max: -1 }));
const dayRanges = fc.tuple(dayNumbers, dayNumbers).map(([from, to]) => ({ from, to }));
const CALENDAR: fc.Arbitrary<CalendarWindow> = fc.record({
  days: fc.subarray([...WEEKDAYS], { minLength: 1 }),
  daysOfMonth: fc.array(dayRanges, { minLength: 1, maxLength: 3 }),
  months: fc.subarray([...MONTHS], { minLength: 1 }),
  fromMinute: minutes,
  toMinute: minutes,
  timeZone: fc.constantFrom(...ZONES),
}, { requiredKeys: ["fromMinute", "toMinute", "timeZone"] });

/** Days around a DST change, a leap day, the end of a month or of a year, and any others. */
const DAYS = fc.tuple(
  fc.constantFrom(
    "2011-12-29",
    "2024-02-28",
    "2026-03-07",
    "2026-03-28",
    "2026-04-04",
    "2026-10-03",
    "2026-10-24",
    "2026-10-31",
    "2026-12-30",
    "2027-02-27",
  ).map((text) => Date.parse(text)),
  fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 700 })),
).map(([dayMs, days]) => dayMs + days * DAY);

/** Windows within a skipped or a repeated hour, or that begin or end in it, over a night, and a day of the week. */
const EXAMPLES = [
  ...["2026-03-28", "2026-10-24"].flatMap((day) =>
    [[120, 180], [135, 165], [150, 180], [150, 240], [60, 150], [1320, 360]].map((times) => ({ day, times }))
  ),
  { day: "2026-01-10", times: [1320, 360], days: ["sat"] as const },
  { day: "2026-01-11", times: [720, 720], days: ["sun"] as const },
].map(({ day, times: [fromMinute = 0, toMinute = 0], ...days }): [CalendarWindow, number] => [
  { fromMinute, toMinute, timeZone: "Europe/Zurich", ...days },
  Date.parse(day),
]);

Deno.test("isInWindow() and openWindow() agree with a minute by minute definition of days and times", () => {
  fc.assert(
    fc.property(CALENDAR, DAYS, (window, fromMs) => {
      const shownAt = createWallClock(window.timeZone);
      const { daysOfMonth, ...others } = window;
      const ranges = daysOfMonth?.map(({ from, to }) => [from, to] as const);
      const naive = ranges === undefined ? others : { ...others, daysOfMonth: ranges };
      assertOpenMinutes(window, fromMs, (ms) => isNaivelyOpen(naive, shownAt(ms)));
    }),
    { numRuns: campaign(50, EXAMPLES.length + 4), examples: EXAMPLES },
  );
});

/** Compares two days, minute by minute: whether the window is open, until when, and when it opens next. */
function assertOpenMinutes(window: MaintenanceWindow, fromMs: number, isOpen: (ms: number) => boolean): void {
  const toMs = fromMs + 2 * DAY;
  const openAt = new Map<number, boolean>();
  for (let ms = fromMs; ms < toMs; ms += MINUTE) openAt.set(ms, isOpen(ms));
  let endMs: number | null = null;
  let beginMs: number | null = null;
  for (let ms = toMs - MINUTE; ms >= fromMs; ms -= MINUTE) {
    const where = `${JSON.stringify(window)} at ${new Date(ms).toISOString()}`;
    const isOpenNow = openAt.get(ms) === true;
    assert.strictEqual(isInWindow([window], ms), isOpenNow, where);
    if (openAt.get(ms + MINUTE) === true && !isOpenNow) beginMs = ms + MINUTE;
    if (openAt.get(ms + MINUTE) === false && isOpenNow) endMs = ms + MINUTE;
    // Asking in some minutes will do: the answer is the same until the next change.
    const isEdge = openAt.get(ms - MINUTE) !== isOpenNow || openAt.get(ms + MINUTE) !== isOpenNow;
    if (!isEdge) continue;
    if (isOpenNow) {
      if (endMs !== null) assert.strictEqual(openWindow([window], ms)?.untilMs, endMs, where);
    } else {
      assert.strictEqual(openWindow([window], ms), null, where);
      if (beginMs !== null) assert.strictEqual(nextWindow(window, ms)?.fromMs, beginMs, where);
    }
  }
}

function wallMsOf({ year, month, day, minute }: ReturnType<ReturnType<typeof createWallClock>>): number {
  return Date.UTC(year, (MONTHS as readonly string[]).indexOf(month), day) + minute * MINUTE;
}

Deno.test("readTime() begins with the first minute that shows the time and ends with the last, of a skipped time with the change", () => {
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), DAYS, minutes, (timeZone, dayMs, minute) => {
      const date = new Date(dayMs + minute * MINUTE);
      const text = date.toISOString().slice(0, 16);
      const wanted = date.getTime();
      const shownAt = createWallClock(timeZone);
      const showing: number[] = [];
      let changeMs = NaN;
      for (let ms = wanted - 2 * DAY; ms < wanted + 2 * DAY; ms += MINUTE) {
        const wall = wallMsOf(shownAt(ms));
        if (wall === wanted) showing.push(ms);
        if (wall >= wanted && Number.isNaN(changeMs)) changeMs = ms;
      }
      const title = `${text} ${timeZone}`;
      assert.strictEqual(readTime(text, { timeZone, edge: "from" }), showing[0] ?? changeMs, title);
      assert.strictEqual(readTime(text, { timeZone, edge: "until" }), showing.at(-1) ?? changeMs, title);
    }),
    { numRuns: campaign(20, 3), examples: [["America/New_York", Date.UTC(2026, 10, 1), 60]] },
  );
});
