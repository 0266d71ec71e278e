import type { Received } from "./receivers.ts";
import { timeAfter, zoned } from "./times.ts";

/** Thrown for a scenario that is not valid in itself. */
export class ScenarioError extends Error {
  override readonly name = "ScenarioError";
}

/** An expected message: the first and the last moment at which it may arrive, and what it says. */
interface Expected {
  readonly line: string;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly text: string;
  /** Whether it may arrive several times. */
  readonly repeats: boolean;
}

/** Latencies come from the seed, so a moment is met by what is a little before or behind it. */
const SLACK_MS = 5_000;
const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;
const REPEATS = " again…";

const TIME = String.raw`(?:(?:[A-Z][a-z]{2}|(?:\d{4}-)?\d\d-\d\d) )?\d\d:\d\d(?::\d\d)?`;
const TIMED = new RegExp(`^(${TIME})(?:-(${TIME}))?(?: (.*))?$`, "s");

interface TimedText {
  readonly atMs: number;
  /** The end of the time, or of the span: that of its minute, or second. */
  readonly untilMs: number;
  readonly rest: string;
}

/**
 * Splits a text that begins with a time, `22:10 critical`, `Tue 06:20 ok`, `2026-03-03 22:10:30 ok`, or with a span,
 * `22:10-22:30 ok`.
 *
 * @throws {ScenarioError} If it does not.
 */
export function splitTime(
  text: string,
  { afterMs, zone }: { readonly afterMs: number; readonly zone: string },
): TimedText {
  const [, from = "", until = from, rest = ""] = TIMED.exec(text.trim()) ?? [];
  const atMs = timeAfter(from, afterMs, zone);
  const lastMs = atMs === null ? null : timeAfter(until, atMs, zone);
  if (atMs === null || lastMs === null) {
    throw new ScenarioError(`"${text}" begins with no time, expected "22:10 …" or "Tue 22:10 …"`);
  }
  return { atMs, untilMs: lastMs + (/:\d\d:\d\d$/.test(until) ? SECOND_MS : MINUTE_MS), rest };
}

/**
 * Returns the difference between what was expected of a channel and what arrived; `null`: there is none. A line is a time
 * and a text, `22:10 problem web critical`; or a span, `22:10-22:26 …`, for what the seed decides, such as a retry. One
 * that ends in `again…` stands for all duplicates in its span, one or more.
 */
export function compareMessages(
  lines: readonly string[],
  received: readonly Received[],
  { startMs, zone }: { readonly startMs: number; readonly zone: string },
): string | null {
  let afterMs = startMs;
  const expected = lines.map((line) => {
    const one = parseExpected(line, afterMs - SLACK_MS, zone);
    afterMs = one.fromMs + SLACK_MS;
    return one;
  });
  const isMet = ({ text, fromMs, untilMs }: Expected, message: Received): boolean =>
    text === message.text && message.atMs >= fromMs && message.atMs < untilMs;
  const shown = received.filter((message, index) => {
    const before = received[index - 1];
    return before === undefined ||
      !expected.some((one) => one.repeats && isMet(one, message) && isMet(one, before));
  });
  const isSame = (left: number, right: number): boolean => {
    const [one, message] = [expected[left], shown[right]];
    return one !== undefined && message !== undefined && isMet(one, message);
  };
  if (expected.length === shown.length && expected.every((_, index) => isSame(index, index))) return null;
  let shownMs = startMs;
  const actual = shown.map((message) => {
    const line = `${timeText(message.atMs, shownMs, zone)} ${message.text}`;
    shownMs = message.atMs;
    return line;
  });
  return differences(expected.map(({ line }) => line), actual, isSame);
}

function parseExpected(line: string, afterMs: number, zone: string): Expected {
  const { atMs, untilMs, rest } = splitTime(line, { afterMs, zone });
  const repeats = rest.endsWith(REPEATS);
  return {
    line,
    fromMs: atMs - SLACK_MS,
    untilMs: untilMs + SLACK_MS,
    text: repeats ? rest.slice(0, -1) : rest,
    repeats,
  };
}

/** The time of a message as an expectation has it: with its day if another message is more than a day before. */
export function timeText(atMs: number, afterMs: number, zone: string): string {
  const time = zoned(atMs, zone).toPlainTime().toString().slice(0, 5);
  const next = timeAfter(time, afterMs - MINUTE_MS, zone);
  if (next !== null && Math.abs(next - atMs) <= MINUTE_MS) return time;
  const date = zoned(atMs, zone).toPlainDate();
  const isNear = atMs - afterMs < 6 * 86_400_000;
  const day = isNear
    ? ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][date.dayOfWeek - 1]
    : date.toString();
  return `${day} ${time}`;
}

/** The lines of both sides in order, those that only one has with a sign (longest common subsequence). */
function differences(
  expected: readonly string[],
  actual: readonly string[],
  isSame: (expected: number, actual: number) => boolean,
): string {
  const lengths = Array.from(
    { length: expected.length + 1 },
    () => new Array<number>(actual.length + 1).fill(0),
  );
  const at = (one: number, other: number): number => lengths[one]?.[other] ?? 0;
  for (let one = expected.length - 1; one >= 0; one--) {
    for (let other = actual.length - 1; other >= 0; other--) {
      const row = lengths[one];
      if (row === undefined) continue;
      row[other] = isSame(one, other)
        ? at(one + 1, other + 1) + 1
        : Math.max(at(one + 1, other), at(one, other + 1));
    }
  }
  const lines: string[] = [];
  let [one, other] = [0, 0];
  while (one < expected.length || other < actual.length) {
    if (one < expected.length && other < actual.length && isSame(one, other)) {
      lines.push(`    ${actual[other]}`);
      one++;
      other++;
    } else if (other >= actual.length || one < expected.length && at(one + 1, other) >= at(one, other + 1)) {
      lines.push(`  - ${expected[one++]}`);
    } else lines.push(`  + ${actual[other++]}`);
  }
  return lines.join("\n");
}
