/**
 * A process and its descendants, including those that left its group and session. Known on Linux alone: elsewhere a
 * process has no descendants and no processor time.
 */

const TICKS_PER_SECOND = 100;
/** The first of four fields: user and system time of the process, and of its children. */
const FIRST_TIME = 11;

interface ProcessStatus {
  readonly parent: number;
  /** User and system time, its own and that of the children it waited for. */
  readonly processorSeconds: number;
}

/** Kills a process and its descendants. */
export function killTree(root: number): void {
  for (const pid of treeOf(root, readProcesses())) {
    try {
      Deno.kill(pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}

/** Returns the processor time of a process and its descendants so far; `null` where it isn't known. */
export function processorSecondsOf(root: number): number | null {
  const processes = readProcesses();
  if (!processes.has(root)) return null;
  return treeOf(root, processes).reduce((sum, pid) => sum + (processes.get(pid)?.processorSeconds ?? 0), 0);
}

/** The processor time of this process, and of the children that it waited for, with theirs. */
export interface ProcessorSeconds {
  readonly own: number;
  readonly children: number;
}

/** Returns the processor time so far; `null` where it isn't known. */
export function processorSeconds(): ProcessorSeconds | null {
  const times = readFields("self")?.slice(FIRST_TIME).map((ticks) => Number(ticks) / TICKS_PER_SECOND);
  if (times === undefined) return null;
  const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = times;
  return { own: user + system, children: childrenUser + childrenSystem };
}

function treeOf(root: number, processes: ReadonlyMap<number, ProcessStatus>): readonly number[] {
  const tree = [root];
  for (const above of tree) {
    for (const [pid, { parent }] of processes) {
      if (parent === above) tree.push(pid);
    }
  }
  return tree;
}

function readProcesses(): ReadonlyMap<number, ProcessStatus> {
  const processes = new Map<number, ProcessStatus>();
  for (const { name } of Deno.build.os === "linux" ? Deno.readDirSync("/proc") : []) {
    const fields = /^\d+$/.test(name) ? readFields(name) : null;
    if (fields === null) continue;
    const ticks = fields.slice(FIRST_TIME, FIRST_TIME + 4).reduce((sum, time) => sum + Number(time), 0);
    processes.set(Number(name), { parent: Number(fields[1]), processorSeconds: ticks / TICKS_PER_SECOND });
  }
  return processes;
}

/** Returns the fields from the state of the process on; `null` if it has ended. */
function readFields(name: string): readonly string[] | null {
  try {
    const text = Deno.readTextFileSync(`/proc/${name}/stat`);
    // The command's name is in parentheses and may contain any character.
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}
