/** How TLS is started within a protocol that begins in plain text. */
export type StartTlsProtocol = "smtp" | "imap" | "pop3";

export interface ConnectionTarget {
  /** A name or an IP address, without a port. */
  readonly host: string;
  /** 1 to 65535. */
  readonly port: number;
  /** The one IP address of the host to connect to. @default the first that responds */
  readonly address?: HostAddress;
  /** Absolute path of a Unix socket to connect to instead of host and port. */
  readonly socket?: string;
}

export interface HostAddress {
  readonly address: string;
  readonly family: number;
  /** Proves to the system that the IP address belongs to the name, so that the permission for the name suffices. */
  readonly token: unknown;
}

/** A PostgreSQL server: over TCP, or by the socket file of one on this machine. */
export type DatabaseTarget =
  | ConnectionTarget & { readonly tls: TlsExpectations | null }
  | { readonly socketPath: string };

export interface HandshakeTarget extends ConnectionTarget {
  /** The name that the certificate must be for. */
  readonly tls: TlsExpectations;
  /** Without it: TLS from the start. */
  readonly startTls?: StartTlsProtocol;
}

/** An established connection; with TLS, its certificate has been accepted. */
export interface Connection {
  /** Returns the next bytes; `null` if the other side has ended. Rejects if the connection breaks. */
  read(): Promise<Uint8Array | null>;
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Starts TLS, once, while nothing is read; what follows is encrypted. `refuses` may only accept any certificate.
   * Absent: it has TLS, or is no connection over TCP.
   */
  startTls?(tls: TlsExpectations): Promise<void>;
  /** Ends the connection at once; call it whatever happened. */
  close(): void;
}

export type ConnectionPhase = "connecting" | "STARTTLS" | "TLS" | "sending" | "reading";

/** Why a connection did not come about, or broke. */
export interface ConnectionFailure {
  /** `permission`, `settings` and `machine` are failures of this side and don't concern the target. */
  readonly phase: "permission" | "settings" | "machine" | "resolving" | ConnectionPhase;
  /** One line for people, such as `connection refused`. */
  readonly reason: string;
}

export interface ConnectionOptions {
  /** Called with the next step whenever it changes. */
  onPhase?(phase: ConnectionPhase): void;
  /** Aborts everything, including an established connection. */
  readonly signal: AbortSignal;
}

/** Connections over TCP. They reject with errors for `explain`, or with the signal's reason once it has aborted. */
export interface Connections {
  connect(
    target: ConnectionTarget & { readonly tls?: TlsExpectations },
    options: ConnectionOptions,
  ): Promise<Connection>;
  /** Connects to a PostgreSQL server, with TLS from the first byte after its request on. */
  connectDatabase(target: DatabaseTarget, options: ConnectionOptions): Promise<Connection>;
  /** Resolves a name to all its IP addresses, each once; an IP address resolves to itself. */
  resolve(target: ConnectionTarget, signal: AbortSignal): Promise<readonly HostAddress[]>;
  /**
   * Reads the certificate of a server, valid or not, and compares it with the expectations. This may need a second
   * connection. Rejects if no server responds, or none with TLS.
   */
  readCertificate(target: HandshakeTarget, options: ConnectionOptions): Promise<CertificateReading>;
  /** Asks a server for its time over UDP, once; rejects if it does not respond. */
  readTime(target: ConnectionTarget, signal: AbortSignal): Promise<TimeReading>;
  explain(error: unknown, target: ConnectionTarget, phase: ConnectionPhase): ConnectionFailure;
}

/** Settings of a TLS connection in addition to the defaults, as PEM. */
export interface TlsMaterial {
  readonly authority?: string;
  /** The certificate for a server that asks for one, with its chain; never without `key`. */
  readonly certificate?: string;
  readonly key?: string;
}

/** How the identity of the other side is verified. */
export interface TlsExpectations {
  /** The name that the certificate must be for; the server gets it too, unless it is an IP address. */
  readonly serverName: string;
  /** CA certificates (PEM) that are trusted in addition to the runtime's. */
  readonly authorities: readonly string[];
  /** The protocols to offer (ALPN), such as `h2`. @default none */
  readonly protocols?: readonly string[];
  /**
   * Decides on the certificate instead of CAs and name: returns the reason to reject it, `null` if it is trusted. The
   * runtime does not verify then that the server has the key of the certificate, so send it nothing.
   */
  refuses?(facts: CertificateFacts): string | null;
}

export interface CertificateFacts {
  readonly validFromMs: number;
  readonly validToMs: number;
  /** The name of the issuer; empty if it has none. */
  readonly issuer: string;
  readonly isSelfSigned: boolean;
  readonly names: readonly string[];
  /** The SHA-256 hash of the certificate: 64 digits of hexadecimal in small letters. */
  readonly fingerprint: string;
}

export interface CertificateProblem {
  readonly about: "dates" | "names" | "trust";
  readonly reason: string;
}

export interface CertificateReading {
  /** `null` if it is valid for the name and issued by a trusted CA. */
  readonly problem: CertificateProblem | null;
  /** `null` if it is rejected and could not be read. */
  readonly facts: CertificateFacts | null;
}

/** The response of an NTP server (RFC 5905). */
export interface TimeReading {
  /** How far the clock of the server is ahead of the one of this machine; negative: behind. */
  readonly offsetMs: number;
  /** The round trip, without the time in the server. */
  readonly roundTripMs: number;
  /** 1: it has a clock of its own; 2 to 15: it follows a server; 0: see `code`; 16: it is not synchronized. */
  readonly stratum: number;
  /** Whether the server announces its clock as synchronized. */
  readonly isSynchronized: boolean;
  /** The reason of stratum 0, such as `RATE`; else empty. */
  readonly code: string;
}

export type RecordType = "A" | "AAAA" | "CNAME" | "MX" | "NS" | "TXT" | "SOA" | "SRV" | "CAA" | "PTR";

export interface DnsServerAddress {
  /** An IP address, without brackets. */
  readonly host: string;
  /** 1 to 65535. */
  readonly port: number;
}

export interface DnsQuestion {
  /** Absolute, with the final dot. */
  readonly name: string;
  readonly type: RecordType;
  /** `null`: those of this machine. */
  readonly server: DnsServerAddress | null;
}

export type DnsAnswer =
  /** Each as text in the form of zone files, names without the final dot; at least one. */
  | { readonly records: readonly string[] }
  /** `isObstacle`: a failure of this side, which doesn't concern the server. */
  | { readonly reason: string; readonly isObstacle: boolean };

export interface Dns {
  /** Throws the signal's reason only. */
  lookUp(question: DnsQuestion, signal: AbortSignal): Promise<DnsAnswer>;
  /** The name servers of this machine; empty if they can't be found out. */
  machineServers(): Promise<readonly DnsServerAddress[]>;
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
  /** Settings of the connection, in addition to the defaults; without meaning for `http:`. */
  readonly tls?: TlsMaterial;
  /** As in {@linkcode TlsExpectations}, for `https:` only. A proxy and a client certificate are not used then. */
  readonly refuses?: NonNullable<TlsExpectations["refuses"]>;
  /** The host and port to connect to instead of the target's, for `http:` only. A proxy is not used then. */
  readonly connection?: Partial<Omit<ConnectionTarget, "port">>;
}

export interface IncomingResponse {
  /** The status code, as it came. */
  readonly status: number;
  /** The IP address and port that the request went to, if known. */
  readonly peer?: string;
  /** Returns them all. May lack `content-encoding` and `content-length`, which the runtime drops if it decompresses. */
  headers(): Headers;
  /** Returns one of them, without making them all; `null`: it is not there. */
  header(name: string): string | null;
  /** Reads the next part of the body, decompressed; `null` at its end. Its bytes are valid until the next call. */
  read(): Promise<Uint8Array | null>;
  /** Ends the connection; call it once whatever happened. */
  close(): Promise<void>;
}

export interface RequestFailure extends Pick<ConnectionFailure, "reason"> {
  /**
   * The phase that failed, if the runtime reports it. `permission`, `settings` (such as an invalid certificate file) and
   * `machine` (such as no file descriptor left) are failures of this side.
   */
  readonly phase: Exclude<ConnectionFailure["phase"], "STARTTLS" | "sending" | "reading"> | "head" | "body";
  /** The host and port of the connection. @default those of the target */
  readonly place?: string;
}

export interface Requests {
  /** Throws the runtime's error when no head came, or the signal's reason when it aborts. */
  send(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingResponse>;
  explain(error: unknown, target: string): RequestFailure;
}
