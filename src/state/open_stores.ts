import type { StoreMachine, Stores } from "../domain/stores.ts";

/** How long an open waits for other processes that write to the state, such as many jobs that start at once. */
const BUSY_MS_MAX = 10_000;

/** The databases of this machine; the modules of each kind are loaded when it is opened first. */
export function createStores(machine: StoreMachine): Stores {
  const { clock, userId, connections, randomId, random, state: { files } } = machine;
  return {
    openFile: async (path, { access, damage, ...patience }) => {
      const { openSqliteStore } = await import("./sqlite/sqlite_store.ts");
      return await openSqliteStore(path, {
        access,
        ...damage !== undefined && { damage },
        files,
        userId,
        nowMs: clock.wallMs(),
        patience: { clock, timeoutMs: BUSY_MS_MAX, ...patience },
      });
    },
    openShared: async (place, how) => {
      const { openPostgresStore } = await import("./postgres/postgres_store.ts");
      const { openHeartbeats } = await import("./postgres/postgres_members.ts");
      const options = { connections, clock, randomId, random };
      const store = await openPostgresStore(place, { ...options, ...how });
      return { store, openHeartbeats: () => openHeartbeats(place, { ...options, open: store.open }) };
    },
    openInMemory: async () => await (await import("./sqlite/sqlite_store.ts")).openInMemoryStore(),
  };
}
