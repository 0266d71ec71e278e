/** Measures, from outside, the cost of a process from its start to its exit. */
import { startChild } from "./children.ts";
import { childrenCpuMs } from "./children_usage.ts";

/** The measured cost of a process. */
export interface RunSample {
  /** From before its start to after its end. */
  readonly wallMs: number;
  /** User and system time of all its threads and of its ended children. */
  readonly cpuMs: number;
  /** The output. */
  readonly output: string;
}

export interface RunOptions {
  /** The exit codes that are as they should be. @default 0 */
  readonly codes?: readonly number[];
}

/**
 * Runs a process until it exits.
 *
 * @throws {Error} If it exits with another code than expected.
 */
export async function measureRun(
  command: readonly string[],
  { codes = [0] }: RunOptions = {},
): Promise<RunSample> {
  const cpuBeforeMs = childrenCpuMs();
  const startedMs = performance.now();
  const child = startChild(command, { stdout: "piped", stderr: "piped" });
  const { code, stdout, stderr } = await child.output();
  const wallMs = performance.now() - startedMs;
  if (!codes.includes(code)) {
    const said = new TextDecoder().decode(stderr).trim();
    throw new Error(`Cannot measure "${command[0]}": it ended with code ${code}: ${said}`);
  }
  return { wallMs, cpuMs: childrenCpuMs() - cpuBeforeMs, output: new TextDecoder().decode(stdout) };
}

/**
 * Measures the peak of a process's resident memory: the system reports that of an exited process only to its parent.
 */
const TIME_PROGRAM = "/usr/bin/time";

/** Whether {@linkcode measurePeak} can measure anything here. */
export const CAN_MEASURE_PEAKS = isThere(TIME_PROGRAM);

/** The note if it is missing. */
export const NO_PEAKS_NOTE = `there is no ${TIME_PROGRAM}: apt-get install time`;

/** Runs a process until it exits; returns the peak of its resident memory, in bytes. */
export async function measurePeak(
  command: readonly string[],
  { codes = [0] }: RunOptions = {},
): Promise<number> {
  const child = startChild([TIME_PROGRAM, "--quiet", "--format=%M", ...command], {
    stdout: "null",
    stderr: "piped",
  });
  const said = await new Response(child.stderr).text();
  const { code } = await child.status;
  const kibibytes = Number(said.trim().split("\n").at(-1));
  if (!codes.includes(code) || Number.isNaN(kibibytes)) {
    throw new Error(`Cannot measure "${command[0]}": it ended with code ${code}: ${said.trim()}`);
  }
  return kibibytes * 1024;
}

/** Whether there is such a file. */
export function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
