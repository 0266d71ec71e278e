import type { PostgresPlace } from "../domain/postgres_place.ts";
import type { StateTables } from "../state/copy_state.ts";
import type { PostgresSettings } from "../config/postgres_settings.ts";
import { isPostgresUrl } from "../config/postgres_settings.ts";
import { hashHex } from "../shared/hash.ts";
import { isAbsolute } from "node:path";
import { pathFromHere } from "../config/source.ts";
import type { LoadedConfig } from "../config/load.ts";
import { type Store, StoreError } from "../domain/store.ts";
import type { Clock } from "../domain/clock.ts";
import type { Lock } from "../domain/lock.ts";
import type { System } from "../domain/system.ts";
import type { SharedState, SharedStore } from "../domain/membership.ts";
import { NO_STORE } from "../state/no_store.ts";
import { type Invocation, type OptionSpec, optionValue, UsageError } from "./command_definition.ts";
import { EXIT } from "./exit_code.ts";
import { printable } from "../shared/printable.ts";

/** The option that says where the state is kept. */
export const STATE_OPTION: OptionSpec = {
  name: "state",
  value: "PATH",
  description:
    'state file, postgres:// URL, or none (default: "state" of the config, else a file named after the config in ' +
    "$STATE_DIRECTORY, $XDG_STATE_HOME/monitor or ~/.local/state/monitor)",
};

/** Where the state is. */
export interface StatePlace {
  /** The absolute path of the file, or the URL of the database; `null`: nothing is kept. */
  readonly path: string | null;
  /** The database that the URL is of; absent for a file. */
  readonly postgres?: PostgresSettings;
  /** Whether the user or the config named it. One that was not named may turn out unusable. */
  readonly named: boolean;
  /** Why there is no place, where one was to be expected. */
  readonly obstacle?: string;
}

/** Thrown when another monitor holds the state, or may do so because the lock was lost. */
export class StateHeldError extends Error {
  /** The name of the class. */
  override readonly name = "StateHeldError";
  readonly hint: string;

  constructor(
    message: string,
    hint = "run monitor status, or add --state none",
  ) {
    super(message);
    this.hint = hint;
  }
}

/** Finds where the state of a config is kept. */
export async function locateState(
  invocation: Invocation,
  config: Pick<LoadedConfig, "statePath" | "postgres"> & {
    readonly source: Pick<LoadedConfig["source"], "path">;
  },
  system: System,
): Promise<StatePlace> {
  const named = optionValue(invocation, "state");
  if (named === "") throw new UsageError("--state is empty, expected a path or none");
  if (named === "none") return { path: null, named: true };
  if (named !== undefined && isPostgresUrl(named)) return databasePlace(await locateDatabase(named, system));
  if (named !== undefined) return { path: pathFromHere(named, system), named: true };
  if (config.postgres !== null) return databasePlace(config.postgres);
  if (config.statePath !== null) return { path: config.statePath, named: true };
  const { path } = config.source;
  if (path === null) return { path: null, named: false };
  const directory = stateDirectory(system);
  if (directory === null) return { path: null, named: false, obstacle: NO_DIRECTORY };
  return { path: `${directory}/${stateFileName(await system.files.realPath(path))}`, named: false };
}

/**
 * Finds the database of a URL on the command line.
 *
 * @throws {UsageError} If it is none, or has a password.
 */
export async function locateDatabase(url: string, system: System): Promise<PostgresSettings> {
  const { parsePostgresUrl } = await import("../config/open_postgres.ts");
  const parsed = parsePostgresUrl(url, system.workingDirectory);
  if ("message" in parsed) throw new UsageError(parsed.message, parsed.hint);
  return parsed;
}

function databasePlace(postgres: PostgresSettings): StatePlace {
  return { path: postgres.url, postgres, named: true };
}

const NO_DIRECTORY = "none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set to an absolute path";

function stateDirectory(system: System): string | null {
  // A relative one is to be ignored (XDG Base Directory Specification 0.8): it would mean many places.
  const absolute = (path = ""): string | null => isAbsolute(path) ? path : null;
  // systemd lists several directories with colons; the first one is ours.
  const service = absolute(system.environment("STATE_DIRECTORY")?.split(":")[0]);
  if (service !== null) return service;
  const user = absolute(system.environment("XDG_STATE_HOME"));
  if (user !== null) return `${user}/monitor`;
  const home = absolute(system.environment("HOME"));
  return home === null ? null : `${home}/.local/state/monitor`;
}

/** A name that people recognise, and that no other config has. */
function stateFileName(configPath: string): string {
  const readable = configPath.split(/[\\/]/).slice(-2).join("-").replaceAll(/[^\w.-]+/g, "_").slice(-80);
  return `${readable.replace(/^[.-]+/, "")}-${hashHex(configPath, 8)}.sqlite`;
}

/** A state that this process owns. */
export interface OwnedState {
  /** The store as it was opened first; after `reopen` the one that was answered then is in use. */
  readonly store: Store;
  /** As in its place; `null` when nothing is kept beyond this process. */
  readonly path: string | null;
  /** What several processes that share it need; `null` if this one has it for itself. */
  readonly shared: SharedState | null;
  /** The file that the owner has locked; `null`: there is none. */
  readonly lockPath: string | null;
  reopen(error: StoreError): Promise<Store>;
  /**
   * Does some work while the lock stands. Its file is compared each second with what is at its path, because whoever
   * removes or replaces that file lets a second monitor run on the same state.
   *
   * @throws {StateHeldError} Once the lock is lost. The work goes on until the caller ends the process.
   */
  whileLocked<T>(work: Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** How a state is taken into ownership. */
interface OwnOptions {
  readonly system: System;
  /** Whether an unusable place is an error even when nobody named it. */
  readonly required: boolean;
  /** Whether anything is read back before the process ends; else nothing is stored if there is no file. */
  readonly readsBack: boolean;
  /** Told of what is wrong but not the end. */
  warn(message: string): void;
}

/** How long a state is waited for that other processes write to, such as very many jobs that start at once. */
const BUSY_MS_MAX = 10_000;

const OWNER_PAUSE_MS_MAX = 5;

const COUNTS_ARE_LOST = "counts are lost when this run ends (set --state PATH)";

/**
 * Takes the lock of a state and opens it.
 *
 * @throws {StateHeldError} If another monitor uses it.
 * @throws {StoreError} If it cannot be used and somebody named it, it is required, or a permission is missing.
 */
export async function ownState(place: StatePlace, options: OwnOptions): Promise<OwnedState> {
  const { warn } = options;
  if (place.path === null) {
    if (options.required && !place.named) {
      const reason = place.obstacle ?? "the config is read from stdin";
      throw new StoreError(`cannot store the state: ${reason}; set --state PATH`, "other");
    }
    if (place.obstacle !== undefined) warn(`cannot store the state: ${place.obstacle}; ${COUNTS_ARE_LOST}`);
    return await stateWithoutFile(options);
  }
  if (place.postgres !== undefined) return await openDatabase(place.postgres, options);
  try {
    return await openOwned(place.path, options);
  } catch (error) {
    const canGoOn = error instanceof StoreError && missingPermissionIn(error) === null;
    if (!canGoOn || place.named || options.required) throw error;
    warn(`${error.message}; ${COUNTS_ARE_LOST}`);
    return await stateWithoutFile(options);
  }
}

async function openOwned(path: string, { system, warn }: OwnOptions): Promise<OwnedState> {
  const lock = system.state.lock(`${path}.lock`);
  if (lock === null) {
    const holder = system.state.holder(`${path}.lock`);
    throw new StateHeldError(
      `cannot use state "${path}": in use by another monitor${holder === null ? "" : ` (process ${holder})`}`,
    );
  }
  try {
    const { openSqliteStore } = await import("../state/sqlite/sqlite_store.ts");
    const open = async (damage?: string): Promise<Store> => {
      const { store, quarantined } = await openSqliteStore(path, {
        files: system.state.files,
        userId: system.userId,
        nowMs: system.clock.wallMs(),
        access: "own",
        patience: { clock: system.clock, timeoutMs: BUSY_MS_MAX, pauseMsMax: OWNER_PAUSE_MS_MAX },
        ...(damage !== undefined && { damage }),
      });
      if (quarantined !== null) {
        warn(
          `${quarantined.reason}; it was quarantined as "${quarantined.path}" and replaced by an empty state`,
        );
      }
      return store;
    };
    let store = await open();
    return {
      store,
      path,
      shared: null,
      lockPath: `${path}.lock`,
      reopen: async (error) => {
        await store.close();
        // If an earlier attempt failed after it had quarantined the damaged file, there is nothing to quarantine.
        const sizeBytes = (await system.state.files.look(path).catch(() => null))?.sizeBytes ?? 0;
        return store = await open(sizeBytes > 0 ? error.message : undefined);
      },
      whileLocked: (work) => whileLocked(work, { lock, path, clock: system.clock }),
      close: async () => {
        await store.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function openDatabase(postgres: PostgresSettings, { system }: OwnOptions): Promise<OwnedState> {
  const { store, ...shared } = await openShared(postgres, system, "own");
  return {
    store,
    path: postgres.url,
    shared: { store, ...shared },
    lockPath: null,
    // A server repairs its own damage.
    reopen: (error) => Promise.reject(error),
    whileLocked: (work) => work,
    close: () => store.close(),
  };
}

/** Opens the database alongside the processes that share it. */
async function openShared(
  postgres: PostgresSettings,
  system: System,
  access: "own" | "read" | "alongside",
): Promise<SharedState> {
  const { failOpenAfterMs } = await import("../config/open_postgres.ts");
  const { openPostgresStore } = await import("../state/postgres/postgres_store.ts");
  const { openHeartbeats } = await import("../state/postgres/postgres_members.ts");
  const { createNotificationIds } = await import("../state/notification_ids.ts");
  const place = await openPlace(postgres, system);
  const { connections, clock, randomId, random } = system;
  const options = { connections, clock, randomId, random, access };
  const store = await openPostgresStore(place, options);
  return {
    store,
    newId: createNotificationIds({ versionOf: store.versionOf, randomId }),
    openHeartbeats: () => openHeartbeats(place, options),
    failOpenAfterMs: failOpenAfterMs(postgres),
  };
}

/** Opens the tables of a database to copy them. */
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

const LOCK_CHECK_MS = 1_000;

async function whileLocked<T>(
  work: Promise<T>,
  { lock, path, clock }: { readonly lock: Lock; readonly path: string; readonly clock: Clock },
): Promise<T> {
  const lost = Promise.withResolvers<never>();
  let cancel = (): void => {};
  let hasEnded = false;
  const check = async (): Promise<void> => {
    const isInPlace = await lock.isInPlace();
    if (hasEnded) return;
    if (isInPlace) return plan();
    const message = `cannot use state "${path}": its lock file was removed or replaced`;
    lost.reject(new StateHeldError(message, "make sure that only one monitor runs"));
  };
  const plan = (): void => void (cancel = clock.after(LOCK_CHECK_MS, () => void check()));
  plan();
  try {
    return await Promise.race([work, lost.promise]);
  } finally {
    hasEnded = true;
    cancel();
  }
}

async function stateWithoutFile({ readsBack }: OwnOptions): Promise<OwnedState> {
  const open = async (): Promise<Store> =>
    readsBack ? await (await import("../state/sqlite/in_memory_store.ts")).openInMemoryStore() : NO_STORE;
  const store = await open();
  return {
    store,
    path: null,
    shared: null,
    lockPath: null,
    reopen: open,
    whileLocked: (work) => work,
    close: () => store.close(),
  };
}

/** Says where there is no state yet: who asks may mean another file than the monitor that runs. */
export async function warnOfMissing({ path, postgres }: StatePlace, system: System): Promise<void> {
  if (path === null || postgres !== undefined) return;
  if (await system.state.files.look(path).catch(() => true) === null) sayMissing(path, system);
}

function sayMissing(path: string, system: System): void {
  const message = `no state in "${path}": no check has run, or the state is elsewhere (see --state)`;
  system.stderr.write(`monitor: warning: ${printable(message)}\n`);
}

/**
 * Opens a state to read it, beside the monitor that may own it. `null` when nothing was kept yet, which is said.
 *
 * @throws {StoreError} If it cannot be read.
 * @throws {UsageError} If there is no place to read from.
 */
export async function readState(place: StatePlace, system: System): Promise<Store | null> {
  if (place.path === null) {
    throw new UsageError("no stored state to read", "set --state PATH");
  }
  try {
    if (place.postgres !== undefined) return (await openShared(place.postgres, system, "read")).store;
    const { openSqliteStore } = await import("../state/sqlite/sqlite_store.ts");
    system.permissions.drop("net");
    const { store } = await openSqliteStore(place.path, {
      files: system.state.files,
      userId: system.userId,
      nowMs: system.clock.wallMs(),
      access: "read",
      patience: { clock: system.clock, timeoutMs: BUSY_MS_MAX },
    });
    return store;
  } catch (error) {
    if (!(error instanceof StoreError) || error.failure !== "missing") throw error;
    sayMissing(place.path, system);
    return null;
  }
}

/**
 * Opens a state in PostgreSQL to read it. `null` if it is elsewhere, or nothing was stored yet, which is printed.
 *
 * @throws {StoreError} If it can't be read.
 */
export async function readSharedState({ postgres }: StatePlace, system: System): Promise<SharedStore | null> {
  if (postgres === undefined) return null;
  try {
    return (await openShared(postgres, system, "read")).store;
  } catch (error) {
    if (!(error instanceof StoreError) || error.failure !== "missing") throw error;
    sayMissing(postgres.url, system);
    return null;
  }
}

/**
 * Opens a state to change something in it, such as a silence, beside the monitor that may own it. What other
 * processes hold up is retried for some time.
 *
 * @throws {StoreError} If it cannot be read or written.
 * @throws {UsageError} If there is no place for it.
 */
export async function stateAlongside(
  place: StatePlace,
  system: System,
  { timeoutMs = BUSY_MS_MAX, signal }: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
): Promise<Store> {
  if (place.path === null) {
    throw new UsageError("no stored state to change", "set --state PATH");
  }
  if (place.postgres !== undefined) return (await openShared(place.postgres, system, "alongside")).store;
  const { openSqliteStore } = await import("../state/sqlite/sqlite_store.ts");
  system.permissions.drop("net");
  const { store } = await openSqliteStore(place.path, {
    files: system.state.files,
    userId: system.userId,
    nowMs: system.clock.wallMs(),
    access: "alongside",
    patience: { clock: system.clock, timeoutMs, ...signal !== undefined && { signal } },
  });
  return store;
}

/** The runtime's error where the state cannot be used for lack of a permission; `null` for other errors. */
export function missingPermissionIn(error: unknown): Error | null {
  return error instanceof StoreError && error.cause instanceof Deno.errors.NotCapable ? error.cause : null;
}

/** The exit code of an error of the state; `null` for other errors. */
export function stateExitCode(error: unknown): number | null {
  if (error instanceof StateHeldError) return EXIT.held;
  return error instanceof StoreError ? EXIT.input_output : null;
}
