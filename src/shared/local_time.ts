import type { Clock } from "../domain/clock.ts";

/** Times for people, in one form everywhere, and the forms that are read. */

export interface TimeContext {
  /** The machine's time zone, such as `Europe/Zurich`. */
  readonly timeZone: string;
  readonly nowMs: number;
}

const TIME_OF_DAY = /^\d{1,2}:\d{2}(:\d{2})?$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_AND_TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z| UTC| ?[+-]\d{2}:\d{2})?$/;

/** Examples of inputs of {@linkcode parseTime}, for help texts. */
export const TIME_EXAMPLES = '18:30, 18:30:15, 2026-12-24 or "2026-12-24 18:30:15 UTC"';

/**
 * Reads a time of day (the next one, or the last one), a date (its first moment; as an end, that of the next day), or a date and time. It
 * is local unless it names its distance from UTC. Returns wall time in milliseconds, `"no such time"` such as for
 * February 30, or `null` for other text.
 */
export function parseTime(
  text: string,
  context: TimeContext,
  { isEnd = false, isPast = false } = {},
): number | "no such time" | null {
  if (!TIME_OF_DAY.test(text) && !DATE.test(text) && !DATE_AND_TIME.test(text)) return null;
  try {
    if (!isEnd || !DATE.test(text)) return readTime(text, context, isPast);
    return Temporal.PlainDate.from(text).add({ days: 1 }).toZonedDateTime(context.timeZone).epochMilliseconds;
  } catch (error) {
    if (error instanceof RangeError) return "no such time";
    throw error;
  }
}

/** @throws {RangeError} If the text has the form of a time that does not exist. */
function readTime(text: string, { timeZone, nowMs }: TimeContext, isPast: boolean): number {
  if (TIME_OF_DAY.test(text)) {
    const time = Temporal.PlainTime.from(text.replace(/^\d:/, "0$&"));
    const now = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(timeZone);
    const today = now.withPlainTime(time);
    const isOver = today.epochMilliseconds <= nowMs;
    if (isOver === isPast) return today.epochMilliseconds;
    return today.add({ days: isPast ? -1 : 1 }).withPlainTime(time).epochMilliseconds;
  }
  const written = text.replace(" ", "T").replace(" UTC", "Z").replace(" ", "");
  if (/(Z|[+-]\d{2}:\d{2})$/.test(written) && !DATE.test(written)) {
    return Temporal.Instant.from(written).epochMilliseconds;
  }
  return Temporal.PlainDateTime.from(written).toZonedDateTime(timeZone).epochMilliseconds;
}

/** Reads a month such as `2026-10`; `null`: it is none. */
export function parseMonth(
  text: string,
  timeZone: string,
): { readonly sinceMs: number; readonly untilMs: number } | null {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) return null;
  const first = Temporal.PlainDate.from(`${text}-01`);
  const [sinceMs, untilMs] = [first, first.add({ months: 1 })].map((date) =>
    date.toZonedDateTime(timeZone).epochMilliseconds
  ) as [number, number];
  return { sinceMs, untilMs };
}

/** Writes a time with its distance from UTC, such as `2026-12-01 18:30:00 +01:00`; {@linkcode parseTime} reads it. */
export function timeText(timeMs: number, timeZone = "UTC"): string {
  const time = Temporal.Instant.fromEpochMilliseconds(Math.floor(timeMs)).toZonedDateTimeISO(timeZone);
  const plain = time.toPlainDateTime().toString({ smallestUnit: "second" }).replace("T", " ");
  return `${plain} ${time.offsetNanoseconds === 0 ? "UTC" : time.offset}`;
}

/**
 * The one line of time that a loop plans on: monotonic time, moved so that it reads as wall time. A step of the
 * wall clock does not move it until the loop asks for it and deals with it.
 */
export interface ScheduleTime {
  nowMs(): number;
  /**
   * Catches up with the wall clock and returns by how much: it was set, or the system was suspended (monotonic time
   * stops then). Returns 0 if that is too little to matter, and then does not catch up.
   */
  catchUp(): number;
}

/** The clocks tick in different ways, and small corrections are many. */
const STEP_MS = 100;

/** Makes the line, at the present wall time. */
export function createScheduleTime(clock: Clock): ScheduleTime {
  let offsetMs = clock.wallMs() - clock.monotonicMs();
  return {
    nowMs: () => clock.monotonicMs() + offsetMs,
    catchUp: () => {
      const stepMs = clock.wallMs() - clock.monotonicMs() - offsetMs;
      if (Math.abs(stepMs) <= STEP_MS) return 0;
      offsetMs += stepMs;
      return stepMs;
    },
  };
}
