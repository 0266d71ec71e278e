import type { PermissionClass } from "./needs.ts";
import type { StoreFiles } from "./store_files.ts";

/**
 * The machine as the rooms see it. Everything ambient (time, files, processes, the network, the environment)
 * comes in through these interfaces, so that it can be told in one place what the program touches.
 */

/** Time. Wall time is for showing, monotonic time for measuring. */
export interface Clock {
  /** Milliseconds since 1970; may step either way. */
  wallMs(): number;
  /** Milliseconds since some start; never goes back. */
  monotonicMs(): number;
  /** Calls `callback` once after the delay (clamped to what the runtime's timer takes); the answer cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

/** What is known of a file. */
export interface FileFacts {
  /** What a symlink leads to, never the symlink itself. `other`: a device, a pipe, a socket. */
  readonly kind: "file" | "folder" | "other";
  /** Length of a file; means nothing for the others. */
  readonly sizeBytes: number;
  /** Modification time, milliseconds since 1970; `null` where the system keeps none. */
  readonly modifiedAtMs: number | null;
  /** Permission bits; `null` on systems without them. */
  readonly mode: number | null;
  /** The owner's user id; `null` on systems without one. */
  readonly ownerId: number | null;
}

/**
 * Files. Errors are the runtime's own (`Deno.errors.NotFound`, `PermissionDenied`, `NotCapable` …). `stat`, `list` and
 * `realPath` reject with `Deno.errors.TimedOut` if the file system does not respond within two seconds.
 */
export interface Files {
  /** What stands at a path; symlinks are followed. `timeoutMs` replaces the two seconds. */
  stat(path: string, options?: { readonly timeoutMs?: number }): Promise<FileFacts>;
  /**
   * The whole content of a file. Opening anything but a regular file may block the process for good: see
   * `readRegularFile`.
   */
  read(path: string): Promise<Uint8Array>;
  /** The names of what stands in a folder, in no order. */
  list(folder: string): Promise<readonly string[]>;
  /** The path with every symbolic link followed. */
  realPath(path: string): Promise<string>;
  /**
   * Sets the modification time to now, and creates the file if it is missing. An error has the system's `code`,
   * such as `ENOENT`, unless it is `NotCapable`.
   */
  touch(path: string): Promise<void>;
  /** Writes a new file; fails with `AlreadyExists` unless `overwrite`. */
  write(path: string, text: string, options: { readonly overwrite: boolean }): Promise<void>;
  /**
   * Puts a file with this text in the place of what is there, as one step: who reads the path sees the old text or the
   * new one, whole. It is written to `PATH.tmp` first, and its mode is that of any new file.
   */
  replace(path: string, text: string): Promise<void>;
}

/** A program to run. It leads a process group of its own. */
export interface ProcessCommand {
  /** Absolute path. */
  readonly path: string;
  /** What follows the program's name; passed as they are. */
  readonly arguments: readonly string[];
  /** The whole environment: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** Working directory, absolute. */
  readonly folder: string;
  /** How long it may run before its group is ended. */
  readonly timeoutMs: number;
  /** What it reads on standard input; without it the input is empty. */
  readonly input?: string;
  /** How much of stdout and of stderr is kept, in bytes each; the rest is read and dropped. */
  readonly outputBytesMax: number;
}

/** What a program wrote to one of its pipes, decoded as UTF-8 (invalid bytes become U+FFFD). */
export interface CapturedText {
  /** The beginning of what was written, up to `outputBytesMax`. */
  readonly text: string;
  /** Whether more was written than was kept. */
  readonly truncated: boolean;
}

/** How a program ended. Its whole process group was ended when this is told, except where `survives` says so. */
export type ProcessEnd =
  | {
    readonly ended: "not_started";
    readonly reason: string;
    /** The machine was short of something (processes, memory, descriptors), so that another try can help. */
    readonly isShortage?: true;
  }
  | {
    readonly ended: "exited";
    readonly code: number;
    readonly stdout: CapturedText;
    readonly stderr: CapturedText;
    /**
     * Whether processes it left behind in its group had to be killed. Where the system's init is slow to note the
     * dead, a dead child that the program did not wait for counts too: the two look alike from here.
     */
    readonly leftovers: boolean;
  }
  | {
    readonly ended: "signalled";
    /** Such as `SIGSEGV`; a number as text where the runtime knows no name. */
    readonly signal: string;
    readonly stdout: CapturedText;
    readonly stderr: CapturedText;
  }
  | {
    readonly ended: "timed_out";
    readonly stdout: CapturedText;
    readonly stderr: CapturedText;
    /** Whether it could not be ended: another user's process, or one that is stuck in the kernel. */
    readonly survives: boolean;
  };

/** What the runtime lets this process do. */
export interface Permissions {
  /** Whether one thing is granted, such as `net` with `example.org:443`, or without a value the whole class. */
  isGranted(permission: PermissionClass, value?: string): boolean;
  /** Gives up a class for good, whatever was granted of it. Variables that were read before can be read again. */
  drop(permission: PermissionClass): void;
  /** Whether a class was given up, so that only a restart can bring it back. */
  isDropped(permission: PermissionClass): boolean;
  /**
   * The program that must be granted besides those that are started: it ends their process groups, which the runtime
   * may not do where it may start listed programs only. `null` on systems without groups.
   */
  readonly killPath: string | null;
}

/** Programs. */
export interface Processes {
  /**
   * Runs a program to its end. When the signal aborts, the group is ended and the signal's reason is thrown.
   */
  run(command: ProcessCommand, signal: AbortSignal): Promise<ProcessEnd>;
}

/** How a command that ran in our place ended, with the exit code that a shell would give it. */
export type ForegroundEnd =
  | { readonly ended: "exited"; readonly code: number; readonly tail: string }
  | {
    readonly ended: "signalled";
    /** 128 and the number of the signal. */
    readonly code: number;
    /** Such as `SIGKILL`. */
    readonly signal: string;
    readonly tail: string;
  }
  | {
    readonly ended: "not_started";
    /** 127 where it is not there, else 126. */
    readonly code: number;
    /** One line for people. */
    readonly reason: string;
  };

/** Somebody else's command in our place. */
export interface Foreground {
  /**
   * Runs a program with its arguments in our environment, working folder and process group. Its standard streams are
   * ours, except where descriptors are short; SIGINT, SIGTERM, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on. Comes back when the program has gone, whoever else holds its streams
   * still. Of what it printed the end is told.
   */
  run(command: readonly string[], options: { readonly tailBytesMax: number }): Promise<ForegroundEnd>;
}

/** One HTTP request over a fresh connection. Redirects are not followed. */
export interface OutgoingRequest {
  /** `http:` or `https:`. */
  readonly target: string;
  /** In capitals, such as `GET`. */
  readonly method: string;
  /** By name, in any case; added to those that the runtime sends by itself, or in their place. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as UTF-8. */
  readonly body?: string;
  /** What the connection uses besides the defaults; means nothing for `http:`. */
  readonly tls?: TlsMaterial;
}

/** What a TLS connection uses besides the defaults, as PEM. */
export interface TlsMaterial {
  /** Certificates of authorities that are trusted besides the usual ones. */
  readonly authority?: string;
  /** What is shown to a server that asks, with what stands between it and its authority; never without `key`. */
  readonly certificate?: string;
  /** The private key of `certificate`. */
  readonly key?: string;
}

/** A response head; the body is read only by whoever wants it. */
export interface IncomingResponse {
  /** The status code, as it came. */
  readonly status: number;
  /** May lack `content-encoding` and `content-length`, which the runtime drops where it decompresses. */
  readonly headers: Headers;
  /** The decoded body (decompressed by the runtime). */
  readonly body: ReadableStream<Uint8Array> | null;
  /** Reads a body whose declared length is small, in one go; `null` for any other. Use either this or `body`. */
  readonly smallBody: (() => Promise<Uint8Array>) | null;
  /** Ends the connection; call it once whatever happened. */
  close(): Promise<void>;
}

/** Why no whole answer came. */
export interface RequestFailure {
  /**
   * Where it failed, as far as the runtime tells it. `permission`, `settings` (a certificate that is none, say) and
   * `machine` (it has no descriptor left) are failures of this side and tell nothing of the target.
   */
  readonly phase:
    | "permission"
    | "settings"
    | "machine"
    | "resolving"
    | "connecting"
    | "TLS"
    | "head"
    | "body";
  /** One line for people, such as `connection refused`. */
  readonly reason: string;
}

/** HTTP. */
export interface Requests {
  /** Throws the runtime's error when no head came, or the signal's reason when it aborts. */
  send(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingResponse>;
  /** Puts an error of `send`, or of reading a body, into words. */
  explain(error: unknown, target: string): RequestFailure;
}

/** How TLS is asked for within a protocol that begins in clear text. */
export type StartTlsProtocol = "smtp" | "imap" | "pop3";

/** Where a connection leads. */
export interface ConnectionTarget {
  /** A name or an address, without a port. */
  readonly host: string;
  /** 1 to 65535. */
  readonly port: number;
}

/** How the other side of a TLS connection is held to be who it should be. */
export interface TlsExpectations {
  /** The name that the certificate must be for; it is told to the server as well, unless it is an address. */
  readonly serverName: string;
  /** Certificates of authorities (PEM) that are trusted beside those that the runtime trusts. */
  readonly authorities: readonly string[];
}

/** A connection that stands; with TLS, the certificate has been verified. */
export interface Connection {
  /** What comes next, or `null` when the other side has ended. Rejects when the connection breaks. */
  read(): Promise<Uint8Array | null>;
  /** Sends all of it. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the connection at once; call it whatever happened. */
  close(): void;
}

/** How far a connection came. */
export type ConnectionPhase = "connecting" | "asking for TLS" | "TLS" | "sending" | "reading";

/** What a certificate says of itself. */
export interface CertificateFacts {
  /** Milliseconds since 1970. */
  readonly validFromMs: number;
  /** Milliseconds since 1970. */
  readonly validToMs: number;
  /** The name of who signed it; empty where it has none. */
  readonly issuer: string;
  /** Whether it names itself as who signed it. */
  readonly isSelfSigned: boolean;
  /** The names and addresses that it is for. */
  readonly names: readonly string[];
}

/** What is wrong with a certificate that a server shows. */
export interface CertificateProblem {
  /** Its dates, the names that it is for, or who signed it. */
  readonly about: "dates" | "names" | "trust";
  /** One line for people. */
  readonly reason: string;
}

/** A certificate as a server shows it. */
export interface CertificateReading {
  /** `null` when it is valid for the name and leads to an authority that is trusted. */
  readonly problem: CertificateProblem | null;
  /** `null` when it is refused and could not be read. */
  readonly facts: CertificateFacts | null;
}

/** Why a connection did not come about, or broke. */
export interface ConnectionFailure {
  /** `permission`, `settings` and `machine` are failures of this side and tell nothing of the target. */
  readonly phase: "permission" | "settings" | "machine" | "resolving" | ConnectionPhase;
  /** One line for people, such as `connection refused`. */
  readonly reason: string;
}

/** What a connection under way is told, and tells. */
export interface ConnectionOptions {
  /** Told what is done next, whenever that changes. */
  onPhase?(phase: ConnectionPhase): void;
  /** Ends it all; also a connection that stands. */
  readonly signal: AbortSignal;
}

/** Connections over TCP. What is rejected with is for `explain`, or the signal's reason once that has aborted. */
export interface Connections {
  /** Connects, and shakes hands where TLS is expected. */
  connect(
    target: ConnectionTarget & { readonly tls?: TlsExpectations },
    options: ConnectionOptions,
  ): Promise<Connection>;
  /**
   * Reads the certificate that a server shows, whether it is valid or not, and holds it to what is expected. This may
   * take a second connection. Rejects when there is no server, or one that does not speak TLS.
   */
  readCertificate(
    target: ConnectionTarget & { readonly tls: TlsExpectations; readonly startTls?: StartTlsProtocol },
    options: ConnectionOptions,
  ): Promise<CertificateReading>;
  /** Puts an error into words; `phase` is what was being done. */
  explain(error: unknown, target: ConnectionTarget, phase: ConnectionPhase): ConnectionFailure;
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

/** How a mail server is reached and what it is handed. */
export interface OutgoingMail {
  /** Name or address of the server. */
  readonly host: string;
  /** 465 is TLS from the start, every other port STARTTLS. */
  readonly port: number;
  /** The login name; empty for no login. */
  readonly username: string;
  /** Never sent in clear text but to a loopback address. */
  readonly password: string;
  /** An address. */
  readonly sender: string;
  /** Addresses, at least one. */
  readonly receivers: readonly string[];
  /** One line. */
  readonly subject: string;
  /** Plain text, lines ended by line feeds. */
  readonly text: string;
  /** With angle brackets. */
  readonly messageId: string;
  /** Message ids with angle brackets, the oldest first. */
  readonly references: readonly string[];
  /** Further headers by name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Wall time, milliseconds since 1970. */
  readonly dateMs: number;
}

/** What a mail server made of a mail. */
export type MailEnd =
  | {
    readonly sent: true;
    readonly refused: readonly { readonly receiver: string; readonly reason: string }[];
  }
  | {
    readonly sent: false;
    /** How far it came, such as `connecting`, `TLS`, `login`, `sender`, `data`. */
    readonly phase: string;
    /** The server's own code, such as 550; `null` where it said none. */
    readonly code: number | null;
    readonly retryable: boolean;
    /** Whether the server may have taken it: the connection broke after the last byte. */
    readonly mayHaveArrived: boolean;
    /** One line for people. */
    readonly reason: string;
  };

/** Mail. */
export interface Mail {
  /**
   * Hands a mail to its server. Credentials never travel in clear text but to a loopback address. Throws the
   * signal's reason when it aborts.
   */
  send(
    mail: OutgoingMail,
    options: { onStep(step: string): void; readonly signal: AbortSignal },
  ): Promise<MailEnd>;
}

/** A lock that this process has. It ends with the process, however that ends. */
export interface Lock {
  /**
   * Whether its file is still the one at its path. Once it was removed or replaced, another process can lock another
   * file there. If that can't be told, because the file system reports an error, it is taken to be in place.
   */
  isInPlace(): Promise<boolean>;
  /** Ends it; fine when that was done before. */
  release(): void;
}

/** What kept state needs of the machine. */
export interface StateAccess {
  /** What a store does with files beside the database itself. */
  readonly files: StoreFiles;
  /** Takes the lock at a path until it is released or the process dies; `null` while another process has it. */
  lock(path: string): Lock | null;
  /** The id of the process that last took it; `null` where that is not known. */
  holder(path: string): number | null;
  /** Whether a process has it now. */
  isLocked(path: string): boolean;
}

/** The whole machine. */
export interface System {
  /** The time, and timers. */
  readonly clock: Clock;
  /** The document, its secrets, and the files that checks look at. */
  readonly files: Files;
  /** The programs of `script` checks and of channels. */
  readonly processes: Processes;
  /** The command of `monitor beat`. */
  readonly foreground: Foreground;
  /** The requests of `http_request` checks and `webhook` channels. */
  readonly requests: Requests;
  /** The connections of `tcp_connect` checks, and the certificates that checks look at. */
  readonly connections: Connections;
  /** The mails of the `email` channel. */
  readonly mail: Mail;
  /** What of all this is granted. */
  readonly permissions: Permissions;
  /** The files and the lock of the kept state. */
  readonly state: StateAccess;
  /** The command's own output. */
  readonly stdout: TextSink;
  /** Everything else: errors, warnings, the log, progress. */
  readonly stderr: TextSink;
  /** All of standard input. */
  readStdin(): Promise<Uint8Array>;
  /** A new id, unique: a version 4 UUID (RFC 9562). */
  randomId(): string;
  /** A number of 0 or more, below 1. */
  random(): number;
  /** The name of this machine; `localhost` where it may not be asked for. */
  hostName(): string;
  /** The name of the machine's time zone, such as `Europe/Zurich`. */
  timeZone(): string;
  /** An environment variable, or `undefined` when it is not set or may not be read. */
  environment(name: string): string | undefined;
  /** Makes TLS trust what the machine trusts, unless the user has chosen otherwise; before the first request. */
  trustMachine(): void;
  /** Whether a variable may be read at all. */
  mayReadEnvironment(name: string): boolean;
  /** Absolute path of the document that this executable was made for; `null` for one that is for any. */
  readonly ownDocument: string | null;
  /** The working directory, absolute. */
  readonly workingFolder: string;
  /** What is neither macOS nor Windows counts as `linux`. */
  readonly platform: "linux" | "darwin" | "windows";
  /** What runs the program: its name, its version, and the machine it was made for, such as `aarch64-apple-darwin`. */
  readonly runtime: { readonly name: string; readonly version: string; readonly target: string };
  /** The user's id; `null` on systems without one. */
  readonly userId: number | null;
  /** Calls back at each hangup (SIGHUP); the answer stops that. */
  onReloadSignal(callback: () => void): () => void;
  /** Calls back at each interrupt (SIGINT) and termination (SIGTERM); the answer stops that. */
  onStopSignal(callback: (signal: "SIGINT" | "SIGTERM") => void): () => void;
}
