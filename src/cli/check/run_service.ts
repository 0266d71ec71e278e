import type { Log, System } from "../../domain/system.ts";
import type { ScheduledConfig } from "../../scheduler/scheduler.ts";
import type { RequiredPermission } from "../../permissions/required_permissions.ts";
import { readSelection } from "../open_config.ts";
import { describeMissing, listenOf } from "../config_permissions.ts";
import { createSteadySink, stopCode, wantsColor } from "../terminal.ts";
import {
  createEventOutput,
  createLog,
  createPrettyOutput,
  describeFailedReload,
  type ServiceOutput,
} from "./service_output.ts";
import { locateState } from "../open_state.ts";
import { type OwnedState, ownState } from "../owned_state.ts";
import { createReload, factsOf, logWarnings, toScheduled } from "./reload.ts";
import type { OnceOptions } from "./run_chosen.ts";
import type { Control } from "./control.ts";
import { isEdited } from "../../domain/store.ts";
import { type ServiceParts, startParts } from "./service_parts.ts";
import { logSchedulerEvent } from "./service_log.ts";
import { pause } from "../../shared/deadline.ts";
import { firstItems } from "../../shared/text.ts";
import { EXIT } from "../command_definition.ts";
import { hintOf } from "../failure.ts";

interface ServiceOptions extends OnceOptions {
  /** Paths for the control socket, the best first; empty: there is none. */
  readonly controlPaths: readonly string[];
  /** Required permissions that are not granted; checks that need them can't run. */
  readonly missing: readonly RequiredPermission[];
}

export async function runService(options: ServiceOptions): Promise<number> {
  const { invocation, config, settings } = options;
  const { system, log } = withSteadySinks(options);
  const output = settings.format === "ndjson" ? createEventOutput(system, log) : createPrettyOutput(system, {
    color: wantsColor(invocation, system.stdout, system),
    address: listenOf(invocation, config)?.address ?? null,
    hint: (text) => hintOf(invocation, text),
  });
  const scheduled = toScheduled(config, readSelection(invocation));
  logWarnings(config, log);
  for (const need of options.missing) log.warning(describeMissing(need));
  const state = await ownState(await locateState(invocation, config, system), {
    system,
    required: false,
    readsBack: true,
    warn: (message) => log.warning(message),
    waits: true,
  });
  try {
    return await state.whileLocked(runUntilStopped({ ...options, system, scheduled, log, output, state }));
  } finally {
    await state.close();
  }
}

/** Makes output that can't end the monitor, for example if the disk of its log is full. */
function withSteadySinks({ system, settings: { logLevel: level, logFormat: format } }: ServiceOptions) {
  const stderr = createSteadySink(system.stderr, () => {});
  const log = createLog({ sink: stderr, clock: system.clock, level, format });
  const stdout = createSteadySink(system.stdout, (reason) => {
    if (reason === null) log.info("stdout is writable again");
    else log.warning(`cannot write to stdout: ${reason}; output is lost, monitoring continues`);
  });
  return { system: { ...system, stdout, stderr }, log };
}

interface UntilStoppedOptions extends ServiceOptions {
  readonly scheduled: ScheduledConfig;
  readonly log: Log;
  readonly output: ServiceOutput;
  readonly state: OwnedState;
}

async function runUntilStopped(options: UntilStoppedOptions): Promise<number> {
  const { system, config, scheduled, log, output, state, signals } = options;
  const stopped = Promise.withResolvers<number>();
  let control: Control | null = null;
  const parts = await startParts({
    ...options,
    writeLine: output.writeLine,
    onEvent: (event) => {
      logSchedulerEvent(event, log);
      output.happened(event);
    },
    onBug: stopped.reject,
  });
  const { scheduler, outputs, recorder, repository, sharing } = parts;
  await outputs.listen().catch(async (error) => {
    await scheduler.stop(0);
    await recorder.stopped(system.clock.wallMs());
    throw error;
  });
  const stop = createStop({ ...parts, system, log, output, stopped });
  const stopSignals = system.onStopSignal(stop.ask);
  signals.stopIsHandled();
  let { sources } = config;
  const reload = createReload({
    ...options,
    statePath: state.path,
    isShared: state.shared !== null,
    adopt: (next, nextScheduled) => {
      sources = next.sources;
      parts.adopt(next, nextScheduled);
    },
    onReloaded: (outcome) => {
      outputs.reloaded(outcome.adopted);
      output.reloaded(outcome);
      if (!outcome.adopted) recorder.reloadFailed(describeFailedReload(outcome)).catch(stopped.reject);
    },
  });
  signals.handleReload(() => {
    if (!stop.wasAsked) reload().catch(stopped.reject);
  });
  const startControlSocket = async (): Promise<void> => {
    if (options.controlPaths.length === 0) return;
    const { startControl } = await import("./control.ts");
    control = await startControl({
      ...{ system, log, paths: options.controlPaths, repository, scheduler, reload },
      sources: () => sources,
    });
    scheduler.subscribe(control.happened);
    await recorder.controlled(control.path);
    if (control.path !== null) log.debug(`control socket at "${control.path}"`);
  };
  let stopAlive = (): void => {};
  const showAlive = (): void => {
    recorder.alive().catch(stopped.reject);
    stopAlive = system.clock.after(ALIVE_EVERY_MS, showAlive);
  };
  // From this line on, signals may be sent.
  output.started(factsOf(config, scheduled), {
    statePath: state.path,
    waitsMs: () => {
      const nowMs = system.clock.wallMs();
      return scheduled.checks.flatMap((check) => {
        const record = repository.recordOf(check.name, nowMs);
        const waitMs = (record.nextRunAtMs ?? nowMs) - nowMs;
        return record.last === null || isEdited(check, record) || waitMs <= 0 ? [] : waitMs;
      });
    },
  });
  sharing?.member.join({ ...sharing, repository, scheduler }).catch(stopped.reject);
  const starting = startControlSocket().then(() => {
    // Members have heartbeats.
    if (state.path !== null && state.shared === null && (control?.path ?? null) === null) showAlive();
  });
  starting.catch(stopped.reject);
  try {
    return await stopped.promise;
  } finally {
    await outputs.end();
    await starting;
    stopAlive();
    await (control as Control | null)?.end();
    stopSignals();
  }
}

const ALIVE_EVERY_MS = 60_000;

/** How long running checks may take to finish after the first stop signal. */
const STOP_GRACE_MS = 10_000;
/** How long a stopping service tries to write its last results, and how often. */
const WRITE_GRACE_MS = 5_000;
const WRITE_AGAIN_MS = 500;

type StopSignal = Parameters<typeof stopCode>[0];

interface StopOptions extends Omit<ServiceParts, "adopt"> {
  readonly system: Pick<System, "clock">;
  readonly log: Log;
  readonly output: ServiceOutput;
  readonly stopped: PromiseWithResolvers<number>;
}

/**
 * The first signal waits for running checks. A second one terminates at once; running commands are killed with this
 * process.
 */
function createStop(options: StopOptions) {
  const { scheduler, repository, recorder, sender, sharing, located, outputs } = options;
  const { member = null } = sharing ?? {};
  const { system, log, output, stopped } = options;
  let wasAsked = false;
  let isAtOnce = false;
  const runningChecks = (): readonly string[] => [...scheduler.running, ...located?.running ?? []];
  const stop = async (signal: StopSignal): Promise<number> => {
    const running = runningChecks();
    log.info(`stopping after ${signal}${running.length === 0 ? "" : `; waiting for ${list(running)}`}`);
    // The others run its checks meanwhile.
    member?.withdraw().catch(stopped.reject);
    const [here, atLocation = []] = await Promise.all([
      scheduler.stop(STOP_GRACE_MS),
      located?.stop(STOP_GRACE_MS),
    ]);
    const unfinished = [...here, ...atLocation];
    if (unfinished.length > 0) {
      log.warning(`no result of ${list(unfinished)}: terminated after ${STOP_GRACE_MS / 1000} s`);
    }
    const { clock } = system;
    const drainedMs = clock.wallMs() + STOP_GRACE_MS;
    // A database that has just come back is asked again after two seconds at most.
    const givesUpMs = clock.monotonicMs() + WRITE_GRACE_MS;
    while (repository.pending > 0 && !isAtOnce && clock.monotonicMs() < givesUpMs) {
      await pause(clock, WRITE_AGAIN_MS);
      await repository.flush();
    }
    await sender.drain(drainedMs);
    await sender.stop();
    await member?.leave();
    if (!isAtOnce) {
      await recorder.stopped(system.clock.wallMs());
      await outputs.stopped(system.clock.wallMs());
      output.stopped({ signal, unfinished });
    }
    if (repository.pending === 0) return EXIT.ok;
    log.error("cannot write the state: the last results are lost");
    return EXIT.input_output;
  };
  const stopAtOnce = async (signal: StopSignal): Promise<number> => {
    isAtOnce = true;
    const unfinished = runningChecks();
    log.warning(`stopping at once after another ${signal}`);
    await repository.flush();
    await sender.stop();
    await member?.leave();
    await recorder.stopped(system.clock.wallMs());
    output.stopped({ signal, unfinished });
    return stopCode(signal);
  };
  return {
    ask: (signal: StopSignal): void => {
      (wasAsked ? stopAtOnce(signal) : stop(signal)).then(stopped.resolve, stopped.reject);
      wasAsked = true;
    },
    get wasAsked() {
      return wasAsked;
    },
  };
}

function list(names: readonly string[]): string {
  return firstItems(names.map((name) => `"${name}"`), 5).join(", ");
}
