import type { LoadedConfig } from "../../config/load.ts";
import type { Check } from "../../domain/check.ts";
import type { Log } from "../../domain/log.ts";
import type { Notifying } from "../../alerting/notifying.ts";
import type { Member } from "../../members/member.ts";
import { startHeartbeat } from "../../outputs/heartbeat_schedule.ts";
import { startReportPublisher } from "../../outputs/html_report/publish_report.ts";
import { startEndpoint } from "../../outputs/http_endpoint/endpoint_switch.ts";
import { startMetricsPublisher } from "../../outputs/metrics/publish_metrics.ts";
import { SummarySchedule } from "../../outputs/summary/summary_schedule.ts";
import type { Scheduler, SchedulerEvent } from "../../scheduler/scheduler.ts";
import type { StateRepository } from "../../state/state_repository.ts";
import { listenOf } from "../listen_option.ts";
import type { LocatedWork } from "./located_work.ts";
import { type CommandContext, isEverything, readSelection, selectChecks } from "../open_config.ts";
import type { OwnedState } from "../owned_state.ts";
import { VERSION } from "../version.ts";
import type { CheckCommandSettings } from "./settings.ts";

interface ServiceOutputsOptions extends CommandContext {
  readonly log: Log;
  /** Whether a state is stored, so that jobs can check in. */
  readonly hasState: boolean;
  /** The state, if several processes share it. */
  readonly state: Pick<OwnedState, "shared">;
  readonly settings: Pick<CheckCommandSettings, "notifies">;
  readonly repository: StateRepository;
  readonly notifying: Notifying;
  readonly scheduler: Scheduler;
  /** This process as a member; `null` if its state isn't shared. */
  readonly member: Member | null;
  /** Its checks with locations; `null` without a member. */
  readonly located: Pick<LocatedWork, "isAdvancing"> | null;
  onBug(error: unknown): void;
}

export interface ServiceOutputs {
  happened(event: SchedulerEvent): void;
  /**
   * Starts the HTTP endpoint that the config asks for, if any.
   *
   * @throws {ListenError} If it can't listen.
   */
  listen(): Promise<void>;
  adopt(config: LoadedConfig): void;
  reloaded(isSuccessful: boolean): void;
  /** Writes HTML report and metrics for the last time, as those of a stopped service. */
  stopped(atMs: number): Promise<void>;
  end(): Promise<void>;
}

/** Starts the outputs of a config; the endpoint waits for `listen`. */
export function startOutputs(config: LoadedConfig, options: ServiceOutputsOptions): ServiceOutputs {
  const { invocation, scheduler, member, located } = options;
  const selection = readSelection(invocation);
  const selected = {
    select: (checks: readonly Check[]) => selectChecks(checks, selection),
    isWhole: isEverything(selection),
  };
  const isWell = (): boolean =>
    scheduler.isAdvancing && located?.isAdvancing !== false && member?.isConnected !== false;
  const summary = options.settings.notifies ? startSummary(config, options) : null;
  const heartbeat = startHeartbeat({ ...options, config, isWell });
  const report = startReportPublisher({ ...options, ...selected, config });
  const metrics = startMetricsPublisher({ ...options, version: VERSION, config });
  let endpoint: Awaited<ReturnType<typeof startEndpoint>> | null = null;
  return {
    happened: report.happened,
    listen: async () => {
      endpoint = await startEndpoint(config, {
        ...options,
        ...selected,
        metrics,
        listenOf: (next) => listenOf(invocation, next),
      });
    },
    adopt: (next) => {
      for (const output of [heartbeat, report, metrics, endpoint, summary]) output?.adopt(next);
    },
    reloaded: metrics.reloaded,
    stopped: async (sinceMs) => {
      const since = { state: "stopped", sinceMs } as const;
      await Promise.all([report.stopped(since), metrics.stopped(since)]);
    },
    end: async () => {
      for (const output of [heartbeat, report, metrics]) output.end();
      await summary?.end();
      await endpoint?.end();
    },
  };
}

function startSummary(config: LoadedConfig, options: ServiceOutputsOptions): SummarySchedule {
  const { state: { shared }, member } = options;
  const isHere = (): boolean => member === null || member.summarizes;
  return new SummarySchedule({ ...options, config, shared, isHere });
}
