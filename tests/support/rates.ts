import assert from "node:assert/strict";

/** Asserts that runs followed one another by exactly an interval. */
export function assertRate(startsMs: readonly number[], intervalMs: number): void {
  assert.ok(startsMs.length > 1, "there is no rate to look at");
  for (const [index, startMs] of startsMs.slice(1).entries()) {
    assert.strictEqual(startMs - (startsMs[index] ?? 0), intervalMs, `gap ${index} of ${startsMs.length}`);
  }
}

/** Asserts that no tenth of a second has more than twice its share. */
export function assertSpread(
  startsMs: readonly number[],
  { withinMs, count }: { readonly withinMs: number; readonly count: number },
): void {
  const most = Math.max(
    ...Map.groupBy(startsMs, (ms) => Math.floor(ms / 100)).values().map(({ length }) => length),
  );
  assert.ok(most <= 2 * count * 100 / withinMs + 20, `${most} runs began in the same 100 ms`);
  for (const ms of startsMs) assert.ok(ms >= 0 && ms <= withinMs, `began at ${ms} ms`);
}
