/** What processes hold, seen from outside in `/proc`. */

/** What is found of one process. */
export interface ProcessFacts {
  /** `R`: it runs or waits for a processor; `S`: it waits for something to happen. */
  readonly state: string;
  /** Its memory that is in the machine. */
  readonly residentBytes: number;
  /** Of that, what belongs to no file. */
  readonly anonymousBytes: number;
  /** Its threads. */
  readonly threads: number;
  /** User and system time so far. */
  readonly cpuMs: number;
  /** The same of the children that it waited for. */
  readonly childrenCpuMs: number;
}

/** The processes of a program's checks. */
export interface Offspring {
  /** Its own children, ended ones too. */
  readonly children: number;
  /** Living processes with its home that do not descend from it. */
  readonly orphans: readonly number[];
}

/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

/** What the system says of a process. */
export function readFacts(pid: number): ProcessFacts {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  const number = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? NaN);
  const stat = statOf(pid);
  return {
    state: stat[0] ?? "",
    residentBytes: number("VmRSS") * 1024,
    anonymousBytes: number("RssAnon") * 1024,
    threads: number("Threads"),
    cpuMs: (Number(stat[11]) + Number(stat[12])) * TICK_MS,
    childrenCpuMs: (Number(stat[13]) + Number(stat[14])) * TICK_MS,
  };
}

/** How many descriptors a process has open. */
export function countDescriptors(pid: number): number {
  return [...Deno.readDirSync(`/proc/${pid}/fd`)].length;
}

/** How many descriptors of each kind a process has open; of sockets, those that lead to each port of this machine. */
export function describeDescriptors(
  pid: number,
  nameOf: (port: number) => string | undefined,
): Readonly<Record<string, number>> {
  const peers = peersByInode(pid);
  const counts: Record<string, number> = {};
  for (const { name } of Deno.readDirSync(`/proc/${pid}/fd`)) {
    const target = linkOf(`/proc/${pid}/fd/${name}`);
    if (target === null) continue;
    const port = peers.get(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? "");
    const kind = port === undefined
      ? target.replace(/:\[\d+\]$/, "").replace(/^.*\//, "")
      : `socket to ${nameOf(port) ?? "elsewhere"}`;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

/** The ports to which the TCP sockets of a process lead; one without a peer leads nowhere. */
function peersByInode(pid: number): ReadonlyMap<string, number> {
  const peers = new Map<string, number>();
  for (const line of Deno.readTextFileSync(`/proc/${pid}/net/tcp`).split("\n").slice(1)) {
    const [, , remote = "", , , , , , , inode] = line.trim().split(/\s+/);
    if (inode !== undefined) peers.set(inode, parseInt(remote.split(":")[1] ?? "", 16));
  }
  return peers;
}

/**
 * What a program has started and what is left of it, by the `HOME` that it hands on. Without the program (`null`),
 * everything with that home is left over.
 */
export function readOffspring(pid: number | null, home: string): Offspring {
  const parents = new Map<number, number>();
  const marked: number[] = [];
  let children = 0;
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const id = Number(name);
    try {
      const [state, parent] = statOf(id);
      parents.set(id, Number(parent));
      if (Number(parent) === pid) children++;
      if (state === "Z" || state === "X" || id === pid) continue;
      if (Deno.readTextFileSync(`/proc/${name}/environ`).split("\0").includes(`HOME=${home}`)) {
        marked.push(id);
      }
    } catch {
      // It ended while we looked, or belongs to another user.
    }
  }
  const descends = (id: number): boolean => {
    for (let at = id; at > 1; at = parents.get(at) ?? 0) if (at === pid) return true;
    return false;
  };
  return { children, orphans: marked.filter((id) => !descends(id)) };
}

/** The fields of `stat` behind the name of the program: its state, its parent and so on. */
function statOf(pid: number): readonly string[] {
  const text = Deno.readTextFileSync(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

function linkOf(path: string): string | null {
  try {
    return Deno.readLinkSync(path);
  } catch {
    return null;
  }
}

/** Kills what lives with that `HOME`, process by process. */
export function killMarked(home: string): void {
  for (const pid of readOffspring(null, home).orphans) {
    try {
      Deno.kill(pid, "SIGKILL");
    } catch {
      // It ended meanwhile.
    }
  }
}
