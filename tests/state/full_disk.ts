/**
 * A state on a disk that is really full: run by full_disk.sh, with a directory on a separate small disk. Throws if
 * anything is wrong.
 */
import assert from "node:assert/strict";
import { type Store, StoreError } from "../../src/domain/store.ts";
import { changeOf, entryOf, NOW_MS, queuedOf, recordOf } from "./records.ts";
import { integrityOf, openState } from "./state_directory.ts";

const directory = Deno.args[0] ?? "";
const path = `${directory}/state.sqlite`;
const ballast = `${directory}/ballast`;

await writeUntilFull();
await openOnFullDisk();
await makeOnFullDisk();

/** A running monitor: the disk fills up, and later there is space again. */
async function writeUntilFull(): Promise<void> {
  const { store } = await openState(path);
  await saveBatch(store, 1);
  for (let round = 0; round < 20; round++) {
    const before = await batchIn(store);
    fillUp();
    // With some space the disk fills up in the middle of a batch, of the journal or of the file.
    if (round > 0) Deno.truncateSync(ballast, Deno.statSync(ballast).size - round * 7000);
    await failsFull(() => saveUntilFull(store), "write");
    const kept = await batchIn(store);
    await failsFull(() => saveBatch(store, kept + 1), "write");
    assert.equal(await batchIn(store), kept, "a batch was kept in part");
    Deno.removeSync(ballast);
    await saveBatch(store, kept + 1);
    assert.ok(await batchIn(store) > before);
  }
  console.log(`filled up 20 times while saving: ${await batchIn(store)} batches kept, each whole`);
  await store.close();
  assert.equal(integrityOf(path), "ok");
}

/** A monitor that starts, perhaps once a minute, while the disk is full: it gets an error, or it can read. */
async function openOnFullDisk(): Promise<void> {
  fillUp();
  try {
    const { store, quarantined } = await openState(path);
    assert.equal(quarantined, null);
    assert.ok(await batchIn(store) > 0);
    await failsFull(() => saveUntilFull(store), "write");
    await store.close();
    console.log("opened on a full disk: can be read");
  } catch (error) {
    assert.ok(error instanceof StoreError && error.failure === "full", String(error));
    console.log(`opened on a full disk: ${error.message}`);
  }
  Deno.removeSync(ballast);
  const { store, quarantined } = await openState(path);
  assert.equal(quarantined, null);
  assert.ok(await batchIn(store) > 0);
  await store.close();
  assert.equal(integrityOf(path), "ok");
}

/** A state that cannot even be made, and is made by the same path later. */
async function makeOnFullDisk(): Promise<void> {
  const newPath = `${directory}/new.sqlite`;
  fillUp();
  await failsFull(() => openState(newPath), "open");
  Deno.removeSync(ballast);
  const { store, quarantined } = await openState(newPath);
  assert.equal(quarantined, null);
  await saveBatch(store, 1);
  await store.close();
  console.log("made on a full disk: refused, then made when there was room");
}

async function failsFull(work: () => Promise<unknown>, action: string): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof StoreError, String(error));
    assert.equal(error.failure, "full", error.message);
    assert.match(
      error.message,
      new RegExp(`^cannot ${action} state "/.*": the disk is full; free some space$`),
    );
    return true;
  });
}

/** The journal may have some space left. */
async function saveUntilFull(store: Store): Promise<void> {
  for (let batch = await batchIn(store) + 1; batch < 100_000; batch++) await saveBatch(store, batch);
}

async function saveBatch(store: Store, batch: number): Promise<void> {
  await store.save(["a", "b", "c"].map((name) => ({
    record: recordOf(name, { missedRuns: batch }),
    rollup: entryOf(NOW_MS),
    change: changeOf(name, NOW_MS + batch, { output: `batch ${batch}` }),
    queued: [queuedOf(`${name} ${batch}`, batch)],
  })));
}

/**
 * Returns the number of the last batch; it is the same for all three checks, with as many changes, rows and results.
 */
async function batchIn(store: Store): Promise<number> {
  const records = await store.records();
  const counts = new Set(records.map(({ missedRuns }) => missedRuns));
  assert.equal(counts.size, 1, `batches ${[...counts]} at once`);
  const [count = 0] = counts;
  for (const { name } of records) {
    assert.equal((await store.changes(name, { sinceMs: 0, limit: Infinity })).length, count);
    assert.equal((await store.rollups(name, 0))[0]?.observed.ok, count);
  }
  assert.equal((await store.outbox()).notifications.length, count * records.length);
  return count;
}

/** Fills the disk, to the last byte. */
function fillUp(): void {
  using file = Deno.openSync(ballast, { create: true, write: true });
  for (let size = 65536; size >= 1; size = Math.floor(size / 2)) {
    const block = new Uint8Array(size);
    try {
      for (;;) file.writeSync(block);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
    }
  }
}
