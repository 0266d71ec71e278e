/** The resource usage of a process from outside, after proc_pid_stat(5) and proc_pid_status(5): Linux only. */

/** The resource usage of a process and its exited children so far. */
export interface ProcessUsage {
  /** User and system time of all its threads, and of all its children that have ended. */
  readonly cpuMs: number;
  /** Memory that is resident now. */
  readonly residentBytes: number;
  /** The most that was resident since the start, or since {@linkcode forgetPeak}. */
  readonly peakBytes: number;
}

/** Reads the resource usage of a running process so far. */
export function readUsage(processId: number): ProcessUsage {
  const status = Deno.readTextFileSync(`/proc/${processId}/status`);
  return {
    cpuMs: parseCpuMs(Deno.readTextFileSync(`/proc/${processId}/stat`)),
    residentBytes: parseBytes(status, "VmRSS"),
    peakBytes: parseBytes(status, "VmHWM"),
  };
}

/** Resets the peak, so that it excludes the start (proc_pid_clear_refs(5)). */
export function forgetPeak(processId: number): void {
  Deno.writeTextFileSync(`/proc/${processId}/clear_refs`, "5");
}

/** The kernel counts in hundredths of a second for processes, whatever its own tick is. */
const CLOCK_TICK_MS = 10;

/** Parses the processor time of a `stat` file: `utime`, `stime`, `cutime` and `cstime`. */
export function parseCpuMs(stat: string): number {
  // The command's name may contain blanks and brackets. Counted from 1 with the two fields before, 14 is utime.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  if (fields.length < 15 || Number.isNaN(ticks)) throw new Error(`Cannot read processor time of "${stat}"`);
  return ticks * CLOCK_TICK_MS;
}

/** Parses a size of a `status` file. */
export function parseBytes(status: string, name: string): number {
  const kibibytes = new RegExp(`^${name}:\\s*(\\d+) kB$`, "m").exec(status)?.[1];
  if (kibibytes === undefined) throw new Error(`Cannot read "${name}" of a process: it says none`);
  return Number(kibibytes) * 1024;
}

/** The resource usage of a process and all its descendants. */
export interface TreeUsage {
  /** User and system time, that of ended children too. */
  readonly cpuMs: number;
  /** Memory, with shared pages divided among the processes that share them. */
  readonly pssBytes: number;
}

/** Reads the resource usage of a process and all its descendants so far. */
export function readTreeUsage(rootId: number): TreeUsage {
  const stats = [...Deno.readDirSync("/proc")]
    .filter(({ name }) => /^\d+$/.test(name))
    .map(({ name }) => ({ id: Number(name), stat: readIfThere(`/proc/${name}/stat`) }))
    .filter(({ stat }) => stat !== "");
  const tree = new Set([rootId]);
  for (const id of tree) {
    for (const other of stats) if (parseParent(other.stat) === id) tree.add(other.id);
  }
  const usages = stats.filter(({ id }) => tree.has(id)).map(({ id, stat }) => {
    const memory = readIfThere(`/proc/${id}/smaps_rollup`);
    return { cpuMs: parseCpuMs(stat), pssBytes: memory === "" ? 0 : parseBytes(memory, "Pss") };
  });
  return usages.reduce(
    (sum, { cpuMs, pssBytes }) => ({ cpuMs: sum.cpuMs + cpuMs, pssBytes: sum.pssBytes + pssBytes }),
    { cpuMs: 0, pssBytes: 0 },
  );
}

function parseParent(stat: string): number {
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

/** Returns the text of a file, or none if its process has ended. */
function readIfThere(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}
