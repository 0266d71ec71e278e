/** Random calls of three callers that share a database, with everything that they returned. */
import type { HeartbeatStore, QueueRow, SharedStore } from "../../../src/domain/membership.ts";
import type { QueuedNotification } from "../../../src/domain/outbox.ts";
import { type CheckUpdate, StoreError } from "../../../src/domain/store.ts";
import { type SharedDatabase, testSharedStore } from "../conformance_shared.ts";
import {
  actionOf,
  beatOf,
  changeOf,
  countOf,
  deliveryOf,
  endOf,
  entryOf,
  journalOf,
  markerOf,
  monitorRunOf,
  notificationOf,
  NOW_MS,
  outboxChangeOf,
  queuedOf,
  recordOf,
  recordsIn,
  resultOf,
  silenceOf,
  updateOf,
} from "../records.ts";
import assert from "node:assert/strict";
import { openHeartbeats } from "../../../src/state/postgres/postgres_members.ts";
import { openPostgresStore } from "../../../src/state/postgres/postgres_store.ts";
import {
  clientOptions,
  POSTGRES,
  sharedPostgres,
  storeOptions,
  testPostgres,
} from "../../support/postgres.ts";
import { createRealClock } from "../../../testing/real_clock.ts";
import { connectToMemory, createMemoryServer } from "../../../testing/simulation/memory_shared_store.ts";
import { createRandom } from "../../../testing/random.ts";
import { testStore } from "../conformance.ts";
import { copyState, type StateTables } from "../../../src/state/copy_state.ts";
import { openPostgresTables } from "../../../src/state/postgres/postgres_copy.ts";
import { openSqliteTables } from "../../../src/state/sqlite/sqlite_tables.ts";
import { createStoreFiles } from "../../../src/system/files.ts";
import { HOSTILE_TEXTS } from "../hostile.ts";
import { withState, withStatePath } from "../state_directory.ts";

/** 0 or more, below 1. */
type Random = () => number;

interface Caller {
  readonly id: string;
  readonly store: SharedStore;
  readonly heartbeats: HeartbeatStore;
  /** As of its last heartbeat. */
  rows: readonly QueueRow[];
  /** Queues that it took, whether it still owns them or not. */
  readonly taken: Map<string, QueueRow>;
  received: readonly QueuedNotification[];
}

const NAMES = ["web", "mail", "dns"];
const ATTRIBUTES = ["host a.test", 'unit "b\\\0é'];
const CHANNELS = ["one", "two"];
const CONDITIONS = ["ok", "warning", "critical"] as const;
const BLOCKS = journalOf([...Array(40).keys()].map((index) => ({
  endedAtMs: NOW_MS + index * 1_000,
  condition: CONDITIONS[index % 3] ?? "ok",
  output: `result ${index}`,
}))).blocks;

/** Does so many calls, and returns what each returned; `random` decides them. */
async function callAtRandom(
  { open, openHeartbeats }: SharedDatabase,
  random: Random,
  count: number,
): Promise<readonly unknown[]> {
  const callers: Caller[] = [];
  for (const id of ["1", "2", "3"]) {
    const some = { rows: [], taken: new Map(), received: [] };
    callers.push({ id, store: await open(), heartbeats: openHeartbeats(), ...some });
  }
  const log: unknown[] = [];
  const calls = new Calls(random);
  for (let call = 0; call < count; call++) {
    const caller = calls.pick(callers);
    const [name, work] = calls.pick(Object.entries(METHODS));
    log.push([call, caller.id, name, plain(await work(caller, calls))]);
  }
  const [{ store }] = callers as [Caller];
  log.push(plain([await store.outbox(), await store.records()]));
  for (const name of NAMES) log.push(plain([await store.changes(name, ALL), await store.rollups(name, 0)]));
  log.push(
    plain((await store.journal(NAMES, EVER)).toSorted((one, other) => one.name < other.name ? -1 : 1)),
  );
  for (const { heartbeats } of callers) await heartbeats.close();
  return log;
}

const EVER = { sinceMs: -Infinity, untilMs: Infinity };
const ALL = { sinceMs: 0, limit: 1_000 };

/** Without times and places in a sequence, in an order of its own where the database has none. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value, (key, item) => {
    if (["silentForMs", "ageMs", "sequence"].includes(key)) return undefined;
    return ["members", "queues", "markers", "uncertain"].includes(key) && Array.isArray(item)
      ? sorted(item)
      : item;
  });
  const parsed = text === undefined ? null : JSON.parse(text);
  return Array.isArray(parsed) &&
      parsed.every((item) => item?.name !== undefined || item?.check !== undefined)
    ? sorted(parsed)
    : parsed;
}

function sorted(items: readonly unknown[]): readonly unknown[] {
  return items.toSorted((one, other) => JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
}

/** Random arguments. */
class Calls {
  readonly random: Random;
  #ids = 0;

  constructor(random: Random) {
    this.random = random;
  }

  pick<T>(values: readonly T[]): T {
    const value = values[Math.floor(this.random() * values.length)];
    if (value === undefined) throw new Error("Nothing to pick");
    return value;
  }

  some<T>(values: readonly T[], share = 0.5): readonly T[] {
    return values.filter(() => this.random() < share);
  }

  queued(check: string): QueuedNotification {
    const condition = this.pick(CONDITIONS);
    const event = condition === "ok" ? "recovery" : "problem";
    const id = `${++this.#ids}`;
    return queuedOf(id, this.#ids, {
      notification: notificationOf(check, { id, condition, event }),
      channelKey: this.pick(CHANNELS),
      attempts: 0,
      state: "pending",
      messageId: null,
      firstFailedAtMs: null,
      lastFailure: null,
    });
  }

  update(name: string): CheckUpdate {
    const atMs = NOW_MS + Math.floor(this.random() * 8_000_000);
    return {
      record: recordOf(name, {
        missedRuns: Math.floor(this.random() * 100),
        last: resultOf({
          attributes: { suspected: this.some(ATTRIBUTES, 0.2), worked: this.some(ATTRIBUTES) },
        }),
      }),
      rollup: this.pick([null, entryOf(atMs, { condition: this.pick(CONDITIONS) })]),
      change: this.pick([null, changeOf(name, atMs)]),
      ...this.random() < 0.3 && { journal: this.pick(BLOCKS) },
      queued: this.random() < 0.7 ? [this.queued(name)] : [],
    };
  }
}

const METHODS: Readonly<Record<string, (caller: Caller, calls: Calls) => Promise<unknown>>> = {
  save: ({ store }, calls) =>
    store.save(
      Array.from({ length: 1 + Math.floor(calls.random() * 3) }, () => calls.update(calls.pick(NAMES))),
    ),
  load: ({ store }, calls) => store.load(calls.some(NAMES)),
  readOthers: ({ store }, calls) => store.readOthers(calls.some(NAMES), calls.some(ATTRIBUTES)),
  versionOf: ({ store }, calls) => Promise.resolve(store.versionOf(calls.pick(NAMES))),
  beat: async (caller, calls) => {
    const { id, heartbeats } = caller;
    const config = calls.pick(["c", "d"]);
    const host = calls.pick(["a", "b", id]);
    const own = { host, id, config, active: config, location: calls.pick([null, "fra"]), looks: [] };
    const reply = await heartbeats.beat(own, calls.random() < 0.3);
    caller.rows = reply.queues;
    return reply;
  },
  leave: ({ id, heartbeats }, calls) => heartbeats.leave({ host: calls.pick(["a", "b", id]), id }),
  members: ({ store }) => store.members(),
  takeQueue: async ({ store, id, rows, taken }, calls) => {
    const channelKey = calls.pick(CHANNELS);
    const row = rows.find((one) => one.channelKey === channelKey) ?? { channelKey, owner: null, token: 0 };
    const result = await store.takeQueue(row, id);
    if (result !== null) taken.set(channelKey, result.queue);
    return [result, store.owns(channelKey)];
  },
  giveBackQueue: async ({ store, taken }, calls) => {
    const queue = taken.get(calls.pick(CHANNELS));
    if (queue !== undefined) await store.giveBackQueue(queue);
  },
  receive: async (caller) => {
    const result = await caller.store.receive([...caller.taken.values()]);
    caller.received = [...caller.received, ...result.notifications];
    return result;
  },
  changeOutbox: async ({ store, received }, calls) => {
    const changed = calls.some(received).map((queued) => ({
      ...queued,
      attempts: queued.attempts + 1,
      messageId: calls.pick([null, "m"]),
      state: calls.pick(["pending", "rejected", "dropped"] as const),
    }));
    const markerWith = (certain: boolean) =>
      markerOf(calls.pick(NAMES), {
        channelKey: calls.pick(CHANNELS),
        condition: calls.pick(["warning", "critical"] as const),
        certain,
      });
    const sent = { ...markerWith(true), condition: calls.pick(CONDITIONS) };
    const limitUse = calls.pick([null, {
      sentAtMs: [Math.floor(calls.random() * 1e6)],
      limitedUntilMs: null,
    }]);
    const removed = calls.some(received, 0.3);
    await store.changeOutbox({
      changed,
      removed: removed.map(({ id }) => id),
      delivered: calls.some(removed).map(({ id }) => id),
      markers: calls.some([markerWith(true), markerWith(false)]),
      cleared: calls.some([markerWith(true)]),
      counted: calls.some([countOf(calls.pick(CHANNELS), { limitUse })]),
      logged: calls.some(
        [deliveryOf(calls.pick(NAMES), {
          ...{ channelKey: calls.pick(CHANNELS), outcome: calls.pick(["accepted", "dropped"] as const) },
          atMs: Math.floor(calls.random() * 9),
        })],
      ),
      ...calls.random() < 0.3 && { sentOpen: [sent] },
    });
    const logged = (await store.deliveries(EVER)).map((one) => JSON.stringify(one)).sort();
    return [await store.outbox(), logged, CHANNELS.map((channelKey) => store.owns(channelKey))];
  },
  known: ({ store }, calls) => store.known(calls.some(NAMES)),
  pendingChannels: async ({ store }) => (await store.pendingChannels()).toSorted(),
  queueSummary: async ({ store }, calls) => {
    const last = calls.pick([null, await store.queuedSummary()]);
    const next = {
      schedule: calls.pick(["@daily", "@weekly"]),
      scheduledMs: NOW_MS + Math.floor(calls.random() * 9),
    };
    return [await store.queueSummary(next, last, [calls.queued("summary")]), await store.queuedSummary()];
  },
  silences: async ({ store }, calls) => {
    await store.addSilences([silenceOf(calls.pick(["s", "t"]), { check: calls.pick([null, ...NAMES]) })]);
    const ended = await store.endSilences(calls.pick(["all" as const, [null], NAMES]), NOW_MS);
    return [ended, await store.silences(NOW_MS)];
  },
  locations: async ({ store }, calls) => {
    const { last } = recordOf("web");
    const location = calls.pick(["fra", "nyc"]);
    const check = calls.pick(NAMES);
    if (last !== null) {
      await store.saveLocationResults([{ check, location, result: last, trace: "", ageMs: 5 }]);
    }
    return await store.locationResults(NAMES);
  },
  prune: ({ store }) => store.prune(NOW_MS),
};

const postgres = sharedPostgres();

testSharedStore("openPostgresStore()", async (use) => {
  const place = postgres().place();
  const stores: SharedStore[] = [];
  try {
    await use({
      open: async () => {
        const store = await openPostgresStore(place, storeOptions());
        stores.push(store);
        return store;
      },
      openHeartbeats: () => openHeartbeats(place, clientOptions()),
    });
  } finally {
    for (const store of stores) await store.close();
  }
}, POSTGRES);

testPostgres(
  "PostgreSQL and the database in memory return the same to three processes that share it",
  async () => {
    const clock = createRealClock();
    for (const seed of SEEDS) {
      const stores: SharedStore[] = [];
      const place = postgres().place();
      const { next: random } = createRandom(seed, "versions");
      const stored = await callAtRandom(
        {
          open: async () => {
            const store = await openPostgresStore(place, storeOptions({ random }));
            stores.push(store);
            return store;
          },
          openHeartbeats: () => openHeartbeats(place, clientOptions()),
        },
        createRandom(seed, "calls").next,
        CALLS,
      );
      for (const store of stores) await store.close();
      const server = await createMemoryServer(clock);
      const { next: again } = createRandom(seed, "versions");
      const connect = () =>
        connectToMemory({ server, clock, random: again, exchange: () => null }, { access: "own" });
      const { openHeartbeats: openInMemory } = await connect();
      const inMemory = await callAtRandom(
        { open: async () => (await connect()).store, openHeartbeats: openInMemory },
        createRandom(seed, "calls").next,
        CALLS,
      );
      server.database.close();
      for (const [index, call] of stored.entries()) assert.deepEqual(inMemory[index], call, `seed ${seed}`);
    }
  },
);

const SEEDS = [1, 2, 3];
const CALLS = 200;

testStore("openPostgresStore()", async (use) => {
  const store = await openPostgresStore(postgres().place(), storeOptions());
  try {
    await use(store);
  } finally {
    await store.close();
  }
}, POSTGRES);

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
