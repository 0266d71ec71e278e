import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { requiresTools, startChild } from "../../testing/tools.ts";
import { campaign } from "../../testing/seed.ts";
import type { JobRun } from "../../src/domain/job_runs.ts";
import { runArguments } from "../../testing/source.ts";
import { inTime } from "../life/in_time.ts";
import { collectLines } from "../life/lines.ts";
import { shortOrFull } from "../../testing/full_form.ts";
import { beatOf, endOf, NOW_MS, queuedOf, silenceOf, updateOf } from "./records.ts";
import { openState, withState, withStatePath } from "./state_directory.ts";

/** How many processes come at once. */
const PROCESSES = 6;

/** How many states they make together. Of 100, some three to ten failed before they waited for each other. */
const STATES = shortOrFull(campaign(50), 200);

Deno.test("silences() immediately returns silences that another process added or ended", () =>
  withStatePath(async (path) => {
    const { store: owner } = await openState(path);
    await owner.save([updateOf("web", { queued: [queuedOf("a", 1)] })]);
    assert.deepEqual(await owner.silences(NOW_MS), []);
    await withState(path, (store) => store.addSilences([silenceOf("a")]), { access: "alongside" });
    assert.deepEqual(await owner.silences(NOW_MS), [silenceOf("a")]);
    await withState(path, async (store) => {
      assert.deepEqual(await store.silences(NOW_MS), [silenceOf("a")]);
      await owner.addSilences([silenceOf("b")]);
      assert.equal(await store.endSilences(["web"], NOW_MS), 2);
    }, { access: "alongside" });
    assert.deepEqual(await owner.silences(NOW_MS), []);
    await owner.save([updateOf("web", { queued: [queuedOf("b", 2)] })]);
    assert.equal((await owner.outbox()).notifications.length, 2);
    await owner.close();
  }));

Deno.test("job() immediately returns a check-in of another process", () =>
  withStatePath(async (path) => {
    const { store: owner } = await openState(path);
    assert.deepEqual((await owner.job("backup", NOW_MS)).inProgress, []);
    const note = (run: JobRun): Promise<void> =>
      withState(path, (store) => store.keepJobRun("backup", run, NOW_MS), { access: "alongside" });
    await note(beatOf("a"));
    assert.deepEqual((await owner.job("backup", NOW_MS)).inProgress, [beatOf("a")]);
    await note(beatOf("a", endOf()));
    assert.deepEqual((await owner.job("backup", NOW_MS)).last, beatOf("a", endOf()));
    await owner.save([updateOf("backup")]);
    await owner.close();
  }));

Deno.test(
  "openSqliteStore() allows many processes to create and update one state at once",
  requiresTools("time"),
  () =>
    withStatePath(async (path) => {
      const paths = Array.from({ length: STATES }, (_, number) => `${path}.${number}/state.sqlite`);
      await silenceTogether(paths, "alongside");
      await silenceTogether([`${path}.own/state.sqlite`], "own");
    }),
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
