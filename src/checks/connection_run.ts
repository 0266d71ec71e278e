/** A run of a check that talks over one connection. */
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

interface TalkingCheck {
  readonly parameters: {
    readonly caFile?: string;
    readonly verify?: boolean;
    readonly asWarning: boolean;
  };
  readonly timeoutMs: number;
}

interface TalkOptions {
  readonly target: ConnectionTarget;
  /** `null`: clear text. By default the name is that of the host. */
  readonly tls: Partial<Pick<TlsExpectations, "serverName" | "protocols">> | null;
  readonly context: ObserveContext;
}

/** Returns whether the server accepted the connection of a talk. */
export function hasConnected({ metrics }: CheckResult): boolean {
  return metrics["connect_ms"] !== undefined;
}

/** The end of a talk: the output, and whether it is as expected. `unknown`: that could not be found out. */
export interface TalkEnd {
  readonly ends: "ok" | "violated" | "unknown";
  readonly text: string;
}

/** Connects, and talks. A failed connection is a violation; the output names the phase. */
export async function observeTalk(
  check: TalkingCheck,
  { target, tls, context }: TalkOptions,
  talk: (connection: Connection, enter: (phase: ConnectionPhase) => void) => Promise<TalkEnd>,
): Promise<CheckResult> {
  const { clock, connections } = context.system;
  const bad = check.parameters.asWarning ? "warning" : "critical";
  return await observeWithAuthorities(check, target, {
    context,
    observe: async (target, { authorities, signal }) => {
      const startMs = clock.monotonicMs();
      const refuses = refusalBy(check.parameters);
      const trust = { serverName: target.host, authorities, ...refuses !== undefined && { refuses } };
      let phase: ConnectionPhase = "connecting";
      const enter = (next: ConnectionPhase): void => void (phase = next);
      let connection: Connection | null = null;
      let connected: Readonly<Record<string, number>> = {};
      const sinceStart = (): number => roundedMs(clock.monotonicMs() - startMs);
      const end = (condition: CheckResult["condition"], text: string): CheckResult =>
        checkResult(condition, text, { ...connected, total_ms: sinceStart() });
      try {
        connection = await connections.connect(
          { ...target, ...tls !== null && { tls: { ...trust, ...tls } } },
          { onPhase: enter, signal },
        );
        connected = { connect_ms: sinceStart() };
        const { ends, text } = await talk(connection, enter);
        return end(ends === "violated" ? bad : ends, text);
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
