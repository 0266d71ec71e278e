import type { Heartbeat } from "../domain/generated/config.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { Log, System } from "../domain/system.ts";
import { createTrouble, describeFileError } from "../shared/describe_error.ts";
import { describeRequestFailure } from "../shared/failure_words.ts";
import { startDeadline } from "../shared/deadline.ts";

type Configured = Pick<LoadedConfig, "heartbeat" | "redact">;

interface HeartbeatOptions {
  readonly system: System;
  readonly log: Log;
  /** Returns whether the checks run, and a state that is shared can be reached. */
  isWell(): boolean;
  readonly config: Configured;
  onBug(error: unknown): void;
}

/** Sends only if the loop advances: no planned run is overdue. A failure is logged once, and so is its end. */
export function startHeartbeat(options: HeartbeatOptions): { adopt(config: Configured): void; end(): void } {
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

const TIMEOUT_MS = 10_000;

/** Sends one heartbeat. Returns a description of the failure; `null`: it succeeded. */
export async function sendHeartbeat(
  heartbeat: Heartbeat,
  system: Pick<System, "clock" | "files" | "requests">,
): Promise<string | null> {
  const failures = [await touch(heartbeat, system), await ask(heartbeat, system)].filter((failure) =>
    failure !== null
  );
  return failures.length === 0 ? null : failures.join("; ");
}

async function touch({ path }: Heartbeat, { files }: Pick<System, "files">): Promise<string | null> {
  if (path === undefined) return null;
  try {
    await files.touch(path);
    return null;
  } catch (error) {
    return `cannot touch "${path}": ${describeFileError(error, { path, access: "write" })}`;
  }
}

async function ask(
  { target, method }: Heartbeat,
  { clock, requests }: Pick<System, "clock" | "requests">,
): Promise<string | null> {
  if (target === undefined) return null;
  using deadline = startDeadline(clock, TIMEOUT_MS);
  const host = new URL(target).host;
  try {
    const response = await requests.send({ target, method, headers: {} }, deadline.signal);
    await response.close();
    return response.status < 400 ? null : `heartbeat failed: ${host} returned status ${response.status}`;
  } catch (error) {
    if (deadline.signal.aborted) {
      return `heartbeat failed: no response from ${host} within ${TIMEOUT_MS / 1000} s`;
    }
    return `heartbeat failed: ${describeRequestFailure(requests.explain(error, target), target)}`;
  }
}
