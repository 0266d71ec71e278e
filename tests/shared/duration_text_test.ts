import assert from "node:assert/strict";
import { durationText } from "../../src/shared/time_units.ts";

Deno.test("durationText() picks the unit that a reader would", async (t) => {
  const cases: readonly (readonly [durationMs: number, expected: string])[] = [
    [0, "0.0 ms"],
    [0.44, "0.4 ms"],
    [0.949, "0.9 ms"],
    [0.95, "1 ms"],
    [999.4, "999 ms"],
    [999.5, "1.0 s"],
    [59_949, "59.9 s"],
    [59_950, "1 min 0 s"],
    [119_600, "2 min 0 s"],
    [7_325_000, "122 min 5 s"],
  ];
  for (const [durationMs, expected] of cases) {
    await t.step(`${durationMs} ms`, () => assert.equal(durationText(durationMs), expected));
  }
});
