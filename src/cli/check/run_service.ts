import type { System } from "../../domain/system.ts";
import { jobLogOf } from "../../state/job_log.ts";
import { openStateRepository } from "../../state/state_repository.ts";
import { DEFAULT_LIMITS } from "../../scheduler/run_checks.ts";
import { BATCHING_DELAY_MS, startNotifying } from "../../alerting/notifying.ts";
import { type ScheduledConfig, startScheduler } from "../../scheduler/scheduler.ts";
import type { RequiredPermission } from "../../permissions/required_permissions.ts";
import type { Invocation } from "../command_definition.ts";
import { isEverything, type OpenConfig, readSelection, selectChecks } from "../open_config.ts";
import { describeMissing } from "../config_permissions.ts";
import type { Log } from "../../domain/log.ts";
import { createLog } from "../create_log.ts";
import { startReportPublisher } from "../../outputs/html_report/publish_report.ts";
import { startEndpoint } from "../../outputs/http_endpoint/endpoint_switch.ts";
import { startMetricsPublisher } from "../../outputs/metrics/publish_metrics.ts";
import { listenOf } from "../listen_option.ts";
import { locateState, type OwnedState, ownState } from "../state.ts";
import { describeOutboxEvent } from "./outbox_words.ts";
import { startHeartbeat } from "../../outputs/heartbeat_schedule.ts";
import { createReload, factsOf, logWarnings, toNotified, toScheduled } from "./reload.ts";
import type { CheckSettings } from "./settings.ts";
import type { Control } from "./control.ts";
import { createRunRecorder } from "./run_recorder.ts";
import type { StartSignals } from "./start_signals.ts";
import type { MemberSettings } from "./take_part.ts";
import { createSteadySink } from "./steady_sink.ts";
import { VERSION } from "../version.ts";
import { createStop } from "./stop.ts";
import { logSchedulerEvent } from "./service_log.ts";
import { createEventOutput, createPrettyOutput, type ServiceOutput } from "./service_output.ts";

/** What `monitor check` without `--once` is about. */
interface ServiceOptions {
  /** Names the config, the checks and the state; a reload goes by it again. */
  readonly invocation: Invocation;
  readonly system: System;
  /** Where the control socket may be, the best place first; empty: there is none. */
  readonly controlPaths: readonly string[];
  /** The config to begin with; a reload replaces it. */
  readonly config: OpenConfig;
  readonly settings: CheckSettings;
  /** What the config needs and is not granted; what needs it cannot run. */
  readonly missing: readonly RequiredPermission[];
  /** What listens to signals until the checks run; reload signals as long as the command lasts. */
  readonly signals: StartSignals;
}

/** Keeps running the checks until a stop signal comes, and answers the exit code. */
export async function runService(options: ServiceOptions): Promise<number> {
  const { invocation, config, settings } = options;
  const { system, log } = withSteadySinks(options);
  const output = settings.format === "ndjson" ? createEventOutput(system, log) : createPrettyOutput(system);
  const first = toScheduled(config, readSelection(invocation));
  logWarnings(config, log);
  for (const need of options.missing) log.warning(describeMissing(need));
  const state = await ownState(await locateState(invocation, config, system), {
    system,
    required: false,
    readsBack: true,
    warn: (message) => log.warning(message),
  });
  try {
    return await state.whileLocked(
      runUntilStopped({ ...options, system, first, log, output, state }),
    );
  } finally {
    await state.close();
  }
}

/** What is printed can never end the monitor: it goes on when the disk of its log is full. */
function withSteadySinks(
  { system, settings }: ServiceOptions,
): { readonly system: System; readonly log: Log } {
  const stderr = createSteadySink(system.stderr, () => {});
  const log = createLog({
    sink: stderr,
    clock: system.clock,
    level: settings.logLevel,
    format: settings.logFormat,
  });
  const stdout = createSteadySink(
    system.stdout,
    (reason) =>
      reason === null ? log.info("stdout is writable again") : log.warning(
        `cannot write to stdout: ${reason}; output is lost, monitoring continues`,
      ),
  );
  return { system: { ...system, stdout, stderr }, log };
}

interface UntilStoppedOptions extends ServiceOptions {
  readonly first: ScheduledConfig;
  readonly log: Log;
  readonly output: ServiceOutput;
  readonly state: OwnedState;
}

async function runUntilStopped(options: UntilStoppedOptions): Promise<number> {
  const { invocation, system, config, settings, first, log, output, state, signals } = options;
  const repository = await openStateRepository({
    store: state.store,
    onFailure: (error) => {
      if (error !== null) return log.error(`${error.message}; retrying, monitoring continues`);
      log.info("the state is writable again, nothing was lost");
      system.clock.after(0, () => void recorder.repeat().catch(stopped.reject));
      // Not from within the write that has just gone well: what follows waits for it to end.
      system.clock.after(0, () => void notifying.persistPending());
    },
    reopen: state.reopen,
    newId: system.randomId,
    hostName: system.hostName(),
    onOvertaken: (checks) => member?.overtaken(checks),
  });
  const stopped = Promise.withResolvers<number>();
  let control: Control | null = null;
  let { redact } = first;
  const selection = readSelection(invocation);
  const memberSettingsOf = (next: OpenConfig): MemberSettings => ({
    selection,
    notifies: settings.notifies,
    listens: listenOf(invocation, next) !== null,
  });
  const members = state.shared === null ? null : await import("./take_part.ts");
  const member = members === null || state.shared === null ? null : members.takePart({
    shared: state.shared,
    name: settings.member,
    system,
    work: members.toWork(config, first, memberSettingsOf(config)),
    log,
    parts: () => ({ repository, notifying, scheduler }),
    fail: stopped.reject,
  });
  const recorder = createRunRecorder({ repository, system, lockPath: state.lockPath });
  await recorder.adopt(config);
  const notifying = startNotifying(toNotified(config, first), {
    system,
    repository,
    kept: await repository.store.outbox(),
    notifies: settings.notifies,
    batchingMs: BATCHING_DELAY_MS,
    member,
    writeLine: output.writeLine,
    onEvent: (event) => {
      const words = describeOutboxEvent(event, "retrying");
      if (words === null) {
        log.debug(`${event.notifications.length} delivered to ${event.notifications[0]?.channelName ?? ""}`);
      } else log[words.level](redact(words.message));
    },
    onBug: stopped.reject,
  });
  const page = startReportPublisher({
    system,
    log,
    repository,
    config,
    select: (checks) => selectChecks(checks, selection),
    isWhole: isEverything(selection),
    onBug: stopped.reject,
  });
  const scheduler = startScheduler(first, {
    system,
    jobs: state.path === null ? null : jobLogOf(repository),
    repository,
    limits: { ...DEFAULT_LIMITS, process: settings.concurrency },
    notifying,
    ...member !== null && { share: member },
    onEvent: (event) => {
      logSchedulerEvent(event, log);
      control?.happened(event);
      page.happened(event);
      output.happened(event);
    },
    onBug: stopped.reject,
  });
  const heartbeat = startHeartbeat({
    system,
    log,
    config,
    isWell: () => scheduler.isAdvancing && member?.isConnected !== false,
  });
  const metrics = startMetricsPublisher({
    version: VERSION,
    system,
    log,
    repository,
    notifying,
    scheduler,
    member,
    config,
    onBug: stopped.reject,
  });
  const endpoint = await startEndpoint(config, {
    system,
    log,
    repository,
    hasState: state.path !== null,
    scheduler,
    metrics,
    select: (checks) => selectChecks(checks, selection),
    isWhole: isEverything(selection),
    listenOf: (next) => listenOf(invocation, next),
    onBug: stopped.reject,
  }).catch(async (error) => {
    await scheduler.stop(0);
    throw error;
  });
  const recordStop = async (hasTime: boolean): Promise<void> => {
    const nowMs = system.clock.wallMs();
    // The others run on.
    if (member === null || member.hosts.length === 0) await recorder.stopped(nowMs);
    if (hasTime) await Promise.all([page.stopped(nowMs), metrics.stopped()]);
  };
  const stop = createStop({
    scheduler,
    repository,
    notifying,
    member,
    system,
    log,
    output,
    recordStop,
    stopped,
  });
  const stopSignals = system.onStopSignal(stop.ask);
  signals.stopIsHandled();
  const places = { config, scheduled: first, statePath: state.path };
  const reload = createReload({
    invocation,
    system,
    scheduler,
    notifying,
    followers: [heartbeat, page, metrics, endpoint, {
      adopt: (next, scheduled) => {
        redact = scheduled.redact;
        recorder.adopt(next).catch(stopped.reject);
        if (members !== null) member?.adopt(members.toWork(next, scheduled, memberSettingsOf(next)));
      },
    }],
    log,
    output: {
      ...output,
      reloaded: (outcome) => {
        metrics.reloaded(outcome.adopted);
        output.reloaded(outcome);
      },
    },
    ...places,
  });
  signals.handleReload(() => {
    if (!stop.wasAsked) reload().catch(stopped.reject);
  });
  const startControlSocket = async (): Promise<void> => {
    if (options.controlPaths.length === 0) return;
    const { startControl } = await import("./control.ts");
    control = await startControl({ system, log, paths: options.controlPaths, scheduler, reload });
    await recorder.controlled(control.path);
    if (control.path !== null) log.debug(`control socket at "${control.path}"`);
  };
  // Whoever waits for this line may send signals from now on.
  output.started(factsOf(config, first), state.path);
  member?.join().catch(stopped.reject);
  const starting = startControlSocket();
  try {
    return await stopped.promise;
  } finally {
    heartbeat.end();
    page.end();
    metrics.end();
    await endpoint.end();
    await starting;
    await (control as Control | null)?.end();
    stopSignals();
  }
}
