import { StoreError, type StoreFailure } from "../../domain/store.ts";
import { NewerVersionError } from "./sqlite_connection.ts";
import { DamagedFileError } from "../state_file.ts";
import { UnreadableRowError } from "../codec.ts";
import { pause } from "../../shared/deadline.ts";
import type { Clock } from "../../domain/clock.ts";

interface Attempt {
  /** Completes "Cannot … state". */
  readonly action: "open" | "read" | "write" | "quarantine";
  readonly path: string;
}

interface Explanation {
  readonly failure: StoreFailure;
  readonly reason: string;
}

/** Turns an error of the database or of its files into a {@linkcode StoreError}; `null` for a bug. */
export function explainStoreFailure(error: unknown, { action, path }: Attempt): StoreError | null {
  if (error instanceof StoreError) return error;
  const explanation = explain(error);
  if (explanation === null) return null;
  const message = `cannot ${action} state "${path}": ${explanation.reason}`;
  return new StoreError(message, explanation.failure, { cause: error });
}

export async function explaining<T>(attempt: Attempt, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explainStoreFailure(error, attempt) ?? error;
  }
}

/** Returns whether another process has a lock that the database requires (SQLITE_BUSY in any of its forms). */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && (Number(error.errcode) & PRIMARY_CODE) === BUSY;
}

const PRIMARY_CODE = 0xff;
const BUSY = 5;

const FULL: Explanation = { failure: "full", reason: "the disk is full; free some space" };
const READ_ONLY: Explanation = {
  failure: "denied",
  reason: "read-only; make the file and its directory writable for this user",
};
const NO_PERMISSION: Explanation = {
  failure: "denied",
  reason: "permission denied; make the file and its directory writable for this user",
};
const CANNOT_OPEN: Explanation = {
  failure: "denied",
  reason:
    "the file, its -wal or its -shm cannot be opened; make them and the directory writable for this user",
};

/** By SQLite's primary result code (sqlite.org/rescode.html). */
const BY_RESULT_CODE: ReadonlyMap<number, Explanation> = new Map([
  [3, NO_PERMISSION],
  [BUSY, { failure: "busy", reason: "locked by another process for too long; run it again" }],
  [8, READ_ONLY],
  [11, { failure: "damaged", reason: "the file is damaged" }],
  [13, FULL],
  [14, CANNOT_OPEN],
  [26, { failure: "damaged", reason: "the file is not a database" }],
]);

/** By the system's name of an error, where the runtime has no class for it. */
const BY_SYSTEM_CODE: ReadonlyMap<string, Explanation> = new Map([
  ["EDQUOT", { failure: "full", reason: "the disk quota is exceeded; free some space" }],
  ["ENOSPC", FULL],
  ["EROFS", READ_ONLY],
]);

/** The runtime's own codes have underscores. */
const SYSTEM_CODE = /^E[A-Z0-9]+$/;

/** The error of the database's shared memory on a full disk (SQLITE_IOERR_SHMSIZE). */
const SHARED_MEMORY_TOO_SMALL = 4874;
const IO_ERROR = 10;

function explain(error: unknown): Explanation | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof Deno.errors.NotCapable) {
    return { failure: "denied", reason: `missing permission: ${error.message}` };
  }
  if (error instanceof Deno.errors.PermissionDenied) return NO_PERMISSION;
  if (error instanceof Deno.errors.TimedOut) return { failure: "other", reason: error.message };
  if (error instanceof NewerVersionError) return { failure: "other", reason: error.message };
  if (error instanceof DamagedFileError || error instanceof UnreadableRowError) {
    return { failure: "damaged", reason: error.message };
  }
  const code = "code" in error ? error.code : undefined;
  if (code === "ERR_SQLITE_ERROR") return explainDatabaseError(error);
  if (code === "ERR_INVALID_STATE") return { failure: "other", reason: "it was closed" };
  // A number in a row that is beyond JavaScript's numbers; monitor never wrote it.
  if (code === "ERR_OUT_OF_RANGE") return { failure: "damaged", reason: "a number in a row is out of range" };
  if (typeof code !== "string" || !SYSTEM_CODE.test(code)) return null;
  return BY_SYSTEM_CODE.get(code) ?? { failure: "other", reason: error.message };
}

function explainDatabaseError(error: Error): Explanation {
  const extended = "errcode" in error ? Number(error.errcode) : undefined;
  // Only opening has no code, and only one way to fail.
  if (extended === undefined) return CANNOT_OPEN;
  if (extended === SHARED_MEMORY_TOO_SMALL) return FULL;
  const code = extended & PRIMARY_CODE;
  if (code === IO_ERROR) {
    return {
      failure: "other",
      reason:
        `the disk reports an error (${error.message}, code ${extended}); check the disk, its quota and ` +
        "the system log",
    };
  }
  const known = BY_RESULT_CODE.get(code);
  if (known !== undefined) return known;
  if (/^no such (table|column)/.test(error.message)) return { failure: "damaged", reason: error.message };
  return { failure: "other", reason: `${error.message} (code ${extended})` };
}

/** How long a store waits for its turn while other processes write. */
export interface Patience {
  readonly clock: Pick<Clock, "monotonicMs" | "after">;
  readonly timeoutMs: number;
  /** The longest pause between two tries: the process that must go on asks more often than others. @default 1000 */
  readonly pauseMsMax?: number;
  /** Ends the wait earlier. */
  readonly signal?: AbortSignal;
}

/** Between two tries: a tenth of the time that has passed, but no less. */
const PAUSE_MS_MIN = 5;

/** Does some work, and retries it while another process has the locks that it needs. */
export async function whileBusy<T>(work: () => T | Promise<T>, patience: Patience | undefined): Promise<T> {
  if (patience === undefined) return await work();
  const { clock, timeoutMs, pauseMsMax = 1_000, signal } = patience;
  const startMs = clock.monotonicMs();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isRetryable = isBusy(error) || error instanceof StoreError && error.failure === "busy";
      const passedMs = clock.monotonicMs() - startMs;
      if (!isRetryable || passedMs >= timeoutMs || signal?.aborted) throw error;
      const pauseMs = Math.min(Math.max(passedMs / 10, PAUSE_MS_MIN), pauseMsMax);
      await pause(clock, pauseMs);
    }
  }
}

/** Runs work on a database; errors become a {@linkcode StoreError}. */
export interface Access {
  read<T>(work: () => T): Promise<T>;
  /** Each write waits for the one before, so that their order stays even if they wait for other processes. */
  write<T>(work: () => T): Promise<T>;
}
