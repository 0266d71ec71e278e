import assert from "node:assert/strict";
import { DURATION_FORMS, parseDuration } from "../../src/config/parse_duration.ts";

Deno.test("parseDuration() parses seconds, and sums of terms", () => {
  const rows: readonly (readonly [value: number | string, ms: number])[] = [
    [1, 1000],
    [0.5, 500],
    ["500 ms", 500],
    ["1.5 s", 1500],
    ["2 Seconds", 2000],
    [" 250 milliseconds ", 250],
    ["0.5 min", 30_000],
    ["1 s 500 ms", 1500],
    ["1 min 2.5 s", 62_500],
    ["ms", 1],
    ["1 hour", 3_600_000],
    ["second", 1000],
    ["0.1 ms", 0.1],
    ["1.005 s", 1005],
    [0.0001, 0.1],
  ];
  for (const [value, ms] of rows) assert.deepEqual(parseDuration(value), { ms }, String(value));
});

Deno.test("parseDuration() returns the error of an invalid duration", () => {
  const rows: readonly (readonly [value: number | string, problem: string])[] = [
    [0, "is not above 0"],
    ["0 ms", "has a count of zero"],
    [3601, "is longer than an hour"],
    ["61 minutes", "is longer than an hour"],
    ["", "is empty"],
    ["500", "has a count without a unit"],
    ["-1 s", "has a sign"],
    ["1,5 s", "has a malformed fraction"],
    ["1 sec", 'has the unknown unit "sec" (did you mean "seconds"?)'],
  ];
  for (const [value, problem] of rows) {
    assert.deepEqual(
      parseDuration(value),
      { problem: `${problem}, expected ${DURATION_FORMS}` },
      String(value),
    );
  }
});
