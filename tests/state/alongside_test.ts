import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { startChild, testWith } from "../../testing/tools.ts";
import { campaign } from "../../testing/seed.ts";
import { runArguments } from "../../testing/source.ts";
import { inTime } from "../life/in_time.ts";
import { collectLines } from "../life/lines.ts";
import { shortOrFull } from "../../testing/full_form.ts";
import { NOW_MS } from "./records.ts";
import { withState, withStatePath } from "./state_directory.ts";
import { provided } from "../support/concurrent_tests.ts";

/** How many processes come at once. */
const PROCESSES = 6;

/** How many states they make together. Of 100, some three to ten failed before they waited for each other. */
const STATES = shortOrFull(campaign(10, 5), 200);

provided(withStatePath, testWith("time"))(
  "openSqliteStore() allows many processes to create and update one state at once",
  async (path) => {
    const paths = Array.from({ length: STATES }, (_, number) => `${path}.${number}/state.sqlite`);
    await silenceTogether(paths, "alongside");
    await silenceTogether([`${path}.own/state.sqlite`], "own");
  },
);

async function startSilencing(access: "own" | "alongside") {
  const program = fileURLToPath(new URL("./silence_each.ts", import.meta.url));
  const child = startChild(Deno.execPath(), [...runArguments(), program, access], {
    stdin: "piped",
    stdout: "piped",
  });
  const lines = collectLines(child.stdout, () => "of a silencing process");
  const writer = child.stdin.getWriter();
  await lines.next("ready");
  return {
    /** Makes it open a state, add one silence and close it; returns its output. */
    silenceIn: async (path: string) => {
      await writer.write(new TextEncoder().encode(`${path}\n`));
      return await lines.next(() => true);
    },
    /** Allows it to exit. */
    end: async () => {
      await writer.close();
      assert.ok((await inTime("the end of the silencing process", child.status)).success);
      await lines.ended;
    },
  };
}

/**
 * Makes several processes open one state at once for each path, the first one with the given access, the others
 * alongside it.
 */
async function silenceTogether(paths: readonly string[], firstAccess: "own" | "alongside"): Promise<void> {
  const processes = await Promise.all(
    [...Array(PROCESSES).keys()].map((index) => startSilencing(index === 0 ? firstAccess : "alongside")),
  );
  for (const path of paths) {
    const said = await Promise.all(processes.map((process) => process.silenceIn(path)));
    assert.deepEqual(said, said.map(() => "kept"), path);
    await withState(path, async (store) => {
      assert.equal((await store.silences(NOW_MS)).length, PROCESSES);
    });
    const names = [...Deno.readDirSync(path.slice(0, path.lastIndexOf("/")))].map((entry) => entry.name);
    assert.deepEqual(names, ["state.sqlite"]);
  }
  await Promise.all(processes.map((process) => process.end()));
}
