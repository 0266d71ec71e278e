import assert from "node:assert/strict";
import { tool } from "../../../testing/tools.ts";

/** A disk that can be filled to the last byte and made read-only. */
export interface SmallDisk {
  /** Where it is. */
  readonly directory: string;
  /** Whether it is a separate disk; otherwise it is a directory that others fill too, and is never full. */
  readonly isSmall: boolean;
  /** Fills the disk, except for so many bytes. */
  fill(roomBytes: number): void;
  /** Gives that back. */
  free(): void;
  /** Makes it read-only; returns whether that was possible. */
  makeReadOnly(): boolean;
  /** Everybody can again. */
  makeWritable(): void;
  /** Removes it. */
  end(): void;
}

/** Large enough for the stored data, small enough to be filled within milliseconds. */
const SIZE = "24m";

/** Creates a directory, with a separate small disk if this process may mount one. */
export function makeSmallDisk(directory: string, { mounts }: { readonly mounts: boolean }): SmallDisk {
  Deno.mkdirSync(directory, { mode: 0o700 });
  if (mounts) run("mount", "-t", "tmpfs", "-o", `size=${SIZE},mode=700`, "monitor-chaos", directory);
  const ballast = `${directory}/ballast`;
  return {
    directory,
    isSmall: mounts,
    fill: (roomBytes) => {
      assert.ok(mounts, "only a small disk can be filled");
      fillUp(ballast);
      if (roomBytes > 0) Deno.truncateSync(ballast, Math.max(0, Deno.statSync(ballast).size - roomBytes));
    },
    free: () => removeIfThere(ballast),
    makeReadOnly: () => {
      if (mounts) run("mount", "-o", "remount,ro", directory);
      // Modes mean nothing to root.
      else if (Deno.uid() === 0) return false;
      else for (const path of modePaths(directory)) Deno.chmodSync(path, path === directory ? 0o500 : 0o400);
      return true;
    },
    makeWritable: () => {
      if (mounts) return run("mount", "-o", "remount,rw", directory);
      Deno.chmodSync(directory, 0o700);
      for (const path of modePaths(directory)) if (path !== directory) Deno.chmodSync(path, 0o600);
    },
    end: () => {
      if (mounts) run("umount", directory);
    },
  };
}

function modePaths(directory: string): readonly string[] {
  return [...Array.from(Deno.readDirSync(directory), ({ name }) => `${directory}/${name}`), directory];
}

/** To the last byte. */
function fillUp(path: string): void {
  using file = Deno.openSync(path, { create: true, append: true });
  for (let size = 1024 * 1024; size >= 1; size = Math.floor(size / 2)) {
    const block = new Uint8Array(size);
    try {
      for (;;) file.writeSync(block);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
    }
  }
}

function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function run(program: "mount" | "umount", ...args: readonly string[]): void {
  const { success, stderr } = new Deno.Command(tool(program), { args: [...args] }).outputSync();
  assert.ok(success, `${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}
