import type { ConnectionTarget, TlsExpectations, TlsMaterial } from "./connections.ts";

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
  /** May lack `content-encoding` and `content-length`, which the runtime drops if it decompresses. */
  readonly headers: Headers;
  /** Returns one of `headers`. In plain text, `headers` are made only on demand. */
  header(name: string): string | null;
  /** Reads the next part of the body, decompressed; `null` at its end. Its bytes are valid until the next call. */
  read(): Promise<Uint8Array | null>;
  /** Ends the connection; call it once whatever happened. */
  close(): Promise<void>;
}

export interface RequestFailure {
  /**
   * The phase that failed, if the runtime reports it. `permission`, `settings` (such as an invalid certificate file) and
   * `machine` (such as no file descriptor left) are failures of this side.
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
  /** The host and port of the connection. @default those of the target */
  readonly place?: string;
}

export interface Requests {
  /** Throws the runtime's error when no head came, or the signal's reason when it aborts. */
  send(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingResponse>;
  explain(error: unknown, target: string): RequestFailure;
}
