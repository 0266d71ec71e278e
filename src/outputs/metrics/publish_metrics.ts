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
import { gatherMetrics } from "./gather_metrics.ts";
import { type MetricValues, renderMetrics, type SharingMetrics } from "./render_metrics.ts";

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
