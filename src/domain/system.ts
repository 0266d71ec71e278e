import type { Clock } from "./clock.ts";
import type { Connections, Dns, Requests } from "./connections.ts";
import type { ControlSockets, HttpServers } from "./http_servers.ts";
import type { Foreground, Processes } from "./processes.ts";
import type { StateAccess, Stores } from "./stores.ts";
import type { PermissionClass } from "./runtime_permissions.ts";

export interface System {
  readonly clock: Clock;
  /** The config, its secrets, and the files that checks look at. */
  readonly files: Files;
  /** The commands of `script` checks and of channels. */
  readonly processes: Processes;
  readonly foreground: Foreground;
  /** The requests of `http_request` checks and `webhook` channels. */
  readonly requests: Requests;
  /** The connections of `tcp_connect` checks, and the certificates that checks look at. */
  readonly connections: Connections;
  readonly dns: Dns;
  readonly mail: Mail;
  readonly host: Host;
  readonly httpServers: HttpServers;
  readonly controlSockets: ControlSockets;
  readonly permissions: Permissions;
  readonly state: StateAccess;
  readonly stores: Stores;
  readonly stdout: TextSink;
  /** Everything else: errors, warnings, the log, progress. */
  readonly stderr: TextSink;
  readStdin(): Promise<Uint8Array>;
  readonly terminal: TerminalInput;
  /** A new id, unique: a version 4 UUID (RFC 9562). */
  randomId(): string;
  /** A number of 0 or more, below 1. */
  random(): number;
  /** Resolves once every promise callback that can run has run, also those that follow from others. */
  settle(): Promise<void>;
  /** The name of this machine; `localhost` if it may not be read. */
  hostName(): string;
  /** The name of the machine's time zone, such as `Europe/Zurich`. */
  timeZone(): string;
  /** An environment variable, or `undefined` when it is not set or may not be read. */
  environment(name: string): string | undefined;
  /** Makes TLS trust the machine's certificates, unless the user has chosen others. Call it before the first request. */
  trustMachine(): void;
  mayReadEnvironment(name: string): boolean;
  /** Absolute path of the config that this executable was made for; `null` for one that is for any. */
  readonly ownConfig: string | null;
  /** The working directory, absolute. */
  readonly workingDirectory: string;
  /** Any system other than macOS and Windows counts as `linux`. */
  readonly platform: "linux" | "darwin" | "windows";
  /** Absolute path of this executable; from source, of the runtime. */
  readonly executable: string;
  /** Absolute path of the module that the runtime was started with; `null` for an executable. */
  readonly sourceModule: string | null;
  /** The runtime: its name, its version, and its target, such as `aarch64-apple-darwin`. */
  readonly runtime: { readonly name: string; readonly version: string; readonly target: string };
  /** The user's id; `null` on systems without one. */
  readonly userId: number | null;
  /** Calls back at each hangup (SIGHUP); the returned function stops that. */
  onReloadSignal(callback: () => void): () => void;
  /** Calls back at each interrupt (SIGINT) and termination (SIGTERM); the returned function stops that. */
  onStopSignal(callback: (signal: "SIGINT" | "SIGTERM") => void): () => void;
}

export interface Permissions {
  /** Returns whether one thing is granted, such as `net` with `example.org:443`, or without a value the whole class. */
  isGranted(permission: PermissionClass, value?: string): boolean;
  /** Drops a permission class permanently. Variables that were read before can be read again. */
  drop(permission: PermissionClass): void;
  /** Returns whether a class was dropped, so that only a restart can restore it. */
  isDropped(permission: PermissionClass): boolean;
  /**
   * The command that must be granted in addition to those that are started: it ends their process groups, which the
   * runtime can't do with a list of commands. `null` on systems without groups.
   */
  readonly killPath: string | null;
}

export interface TerminalInput {
  readonly isTerminal: boolean;
  /** The next line, without its newline; `null` at the end of the input. */
  readLine(): Promise<string | null>;
}

/** A place for text: the process's stdout or stderr. */
export interface TextSink {
  /** Writes all of it, in order; after the reader has gone it does nothing and `closed` is true. */
  write(text: string): void;
  /** Whether the reader has gone, as noticed by a `write`. */
  readonly closed: boolean;
  /** Whether it leads to a terminal, rather than to a file or a pipe. */
  readonly isTerminal: boolean;
  /** Width of the terminal; `null` off a terminal. */
  columns(): number | null;
}

/** The space of a file system, as `df` counts it: the part reserved for root is neither free nor in the total. */
export interface FileSystemFacts {
  /** The bytes that any user may still write. */
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** `null`: the file system has no limit of inodes, such as Btrfs. */
  readonly inodes: { readonly free: number; readonly total: number } | null;
}

export interface MemoryFacts {
  readonly availableBytes: number;
  readonly totalBytes: number;
  readonly swapUsedBytes: number;
  /** 0: there is no swap. */
  readonly swapTotalBytes: number;
}

/** Facts of this machine. A permission that is missing throws the runtime's `NotCapable`. */
export interface Host {
  /** The file system of a path. One that hangs never resolves; it is asked only once at a time. */
  fileSystem(path: string): Promise<FileSystemFacts>;
  memory(): MemoryFacts;
  /** The mean number of processes that run or wait, over 1, 5 and 15 minutes; zeros on Windows, which counts none. */
  loadAverages(): readonly [number, number, number];
  /** The number of processors that this process may use; 1 or more. */
  readonly processors: number;
  readonly processId: number;
}

/** The log levels, the quietest first. */
export const LOG_LEVELS = ["error", "warning", "info", "debug"] as const;
export type LogLevel = typeof LOG_LEVELS[number];

export const LOG_FORMATS = ["text", "json"] as const;
export type LogFormat = typeof LOG_FORMATS[number];

export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

export interface Log extends Readonly<Record<LogLevel, (message: string, fields?: LogFields) => void>> {
  /** Writes a line of the console channel at any level: as it is, or as the `message` of level `notification`. */
  notification(line: string): void;
}

export interface OutgoingMail {
  readonly host: string;
  /** 465 is TLS from the start, every other port STARTTLS. */
  readonly port: number;
  /** The login name; empty for no login. */
  readonly username: string;
  /** Never sent in clear text except to a loopback address. */
  readonly password: string;
  readonly sender: string;
  /** Email addresses, at least one. */
  readonly receivers: readonly string[];
  readonly subject: string;
  /** Plain text, lines ended by line feeds. */
  readonly text: string;
  /** The same as a page, for clients that show HTML. @default none */
  readonly html?: string;
  readonly messageId: string;
  /** Message ids with angle brackets, the oldest first. */
  readonly references: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly dateMs: number;
}

export type MailEnd =
  | {
    readonly sent: true;
    readonly refused: readonly { readonly receiver: string; readonly reason: string }[];
  }
  | {
    readonly sent: false;
    /** The last phase, such as `connecting`, `TLS`, `login`, `sender`, `data`. */
    readonly phase: string;
    /** The server's code, such as 550; `null` if it returned none. */
    readonly code: number | null;
    readonly retryable: boolean;
    /** Whether the server may have taken it: the connection broke after the last byte. */
    readonly mayHaveArrived: boolean;
    readonly reason: string;
  };

export interface Mail {
  /** Credentials never travel in clear text except to a loopback address. Throws the signal's reason when it aborts. */
  send(
    mail: OutgoingMail,
    options: { onStep(step: string): void; readonly signal: AbortSignal },
  ): Promise<MailEnd>;
}

export interface FileFacts {
  /** The target of a symlink, never the symlink itself. `other`: a device, a pipe, a socket. */
  readonly kind: "file" | "directory" | "other";
  /** Length of a file; means nothing for the others. */
  readonly sizeBytes: number;
  /** Modification time, milliseconds since 1970; `null` if the system has none. */
  readonly modifiedAtMs: number | null;
  /** Permission bits; `null` on systems without them. */
  readonly mode: number | null;
  /** The owner's user id; `null` on systems without one. */
  readonly ownerId: number | null;
  /** The number of the device with its file system. @default unknown */
  readonly device?: number;
}

export interface FilePart {
  /** Its device and its inode: the file keeps it when it is renamed. */
  readonly id: string;
  readonly sizeBytes: number;
  readonly bytes: Uint8Array;
}

/**
 * Files. Errors are the runtime's own (`Deno.errors.NotFound`, `PermissionDenied`, `NotCapable` …). `stat`, `list`,
 * `realPath` and `readLink` reject with `Deno.errors.TimedOut` if the file system does not respond within two seconds.
 */
export interface Files {
  /** Returns the facts of the file at a path, following symlinks. `timeoutMs` replaces the two seconds. */
  stat(path: string, options?: { readonly timeoutMs?: number }): Promise<FileFacts>;
  /**
   * Reads a whole file; with `bytesMax`, at most one byte more than that. Opening anything but a regular file may block the
   * process for ever: see `readRegularFile`.
   */
  read(path: string, options?: { readonly bytesMax: number }): Promise<Uint8Array>;
  /**
   * Reads at most `bytesMax` of a regular file from a byte on, counted from its end if negative.
   *
   * @throws {UnreadableFileError} If it is no regular file.
   */
  readPart(path: string, range: { readonly fromByte: number; readonly bytesMax: number }): Promise<FilePart>;
  /** Returns the names in a directory, in no order. */
  list(directory: string): Promise<readonly string[]>;
  realPath(path: string): Promise<string>;
  /** Returns the text of a symlink. */
  readLink(path: string): Promise<string>;
  /** Sets the modification time to now, creating a missing file. Errors but `NotCapable` have the system's `code`. */
  touch(path: string): Promise<void>;
  /** Writes a new file; fails with `AlreadyExists` unless `overwrite`. */
  write(path: string, text: string, options: { readonly overwrite: boolean }): Promise<void>;
  /** Replaces a file atomically. Writes `PATH.tmp` first, with the permissions of a new file. */
  replace(path: string, text: string): Promise<void>;
  /**
   * Gives an existing file the text that `edit` makes of its bytes, as one step; an error of `edit` leaves it as it is. It
   * keeps owner, group, permissions and symlinks. Of processes that rewrite a file at once, only one finds its old text.
   */
  rewrite(path: string, edit: (stored: Uint8Array) => string): Promise<void>;
}
