import { pause } from "../../shared/deadline.ts";
import { StoreError } from "../../domain/store.ts";
import type { NotRunning } from "../../domain/monitor_run.ts";
import type { Log, System } from "../../domain/system.ts";
import type { StateRepository } from "../../state/state_repository.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Sender } from "../../engine/sender.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import { readReporting } from "../agents_status.ts";
import { FilePublisher, type PublishedFile } from "../file_publisher.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { MetricsFormat } from "./families.ts";
import {
  type ChannelMetrics,
  type CheckMetrics,
  type KnownPercentiles,
  type MetricValues,
  renderMetrics,
  type SharingMetrics,
} from "./render_metrics.ts";
import type { QueuedNotification } from "../../domain/outbox.ts";
import { percentilesOf } from "../../shared/histograms.ts";
import { HOUR_MS } from "../../shared/time_units.ts";
import { addMetrics, measuredIn } from "../../state/metric_sums.ts";
import { asHeard, conditionOf, knownAtMember } from "../../engine/check_status.ts";

export interface MetricsPublisher {
  render(format: MetricsFormat): Promise<string>;
  /** Gathers the present values, for another format. */
  values(): Promise<MetricValues>;
  adopt(config: LoadedConfig): void;
  reloaded(isSuccessful: boolean): void;
  /** Writes the file for the last time, as that of a stopped service. */
  stopped(since: NotRunning): Promise<void>;
  end(): void;
}

interface MetricsPublisherOptions {
  readonly system: Pick<System, "clock" | "files">;
  readonly log: Log;
  readonly repository: StateRepository;
  readonly engine: Engine;
  readonly sender: Sender;
  readonly scheduler: Scheduler;
  /** This process as a member; `null` if the state isn't shared. */
  readonly member: SharingMetrics | null;
  readonly spans: { readonly isOn: boolean; readonly dropped: number };
  readonly version: string;
  readonly config: LoadedConfig;
  onBug(error: unknown): void;
}

/** Renders the metrics: into the config's file at its interval, and for the endpoint. */
export function startMetricsPublisher(options: MetricsPublisherOptions): MetricsPublisher {
  const { system, log, repository, engine, sender, scheduler, member, spans, version, onBug } = options;
  const { clock } = system;
  let { config } = options;
  let configLoadedAtMs = clock.wallMs();
  let lastLoopAtMs = clock.wallMs();
  let isReloadSuccessful = true;
  let notRunning: NotRunning | null = null;

  const giveWay = (): Promise<void> => pause(clock, 0);
  const gather = async (schedulerLagMs: number): Promise<MetricValues> => {
    // A silence may have begun since the last result.
    await engine.refresh();
    const nowMs = clock.wallMs();
    if (scheduler.isAdvancing) lastLoopAtMs = nowMs;
    return await gatherMetrics({
      ...{ config, version, repository, engine, sender, sharing: member, nowMs, notRunning },
      reporting: await readReporting(repository.store).catch((error) => {
        // The metrics show that the state can't be used.
        if (error instanceof StoreError) return null;
        throw error;
      }),
      ...{ lastLoopAtMs, schedulerLagMs, configLoadedAtMs, isReloadSuccessful },
      isRunning: notRunning === null,
      spansDropped: spans.isOn ? spans.dropped : null,
      pause: giveWay,
    });
  };
  const gatherNow = async (): Promise<MetricValues> => {
    const beganMs = clock.monotonicMs();
    await giveWay();
    return await gather(clock.monotonicMs() - beganMs);
  };
  const filesOf = ({ metrics }: LoadedConfig): readonly PublishedFile[] =>
    metrics === null ? [] : [{
      what: "the metrics",
      path: metrics.path,
      intervalMs: metrics.intervalMs,
      render: async (lateMs) => await renderMetrics(await gather(lateMs), giveWay),
    }];
  const files = new FilePublisher(filesOf(config), { system, log, onBug });
  return {
    render: async (format) => await renderMetrics(await gatherNow(), giveWay, format),
    values: gatherNow,
    adopt: (next) => {
      config = next;
      configLoadedAtMs = clock.wallMs();
      isReloadSuccessful = true;
      files.adopt(filesOf(next));
    },
    reloaded: (isSuccessful) => isReloadSuccessful = isSuccessful,
    stopped: async (since) => {
      notRunning = since;
      await files.finish();
    },
    end: () => files.end(),
  };
}

/** Also the values that only the loop has. */
interface MetricSources
  extends Omit<MetricValues, "checks" | "inactiveChecks" | "channels" | "isStateWritable" | "name"> {
  readonly config: Pick<LoadedConfig, "checks" | "metrics">;
  readonly repository: Pick<StateRepository, "recordOf" | "isWritable" | "store">;
  readonly engine: Pick<Engine, "suppressedBy">;
  readonly sender: Pick<Sender, "queued" | "counts" | "channelNames">;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
  /** That the service was stopped. */
  readonly notRunning: NotRunning | null;
  /** Yields to other work. */
  pause(): Promise<void>;
}

/** The labels of suppressions that an administrator asked for; others depend on the next result. */
const SUPPRESSIONS: Readonly<Record<string, CheckMetrics["suppressedBy"]>> = {
  silence: "silence",
  until_ok: "silence",
  maintenance: "maintenance",
};

export async function gatherMetrics(
  { config, repository, engine, sender, nowMs, notRunning, pause, ...values }: MetricSources,
): Promise<MetricValues> {
  const active = config.checks.filter((check) => check.active);
  const percentiles = await readPercentiles(active.map((check) => check.name), { repository, nowMs, pause });
  const { name } = config.metrics ?? {};
  return {
    ...values,
    ...(name !== undefined && { name }),
    isStateWritable: repository.isWritable,
    checks: active.map((check) => {
      const record = repository.recordOf(check.name, nowMs);
      const suppressedBy = SUPPRESSIONS[engine.suppressedBy(check, nowMs) ?? "none"] ?? null;
      const heard = asHeard(check, record, (name) => repository.recordOf(name, nowMs));
      const known = conditionOf(check, heard, nowMs, notRunning);
      return {
        ...{ check, record, suppressedBy, ...NO_PERCENTILES, ...percentiles.get(check.name) },
        known: knownAtMember(known, record, values.sharing),
      };
    }),
    inactiveChecks: config.checks.length - active.length,
    channels: channelsOf(sender, nowMs),
  };
}

const NO_PERCENTILES: KnownPercentiles = { percentiles: null, measured: [] };

/** So many checks are read at a time: some milliseconds. */
const CHECKS_AT_A_TIME = 250;

/** Returns what is known: none while the state can't be read or written. */
async function readPercentiles(
  names: readonly string[],
  { repository, nowMs, pause }: Pick<MetricSources, "repository" | "nowMs" | "pause">,
): Promise<ReadonlyMap<string, KnownPercentiles>> {
  const found = new Map<string, KnownPercentiles>();
  try {
    for (let start = 0; start < names.length && repository.isWritable; start += CHECKS_AT_A_TIME) {
      if (start > 0) await pause();
      const some = names.slice(start, start + CHECKS_AT_A_TIME);
      const span = { sinceMs: nowMs - HOUR_MS, untilMs: nowMs, each: "check" } as const;
      const hours = Map.groupBy(await repository.store.metricHours(some, span), ({ name }) => name);
      for (const sum of await repository.store.rollupSums(some, span)) {
        const sums = addMetrics(hours.get(sum.name)?.map(({ sums }) => sums) ?? []);
        found.set(sum.name, {
          percentiles: percentilesOf(sum),
          measured: Object.entries(sums).map(([name, one]) => [name, measuredIn(one).percentiles]),
        });
      }
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
  return found;
}

/** The channels of the config, and those to which something still waits. */
function channelsOf(
  { queued, counts, channelNames }: MetricSources["sender"],
  nowMs: number,
): readonly ChannelMetrics[] {
  const open = queued.filter((row) => row.state !== "dropped");
  const names = new Map([...open.map((row) => [row.channelKey, row.channelName] as const), ...channelNames]);
  const countsByKey = new Map(counts.map((count) => [count.channelKey, count]));
  const queues = new Map<string, Record<QueuedNotification["state"], number>>();
  for (const { channelKey, state } of open) {
    const queue = queues.get(channelKey) ?? { pending: 0, rejected: 0, dropped: 0 };
    queue[state]++;
    queues.set(channelKey, queue);
  }
  return [...names].map(([key, name]) => {
    const { sent = 0, failedAttempts = 0, dropped = 0, summarized = 0, limitUse = null } =
      countsByKey.get(key) ?? {};
    const { pending = 0, rejected = 0 } = queues.get(key) ?? {};
    const isLimited = limitUse === null ? null : (limitUse.limitedUntilMs ?? -Infinity) > nowMs;
    return { name, sent, failedAttempts, dropped, summarized, pending, rejected, isLimited };
  });
}
