import type { ObserveContext } from "../domain/check_kind.ts";
import type { ProcessEnd } from "../domain/processes.ts";
import { type CheckResult, unknownResult } from "../domain/check.ts";
import { describeDuration } from "../domain/duration.ts";
import { truncate } from "../shared/text.ts";

interface SystemCommand {
  /** Absolute. */
  readonly path: string;
  readonly arguments: readonly string[];
  readonly timeoutMs: number;
}

/** More than any machine prints. */
const OUTPUT_BYTES_MAX = 8 * 1024 * 1024;

const REASON_LENGTH_MAX = 200;

export async function runSystemCommand(
  command: SystemCommand,
  context: ObserveContext,
): Promise<string | CheckResult> {
  const end = await runCommand(command, context);
  const reason = describeFailure(end, command);
  if (reason !== null) return unknownResult(reason);
  return end.ended === "exited" ? end.stdout.text : "";
}

export function runCommand(
  { path, arguments: words, timeoutMs }: SystemCommand,
  { system, directory, signal }: ObserveContext,
): Promise<ProcessEnd> {
  return system.processes.run({
    path,
    arguments: words,
    // Names are not translated, and not cut to ASCII.
    environment: { LC_ALL: "C.UTF-8" },
    directory,
    timeoutMs,
    outputBytesMax: OUTPUT_BYTES_MAX,
  }, signal);
}

/** Returns why a command failed; `null`: it printed everything. */
export function describeFailure(
  end: ProcessEnd,
  { path, timeoutMs }: Omit<SystemCommand, "arguments">,
): string | null {
  if (end.ended === "not_started") return `cannot start "${path}": ${end.reason}`;
  if (end.ended === "timed_out") return `"${path}" did not end within ${describeDuration(timeoutMs)}`;
  if (end.ended === "signalled") return `"${path}" was terminated by ${end.signal}`;
  if (end.stdout.truncated) return `"${path}" printed more than ${OUTPUT_BYTES_MAX / 1024 / 1024} MiB`;
  if (end.code === 0) return null;
  const [line = ""] = end.stderr.text.trim().split("\n");
  const said = line === "" ? "" : `: ${truncate(line, REASON_LENGTH_MAX)}`;
  return `"${path}" failed with exit code ${end.code}${said}`;
}
