import assert from "node:assert/strict";
import { DURATION_FORMS, parseDuration } from "../../src/config/duration.ts";

Deno.test("parseDuration() reads seconds, and a count with a unit", () => {
  const rows: readonly (readonly [value: number | string, ms: number])[] = [
    [1, 1000],
    [0.5, 500],
    [3600, 3_600_000],
    ["500 ms", 500],
    ["500ms", 500],
    ["1.5 s", 1500],
    ["1 second", 1000],
    ["2 Seconds", 2000],
    [" 250 milliseconds ", 250],
    ["0.5 minutes", 30_000],
  ];
  for (const [value, ms] of rows) assert.deepEqual(parseDuration(value), { ms }, String(value));
});

Deno.test("parseDuration() says what is wrong", () => {
  const rows: readonly (readonly [value: number | string, problem: string])[] = [
    [0, `is not above 0, expected ${DURATION_FORMS}`],
    [-1, `is not above 0, expected ${DURATION_FORMS}`],
    ["0 ms", `is not above 0, expected ${DURATION_FORMS}`],
    [3601, "is longer than an hour, expected at most that"],
    ["61 minutes", "is longer than an hour, expected at most that"],
    ["", `is not a duration, expected ${DURATION_FORMS}`],
    ["500", `is not a duration, expected ${DURATION_FORMS}`],
    ["ms", `is not a duration, expected ${DURATION_FORMS}`],
    ["-1 s", `is not a duration, expected ${DURATION_FORMS}`],
    ["1 s 500 ms", `is not a duration, expected ${DURATION_FORMS}`],
    ["1 hour", `is not a duration, expected ${DURATION_FORMS}`],
  ];
  for (const [value, problem] of rows) assert.deepEqual(parseDuration(value), { problem }, String(value));
});
