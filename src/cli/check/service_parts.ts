/** The parts of a service that depend on each other: repository, member, notifying, scheduler and outputs. */
import { channelEntryOf } from "../../channels/registry.ts";
import { type NotifyingConfig, toNotifyingConfig } from "../../engine/configured_channels.ts";
import { Engine } from "../../engine/engine.ts";
import { BATCHING_DELAY_MS, type Sender, type SenderOptions, startSender } from "../../engine/sender.ts";
import type { Log } from "../../domain/system.ts";
import { NOTHING_KEPT } from "../../domain/store.ts";
import type { SharedState } from "../../domain/membership.ts";
import type { Member } from "../../members/member.ts";
import type { MemberWork } from "../../members/member_parts.ts";
import { type CheckRunner, createLimiters, type Limiters } from "../../scheduler/run_checks.ts";
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
import { endOfService, RunRecorder } from "../monitor_status.ts";
import { logDeliveryEvent } from "./service_log.ts";
import type { CheckCommandSettings } from "./settings.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { Check } from "../../domain/check.ts";
import { startHeartbeat } from "../../outputs/heartbeat.ts";
import { startReportPublisher } from "../../outputs/html_report/publish_report.ts";
import { ReportSender } from "../../outputs/report_sender.ts";
import { AgentReports } from "../../scheduler/agent_reports.ts";
import { LocalLocations } from "../../state/location_results.ts";
import { startMetricsPublisher } from "../../outputs/metrics/publish_metrics.ts";
import { SpanQueue } from "../../outputs/opentelemetry/span_queue.ts";
import { startEndpoint, startOpenTelemetry } from "../../outputs/optional_outputs.ts";
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
  /** Runs checks whose state is not shared. @default the runner of the kind */
  readonly runner?: CheckRunner;
  /** @default the kind of the channel */
  readonly deliver?: SenderOptions["deliver"];
}

export interface ServiceParts {
  readonly repository: StateRepository;
  readonly recorder: RunRecorder;
  /** This process as a member; `null` if its state isn't shared. */
  readonly sharing: Sharing | null;
  /** Its checks with locations; `null` if there are none. */
  readonly located: LocatedWork | null;
  readonly sender: Sender;
  readonly scheduler: Scheduler;
  readonly outputs: ServiceOutputs;
  adopt(config: OpenConfig, scheduled: ScheduledConfig): void;
}

export async function startParts(options: ServicePartsOptions): Promise<ServiceParts> {
  const { config, scheduled, settings, system, log, state, onBug } = options;
  const repository = await openRepository(options);
  const recorder = new RunRecorder({ repository, system, lockPath: state.lockPath });
  await recorder.adopt(config);
  // Of a shared state, other members may run them.
  if (state.shared === null) repository.leaveOthers(scheduled.checks);
  const limiters = createLimiters({ process: settings.concurrency });
  const spans = new SpanQueue();
  let { redact } = scheduled;
  const notified = toNotifyingConfig(config, scheduled.checks);
  let consoles = consolesOf(notified);
  const sending: SenderOptions = {
    system,
    repository,
    kept: state.isUnreachable ? NOTHING_KEPT : await repository.store.outbox(),
    notifies: settings.notifies,
    batchingMs: BATCHING_DELAY_MS,
    writeLine: options.writeLine,
    ...options.deliver !== undefined && { deliver: options.deliver },
    onEvent: (event) => logDeliveryEvent(event, { log, redact, consoles }),
    onBug,
  };
  const locations = state.shared === null ? new LocalLocations(system.clock) : null;
  const isShared = locations === null;
  const reports = new AgentReports(config, { clock: system.clock, log, repository, locations, isShared });
  const first = { ...options, repository, limiters, steps: spans, reports };
  const sharing = state.shared === null
    ? null
    : await startSharing(notified, { ...first, sending, shared: state.shared });
  const sender = sharing?.sender ?? startSender(notified, sending);
  const reporter = isShared ? null : new ReportSender({ system, log, repository, config, onBug });
  const located = sharing?.located ?? (isShared ? null : await startAgentLocations(first, locations));
  const engine = new Engine(notified.running, {
    repository,
    sender,
    newId: state.shared?.newId ?? system.randomId,
    hostName: system.hostName(),
    reporter,
    commonCauses: notified.commonCauses,
  });
  const scheduler = new Scheduler(scheduled, {
    system,
    jobs: state.path === null ? null : jobLogOf(repository),
    ...{ reports, repository, limiters, engine },
    ...located !== null && { runner: located.runner },
    steps: spans,
    ...options.runner !== undefined && { runner: options.runner },
    ...sharing !== null && { share: sharing.member, runner: sharing.located.runner },
    onEvent: options.onEvent,
    onBug,
  });
  located?.attach(scheduler);
  reports.attach(scheduler, (check, why) => located?.callFor(check, why));
  const outputs = await startOutputs(config, {
    ...{ ...options, repository, scheduler, located, engine, sender, reporter, spans },
    member: sharing?.member ?? null,
    hasState: state.path !== null,
    agents: reports,
    reports: sharing?.reports ?? reports,
  });
  scheduler.subscribe(outputs.happened);
  repository.onOvertaken((checks) => {
    // At once: with older records, the next result would repeat notifications that others have decided.
    sharing?.sender.forget(checks);
    sharing?.member.overtaken(checks);
  });
  repository.onWritable(() => {
    // After the write that has just succeeded: further ones wait for its end.
    system.clock.after(0, () => {
      recorder.repeat().catch(onBug);
      void sender.persistPending();
    });
  });
  return {
    ...{ repository, recorder, sharing, located, sender, scheduler, outputs },
    adopt: (next, nextScheduled) => {
      redact = nextScheduled.redact;
      if (state.shared === null) repository.leaveOthers(nextScheduled.checks);
      const nextNotified = toNotifyingConfig(next, nextScheduled.checks);
      consoles = consolesOf(nextNotified);
      engine.reload(nextNotified);
      scheduler.reload(nextScheduled);
      outputs.adopt(next);
      recorder.adopt(next).catch(onBug);
      sharing?.adopt(next, nextScheduled);
      if (sharing === null) located?.adopt(nextScheduled);
    },
  };
}

/** The parts that are built first, with those of the service. */
interface FirstParts extends ServicePartsOptions {
  readonly repository: StateRepository;
  readonly limiters: Limiters;
  readonly steps: SpanQueue;
  readonly reports: AgentReports;
}

/** Starts the runs here of checks whose other locations are agents; `null` without agents. */
async function startAgentLocations(options: FirstParts, locations: LocalLocations) {
  const { config: { agents }, scheduled, settings, reports } = options;
  if (Object.keys(agents).length === 0) return null;
  const { startLocatedWork } = await import("./located_work.ts");
  const named = scheduled.checks.flatMap((check) => check.locations?.from ?? []);
  // Without --location, this is the location that is no agent.
  const name = settings.location ?? named.find((location) => !Object.hasOwn(agents, location)) ?? null;
  return await startLocatedWork(scheduled, {
    ...options,
    shared: { store: locations },
    member: {
      location: {
        name,
        runs: () => true,
        live: { has: (location) => !reports.isAgent(location) || reports.isLive(location) },
      },
      callFor: () => {},
    },
  });
}

/** The keys of channels whose messages are printed alongside the log. */
function consolesOf({ users, named }: NotifyingConfig): ReadonlySet<string> {
  const channels = [...users.flatMap(({ notifications }) => notifications), ...named];
  const printed = channels.filter((channel) => channelEntryOf(channel).isPrinted === true);
  return new Set(printed.map(({ key }) => key));
}

async function openRepository({ system, state, log }: ServicePartsOptions): Promise<StateRepository> {
  // Records in the state replace those that were recorded before it could be reached.
  let isStart = state.isUnreachable ?? false;
  return openStateRepository({
    store: state.store,
    isUnreachable: isStart,
    onFailure: (error) => {
      if (error !== null) return log.error(`${error.message}; retrying, monitoring continues`);
      log.info(isStart ? "the state is reachable" : "the state is writable again, nothing was lost");
      isStart = false;
    },
    reopen: state.reopen,
    ranUntilMs: isStart ? null : await endOfService(state.store, system.clock.wallMs()),
  });
}

type Sharing = Awaited<ReturnType<typeof startSharing>>;

async function startSharing(
  notified: NotifyingConfig,
  options: FirstParts & { readonly shared: SharedState; readonly sending: SenderOptions },
) {
  const { invocation, system, config, scheduled, settings, log, shared, onBug, reports: agents } = options;
  const { takePart, toWork } = await import("./take_part.ts");
  const { SharedSender } = await import("../../members/shared_sender.ts");
  const { startLocatedWork } = await import("./located_work.ts");
  const { SharedReports } = await import("../../scheduler/shared_reports.ts");
  const selection = readSelection(invocation);
  const { notifies } = settings;
  const workOf = (next: OpenConfig, { checks }: ScheduledConfig): MemberWork =>
    toWork(next, checks, { selection, notifies, listens: listenOf(invocation, next) !== null });
  const member = takePart({
    ...{ shared, system, log, fail: onBug, work: workOf(config, scheduled) },
    ...{ name: settings.member, location: settings.location },
  });
  const sender = new SharedSender(notified, { ...options.sending, member });
  const { location } = member;
  const located = await startLocatedWork(scheduled, {
    ...options,
    member: {
      callFor: (check, why) => member.callFor(check, why),
      location: {
        name: location.name,
        runs: (check) => location.runs(check),
        live: { has: (name) => agents.isAgent(name) ? agents.isLive(name) : location.live.has(name) },
      },
    },
  });
  const reports = new SharedReports({ ...options, clock: system.clock, store: shared.store, member });
  return {
    ...{ member, sender, located, reports },
    adopt: (next: OpenConfig, nextScheduled: ScheduledConfig): void => {
      located.adopt(nextScheduled);
      member.adopt(workOf(next, nextScheduled));
    },
  };
}

interface ServiceOutputsOptions
  extends ServicePartsOptions, Pick<ServiceParts, "repository" | "sender" | "scheduler" | "located"> {
  /** Whether a state is stored, so that jobs can check in. */
  readonly hasState: boolean;
  readonly engine: Engine;
  /** Reports to another monitor; `null` if the state is shared. */
  readonly reporter: ReportSender | null;
  readonly agents: AgentReports;
  readonly reports: Pick<AgentReports, "receive" | "rejected">;
  readonly spans: SpanQueue;
  /** This process as a member; `null` if its state isn't shared. */
  readonly member: Member | null;
}

type ServiceOutputs = Awaited<ReturnType<typeof startOutputs>>;

/** Starts the outputs of a config; the endpoint waits for `listen`. */
async function startOutputs(config: LoadedConfig, options: ServiceOutputsOptions) {
  const { invocation, scheduler, member, located, reporter, agents, settings, state: { shared } } = options;
  const selection = readSelection(invocation);
  const selected = {
    select: (checks: readonly Check[]) => selectChecks(checks, selection),
    isWhole: isEverything(selection),
  };
  const isWell = (): boolean =>
    scheduler.isAdvancing && located?.isAdvancing !== false && member?.isConnected !== false;
  const isHere = (): boolean => member === null || member.summarizes;
  const summary = settings.notifies ? new SummarySchedule({ ...options, config, shared, isHere }) : null;
  const heartbeat = startHeartbeat({ ...options, config, isWell });
  const report = startReportPublisher({ ...options, ...selected, config });
  const metrics = startMetricsPublisher({ ...options, version: VERSION, config });
  const openTelemetry = await startOpenTelemetry(config, {
    ...{ ...options, ...metrics, version: VERSION, instance: settings.member },
  });
  reporter?.start();
  let endpoint: Awaited<ReturnType<typeof startEndpoint>> | null = null;
  return {
    happened: (event: SchedulerEvent): void => {
      report.happened(event);
      reporter?.happened(event);
    },
    listen: async (): Promise<void> => {
      endpoint = await startEndpoint(config, {
        ...options,
        ...selected,
        servedBy: settings.member ?? options.system.hostName(),
        metrics,
        listenOf: (next) => listenOf(invocation, next),
      });
    },
    adopt: (next: LoadedConfig): void => {
      for (const output of [heartbeat, report, metrics, openTelemetry, endpoint, summary, reporter, agents]) {
        output?.adopt(next);
      }
    },
    reloaded: metrics.reloaded,
    /** Writes HTML report and metrics for the last time, as those of a stopped service. */
    stopped: async (sinceMs: number): Promise<void> => {
      const since = { state: "stopped", sinceMs } as const;
      await Promise.all([report.stopped(since), metrics.stopped(since)]);
      await openTelemetry.stopped();
    },
    end: async (): Promise<void> => {
      for (const output of [heartbeat, report, metrics]) output.end();
      await openTelemetry.end();
      await summary?.end();
      await endpoint?.end();
      await reporter?.end();
      agents.end();
    },
  };
}
