import type { Received } from "./receivers.ts";
import { differences } from "../../src/rehearsal/rehearse.ts";
import { clockText, splitTime as split, type TimedText } from "../../src/rehearsal/scenario_text.ts";

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
const REPEATS = " again…";

/**
 * Splits a text that begins with a time or a span.
 *
 * @throws {ScenarioError} If it does not.
 */
export function splitTime(
  text: string,
  context: { readonly afterMs: number; readonly zone: string },
): TimedText {
  const timed = split(text, context);
  if (timed === null) {
    throw new ScenarioError(`"${text}" begins with no time, expected "22:10 …" or "Tue 22:10 …"`);
  }
  return timed;
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
    const line = `${clockText(message.atMs, shownMs, zone)} ${message.text}`;
    shownMs = message.atMs;
    return line;
  });
  return differences(expected.map(({ line }) => line), actual, isSame)
    .map(({ sign, text }) => `  ${sign} ${text}`).join("\n");
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
