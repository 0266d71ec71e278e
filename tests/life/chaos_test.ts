/**
 * Rounds of everything at once (chaos/campaign.ts): what the state keeps must be what follows from what the checks have
 * shown, and each change that it keeps must be told at every channel, once but for twins, in order, and nothing else.
 *
 * `CHAOS_ROUNDS=1000 CHAOS_SEED=7 deno test -A tests/life/chaos_test.ts`, or `deno task soak chaos`; MONITOR_PROGRAM
 * names an executable to run instead of the source. CHAOS_NEEDS_DISK=1: fails where no small disk can be mounted.
 */
import assert from "node:assert/strict";
import { runDebianProgram } from "../support/debian_program.ts";
import { withinMinutes } from "../support/within_minutes.ts";

const ROUNDS = Number(Deno.env.get("CHAOS_ROUNDS") ?? 6);
/** A round takes some seconds. */
const MINUTES_MAX = 10 + Math.ceil(ROUNDS * 2 / 3);

const UNSHARE = Deno.uid() === 0 ? ["--mount"] : ["--map-root-user", "--mount"];

Deno.test("monitor check: nothing is lost, invented or miscounted, whatever breaks", async () => {
  const mounts = await mayMount();
  if (!mounts) {
    const reason = "no small disk can be mounted here, which takes root or user namespaces";
    assert.notEqual(Deno.env.get("CHAOS_NEEDS_DISK"), "1", reason);
    console.log(`${reason}: the disk is never full`);
  }
  const campaign = [
    Deno.execPath(),
    "run",
    "--quiet",
    "--no-check",
    "--allow-all",
    new URL("chaos/campaign.ts", import.meta.url).pathname,
  ];
  // What is mounted in a namespace goes with the last process in it.
  const [program = "", ...args] = mounts ? ["unshare", ...UNSHARE, "--", ...campaign] : campaign;
  const { success, trouble } = await withinMinutes(
    `chaos of ${ROUNDS} rounds`,
    MINUTES_MAX,
    async (signal) => {
      const child = new Deno.Command(program, {
        args,
        env: { CHAOS_MOUNTS: mounts ? "1" : "0", CHAOS_ROUNDS: String(ROUNDS) },
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
        signal,
      }).spawn();
      const [, trouble] = await Promise.all([print(child.stdout), print(child.stderr)]);
      return { success: (await child.status).success, trouble };
    },
  );
  assert.ok(success, trouble);
});

/** Passes on what comes, and answers all of it. */
async function print(pipe: ReadableStream<Uint8Array>): Promise<string> {
  let all = "";
  for await (const text of pipe.pipeThrough(new TextDecoderStream())) {
    console.log(text.trimEnd());
    all += text;
  }
  return all;
}

async function mayMount(): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "monitor_chaos_" });
  try {
    const mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "monitor-chaos", folder];
    const { code } = await runDebianProgram({ name: "unshare", package: "util-linux" }, [
      ...UNSHARE,
      "--",
      ...mount,
    ]);
    return code === 0;
  } finally {
    await Deno.remove(folder);
  }
}
