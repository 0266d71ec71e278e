import type { PostgresSettings } from "../config/postgres_settings.ts";
import type { SharedState, SharedStore } from "../domain/membership.ts";
import { type Store, StoreError } from "../domain/store.ts";
import type { PostgresPlace, SharedStoreOptions } from "../domain/stores.ts";
import type { System } from "../domain/system.ts";
import type { StateTables } from "../state/copy_state.ts";
import { UsageError } from "./command_definition.ts";
import { warn } from "./terminal.ts";
import type { StateLocation } from "./state_location.ts";

export async function openShared(
  postgres: PostgresSettings,
  system: System,
  options: SharedStoreOptions,
): Promise<SharedState> {
  const { failOpenAfterMs } = await import("../config/open_postgres.ts");
  const { createNotificationIds } = await import("../state/record_writer.ts");
  const shared = await system.stores.openShared(await openPlace(postgres, system), options);
  return {
    ...shared,
    newId: createNotificationIds({ versionOf: shared.store.versionOf, randomId: system.randomId }),
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

/**
 * Opens a state to read it, alongside the monitor that may own it. `null` if nothing was stored yet, which is printed.
 * Drops the permission for the network unless the state or the command needs it.
 *
 * @throws {StoreError} If it can't be read.
 * @throws {UsageError} If the location has no path.
 */
export async function readState(
  location: StateLocation,
  system: System,
  { usesNetwork = false }: { readonly usesNetwork?: boolean } = {},
): Promise<Store | null> {
  const { path, postgres } = location;
  if (path === null) throw new UsageError("no stored state to read", "set --state PATH");
  if (postgres !== undefined) return await readSharedState(location, system);
  return await unlessMissing(path, system, async () => {
    if (!usesNetwork) system.permissions.drop("net");
    return (await system.stores.openFile(path, { access: "read" })).store;
  });
}

/**
 * Opens a state in PostgreSQL to read it. `null` if it is elsewhere, or nothing was stored yet, which is printed.
 *
 * @throws {StoreError} If it can't be read.
 */
export async function readSharedState(
  { postgres }: StateLocation,
  system: System,
): Promise<SharedStore | null> {
  if (postgres === undefined) return null;
  const open = async (): Promise<SharedStore> =>
    (await openShared(postgres, system, { access: "read" })).store;
  return await unlessMissing(postgres.url, system, open);
}

async function unlessMissing<Opened>(
  path: string,
  system: System,
  open: () => Promise<Opened>,
): Promise<Opened | null> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof StoreError) || error.failure !== "missing") throw error;
    warn(`no state in "${path}": no check has run, or the state is elsewhere (see --state)`, system);
    return null;
  }
}

/**
 * Opens a state to change a part of it, such as a silence, alongside the monitor that may own it. Retries for some time
 * while other processes write to it.
 *
 * @throws {StoreError} If it can't be read or written.
 * @throws {UsageError} If the location has no path.
 */
export async function stateAlongside(
  { path, postgres }: StateLocation,
  system: System,
  options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
): Promise<Store> {
  if (path === null) throw new UsageError("no stored state to change", "set --state PATH");
  if (postgres !== undefined) return (await openShared(postgres, system, { access: "alongside" })).store;
  system.permissions.drop("net");
  return (await system.stores.openFile(path, { ...options, access: "alongside" })).store;
}
