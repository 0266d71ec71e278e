import type { Patience } from "../state/sqlite/patience.ts";
import type { OpenedStore, SqliteStoreOptions } from "../state/sqlite/sqlite_store.ts";
import type { PostgresStoreOptions } from "../state/postgres/postgres_store.ts";
import type { PostgresPlace } from "../domain/postgres_place.ts";
import type { StateTables } from "../state/copy_state.ts";
import type { PostgresSettings } from "../config/postgres_settings.ts";
import { StoreError } from "../domain/store.ts";
import type { System } from "../domain/system.ts";
import type { SharedState } from "../domain/membership.ts";

/** How long an open waits for other processes that write to the state, such as many jobs that start at once. */
const BUSY_MS_MAX = 10_000;

/** Opens a file of SQLite, and waits for other processes that write to it. */
export async function openSqlite(
  path: string,
  system: System,
  { patience, ...options }: Pick<SqliteStoreOptions, "access" | "damage"> & {
    readonly patience?: Partial<Omit<Patience, "clock">>;
  },
): Promise<OpenedStore> {
  const { openSqliteStore } = await import("../state/sqlite/sqlite_store.ts");
  const { clock, userId, state: { files } } = system;
  return await openSqliteStore(path, {
    ...options,
    files,
    userId,
    nowMs: clock.wallMs(),
    patience: { clock, timeoutMs: BUSY_MS_MAX, ...patience },
  });
}

/** Opens a database in PostgreSQL alongside the processes that share it. */
export async function openShared(
  postgres: PostgresSettings,
  system: System,
  how: Pick<PostgresStoreOptions, "access" | "waiting">,
): Promise<SharedState> {
  const { failOpenAfterMs } = await import("../config/open_postgres.ts");
  const { openPostgresStore } = await import("../state/postgres/postgres_store.ts");
  const { openHeartbeats } = await import("../state/postgres/postgres_members.ts");
  const { createNotificationIds } = await import("../state/notification_ids.ts");
  const place = await openPlace(postgres, system);
  const { connections, clock, randomId, random } = system;
  const options = { connections, clock, randomId, random };
  const store = await openPostgresStore(place, { ...options, ...how });
  return {
    store,
    newId: createNotificationIds({ versionOf: store.versionOf, randomId }),
    openHeartbeats: () => openHeartbeats(place, { ...options, open: store.open }),
    failOpenAfterMs: failOpenAfterMs(postgres),
  };
}

export async function openDatabaseTables(
  postgres: PostgresSettings,
  system: System,
  access: "own" | "read",
): Promise<StateTables> {
  const { openPostgresTables } = await import("../state/postgres/postgres_copy.ts");
  return await openPostgresTables(await openPlace(postgres, system), { ...system, access });
}

async function openPlace(postgres: PostgresSettings, system: System): Promise<PostgresPlace> {
  const { openPostgresPlace, MissingSettingError } = await import("../config/open_postgres.ts");
  try {
    const place = await openPostgresPlace(postgres, system);
    if (place.targets.some((target) => "tls" in target && target.tls !== null)) system.trustMachine();
    return place;
  } catch (error) {
    if (!(error instanceof MissingSettingError)) throw error;
    throw new StoreError(`cannot open state "${postgres.url}": ${error.message}`, "other", {
      cause: error.cause,
    });
  }
}
