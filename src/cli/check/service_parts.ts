/** The parts of a service that depend on each other: repository, member, notifying, scheduler and outputs. */
import { BATCHING_DELAY_MS, type Notifying, startNotifying } from "../../alerting/notifying.ts";
import type { Log } from "../../domain/log.ts";
import type { KeptOutbox } from "../../domain/store.ts";
import type { Member } from "../../members/member.ts";
import { DEFAULT_LIMITS, type Limits } from "../../scheduler/run_checks.ts";
import { type ScheduledConfig, Scheduler, type SchedulerEvent } from "../../scheduler/scheduler.ts";
import { jobLogOf } from "../../state/read_store.ts";
import { openStateRepository, type StateRepository } from "../../state/state_repository.ts";
import { listenOf } from "../config_permissions.ts";
import {
  type CommandContext,
  isEverything,
  type OpenConfig,
  readSelection,
  selectChecks,
} from "../open_config.ts";
import type { OwnedState } from "../owned_state.ts";
import type { LocatedWork } from "./located_work.ts";
import { toNotified } from "./reload.ts";
import { createRunRecorder, endOfService, type RunRecorder } from "./run_recorder.ts";
import { logDeliveryEvent } from "./service_log.ts";
import type { CheckCommandSettings } from "./settings.ts";
import type { MemberSettings } from "./take_part.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { Check } from "../../domain/check.ts";
import { startHeartbeat } from "../../outputs/heartbeat_schedule.ts";
import { startReportPublisher } from "../../outputs/html_report/publish_report.ts";
import { startEndpoint } from "../../outputs/http_endpoint/endpoint_switch.ts";
import { startMetricsPublisher } from "../../outputs/metrics/publish_metrics.ts";
import { SummarySchedule } from "../../outputs/summary/summary_schedule.ts";
import { VERSION } from "../answer_at_once.ts";

interface ServicePartsOptions extends CommandContext {
  readonly config: OpenConfig;
  readonly scheduled: ScheduledConfig;
  readonly settings: CheckCommandSettings;
  readonly log: Log;
  readonly state: OwnedState;
  writeLine(line: string): void;
  onEvent(event: SchedulerEvent): void;
  onBug(error: unknown): void;
}

export interface ServiceParts {
  readonly repository: StateRepository;
  readonly recorder: RunRecorder;
  /** This process as a member; `null` if its state isn't shared. */
  readonly member: Member | null;
  /** Its checks with locations; `null` without a member. */
  readonly located: LocatedWork | null;
  readonly notifying: Notifying;
  readonly scheduler: Scheduler;
  readonly outputs: ServiceOutputs;
  adopt(config: OpenConfig, scheduled: ScheduledConfig): void;
}

const NOTHING_KEPT: KeptOutbox = { notifications: [], markers: [], counts: [] };

export async function startParts(options: ServicePartsOptions): Promise<ServiceParts> {
  const { config, scheduled, settings, system, state, onBug } = options;
  const repository = await openRepository(options, {
    onWritable: () => {
      void recorder.repeat().catch(onBug);
      void notifying.persistPending();
    },
    onOvertaken: (checks) => {
      // At once: with older records, the next result would repeat notifications that others have decided.
      notifying.forget(checks);
      member?.overtaken(checks);
    },
  });
  const limits = { ...DEFAULT_LIMITS, process: settings.concurrency };
  const sharing = await createSharing({ ...options, repository, limits }, () => ({ notifying, scheduler }));
  const { member = null, located = null } = sharing ?? {};
  const recorder = createRunRecorder({ repository, system, lockPath: state.lockPath });
  await recorder.adopt(config);
  const leaveOthers = ({ checks }: ScheduledConfig): void => {
    // Of a shared state, other members may run them.
    if (state.shared === null) repository.leaveOthers(checks);
  };
  leaveOthers(scheduled);
  let { redact } = scheduled;
  const notifying = startNotifying(toNotified(config, scheduled), {
    system,
    repository,
    kept: state.isUnreachable ? NOTHING_KEPT : await repository.store.outbox(),
    notifies: settings.notifies,
    batchingMs: BATCHING_DELAY_MS,
    member,
    writeLine: options.writeLine,
    onEvent: (event) => logDeliveryEvent(event, { log: options.log, redact }),
    onBug,
  });
  const scheduler = new Scheduler(scheduled, {
    system,
    jobs: state.path === null ? null : jobLogOf(repository),
    repository,
    limits,
    notifying,
    ...member !== null && { share: member },
    ...located !== null && { runner: located.runner, limiters: located.limiters },
    onEvent: (event) => {
      options.onEvent(event);
      outputs.happened(event);
    },
    onBug,
  });
  const hasState = state.path !== null;
  const running = { scheduler, member, located };
  const outputs = startOutputs(config, { ...options, ...running, hasState, repository, notifying });
  return {
    repository,
    recorder,
    member,
    located,
    notifying,
    scheduler,
    outputs,
    adopt: (next, nextScheduled) => {
      redact = nextScheduled.redact;
      leaveOthers(nextScheduled);
      notifying.reload(toNotified(next, nextScheduled));
      scheduler.reload(nextScheduled);
      outputs.adopt(next);
      recorder.adopt(next).catch(onBug);
      sharing?.adopt(next, nextScheduled);
    },
  };
}

async function openRepository(
  { system, state, log }: ServicePartsOptions,
  { onWritable, onOvertaken }: {
    onWritable(): void;
    onOvertaken(checks: readonly string[]): void;
  },
): Promise<StateRepository> {
  // Records in the state replace those that were recorded before it could be reached.
  let isStart = state.isUnreachable ?? false;
  return openStateRepository({
    store: state.store,
    isUnreachable: isStart,
    onFailure: (error) => {
      if (error !== null) return log.error(`${error.message}; retrying, monitoring continues`);
      log.info(isStart ? "the state is reachable" : "the state is writable again, nothing was lost");
      isStart = false;
      // After the write that has just succeeded: further ones wait for its end.
      system.clock.after(0, onWritable);
    },
    reopen: state.reopen,
    newId: state.shared?.newId ?? system.randomId,
    hostName: system.hostName(),
    ranUntilMs: isStart ? null : await endOfService(state.store, system.clock.wallMs()),
    onOvertaken,
  });
}

interface Sharing {
  readonly member: Member;
  readonly located: LocatedWork;
  adopt(config: OpenConfig, scheduled: ScheduledConfig): void;
}

async function createSharing(
  options: ServicePartsOptions & { readonly repository: StateRepository; readonly limits: Limits },
  parts: () => Pick<ServiceParts, "notifying" | "scheduler">,
): Promise<Sharing | null> {
  const { invocation, system, config, scheduled, settings, log, state: { shared }, onBug } = options;
  if (shared === null) return null;
  const { takePart, toWork } = await import("./take_part.ts");
  const { startLocatedWork } = await import("./located_work.ts");
  const selection = readSelection(invocation);
  const memberSettingsOf = (next: OpenConfig): MemberSettings => ({
    selection,
    notifies: settings.notifies,
    listens: listenOf(invocation, next) !== null,
  });
  const member: Member = takePart({
    shared,
    name: settings.member,
    location: settings.location,
    system,
    work: toWork(config, scheduled, memberSettingsOf(config)),
    log,
    parts: () => ({ ...parts(), repository: options.repository, located }),
    fail: onBug,
  });
  const scheduler = (): Scheduler => parts().scheduler;
  const located: LocatedWork = await startLocatedWork(scheduled, { ...options, shared, member, scheduler });
  return {
    member,
    located,
    adopt: (next, nextScheduled) => {
      located.adopt(nextScheduled);
      member.adopt(toWork(next, nextScheduled, memberSettingsOf(next)));
    },
  };
}

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

interface ServiceOutputs {
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
function startOutputs(config: LoadedConfig, options: ServiceOutputsOptions): ServiceOutputs {
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
