/** One pass of a call that shares its state with others. */
import assert from "node:assert/strict";
import { RecordedPass } from "../../src/scheduler/recorded_pass.ts";
import { createLimiters } from "../../src/scheduler/run_checks.ts";
import { openPostgresStore } from "../../src/state/postgres/postgres_store.ts";
import { openStateRepository, type StateRepository } from "../../src/state/state_repository.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { recordOf, updateOf } from "../state/records.ts";
import type { Store } from "../../src/domain/store.ts";
import { groupCheck, testCheck } from "../support/checks.ts";
import { openInMemoryStore } from "../../src/state/sqlite/sqlite_store.ts";
import { POSTGRES, sharedPostgres, storeOptions } from "../support/postgres.ts";
import { createSilentEngine } from "../../testing/silent_engine.ts";

type RecordedPassOptions = ConstructorParameters<typeof RecordedPass>[0];

const postgres = sharedPostgres();

function fail(error: unknown): never {
  throw error;
}

function passOf(options: Partial<RecordedPassOptions> & Pick<RecordedPassOptions, "active" | "repository">) {
  return new RecordedPass({
    machine: null,
    location: null,
    system: { ...createMemorySystem(), clock: createRealClock() },
    directory: "/",
    limiters: createLimiters({ process: 1, network: 1 }),
    redact: (text) => text,
    signal: new AbortController().signal,
    engine: createSilentEngine(options.repository),
    shared: null,
    overtaken: new Set(),
    isKept: true,
    includesOthers: false,
    tracesAll: false,
    commonCauses: false,
    onResult: () => {},
    onBug: fail,
    ...options,
  });
}

function repositoryOf(store: Store): Promise<StateRepository> {
  return openStateRepository({ store, onFailure: fail, reopen: fail });
}

Deno.test("RecordedPass runs a group again that another call has run meanwhile", POSTGRES, async () => {
  const place = postgres().place();
  const store = await openPostgresStore(place, storeOptions());
  const other = await openPostgresStore(place, storeOptions());
  try {
    const [one, group] = [testCheck("critical", { name: "one" }), groupCheck(["one"], 1, { name: "group" })];
    const overtaken = new Set<string>();
    const repository = await repositoryOf(store);
    repository.onOvertaken((names) => names.forEach((name) => overtaken.add(name)));
    // The other call has read the checks before this one wrote them, so it found the group well.
    let runs = 0;
    const know = async (): Promise<void> => {
      if (runs++ > 1) return;
      await other.load(["group"]);
      const { condition } = repository.recordOf("group", 0);
      await other.save([updateOf("group", { record: recordOf("group", { condition }), queued: [] })]);
    };
    const pass = passOf({
      active: [one, group],
      repository,
      shared: { store, sender: { forget: () => {}, know } },
      overtaken,
      includesOthers: true,
    });
    assert.deepEqual(await pass.run([one], null), []);
    await pass.finish();
    const [stored] = await other.readOthers(["group"]);
    assert.equal(stored?.condition.confirmed, "critical");
    assert.equal(runs, 3);
  } finally {
    await store.close();
    await other.close();
  }
});

Deno.test("RecordedPass combines the last results in a group if no state is kept", async () => {
  const one = testCheck("critical", { name: "one", threshold: 3 });
  const active = [one, groupCheck(["one"], 1, { name: "group" })];
  const store = await openInMemoryStore();
  const conditionsOf = async (isKept: boolean): Promise<readonly string[]> => {
    const results: string[] = [];
    const pass = passOf({
      active,
      repository: await repositoryOf(store),
      isKept,
      onResult: ({ check, condition }) => void results.push(`${check.name} ${condition}`),
    });
    await pass.run(active, null);
    await pass.finish();
    return results;
  };
  assert.deepEqual(await conditionsOf(true), ["one critical", "group unknown"]);
  assert.deepEqual(await conditionsOf(false), ["one critical", "group critical"]);
});
