/** The databases that keep states, as the machine opens them. */
import type { Clock } from "./clock.ts";
import type { Connections, DatabaseTarget } from "./connections.ts";
import type { SharedState } from "./membership.ts";
import type { Store, StoreError } from "./store.ts";

/**
 * - `own`: for the process that has the lock of the state. Creates a missing one, updates an older version, and
 *   quarantines a damaged file.
 * - `read`: alongside the owner; creates nothing.
 * - `alongside`: to change silences or runs of jobs alongside the owner. As `own`, under the database's own locks, but
 *   rejects a damaged file.
 */
type StoreAccess = "own" | "read" | "alongside";

export interface FileStoreOptions {
  readonly access: StoreAccess;
  /** The message of a {@linkcode StoreError} `damaged`: the file is quarantined without another look. Only with `own`. */
  readonly damage?: string;
  /** How long it waits for other processes that write, such as many jobs that start at once. @default 10 seconds */
  readonly timeoutMs?: number;
  /** The longest pause between two tries: the process that must go on asks more often than others. @default 1000 */
  readonly pauseMsMax?: number;
  /** Ends the wait earlier. */
  readonly signal?: AbortSignal;
}

/** A state that is ready for use. */
export interface OpenedStore {
  readonly store: Store;
  /** The new path of a damaged file, and its damage; `null` if the file was not damaged. */
  readonly quarantined: { readonly path: string; readonly reason: string } | null;
}

/** The options of a state that is opened before its server can be reached. */
export interface WaitingForServer {
  /** Called if the server is unreachable: everything rejects until it is. */
  onUnreachable(error: StoreError): void;
  onUnusable(error: unknown): void;
}

/** How a database that several processes share is opened. */
export interface SharedStoreOptions {
  readonly access: StoreAccess;
  /** Accepts a server that is unreachable at first; without it, opening rejects. */
  readonly waiting?: WaitingForServer;
}

/** Opens states. Every method rejects with a {@linkcode StoreError} if it can't be opened. */
export interface Stores {
  /** Opens a file of SQLite at an absolute path; `missing` if it is to be read and there is none. */
  openFile(path: string, options: FileStoreOptions): Promise<OpenedStore>;
  /** Opens a database in PostgreSQL alongside the processes that share it. */
  openShared(
    place: PostgresPlace,
    options: SharedStoreOptions,
  ): Promise<Pick<SharedState, "store" | "openHeartbeats">>;
  openInMemory(): Promise<Store>;
}

export interface StoreMachine {
  readonly clock: Clock;
  readonly connections: Connections;
  readonly state: StateAccess;
  readonly userId: number | null;
  randomId(): string;
  random(): number;
}

export interface PostgresPlace {
  /** Tried in this order; at least one. */
  readonly targets: readonly DatabaseTarget[];
  readonly database: string;
  readonly user: string;
  /** `null`: none is needed. */
  readonly password: string | null;
  readonly schema: string;
  /** Whether statements are prepared once; not with a pooler. */
  readonly prepare: boolean;
  /** A `postgres://` URL without a password, for messages. */
  readonly url: string;
}

/** A lock that this process has. It ends with the process, however that ends. */
export interface Lock {
  /**
   * Returns whether its file is still the one at its path. If the file was removed or replaced, another process can
   * lock the new one. If the file system returns an error, it is taken to be in place.
   */
  isInPlace(): Promise<boolean>;
  /** Releases it; no error if it was released before. */
  release(): void;
}

export interface StateAccess {
  /** Operations on files other than the database itself. */
  readonly files: StoreFiles;
  /** Acquires the lock at a path until it is released or the process dies; `null` while another process has it. */
  lock(path: string): Lock | null;
  /** The id of the process that last acquired it; `null` if unknown. */
  holder(path: string): number | null;
  isLocked(path: string): boolean;
}

/** The files that the database keeps in addition to its own, by the end of the name. */
export const COMPANIONS: readonly string[] = ["-wal", "-shm", "-journal"];

/** The file at a path. A symlink is returned as such, not its target. */
export interface PathFacts {
  /** `other`: a device, a pipe, a socket. */
  readonly kind: "file" | "directory" | "symlink" | "other";
  /** 0 for an empty file. */
  readonly sizeBytes: number;
  readonly ownerId: number | null;
}

/** Files of a stored state in addition to the database itself. Errors are those of the runtime. */
export interface StoreFiles {
  /** Returns the file at a path; `null` if there is none. Rejects with `TimedOut` if the file system does not respond. */
  look(path: string): Promise<PathFacts | null>;
  /**
   * Returns the first bytes of a file. Never use it for a database that this process has open: closing a file
   * descriptor of it would drop the locks of the database (POSIX, fcntl).
   */
  readStart(path: string, bytes: number): Promise<Uint8Array>;
  /** Makes an empty file for its owner alone. Fails with `AlreadyExists`, also where a symlink leads nowhere. */
  createFile(path: string): Promise<void>;
  /** Makes a directory that only its owner may enter, with the directories above it; fine when it is there. */
  createDirectory(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
}
