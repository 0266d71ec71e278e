import { startDeadline } from "../shared/deadline.ts";
import { describeFileError } from "../shared/describe_error.ts";
import type { Heartbeat } from "../domain/generated/config.ts";
import { describeRequestFailure } from "../shared/failure_words.ts";
import type { System } from "../domain/system.ts";

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
  { target }: Heartbeat,
  { clock, requests }: Pick<System, "clock" | "requests">,
): Promise<string | null> {
  if (target === undefined) return null;
  using deadline = startDeadline(clock, TIMEOUT_MS);
  const host = new URL(target).host;
  try {
    const response = await requests.send({ target, method: "GET", headers: {} }, deadline.signal);
    await response.close();
    return response.status < 400 ? null : `heartbeat failed: ${host} returned status ${response.status}`;
  } catch (error) {
    if (deadline.signal.aborted) {
      return `heartbeat failed: no response from ${host} within ${TIMEOUT_MS / 1000} s`;
    }
    return `heartbeat failed: ${describeRequestFailure(requests.explain(error, target), target)}`;
  }
}
