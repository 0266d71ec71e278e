import type { PostgresSettings } from "../config/postgres_settings.ts";
import type { SharedState } from "../domain/membership.ts";
import { StoreError } from "../domain/store.ts";
import type { PostgresPlace, SharedStoreOptions } from "../domain/stores.ts";
import type { System } from "../domain/system.ts";
import type { StateTables } from "../state/copy_state.ts";

export async function openShared(
  postgres: PostgresSettings,
  system: System,
  options: SharedStoreOptions,
): Promise<SharedState> {
  const { failOpenAfterMs } = await import("../config/open_postgres.ts");
  const { createNotificationIds } = await import("../state/notification_ids.ts");
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
