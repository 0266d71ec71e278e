/** The summary of several members: one of them sends it, also after another one was killed. */
import assert from "node:assert/strict";
import type { SharedStore } from "../../src/domain/membership.ts";
import { openPostgresStore } from "../../src/state/postgres/postgres_store.ts";
import { DAY_MS } from "../../src/shared/time_units.ts";
import { POSTGRES, sharedPostgres, storeOptions } from "../support/postgres.ts";
import { until, withInstallation } from "./installation.ts";
import type { Program } from "./program.ts";
import type { Hook } from "./receivers.ts";

const postgres = sharedPostgres();

Deno.test({
  ...POSTGRES,
  name: "members send each summary once, also if the one that would send it was killed",
  fn: () =>
    withInstallation(async ({ place, start, run, hook, writeConfig, isQueueEmpty, describe }) => {
      writeConfig({ summary: { cron: "@daily", notifications: [hook.channel] } });
      const store = await openPostgresStore(place, storeOptions({ access: "alongside" }));
      const members = ["a", "b", "c"].map((name) => start(name)) as [Program, Program, Program];
      let has = false;
      await until("the first look", () => {
        void store.queuedSummary().then((summary) => has = summary !== null, () => {});
        return has;
      }, describe);
      for (const [count, member] of members.entries()) {
        await rewind(store);
        await until(`summary ${count + 1}`, () => summariesOf(hook).length === count + 1, describe);
        if (count < 2) member.signal("SIGKILL");
      }
      members[2].signal("SIGTERM");
      assert.equal((await members[2].end()).code, 0);
      await rewind(store);
      const ends = await Promise.all([1, 2, 3].map(() => run("check", "--once", "--due")));
      assert.deepEqual(ends.map(({ stderr }) => stderr), ["", "", ""]);
      assert.equal(summariesOf(hook).length, 4, "of three calls by cron, one sends it");
      assert.equal(await isQueueEmpty(), true);
      await store.close();
    }, postgres()),
});

/** Moves the last summary into the past, as if it had been sent days ago. */
async function rewind(store: SharedStore): Promise<void> {
  const last = await store.queuedSummary() ?? assert.fail("there is none");
  const before = { ...last, scheduledMs: last.scheduledMs - 3 * DAY_MS };
  assert.ok(await store.queueSummary(before, last, []));
}

function summariesOf({ posts }: Hook): readonly string[] {
  return posts.flatMap(({ notifications }) => notifications).filter(({ event }) => event === "summary")
    .map(({ id }) => id);
}
