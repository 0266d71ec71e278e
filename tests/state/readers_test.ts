import assert from "node:assert/strict";
import { NAMES } from "./save_forever.ts";
import { startSaving } from "./saving_process.ts";
import { withState, withStatePath } from "./state_directory.ts";

Deno.test("openSqliteStore() reads whole batches alongside a process that saves", () =>
  withStatePath(async (path) => {
    const child = await startSaving(path);
    try {
      let said = await child.nextBatch();
      await withState(path, async (store) => {
        for (let look = 0; look < 200; look++) {
          const records = await store.records();
          const counts = new Set(records.map(({ missedRuns }) => missedRuns));
          assert.equal(counts.size, 1, `batches ${[...counts]} at once`);
          const [count = 0] = counts;
          assert.ok(count >= said, `read ${count} after ${said} was kept`);
          assert.ok((await store.changes(NAMES[0] ?? "", { sinceMs: count, limit: 10_000 })).length >= 1);
          said = await child.nextBatch();
        }
      }, { access: "read" });
      // Readers that open and close it do not disturb it either.
      for (let look = 0; look < 20; look++) {
        const count = await withState(path, async (store) => (await store.records())[0]?.missedRuns, {
          access: "read",
        });
        assert.ok((count ?? 0) >= said);
        said = await child.nextBatch();
      }
    } finally {
      await child.kill();
    }
  }));
