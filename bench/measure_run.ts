/** Measures, from outside, what a program takes from its start to its end. */
import { startChild } from "./children.ts";
import { childrenCpuMs } from "./children_usage.ts";

/** What a program took. */
export interface RunSample {
  /** From before its start to after its end. */
  readonly wallMs: number;
  /** User and system time of all its threads and of its ended children. */
  readonly cpuMs: number;
  /** What it printed. */
  readonly output: string;
}

export interface RunOptions {
  /** The exit codes that are as they should be. @default 0 */
  readonly codes?: readonly number[];
}

/**
 * Runs a program to its end.
 *
 * @throws {Error} If it ends with another exit code than it should.
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

/** Tells the most memory that a program had resident: of a process that ended, the system tells its parent alone. */
const TIME_PROGRAM = "/usr/bin/time";

/** Whether {@linkcode measurePeak} can measure anything here. */
export const CAN_MEASURE_PEAKS = isThere(TIME_PROGRAM);

/** What to say where it cannot. */
export const NO_PEAKS_NOTE = `there is no ${TIME_PROGRAM}: apt-get install time`;

/** Runs a program to its end; the answer is the most memory that was resident at a time, in bytes. */
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

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
