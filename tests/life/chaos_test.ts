/**
 * Everything at once (chaos/campaign.ts), for seconds here, for a minute or an hour in the soak: the stored state
 * must follow from the checks' results, and each stored change must be sent to every channel, once except for
 * duplicates, in order, and nothing else.
 *
 * `CHAOS_ROUNDS=30 CHAOS_SEED=7 deno test -A tests/life/chaos_test.ts`, or `deno task soak chaos`; MONITOR_PROGRAM
 * names an executable to run instead of the source. CHAOS_REQUIRES_DISK=1: fails if no small disk can be mounted.
 */
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { runArguments } from "../../testing/source.ts";
import { waitingFor } from "../../testing/test_notes.ts";
import { requiresTools, runChild, startChild, tool } from "../../testing/tools.ts";

const SECONDS = Number(Deno.env.get("CHAOS_SECONDS") ?? 3);
const ROUNDS = Deno.env.get("CHAOS_ROUNDS");
/** A round takes some seconds, and the end of a campaign too. */
const LIMIT_MS = 55_000 + (ROUNDS === undefined ? 2_000 * SECONDS : 40_000 * Number(ROUNDS));

const UNSHARE = Deno.uid() === 0 ? ["--mount"] : ["--map-root-user", "--mount"];

Deno.test({
  ...requiresTools("faketime", "mount", "umount"),
  name: "monitor check: no result is lost, invented or miscounted, whatever breaks",
  fn: async () => {
    const mounts = await mayMount();
    if (!mounts) {
      const reason = "no small disk can be mounted here, which takes root or user namespaces";
      assert.notEqual(Deno.env.get("CHAOS_REQUIRES_DISK"), "1", reason);
      console.log(`${reason}: the disk is never full`);
    }
    const program = fileURLToPath(new URL("chaos/campaign.ts", import.meta.url));
    const campaign = [Deno.execPath(), ...runArguments(), program];
    // A mount in a namespace disappears with the last process in it.
    const [path = "", ...args] = mounts ? [tool("unshare"), ...UNSHARE, "--", ...campaign] : campaign;
    const child = startChild(path, args, {
      env: {
        CHAOS_MOUNTS: mounts ? "1" : "0",
        CHAOS_SECONDS: String(SECONDS),
        ...ROUNDS !== undefined && { CHAOS_ROUNDS: ROUNDS },
      },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      limitMs: LIMIT_MS,
    });
    const [{ success }, , trouble] = await waitingFor(
      "the chaos to end",
      Promise.all([child.status, print(child.stdout), print(child.stderr)]),
    );
    assert.ok(success, trouble);
  },
});

/** Prints the output while it arrives, and returns all of it. */
async function print(pipe: ReadableStream<Uint8Array>): Promise<string> {
  let all = "";
  for await (const text of pipe.pipeThrough(new TextDecoderStream())) {
    console.log(text.trimEnd());
    all += text;
  }
  return all;
}

async function mayMount(): Promise<boolean> {
  const directory = await Deno.makeTempDir({ prefix: "monitor_chaos_" });
  try {
    const mount = [tool("mount"), "-t", "tmpfs", "-o", "size=1m", "monitor-chaos", directory];
    const { code } = await runChild(tool("unshare"), [...UNSHARE, "--", ...mount]);
    return code === 0;
  } finally {
    await Deno.remove(directory);
  }
}
