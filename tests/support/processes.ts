import { fileURLToPath } from "node:url";
import type { ProcessCommand } from "../../src/domain/processes.ts";
import { waitingFor } from "../../testing/test_notes.ts";

/** Returns the absolute path of a program in tests/fixtures. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
}

/** A name for one run that no other run has: its processes are found by it. */
export function newMark(): string {
  return `test ${crypto.randomUUID()}`;
}

/** Returns a command that runs a fixture with small limits; its processes have the mark. */
export function fixtureCommand(
  name: string,
  options: Partial<ProcessCommand> & { readonly mark?: string } = {},
): ProcessCommand {
  const { mark = newMark(), ...others } = options;
  return {
    path: fixture(name),
    arguments: [],
    environment: { PATH: "/usr/bin:/bin", MONITOR_CHECK: mark },
    directory: "/",
    timeoutMs: 120_000,
    outputBytesMax: 65536,
    ...others,
  };
}

/**
 * Returns the live processes with the mark, in any group. A process that has exited but was not waited for yet (state
 * Z) has no environment any more and does not count.
 */
export function livingProcesses(mark: string): readonly number[] {
  const living: number[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (!Deno.readTextFileSync(`/proc/${name}/environ`).split("\0").includes(`MONITOR_CHECK=${mark}`)) {
        continue;
      }
      if (!/\) [ZX] /.test(Deno.readTextFileSync(`/proc/${name}/stat`))) living.push(Number(name));
    } catch {
      // It exited meanwhile, or belongs to another user.
    }
  }
  return living;
}

/**
 * Waits until no process has the mark: a killed process takes a moment to exit.
 * @throws {Error} If some still live after two minutes; they are killed then.
 */
export function untilGone(mark: string): Promise<void> {
  return waitingFor("every process to be gone", lookUntilGone(mark));
}

async function lookUntilGone(mark: string): Promise<void> {
  for (const end = performance.now() + 120_000; performance.now() < end;) {
    if (livingProcesses(mark).length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${killMarked(mark)} processes still live`);
}

/** Kills the processes with the mark, and returns their number. */
export function killMarked(mark: string): number {
  const living = livingProcesses(mark);
  for (const pid of living) {
    try {
      Deno.kill(pid, "SIGKILL");
    } catch {
      // It has exited meanwhile.
    }
  }
  return living.length;
}
