import type { ConnectionTarget } from "./connections.ts";
import type { TlsMaterial } from "./tls.ts";

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
  /** Where to connect to in place of the target's host, for `http:` only. A proxy is not used then. */
  readonly connection?: Partial<Omit<ConnectionTarget, "port">>;
}

/** A response head; the body is read only by whoever wants it. */
export interface IncomingResponse {
  /** The status code, as it came. */
  readonly status: number;
  /** The address and port that the request went to, if they are known. */
  readonly peer?: string;
  /** May lack `content-encoding` and `content-length`, which the runtime drops where it decompresses. */
  readonly headers: Headers;
  /** One header as `headers` has it. In clear text, `headers` are made only if somebody asks for all. */
  header(name: string): string | null;
  /**
   * Reads what comes next of the body, decompressed; `null` at its end. The bytes stay until the next call, or `close`.
   */
  read(): Promise<Uint8Array | null>;
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
  /** What was connected to. @default the host and port of the target */
  readonly place?: string;
}

/** HTTP. */
export interface Requests {
  /** Throws the runtime's error when no head came, or the signal's reason when it aborts. */
  send(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingResponse>;
  /** Puts an error of `send`, or of reading a body, into words. */
  explain(error: unknown, target: string): RequestFailure;
}
