import type { PostgresSettings } from "../config/postgres_settings.ts";
import { type Store, StoreError } from "../domain/store.ts";
import type { Clock } from "../domain/clock.ts";
import type { Lock, WaitingForServer } from "../domain/stores.ts";
import type { System } from "../domain/system.ts";
import type { SharedState } from "../domain/membership.ts";
import { NO_STORE } from "../state/no_store.ts";
import { openShared, type StateLocation } from "./open_state.ts";
import { missingPermissionIn, StateHeldError } from "./failure.ts";

export interface OwnedState {
  /** The store as it was opened first; `reopen` returns another one. */
  readonly store: Store;
  /** As in its location; `null` if nothing outlasts this process. */
  readonly path: string | null;
  /** For processes that share the state; `null` if this one owns it alone. */
  readonly shared: SharedState | null;
  /** The path of the locked file; `null`: there is none. */
  readonly lockPath: string | null;
  /** Whether its server could not be reached when it was opened, so that nothing is read yet. @default false */
  readonly isUnreachable?: boolean;
  reopen(error: StoreError): Promise<Store>;
  /**
   * Does some work while this process has the lock. Compares the locked file each second with the file at its path:
   * without the file, a second monitor could run on the same state.
   *
   * @throws {StateHeldError} Once the lock is lost. The work goes on until the caller ends the process.
   */
  whileLocked<T>(work: Promise<T>): Promise<T>;
  close(): Promise<void>;
}

interface OwnOptions {
  readonly system: System;
  /** Whether an unusable location is an error even if neither user nor config named it. */
  readonly required: boolean;
  /** Whether anything is read back before the process ends; else nothing is stored if there is no file. */
  readonly readsBack: boolean;
  warn(message: string): void;
  /** Whether to go on if the server of a shared state is unreachable. @default false */
  readonly waits?: boolean;
  /** What to do if another monitor has the state. @default that of {@linkcode StateHeldError} */
  readonly heldHint?: string;
}

const OWNER_PAUSE_MS_MAX = 5;

const COUNTS_ARE_LOST = "counts are lost when this run ends (set --state PATH)";

/**
 * Acquires the lock of a state and opens it.
 *
 * @throws {StateHeldError} If another monitor uses it.
 * @throws {StoreError} If it can't be used and is named or required, or a permission is missing.
 */
export async function ownState(location: StateLocation, options: OwnOptions): Promise<OwnedState> {
  const { warn } = options;
  if (location.path === null) {
    if (options.required && !location.named) {
      const reason = location.obstacle ?? "the config is read from stdin";
      throw new StoreError(`cannot store the state: ${reason}; set --state PATH`, "other");
    }
    if (location.obstacle !== undefined) {
      warn(`cannot store the state: ${location.obstacle}; ${COUNTS_ARE_LOST}`);
    }
    return await stateWithoutFile(options);
  }
  if (location.postgres !== undefined) return await openDatabase(location.postgres, options);
  try {
    return await openOwned(location.path, options);
  } catch (error) {
    const canGoOn = error instanceof StoreError && missingPermissionIn(error) === null;
    if (!canGoOn || location.named || options.required) throw error;
    warn(`${error.message}; ${COUNTS_ARE_LOST}`);
    return await stateWithoutFile(options);
  }
}

async function openOwned(path: string, { system, warn, heldHint }: OwnOptions): Promise<OwnedState> {
  const lock = system.state.lock(`${path}.lock`);
  if (lock === null) {
    const holder = system.state.holder(`${path}.lock`);
    const process = holder === null ? "" : ` (process ${holder})`;
    throw new StateHeldError(`cannot use state "${path}": in use by another monitor${process}`, heldHint);
  }
  try {
    const open = async (damage?: string): Promise<Store> => {
      const { store, quarantined } = await system.stores.openFile(path, {
        access: "own",
        pauseMsMax: OWNER_PAUSE_MS_MAX,
        ...damage !== undefined && { damage },
      });
      if (quarantined !== null) {
        const { reason, path: kept } = quarantined;
        warn(`${reason}; it was quarantined as "${kept}" and replaced by an empty state`);
      }
      return store;
    };
    let store = await open();
    return {
      ...{ store, path, shared: null, lockPath: `${path}.lock` },
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

async function openDatabase(
  postgres: PostgresSettings,
  { system, warn, waits = false }: OwnOptions,
): Promise<OwnedState> {
  let isUnreachable = false;
  const unusable = Promise.withResolvers<never>();
  unusable.promise.catch(() => {});
  const waiting: WaitingForServer = {
    onUnreachable: (error) => {
      isUnreachable = true;
      warn(`${error.message}; retrying, monitoring starts`);
    },
    onUnusable: unusable.reject,
  };
  const shared = await openShared(postgres, system, { access: "own", ...waits && { waiting } });
  const { store } = shared;
  return {
    ...{ store, path: postgres.url, shared, lockPath: null, isUnreachable },
    // A server repairs its own damage.
    reopen: (error) => Promise.reject(error),
    whileLocked: (work) => Promise.race([work, unusable.promise]),
    close: () => store.close(),
  };
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
  const plan = (): void => void (cancel = clock.after(LOCK_CHECK_MS, () => void check().catch(lost.reject)));
  plan();
  try {
    return await Promise.race([work, lost.promise]);
  } finally {
    hasEnded = true;
    cancel();
  }
}

async function stateWithoutFile({ system, readsBack }: OwnOptions): Promise<OwnedState> {
  const reopen = async (): Promise<Store> => readsBack ? await system.stores.openInMemory() : NO_STORE;
  const store = await reopen();
  const nothing = { path: null, shared: null, lockPath: null };
  return { store, ...nothing, reopen, whileLocked: (work) => work, close: () => store.close() };
}
