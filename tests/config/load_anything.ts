import assert from "node:assert/strict";
import { ConfigError, type PlacedProblem } from "../../src/config/problem.ts";
import { intervalsOf } from "../support/checks.ts";
import { load, type LoadTestOptions } from "../../testing/config_system.ts";

/**
 * Loads any text. It must result in errors whose positions are in the text, in words without internals; returns all
 * messages. No text may add a property to an object of the program.
 */
export async function loadAnything(text: string, options: LoadTestOptions = {}): Promise<readonly string[]> {
  const before = inheritedNames();
  try {
    const { checks, warnings, placed } = await load(text, options);
    for (const { name, schedule, threshold, recoveryThreshold, timeoutMs } of checks) {
      assert.equal(typeof name, "string");
      if (!("times" in schedule)) {
        const { regularIntervalMs, attentiveIntervalMs } = intervalsOf({ schedule });
        const numbers = [regularIntervalMs, attentiveIntervalMs, timeoutMs];
        const isFull = options.withoutSecrets !== true;
        assert.ok(
          numbers.every((number) =>
            (isFull || !Number.isNaN(number)) ? number >= 1000 && number < 2 ** 52 : true
          ),
        );
      }
      assert.ok(threshold >= 1 && recoveryThreshold >= 1);
    }
    return placed(warnings).flatMap((warning) => saidOf(warning, text));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const isUnread = /UTF-16|bytes, and at most/.test(error.message);
    assert.ok(error.problems.length > 0 || isUnread, error.message);
    return [error.message, error.hint ?? "", ...error.problems.flatMap((problem) => saidOf(problem, text))];
  } finally {
    assert.deepEqual(inheritedNames(), before, "an object that all others inherit from has changed");
  }
}

function inheritedNames(): readonly string[] {
  return [Object.prototype, Array.prototype, Function.prototype, String.prototype].flatMap((prototype) =>
    Reflect.ownKeys(prototype).map(String)
  );
}

/** Words of internal errors. */
const INTERNAL = /TypeError|RangeError|\bundefined\b|\[object |\bNaN\b|is not a function|\n\s+at |call stack/;

function saidOf(
  { path, message, hint, line, column, offset, source }: PlacedProblem,
  text: string,
): readonly string[] {
  // A byte-order mark is not part of the text for positions.
  const { plain, lines, isInternal } = factsOf(source?.text ?? text.replace(/^\ufeff/, ""));
  assert.ok(offset >= 0 && offset <= plain.length);
  assert.ok(line >= 1 && line <= lines.length && column >= 1);
  assert.ok(column <= (lines[line - 1]?.length ?? 0) + 2);
  assert.ok(message.length > 0 && !message.endsWith("."), message);
  if (!isInternal) assert.doesNotMatch(`${message} ${hint ?? ""}`, INTERNAL);
  // Quotations are truncated, so that no error fills a screen.
  assert.ok(message.length < 3000 && (hint ?? "").length < 3000, `${message.slice(0, 200)}…`);
  return [path, message, hint ?? ""];
}

interface TextFacts {
  readonly plain: string;
  readonly lines: readonly string[];
  /** Whether the text itself contains words of internal errors. */
  readonly isInternal: boolean;
}

let latest: TextFacts = { plain: "", lines: [""], isInternal: false };

/** A text may have 100,000 errors, and is analyzed once. */
function factsOf(plain: string): TextFacts {
  if (latest.plain !== plain) {
    latest = { plain, lines: plain.split(/\r\n|\n|\r/), isInternal: INTERNAL.test(plain) };
  }
  return latest;
}
