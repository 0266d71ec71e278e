import type { CertificateReading, ChainCertificate, TlsExpectations } from "./tls.ts";

/** How TLS is asked for within a protocol that begins in clear text. */
export type StartTlsProtocol = "smtp" | "imap" | "pop3";

/** Where a connection leads. */
export interface ConnectionTarget {
  /** A name or an address, without a port. */
  readonly host: string;
  /** 1 to 65535. */
  readonly port: number;
  /** The one address of the host to connect to. @default whichever answers */
  readonly address?: HostAddress;
  /** Absolute path of a Unix socket, which is connected to in place of host and port. */
  readonly socket?: string;
}

/** An address of a name. */
export interface HostAddress {
  readonly address: string;
  readonly family: number;
  /** By which the machine knows that the address is one of the name's, so that the grant of the name is enough. */
  readonly token: unknown;
}

/** A PostgreSQL server: over TCP, or by the socket file of one on this machine. */
export type DatabaseTarget =
  | ConnectionTarget & { readonly tls: TlsExpectations | null }
  | { readonly socketPath: string };

/** A connection that stands; with TLS, the certificate has been verified. */
export interface Connection {
  /** What comes next, or `null` when the other side has ended. Rejects when the connection breaks. */
  read(): Promise<Uint8Array | null>;
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the connection at once; call it whatever happened. */
  close(): void;
}

/** How far a connection came. */
export type ConnectionPhase = "connecting" | "STARTTLS" | "TLS" | "sending" | "reading";

/** Why a connection did not come about, or broke. */
export interface ConnectionFailure {
  /** `permission`, `settings` and `machine` are failures of this side and tell nothing of the target. */
  readonly phase: "permission" | "settings" | "machine" | "resolving" | ConnectionPhase;
  /** One line for people, such as `connection refused`. */
  readonly reason: string;
}

export interface ConnectionOptions {
  /** Told what is done next, whenever that changes. */
  onPhase?(phase: ConnectionPhase): void;
  /** Ends it all; also a connection that stands. */
  readonly signal: AbortSignal;
}

/** Connections over TCP. What is rejected with is for `explain`, or the signal's reason once that has aborted. */
export interface Connections {
  connect(
    target: ConnectionTarget & { readonly tls?: TlsExpectations },
    options: ConnectionOptions,
  ): Promise<Connection>;
  /** Connects to a PostgreSQL server, with TLS from the first byte after its request on. */
  connectDatabase(target: DatabaseTarget, options: ConnectionOptions): Promise<Connection>;
  /** Resolves a name to all its addresses, each once; an address is its own. */
  resolve(target: ConnectionTarget, signal: AbortSignal): Promise<readonly HostAddress[]>;
  /**
   * Reads the certificate that a server shows, whether it is valid or not, and holds it to what is expected. This may
   * take a second connection. Rejects when there is no server, or one that does not speak TLS.
   */
  readCertificate(
    target: ConnectionTarget & { readonly tls: TlsExpectations; readonly startTls?: StartTlsProtocol },
    options: ConnectionOptions,
  ): Promise<CertificateReading>;
  /** Reads the certificates that a server sends, in their order, over a connection of its own; verifies nothing. */
  readChain(
    target: ConnectionTarget & { readonly tls: TlsExpectations; readonly startTls?: StartTlsProtocol },
    signal: AbortSignal,
  ): Promise<readonly ChainCertificate[]>;
  /** Puts an error into words; `phase` is what was being done. */
  explain(error: unknown, target: ConnectionTarget, phase: ConnectionPhase): ConnectionFailure;
}
