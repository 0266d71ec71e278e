import assert from "node:assert/strict";
import type { SharedStore } from "../../../src/domain/membership.ts";
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
import { testSharedStore } from "../conformance_shared.ts";
import { callAtRandom } from "../random_members.ts";

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
