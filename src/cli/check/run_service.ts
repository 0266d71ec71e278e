import type { System } from "../../domain/system.ts";
import { type ScheduledConfig } from "../../scheduler/scheduler.ts";
import type { RequiredPermission } from "../../permissions/required_permissions.ts";
import { type CommandContext, type OpenConfig, readSelection } from "../open_config.ts";
import { describeMissing } from "../config_permissions.ts";
import type { Log } from "../../domain/log.ts";
import { createLog } from "../create_log.ts";
import { locateState } from "../state_location.ts";
import { type OwnedState, ownState } from "../owned_state.ts";
import { createReload, factsOf, logWarnings, toScheduled } from "./reload.ts";
import type { CheckCommandSettings } from "./settings.ts";
import type { Control } from "./control.ts";
import type { StartSignals } from "./start_signals.ts";
import { createSteadySink } from "./steady_sink.ts";
import { startParts } from "./service_parts.ts";
import { createStop } from "./stop.ts";
import { logSchedulerEvent } from "./service_log.ts";
import {
  createEventOutput,
  createPrettyOutput,
  describeFailedReload,
  type ServiceOutput,
} from "./service_output.ts";

interface ServiceOptions extends CommandContext {
  /** Paths for the control socket, the best first; empty: there is none. */
  readonly controlPaths: readonly string[];
  readonly config: OpenConfig;
  readonly settings: CheckCommandSettings;
  /** Required permissions that are not granted; checks that need them can't run. */
  readonly missing: readonly RequiredPermission[];
  readonly signals: StartSignals;
}

/** Runs the checks until a stop signal, and returns the exit code. */
export async function runService(options: ServiceOptions): Promise<number> {
  const { invocation, config, settings } = options;
  const { system, log } = withSteadySinks(options);
  const output = settings.format === "ndjson" ? createEventOutput(system, log) : createPrettyOutput(system);
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
    return await state.whileLocked(
      runUntilStopped({ ...options, system, scheduled, log, output, state }),
    );
  } finally {
    await state.close();
  }
}

/** Makes output that can't end the monitor, for example if the disk of its log is full. */
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
      control?.happened(event);
      output.happened(event);
    },
    onBug: stopped.reject,
  });
  const { scheduler, outputs, recorder, member } = parts;
  await outputs.listen().catch(async (error) => {
    await scheduler.stop(0);
    await recorder.stopped(system.clock.wallMs());
    throw error;
  });
  const stop = createStop({ ...parts, system, log, output, stopped });
  const stopSignals = system.onStopSignal(stop.ask);
  signals.stopIsHandled();
  const reload = createReload({
    ...options,
    statePath: state.path,
    isShared: state.shared !== null,
    adopt: parts.adopt,
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
    control = await startControl({ system, log, paths: options.controlPaths, scheduler, reload });
    await recorder.controlled(control.path);
    if (control.path !== null) log.debug(`control socket at "${control.path}"`);
  };
  // From this line on, signals may be sent.
  output.started(factsOf(config, scheduled), state.path);
  member?.join().catch(stopped.reject);
  const starting = startControlSocket();
  starting.catch(stopped.reject);
  try {
    return await stopped.promise;
  } finally {
    await outputs.end();
    await starting;
    await (control as Control | null)?.end();
    stopSignals();
  }
}
