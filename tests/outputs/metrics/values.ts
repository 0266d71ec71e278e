import type { KeptResult } from "../../../src/domain/store.ts";
import type { CheckMetrics, MetricValues } from "../../../src/outputs/metrics/render_metrics.ts";
import { recordOf, resultOf } from "../../state/records.ts";
import { testCheck } from "../../support/checks.ts";

export function valuesOf(members: Partial<MetricValues> = {}): MetricValues {
  return {
    version: "1.2.3",
    isRunning: true,
    lastLoopAtMs: 1_800_000_000_500,
    schedulerLagMs: 1.5,
    configLoadedAtMs: 1_800_000_000_000,
    isReloadSuccessful: true,
    isStateWritable: true,
    sharing: {
      name: "fra-1",
      isConnected: true,
      isOpen: false,
      members: new Map([["fra-1", true], ["nyc-1", false]]),
    },
    checks: [checkOf("web")],
    inactiveChecks: 2,
    channels: [channelOf("console")],
    spansDropped: 9,
    ...members,
  };
}

export function channelOf(name: string): MetricValues["channels"][number] {
  const counts = { sent: 3, failedAttempts: 4, dropped: 5, summarized: 8, pending: 6, rejected: 7 };
  return { name, ...counts, isLimited: true };
}

export function checkOf(name: string, last: Partial<KeptResult> = {}, title?: string): CheckMetrics {
  return {
    check: { ...testCheck("ok", { name }), ...(title !== undefined && { title }) },
    record: recordOf(name, { last: resultOf(last) }),
    known: { condition: "warning", state: "current", last: "warning" },
    percentiles: { p50: 41, p95: 88.5, p99: 1310 },
    measured: [
      ...["/ (MB)", "/ (GB)", "cpu (%)", "odd (furlong)"]
        .map((name) => [name, { p50: 5, p95: 6.5, p99: 7 }] as const),
      ["load", null],
    ],
    suppressedBy: "maintenance",
  };
}

/** The check about an agent. */
export function agentCheckOf(agent: string, metrics: KeptResult["metrics"]): CheckMetrics {
  const own = checkOf(`agent ${agent}`, { metrics, memory: "1800000000750" });
  return { ...own, check: { ...own.check, agent } };
}

/** A pause without a delay, for rendering so short that none is necessary. */
export const noPause = (): Promise<void> => Promise.resolve();
