import { type Invocation, UsageError } from "./command_definition.ts";
import { isPostgresUrl, type PostgresSettings } from "../config/postgres_settings.ts";
import { hashHex } from "../shared/hash.ts";
import { dirname, isAbsolute } from "node:path";
import { pathFromHere } from "../config/source.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { System } from "../domain/system.ts";
import type { SharedState, SharedStore } from "../domain/membership.ts";
import { type Store, StoreError } from "../domain/store.ts";
import type { PostgresPlace, SharedStoreOptions } from "../domain/stores.ts";
import type { StateTables } from "../state/copy_state.ts";
import { warn } from "./terminal.ts";

export interface StateLocation {
  /** The absolute path of the file, or the URL of the database; `null`: nothing is stored. */
  readonly path: string | null;
  readonly postgres?: PostgresSettings;
  /** Whether the user or the config named it. Another one may be unusable without an error. */
  readonly named: boolean;
  /** Why there is no location although one was expected. */
  readonly obstacle?: string;
}

export async function locateState(
  invocation: Invocation,
  config: Pick<LoadedConfig, "statePath" | "postgres"> & {
    readonly source: Pick<LoadedConfig["source"], "path">;
  },
  system: System,
): Promise<StateLocation> {
  const named = invocation.text("state");
  if (named === "") throw new UsageError("--state is empty, expected a path or none");
  if (named === "none") return { path: null, named: true };
  const isUrl = named !== undefined && isPostgresUrl(named);
  const postgres = isUrl ? await locateDatabase(named, system) : named === undefined ? config.postgres : null;
  if (postgres !== null) return { path: postgres.url, postgres, named: true };
  if (named !== undefined) return { path: pathFromHere(named, system), named: true };
  if (config.statePath !== null) return { path: config.statePath, named: true };
  const { path } = config.source;
  if (path === null) return { path: null, named: false };
  const directory = stateDirectory(system);
  if (directory === null) return { path: null, named: false, obstacle: NO_DIRECTORY };
  return { path: `${directory}/${stateFileName(await system.files.realPath(path))}`, named: false };
}

/** @throws {UsageError} If it is invalid, or has a password. */
export async function locateDatabase(url: string, system: System): Promise<PostgresSettings> {
  const { parsePostgresUrl } = await import("../config/open_postgres.ts");
  const parsed = parsePostgresUrl(url, system.workingDirectory);
  if ("message" in parsed) throw new UsageError(parsed.message, parsed.hint);
  return parsed;
}

const NO_DIRECTORY = "none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set to an absolute path";

function stateDirectory(system: System): string | null {
  // Relative ones are ignored (XDG Base Directory Specification 0.8).
  const absolute = (path = ""): string | null => isAbsolute(path) ? path : null;
  // systemd lists several directories with colons; the first one is ours.
  const service = absolute(system.environment("STATE_DIRECTORY")?.split(":")[0]);
  if (service !== null) return service;
  const user = absolute(system.environment("XDG_STATE_HOME"));
  if (user !== null) return `${user}/monitor`;
  const home = absolute(system.environment("HOME"));
  return home === null ? null : `${home}/.local/state/monitor`;
}

/** Returns a readable name that no other config has. */
function stateFileName(configPath: string): string {
  const readable = configPath.split(/[\\/]/).slice(-2).join("-").replaceAll(/[^\w.-]+/g, "_").slice(-80);
  return `${readable.replace(/^[.-]+/, "")}-${hashHex(configPath, 8)}.sqlite`;
}

/** The best first. Call this before the permission to read the environment is dropped. */
export function controlPathsOf(
  { path, postgres }: StateLocation,
  { environment, platform }: Pick<System, "environment" | "platform">,
): readonly string[] {
  // Members of a shared state may run on other machines.
  if (path === null || postgres !== undefined || platform === "windows") return [];
  const name = `${hashHex(path, 16)}.sock`;
  const absolute = (variable: string): readonly string[] => {
    // systemd lists several directories with colons.
    const [directory = ""] = environment(variable)?.split(":") ?? [];
    return isAbsolute(directory) ? [directory] : [];
  };
  return [
    ...absolute("RUNTIME_DIRECTORY").map((directory) => `${directory}/control/${name}`),
    ...absolute("XDG_RUNTIME_DIR").map((directory) => `${directory}/monitor/${name}`),
    `${dirname(path)}/${name}`,
  ];
}

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

async function unlessMissing<Opened>(path: string, system: System, open: () => Promise<Opened>) {
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
