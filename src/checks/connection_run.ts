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
import { failureVerdict, refusalBy, timeoutText } from "./certificate_verdict.ts";
import { observeWithAuthorities } from "./every_address.ts";

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
  readonly context: ObserveContext;
}

export interface ConnectionRun {
  /** `null`: clear text. */
  readonly tls: TlsExpectations | null;
  /** Ends the exchange: the timeout, or the end of the run. */
  readonly signal: AbortSignal;
  enter(phase: ConnectionPhase): void;
}

/** Returns whether the server accepted the connection. */
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
  { target, tls: wish, tlsFirst = true, context }: RunOptions,
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
      const enter = (next: ConnectionPhase): void => void (phase = next);
      let connection: Connection | null = null;
      let connected: Readonly<Record<string, number>> = {};
      const sinceStart = (): number => roundedMs(clock.monotonicMs() - startMs);
      const end = (condition: CheckResult["condition"], text: string, metrics = {}): CheckResult =>
        checkResult(condition, text, { ...connected, total_ms: sinceStart(), ...metrics });
      try {
        connection = await connections.connect(
          { ...target, ...tlsFirst && tls !== null && { tls } },
          { onPhase: enter, signal },
        );
        connected = { connect_ms: sinceStart() };
        const { ends, text, metrics } = await exchange(connection, { tls, signal, enter });
        return end(ends === "violated" ? bad : ends, text, metrics);
      } catch (error) {
        if (signal.aborted) return end(bad, timeoutText(check.timeoutMs, phase, target));
        const { isObstacle, text } = failureVerdict(connections.explain(error, target, phase), target);
        return end(isObstacle ? "unknown" : bad, text);
      } finally {
        connection?.close();
      }
    },
  });
}
