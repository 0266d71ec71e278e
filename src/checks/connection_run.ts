/** A run of a check over one connection. */
import { type CheckResult, checkResult } from "../domain/check.ts";
import type { ObserveContext } from "../domain/check_kind.ts";
import type {
  Connection,
  ConnectionPhase,
  ConnectionTarget,
  TlsExpectations,
} from "../domain/connections.ts";
import { roundedMs } from "../shared/json_values.ts";
import { type ConnectionVerdict, failureVerdict, refusalBy, timeoutText } from "./certificate_verdict.ts";
import { observeWithAuthorities } from "./every_address.ts";
import { joinBytes } from "../shared/text.ts";

interface ConnectingCheck {
  readonly parameters: {
    readonly caFile?: string;
    readonly verify?: boolean;
    readonly asWarning: boolean;
  };
  readonly timeoutMs: number;
}

interface RunOptions {
  readonly target: ConnectionTarget;
  /** `null`: clear text. By default the name is that of the host. */
  readonly tls: Partial<Pick<TlsExpectations, "serverName" | "protocols">> | null;
  /** Whether TLS starts with the connection; else `exchange` starts it. @default true */
  readonly tlsFirst?: boolean;
  /** Whether `connect_ms` is the time without TLS. @default false */
  readonly connectsBeforeTls?: boolean;
  readonly context: ObserveContext;
}

export interface ConnectionRun {
  /** `null`: clear text. */
  readonly tls: TlsExpectations | null;
  readonly signal: AbortSignal;
  enter(phase: ConnectionPhase): void;
  phase(): ConnectionPhase;
  /** Describes an error of the connection, or the end of the time. */
  describe(error: unknown): ConnectionVerdict;
}

export function hasConnected({ metrics }: CheckResult): boolean {
  return metrics["connect_ms"] !== undefined;
}

/** The output, and whether the exchange is as expected. `unknown`: that could not be found out. */
export interface ConnectionEnd {
  readonly ends: "ok" | "violated" | "unknown";
  readonly text: string;
  readonly metrics?: CheckResult["metrics"];
}

/** Connects, and exchanges messages. A failed connection is a violation; the output names the phase. */
export async function observeConnection(
  check: ConnectingCheck,
  { target, tls: wish, tlsFirst = true, connectsBeforeTls = false, context }: RunOptions,
  exchange: (connection: Connection, run: ConnectionRun) => Promise<ConnectionEnd>,
): Promise<CheckResult> {
  const { clock, connections } = context.system;
  const bad = check.parameters.asWarning ? "warning" : "critical";
  return await observeWithAuthorities(check, target, {
    context,
    observe: async (target, { authorities, signal }) => {
      const startMs = clock.monotonicMs();
      const refuses = refusalBy(check.parameters);
      const tls = wish === null
        ? null
        : { serverName: target.host, authorities, ...refuses !== undefined && { refuses }, ...wish };
      let phase: ConnectionPhase = "connecting";
      let connection: Connection | null = null;
      let connected: Readonly<Record<string, number>> | null = null;
      const sinceStart = (): number => roundedMs(clock.monotonicMs() - startMs);
      const enter = (next: ConnectionPhase): void => {
        if (connectsBeforeTls && next !== "connecting") connected ??= { connect_ms: sinceStart() };
        phase = next;
      };
      const describe = (error: unknown): ConnectionVerdict =>
        signal.aborted
          ? { isObstacle: false, text: timeoutText(check.timeoutMs, phase, target) }
          : failureVerdict(connections.explain(error, target, phase), target);
      const end = (condition: CheckResult["condition"], text: string, metrics = {}): CheckResult =>
        checkResult(condition, text, { ...connected, total_ms: sinceStart(), ...metrics });
      try {
        connection = await connections.connect(
          { ...target, ...tlsFirst && tls !== null && { tls } },
          { onPhase: enter, signal },
        );
        connected ??= { connect_ms: sinceStart() };
        const run = { tls, signal, enter, phase: () => phase, describe };
        const { ends, text, metrics } = await exchange(connection, run);
        return end(ends === "violated" ? bad : ends, text, metrics);
      } catch (error) {
        const { isObstacle, text } = describe(error);
        return end(isObstacle ? "unknown" : bad, text);
      } finally {
        connection?.close();
      }
    },
  });
}

/** Bytes; `null`: the connection ended before them; `too_long`: they are more than are read. */
export type TakenBytes = Uint8Array | "too_long" | null;

/** Reads a connection in the pieces of a protocol. Many small chunks cost no more than few large ones. */
export class ConnectionReader {
  readonly #connection: Connection;
  #unread: Uint8Array = new Uint8Array();
  #leftBytes: number;

  /** `bytesMax`: of all that is read. */
  constructor(connection: Connection, bytesMax: number) {
    this.#connection = connection;
    this.#leftBytes = bytesMax;
  }

  /** Whether a chunk had more than was taken. */
  get hasUnread(): boolean {
    return this.#unread.length > 0;
  }

  get takenMax(): number {
    return this.#leftBytes + this.#unread.length;
  }

  async take(count: number): Promise<TakenBytes> {
    if (count > this.takenMax) return "too_long";
    const parts = [this.#unread];
    let missing = count - this.#unread.length;
    while (missing > 0) {
      const chunk = await this.#read();
      if (chunk === null) return null;
      parts.push(chunk);
      missing -= chunk.length;
    }
    const all = parts.length === 1 ? this.#unread : joinBytes(parts);
    this.#unread = all.subarray(count);
    return all.subarray(0, count);
  }

  /** Takes the bytes in front of `end`, at most `bytesMax`, and leaves `end` out. */
  async takeUntil(end: Uint8Array, bytesMax: number): Promise<TakenBytes> {
    for (let from = 0;;) {
      const at = indexOf(this.#unread, end, from);
      if (at > bytesMax || at < 0 && this.#unread.length > bytesMax + end.length) return "too_long";
      if (at >= 0) {
        const taken = this.#unread.subarray(0, at);
        this.#unread = this.#unread.subarray(at + end.length);
        return taken;
      }
      from = Math.max(0, this.#unread.length - end.length + 1);
      const chunk = await this.#read();
      if (chunk === null) return null;
      if (this.#leftBytes < 0) return "too_long";
      this.#unread = joinBytes([this.#unread, chunk]);
    }
  }

  async #read(): Promise<Uint8Array | null> {
    const chunk = await this.#connection.read();
    this.#leftBytes -= chunk?.length ?? 0;
    return chunk;
  }
}

function indexOf(bytes: Uint8Array, wanted: Uint8Array, from: number): number {
  const [first = 0] = wanted;
  for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (wanted.every((byte, index) => bytes[at + index] === byte)) return at;
  }
  return -1;
}
