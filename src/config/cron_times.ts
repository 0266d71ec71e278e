/**
 * The times of a cron expression. The library parses the expression and computes dates, for days of 24 hours. DST
 * changes are handled here, since libraries disagree about them.
 *
 * The rule is that of Debian's cron (`man 8 cron`). If the minute or the hour is open (begins with `*`), a check runs
 * whenever wall time matches: not in a skipped hour, and twice in a repeated hour. A check with fixed times keeps its
 * number of runs: those of a skipped hour run once, immediately after it, and those of a repeated hour only the first
 * time. Changes of three hours or more are corrections, not DST changes, and all times are open then.
 */
import { Cron } from "croner";
import type { CronTimes } from "../domain/schedule.ts";
import type { CreateCronTimes } from "./schedules.ts";

/** Parses each expression once, however many checks have it, and once more when its times are needed. */
export function createCronReader(): CreateCronTimes {
  /** Whether a time ever comes, by expression. */
  const known = new Map<string, boolean>();
  /** The same by the fields that name days. */
  const knownDays = new Map<string, boolean>();
  const patterns = new Map<string, Cron>();
  const doesCome = (expression: string): boolean => {
    const pattern = readPattern(expression);
    const days = expression.trim().split(/\s+/).slice(2);
    const [day, month] = days;
    return knownDays.getOrInsertComputed(
      days.join(" "),
      () => day === "*" || month === "*" || pattern.nextRun(new Date(LATE_MS)) !== null,
    );
  };
  return (expression, timeZone) => {
    if (!known.getOrInsertComputed(expression, doesCome)) return null;
    const pattern = (): Cron => patterns.getOrInsertComputed(expression, readPattern);
    return timesOf(pattern, { expression, timeZone });
  };
}

/** @throws {Error} If it is none. */
function readPattern(expression: string): Cron {
  if (!FORM.test(expression)) throw new SyntaxError("It has other than five fields");
  return new Cron(expression, { timezone: "UTC", paused: true, mode: "5-part" });
}

const FORM = /^\s*(?:@\w+|\S+(?:\s+\S+){4})\s*$/;

function timesOf(
  pattern: () => Cron,
  { expression, timeZone }: Pick<CronTimes, "expression" | "timeZone">,
): CronTimes {
  const isOpen = OPEN.test(expression.trim());
  /** The first named time later than the given one; both as a clock without changes shows them. */
  const wallAfter = withMemory((wallMs) => pattern().nextRun(new Date(wallMs))?.getTime() ?? Infinity);
  let span: Span | null = null;
  const after = (afterMs: number): number => {
    if (span === null || afterMs < span.fromMs || afterMs >= span.toMs) span = spanAt(afterMs, timeZone);
    for (let fromMs = afterMs;; fromMs = span.toMs - 1, span = spanAt(span.toMs, timeZone)) {
      const { offsetMs, earlierOffsetMs } = span;
      const changeMs = offsetMs - earlierOffsetMs;
      const keepsCount = !isOpen && Math.abs(changeMs) < CORRECTION_MS;
      // After the clock was set back, wall time up to here is repeated.
      const shownMs = keepsCount ? span.fromMs + Math.max(offsetMs, earlierOffsetMs) : -Infinity;
      if (keepsCount && changeMs > 0 && fromMs < span.fromMs) {
        const leftOutMs = wallAfter(span.fromMs + earlierOffsetMs - 1);
        if (leftOutMs < shownMs) return span.fromMs;
      }
      const atMs = wallAfter(Math.max(fromMs + offsetMs, shownMs - 1)) - offsetMs;
      if (atMs < span.toMs) return atMs;
    }
  };
  return { expression, timeZone, after: withMemory(after) };
}

/**
 * Caches the last results: a search takes long, and each run of a check asks for almost the same times, its next run and
 * the second one after that, at which it is overdue.
 */
function withMemory(find: CronTimes["after"]): CronTimes["after"] {
  const known: { readonly askedMs: number; readonly foundMs: number }[] = [];
  return (afterMs) => {
    for (const { askedMs, foundMs } of known) if (afterMs >= askedMs && afterMs < foundMs) return foundMs;
    const foundMs = find(afterMs);
    if (known.unshift({ askedMs: afterMs, foundMs }) > RESULTS_MAX) known.pop();
    return foundMs;
  };
}

const RESULTS_MAX = 3;

/**
 * The library searches for a time up to the year 3000. Any day of the year falls on any day of the week in the fifty
 * years before that, 29 February too, so a time that does not exist in them never comes; a search from today takes 20
 * times as long.
 */
const LATE_MS = Date.UTC(2950, 0, 1);

/** Expressions whose minute or hour is open. */
const OPEN = /^(?:@hourly$|[*?]|\S+\s+[*?])/i;

/** Larger changes are not DST changes. */
const CORRECTION_MS = 3 * 3_600_000;

/** A time during which the clock is not changed. */
interface Span {
  /** Time of the last change; `-Infinity`: none. */
  readonly fromMs: number;
  /** Time of the next change; `Infinity`: none. */
  readonly toMs: number;
  readonly offsetMs: number;
  /** The same in the span before. */
  readonly earlierOffsetMs: number;
}

function spanAt(timeMs: number, timeZone: string): Span {
  const time = Temporal.Instant.fromEpochMilliseconds(Math.floor(timeMs)).toZonedDateTimeISO(timeZone);
  // A change at this very time begins a span; `previous` alone would look before it.
  const from = time.add({ nanoseconds: 1 }).getTimeZoneTransition("previous");
  const to = time.getTimeZoneTransition("next");
  const offsetMs = time.offsetNanoseconds / 1e6;
  return {
    fromMs: from?.epochMilliseconds ?? -Infinity,
    toMs: to?.epochMilliseconds ?? Infinity,
    offsetMs,
    earlierOffsetMs: from === null ? offsetMs : from.subtract({ nanoseconds: 1 }).offsetNanoseconds / 1e6,
  };
}
