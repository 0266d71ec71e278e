import type { FileSystemFacts, Host } from "../domain/host.ts";

export function createHost(): Host {
  const pending = new Map<string, Promise<FileSystemFacts>>();
  return {
    // A call that hangs occupies a thread of the runtime for ever, so it is joined instead of repeated.
    fileSystem: (path) => {
      const running = pending.get(path);
      if (running !== undefined) return running;
      const started = readFileSystem(path).finally(() => pending.delete(path));
      pending.set(path, started);
      return started;
    },
    memory: () => {
      const { available, total, swapFree, swapTotal } = Deno.systemMemoryInfo();
      return {
        availableBytes: available,
        totalBytes: total,
        swapUsedBytes: swapTotal - swapFree,
        swapTotalBytes: swapTotal,
      };
    },
    loadAverages: () => {
      const [one = 0, five = 0, fifteen = 0] = Deno.loadavg();
      return [one, five, fifteen];
    },
    processors: navigator.hardwareConcurrency,
    processId: Deno.pid,
  };
}

/** Uses `statfs` of Node: the runtime has none of its own. The module is loaded only here. */
async function readFileSystem(path: string): Promise<FileSystemFacts> {
  const { statfs } = await import("node:fs/promises");
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
  // Some file systems count below zero once root uses its reserve.
  const freeBytes = Math.max(0, bavail) * bsize;
  return {
    freeBytes,
    totalBytes: (blocks - bfree) * bsize + freeBytes,
    inodes: files > 0 ? { free: ffree, total: files } : null,
  };
}
