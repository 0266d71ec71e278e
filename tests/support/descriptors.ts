/**
 * Returns the number of TCP sockets of this process. Other file descriptors are the runtime's, which opens some at
 * their first use.
 */
export function countSockets(): number {
  const own = ownInodes();
  let count = 0;
  for (const table of ["/proc/self/net/tcp", "/proc/self/net/tcp6"]) {
    for (const line of Deno.readTextFileSync(table).split("\n").slice(1)) {
      const inode = line.trim().split(/\s+/)[9];
      if (inode !== undefined && own.has(inode)) count++;
    }
  }
  return count;
}

function ownInodes(): ReadonlySet<string> {
  const inodes = new Set<string>();
  for (const { name } of Deno.readDirSync("/proc/self/fd")) {
    try {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(Deno.readLinkSync(`/proc/self/fd/${name}`)) ?? [];
      if (inode !== undefined) inodes.add(inode);
    } catch {
      // It was the one that shows this directory.
    }
  }
  return inodes;
}
