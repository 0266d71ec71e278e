import assert from "node:assert/strict";
import type { Store } from "../../src/domain/store.ts";
import { campaign, testRandom } from "../../testing/seed.ts";
import { NAMES, ROWS_KEPT } from "./save_forever.ts";
import { startSaving } from "./saving_process.ts";
import { integrityOf, openState, withState, withStatePath } from "./state_directory.ts";

/** How often the process is killed; more in a soak: `KILL_ROUNDS=200 deno test -A tests/state/kill_test.ts`. */
const ROUNDS = Number(Deno.env.get("KILL_ROUNDS") ?? campaign(80));

/** The maximum number of batches in a round before the kill. */
const BATCHES_MAX = 60;

Deno.test("save() and changeOutbox() persist every acknowledged write once when the process is killed", () =>
  withStatePath(async (path) => {
    const { below } = testRandom("kills while saving");
    let before = 0;
    for (let round = 0; round < ROUNDS; round++) {
      // Some rounds meet the opening, most of them the saving.
      const batches = round % 3 === 0 ? 0 : Math.floor(below(BATCHES_MAX));
      const child = await startSaving(path);
      for (let batch = 0; batch < batches; batch++) await child.nextBatch();
      const said = Math.max(before, await child.kill());
      const what = `round ${round}, killed after ${batches} batches, said ${said}`;

      // A killed process that was creating the file leaves it to the next one; nothing was stored then.
      if (said === 0) continue;
      assert.equal(integrityOf(path), "ok", what);
      before = await withState(path, (store) => keptBatches(store, what), { access: "read" });
      // One more may have been stored without a message.
      assert.ok(before === said || before === said + 1, `${what}, kept ${before}`);
    }
    const { store, quarantined } = await openState(path);
    assert.equal(quarantined, null);
    assert.equal(await keptBatches(store, "at the end"), before);
    await store.close();
    assert.equal(integrityOf(path), "ok");
  }));

Deno.test("openSqliteStore() opens a state whose creation was killed", async () => {
  const { below } = testRandom("kills while opening");
  for (let round = 0; round < ROUNDS / 3; round++) {
    await withStatePath(async (path) => {
      const child = await startSaving(path);
      // Not to wait for anything: whatever this moment meets must do.
      await new Promise((resolve) => setTimeout(resolve, below(25)));
      const said = await child.kill();
      const { store, quarantined } = await openState(path);
      assert.equal(quarantined, null);
      const isEmpty = (await store.records()).length === 0;
      const kept = isEmpty ? 0 : await keptBatches(store, `round ${round}`);
      assert.ok(kept === said || kept === said + 1, `round ${round}, said ${said}, kept ${kept}`);
      await store.close();
      assert.equal(integrityOf(path), "ok");
    });
  }
});

/** Returns how many batches are there; each whole and once. */
async function keptBatches(store: Store, what: string): Promise<number> {
  const records = await store.records();
  assert.deepEqual(records.map(({ name }) => name), NAMES, what);
  const count = records[0]?.missedRuns ?? 0;
  const numbers = [...Array(count).keys()].map((index) => count - index);
  for (const { name, missedRuns } of records) {
    assert.equal(missedRuns, count, what);
    const changes = await store.changes(name, { sinceMs: -Infinity, limit: Infinity });
    assert.deepEqual(changes.map(({ atMs }) => atMs), numbers, what);
    const rollups = await store.rollups(name, -Infinity);
    assert.equal(rollups.reduce((sum, { observed }) => sum + observed.ok, 0), count, what);
  }
  await queuedNotifications(store, count, what);
  return count;
}

/** The rows of the last batch came with it; then its sending was kept, or it was not, in every part. */
async function queuedNotifications(store: Store, count: number, what: string): Promise<void> {
  const { notifications: rows, markers: notified } = await store.outbox();
  const idsOf = (batch: number): readonly string[] =>
    batch < 1 ? [] : NAMES.map((name) => `${name} ${batch}`);
  const isSent = rows.at(-1)?.attempts === 1;
  const first = count - ROWS_KEPT + (isSent ? 1 : 0);
  const batches = [...Array(count - first + 1).keys()].map((index) => first + index);
  assert.deepEqual(rows.map(({ id }) => id), batches.flatMap(idsOf), what);
  const attempts = batches.flatMap((batch) => idsOf(batch).map(() => batch < count || isSent ? 1 : 0));
  assert.deepEqual(rows.map((row) => row.attempts), attempts, what);
  const last = isSent ? count : count - 1;
  const marks = last < 1 ? [] : NAMES.map((name) => [name, String(last)]);
  assert.deepEqual(notified.map(({ check, messageId }) => [check, messageId]), marks, what);
}
