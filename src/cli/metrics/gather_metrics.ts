import type { OutboxRow } from "../../domain/outbox.ts";
import type { Ledger } from "../../ledger.ts";
import { isInFuture } from "../../next_run.ts";
import type { Reporting } from "../../reporting.ts";
import type { OpenDocument } from "../document.ts";
import { VERSION } from "../version.ts";
import type { ChannelMetrics, MetricValues } from "./render_metrics.ts";

/** Where metrics are gathered from. */
export interface MetricSources {
  /** The document in force. */
  readonly document: Pick<OpenDocument, "checks" | "metrics">;
  /** Knows the checks. */
  readonly ledger: Pick<Ledger, "recordOf" | "isInTrouble">;
  /** Knows the reports. */
  readonly reporting: Pick<Reporting, "rows" | "counts" | "channelNames">;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
  /** What only the loop knows. */
  readonly loop: Pick<
    MetricValues,
    "isRunning" | "lastLoopAtMs" | "schedulerLagMs" | "documentLoadedAtMs" | "isReloadSuccessful"
  >;
}

/** Gathers what metrics are made of. */
export function gatherMetrics({ document, ledger, reporting, nowMs, loop }: MetricSources): MetricValues {
  const active = document.checks.filter((check) => check.active);
  const { name } = document.metrics ?? {};
  return {
    version: VERSION,
    ...(name !== undefined && { name }),
    ...loop,
    isStateWritable: !ledger.isInTrouble,
    checks: active.map((check) => {
      const record = ledger.recordOf(check.name, nowMs);
      return { check, record, isInFuture: isInFuture(check, record, nowMs) };
    }),
    inactiveChecks: document.checks.length - active.length,
    channels: channelsOf(reporting),
  };
}

/** The channels of the document, and those to which something still waits. */
function channelsOf({ rows, counts, channelNames }: MetricSources["reporting"]): readonly ChannelMetrics[] {
  const open = rows.filter((row) => row.state !== "given_up");
  const names = new Map([...open.map((row) => [row.channelKey, row.channelName] as const), ...channelNames]);
  const countsByKey = new Map(counts.map((count) => [count.channelKey, count]));
  const queues = new Map<string, Record<OutboxRow["state"], number>>();
  for (const { channelKey, state } of open) {
    const queue = queues.get(channelKey) ?? { waiting: 0, refused: 0, given_up: 0 };
    queue[state]++;
    queues.set(channelKey, queue);
  }
  return [...names].map(([key, name]) => ({
    name,
    sent: countsByKey.get(key)?.sent ?? 0,
    failedAttempts: countsByKey.get(key)?.failedAttempts ?? 0,
    givenUp: countsByKey.get(key)?.givenUp ?? 0,
    summarized: countsByKey.get(key)?.summarized ?? 0,
    waiting: queues.get(key)?.waiting ?? 0,
    refused: queues.get(key)?.refused ?? 0,
  }));
}
