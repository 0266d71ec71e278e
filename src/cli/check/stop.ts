import type { System } from "../../domain/system.ts";
import { EXIT } from "../exit_code.ts";
import type { Log } from "../../domain/log.ts";
import type { ServiceParts } from "./service_parts.ts";
import { stopCode } from "./start_signals.ts";
import type { ServiceOutput } from "./service_output.ts";

/** How long running checks may take to finish after the first stop signal. */
const STOP_GRACE_MS = 10_000;

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
export function createStop(
  options: StopOptions,
): { ask(signal: "SIGINT" | "SIGTERM"): void; readonly wasAsked: boolean } {
  const { scheduler, repository, recorder, notifying, member, located, outputs } = options;
  const { system, log, output, stopped } = options;
  let wasAsked = false;
  let isAtOnce = false;
  const recordStop = async (): Promise<void> => {
    // While other members run, the state is that of a running service.
    if (member?.isOneOfSeveral !== true) await recorder.stopped(system.clock.wallMs());
  };
  const runningChecks = (): readonly string[] => [...scheduler.running, ...located?.running ?? []];
  const stop = async (signal: "SIGINT" | "SIGTERM"): Promise<number> => {
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
    await notifying.drain(system.clock.wallMs() + STOP_GRACE_MS);
    await notifying.stop();
    await member?.leave();
    if (!isAtOnce) {
      await recordStop();
      await outputs.stopped(system.clock.wallMs());
    }
    if (!isAtOnce) output.stopped({ signal, unfinished });
    if (repository.pending === 0) return EXIT.ok;
    log.error("cannot write the state: the last results are lost");
    return EXIT.input_output;
  };
  const stopAtOnce = async (signal: "SIGINT" | "SIGTERM"): Promise<number> => {
    isAtOnce = true;
    const unfinished = runningChecks();
    log.warning(`stopping at once after another ${signal}`);
    await repository.flush();
    await recordStop();
    await notifying.stop();
    await member?.leave();
    output.stopped({ signal, unfinished });
    return stopCode(signal);
  };
  return {
    ask: (signal) => {
      (wasAsked ? stopAtOnce(signal) : stop(signal)).then(stopped.resolve, stopped.reject);
      wasAsked = true;
    },
    get wasAsked() {
      return wasAsked;
    },
  };
}

const LISTED_MAX = 5;

function list(names: readonly string[]): string {
  const rest = names.length - LISTED_MAX;
  return names.slice(0, LISTED_MAX).map((name) => `"${name}"`).join(", ") +
    (rest > 0 ? ` and ${rest} more` : "");
}
