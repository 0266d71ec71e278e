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
import type { Check } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import { runRetryPass } from "../../src/scheduler/recorded_pass.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { createProgramSystem, programCheck } from "../support/fake_commands.ts";

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

/** The time of each run of a check, and the returned results, in seconds. */
interface Course {
  readonly runs: Readonly<Record<string, readonly number[]>>;
  readonly results: readonly string[];
  readonly retries: readonly string[];
  readonly unfinished: readonly string[];
}

/** Retries checks; each run takes one second, and returns the next result of its check. */
async function retry(
  conditions: Readonly<Record<string, readonly Condition[]>>,
  { stopAtMs = Infinity, forMs = 10_000 } = {},
): Promise<Course> {
  const clock = createFakeClock(0);
  const runs: Record<string, number[]> = {};
  const system = createProgramSystem(clock, (name) => {
    const known = conditions[name] ?? [];
    const condition = known[Math.min(runs[name]?.length ?? 0, known.length - 1)] ?? "ok";
    (runs[name] ??= []).push(clock.monotonicMs() / 1000);
    return { condition, afterMs: 1000 };
  });
  const results: string[] = [];
  const retries: string[] = [];
  const stop = new AbortController();
  const names = (checks: readonly Check[]): readonly string[] => checks.map(({ name }) => name);
  const pass = runRetryPass(Object.keys(conditions).map((name) => programCheck({ name })), {
    system,
    jobs: null,
    directory: "/",
    limiters: createLimiters(),
    signal: stop.signal,
    redact: (text) => text,
    onResult: ({ check, condition }) =>
      results.push(`${clock.monotonicMs() / 1000} ${check.name} ${condition}`),
  }, {
    forMs,
    isFailure: (condition) => condition !== "ok",
    onRetry: (checks, leftMs) => retries.push(`${names(checks)} ${leftMs / 1000}`),
  });
  if (stopAtMs < Infinity) {
    await clock.advance(stopAtMs);
    stop.abort(new Error("stopped"));
  }
  await clock.advance(60_000);
  const unfinished = names(await pass);
  assert.strictEqual(clock.timers, 0);
  return { runs, results, retries, unfinished };
}

Deno.test("runRetryPass() retries failures, and returns only the last result of each check", async () => {
  assert.deepStrictEqual(await retry({ a: ["ok"], b: ["critical", "warning", "ok"] }), {
    runs: { a: [0], b: [0, 3, 6] },
    results: ["1 a ok", "7 b ok"],
    retries: ["b 7", "b 4"],
    unfinished: [],
  });
});

Deno.test("runRetryPass() starts the last run when the time is over, and returns its failure", async () => {
  assert.deepStrictEqual(await retry({ a: ["critical"], b: ["unknown", "ok"] }), {
    runs: { a: [0, 3, 6, 9], b: [0, 3] },
    results: ["4 b ok", "10 a critical"],
    retries: ["a,b 7", "a 4", "a 1"],
    unfinished: [],
  });
});

Deno.test("runRetryPass() shortens the last pause to the time that is left", async () => {
  const { runs, retries } = await retry({ a: ["critical"] }, { forMs: 2_500 });
  assert.deepStrictEqual([runs, retries], [{ a: [0, 2.5] }, ["a 0"]]);
});

Deno.test("runRetryPass() passes on earlier results if it is stopped, in a pause or in a run", async () => {
  const paused = await retry({ a: ["critical"], b: ["ok"] }, { stopAtMs: 2000 });
  assert.deepStrictEqual([paused.results, paused.unfinished], [["1 b ok", "2 a critical"], []]);
  const running = await retry({ a: ["critical"] }, { stopAtMs: 3500 });
  assert.deepStrictEqual([running.results, running.unfinished], [["3.5 a critical"], []]);
  const first = await retry({ a: ["critical"] }, { stopAtMs: 500 });
  assert.deepStrictEqual([first.results, first.unfinished], [[], ["a"]]);
});
