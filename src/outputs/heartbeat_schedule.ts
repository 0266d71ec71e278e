import { createTrouble } from "../shared/trouble.ts";
import type { Log, System } from "../domain/system.ts";
import { sendHeartbeat } from "./heartbeat_sender.ts";
import type { LoadedConfig } from "../config/load.ts";

type Configured = Pick<LoadedConfig, "heartbeat" | "redact">;

/** Gives the config's heartbeat while the loop advances. */
interface HeartbeatSchedule {
  adopt(config: Configured): void;
  end(): void;
}

interface HeartbeatOptions {
  readonly system: System;
  readonly log: Log;
  /** Returns whether the checks run, and a state that is shared can be reached. */
  isWell(): boolean;
  readonly config: Configured;
  onBug(error: unknown): void;
}

/** Sends only if the loop advances: no planned run is overdue. A failure is logged once, and so is its end. */
export function startHeartbeat(options: HeartbeatOptions): HeartbeatSchedule {
  const { system, log, isWell, onBug } = options;
  let { heartbeat, redact } = options.config;
  let cancel = (): void => {};
  const trouble = createTrouble<string>((failure) =>
    failure === null ? log.info("heartbeat succeeds again") : log.warning(redact(failure))
  );
  let isEnded = false;

  const tick = async (): Promise<void> => {
    if (isEnded || heartbeat === null) return;
    const { intervalMs } = heartbeat;
    if (isWell()) {
      trouble.set(await sendHeartbeat(heartbeat, system));
    }
    cancel();
    if (!isEnded) cancel = system.clock.after(intervalMs, start);
  };
  const start = (): void => void tick().catch(onBug);
  start();
  return {
    adopt: (config) => {
      cancel();
      ({ heartbeat, redact } = config);
      start();
    },
    end: () => {
      isEnded = true;
      cancel();
    },
  };
}
