import assert from "node:assert/strict";
import type { LocationResult } from "../../src/domain/membership.ts";
import { createLocationStore } from "../../src/state/location_store.ts";
import { recordOf, resultOf, updateOf } from "./records.ts";

Deno.test("save() saves results of runs, not records that changed without one", async () => {
  const saved: LocationResult[] = [];
  const store = createLocationStore({
    shared: { saveLocationResults: (results) => Promise.resolve(void saved.push(...results)) },
    location: "fra",
    nowMs: () => 0,
    traceOf: () => "",
    onChanged: () => {},
  });
  const record = recordOf("web", { last: resultOf() });
  const rollup = {
    atMs: 0,
    condition: null,
    durationMs: 0,
    lastedMs: 1,
    lasted: "ok",
    failedStreak: 0,
  } as const;
  await store.save([updateOf("web", { record }), updateOf("web", { record, rollup })]);
  assert.deepEqual(saved, []);
  await store.save([updateOf("web", { record, rollup: { ...rollup, condition: "ok" } })]);
  assert.deepEqual(saved.map(({ check, location }) => [check, location]), [["web", "fra"]]);
});
