import assert from "node:assert/strict";

/** Asserts that runs followed one another by exactly an interval. */
export function assertRate(startsMs: readonly number[], intervalMs: number): void {
  assert.ok(startsMs.length > 1, "there is no rate to look at");
  for (const [index, startMs] of startsMs.slice(1).entries()) {
    assert.strictEqual(startMs - (startsMs[index] ?? 0), intervalMs, `gap ${index} of ${startsMs.length}`);
  }
}
