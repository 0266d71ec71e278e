import type { System } from "../../domain/system.ts";
import type { StateRepository } from "../../state/state_repository.ts";
import type { Notifying } from "../../alerting/notifying.ts";
import type { Member } from "../../members/member.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import { EXIT } from "../exit_code.ts";
import type { Log } from "../../domain/log.ts";
import { stopCode } from "./start_signals.ts";
import type { ServiceOutput } from "./service_output.ts";

/** How long running checks may take to finish once somebody asked to stop. */
const STOP_GRACE_MS = 10_000;

/** What is stopped, and who is told. */
interface StopOptions {
  readonly scheduler: Scheduler;
  readonly repository: StateRepository;
  /** Tries once more what waits for a channel. */
  readonly notifying: Notifying;
  /** Leaves its work to others, if several share it. */
  readonly member: Pick<Member, "withdraw" | "leave"> | null;
  /** Its clock limits the last try. */
  readonly system: Pick<System, "clock">;
  readonly log: Log;
  /** Prints the last event. */
  readonly output: ServiceOutput;
  /** Leaves word that the service was stopped on purpose: in the state, and if there is time on the page and in metrics. */
  recordStop(hasTime: boolean): Promise<void>;
  readonly stopped: PromiseWithResolvers<number>;
}

/** What stop signals do. */
interface Stop {
  ask(signal: "SIGINT" | "SIGTERM"): void;
  readonly wasAsked: boolean;
}

/**
 * The first signal lets running checks finish. A second one ends everything at once; programs that still run are
 * killed with this process.
 */
export function createStop(options: StopOptions): Stop {
  const { scheduler, repository, notifying, member, system, log, output, recordStop, stopped } = options;
  let wasAsked = false;
  let isAtOnce = false;
  const stop = async (signal: "SIGINT" | "SIGTERM"): Promise<number> => {
    const { running } = scheduler;
    log.info(`stopping after ${signal}${running.length === 0 ? "" : `; waiting for ${list(running)}`}`);
    // The others run its checks meanwhile.
    member?.withdraw().catch(stopped.reject);
    const unfinished = await scheduler.stop(STOP_GRACE_MS);
    if (unfinished.length > 0) {
      log.warning(`no result of ${list(unfinished)}: terminated after ${STOP_GRACE_MS / 1000} s`);
    }
    await notifying.drain(system.clock.wallMs() + STOP_GRACE_MS);
    await notifying.stop();
    await member?.leave();
    if (!isAtOnce) await recordStop(true);
    if (!isAtOnce) output.stopped({ signal, unfinished });
    if (repository.pending === 0) return EXIT.ok;
    log.error("cannot write the state: the last results are lost");
    return EXIT.input_output;
  };
  const stopAtOnce = async (signal: "SIGINT" | "SIGTERM"): Promise<number> => {
    isAtOnce = true;
    const unfinished = scheduler.running;
    log.warning(`stopping at once after another ${signal}`);
    await repository.flush();
    await recordStop(false);
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
