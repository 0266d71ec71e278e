import assert from "node:assert/strict";
import { StoreError } from "../../../src/domain/store.ts";
import { copyState, type StateTables } from "../../../src/state/copy_state.ts";
import { openPostgresTables } from "../../../src/state/postgres/postgres_copy.ts";
import { openPostgresStore } from "../../../src/state/postgres/postgres_store.ts";
import { openSqliteTables } from "../../../src/state/sqlite/sqlite_tables.ts";
import { createStoreFiles } from "../../../src/system/files.ts";
import { clientOptions, sharedPostgres, storeOptions, testPostgres } from "../../support/postgres.ts";
import { HOSTILE_TEXTS } from "../hostile.ts";
import {
  actionOf,
  beatOf,
  changeOf,
  endOf,
  entryOf,
  markerOf,
  monitorRunOf,
  NOW_MS,
  outboxChangeOf,
  queuedOf,
  recordsIn,
  silenceOf,
  updateOf,
} from "../records.ts";
import { withState, withStatePath } from "../state_directory.ts";

const postgres = sharedPostgres();

function openFile(path: string, access: "own" | "read"): Promise<StateTables> {
  const files = createStoreFiles(clientOptions().clock);
  return openSqliteTables(path, { files, userId: Deno.uid(), nowMs: NOW_MS, access });
}

testPostgres(
  "copyState() moves everything from SQLite to PostgreSQL and back, unchanged",
  () =>
    withStatePath(async (path) => {
      await withState(path, async (store) => {
        for (const [index, name] of HOSTILE_TEXTS.entries()) {
          const atMs = NOW_MS + index * 60_000;
          const queued = [queuedOf(`row ${index}`, index)];
          await store.save([
            updateOf(name, { rollup: entryOf(atMs), change: changeOf(name, atMs, { output: name }), queued }),
          ]);
          await store.keepJobRun(name, beatOf(name, endOf()), NOW_MS);
        }
        await store.changeOutbox(outboxChangeOf({ markers: HOSTILE_TEXTS.map((name) => markerOf(name)) }));
        await store.addSilences([silenceOf("a", { check: null }), silenceOf("b")]);
        await store.keepAction(actionOf("1"), [silenceOf("c", { by: "Ada from 192.0.2.7" })]);
        await store.keepMonitorRun(monitorRunOf());
        await store.prune(NOW_MS);
      });
      const place = postgres().place();
      const file = await openFile(path, "read");
      const database = await openPostgresTables(place, { ...clientOptions(), access: "own" });
      const copy = await openFile(`${path}.copy`, "own");
      const counts = await copyState(file, database);
      assert.equal(counts.get("checks"), HOSTILE_TEXTS.length);
      assert.equal(counts.get("job_runs"), HOSTILE_TEXTS.length);
      assert.deepEqual(await copyState(database, copy), counts);
      await assert.rejects(
        copyState(file, database),
        (error) => error instanceof StoreError && /it is not empty; name a new one$/.test(error.message),
      );
      for (const tables of [file, database, copy]) {
        await tables.close();
      }

      // A monitor goes on where the copied one ended.
      const store = await openPostgresStore(place, storeOptions());
      const records = await recordsIn(store);
      assert.deepEqual(records, await withState(path, (before) => before.records()));
      assert.deepEqual(await store.save([updateOf(records[0]?.name ?? ""), updateOf("new")]), []);
      assert.equal((await store.records()).at(-1)?.name, "new");
      await store.close();
    }),
);
