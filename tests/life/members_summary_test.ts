/** The summary of several members: one of them sends it, also after others were killed. */
import assert from "node:assert/strict";
import { hostOf } from "../../src/members/rendezvous.ts";
import type { SharedStore } from "../../src/domain/membership.ts";
import { openPostgresStore } from "../../src/state/postgres/postgres_store.ts";
import { DAY_MS } from "../../src/shared/time_units.ts";
import { POSTGRES, sharedPostgres, storeOptions } from "../support/postgres.ts";
import { until, withInstallation } from "./installation.ts";
import type { Hook } from "./receivers.ts";

const postgres = sharedPostgres();

Deno.test({
  ...POSTGRES,
  name: "members send each summary once, also if those that would send it were killed",
  fn: () =>
    withInstallation(async ({ place, start, run, idle, hook, writeConfig, isQueueEmpty, describe }) => {
      writeConfig({ summary: { cron: "@daily", notifications: [hook.channel] } });
      const store = await openPostgresStore(place, storeOptions({ access: "alongside" }));
      await run("check", "--once", "--due");
      await rewind(store);
      const members = new Map(["a", "b", "c"].map((name) => [name, start(name)]));
      await until("the first summary", () => summariesOf(hook).length === 1, describe);
      await idle();
      for (let left = 3; left > 1; left--) {
        const sender = hostOf("summary", [...members.keys()]) ?? assert.fail();
        members.get(sender)?.signal("SIGKILL");
        members.delete(sender);
      }
      await rewind(store);
      await until("the second summary", () => summariesOf(hook).length === 2, describe);
      for (const member of members.values()) {
        member.signal("SIGTERM");
        assert.equal((await member.end()).code, 0);
      }
      assert.equal(summariesOf(hook).length, 2);
      assert.equal(await isQueueEmpty(), true);
      await store.close();
    }, postgres()),
});

Deno.test({
  ...POSTGRES,
  name: "of several calls by cron one sends a summary",
  fn: () =>
    withInstallation(async ({ place, run, hook, writeConfig, isQueueEmpty }) => {
      writeConfig({ summary: { cron: "@daily", notifications: [hook.channel] } });
      await run("check", "--once", "--due");
      const store = await openPostgresStore(place, storeOptions({ access: "alongside" }));
      await rewind(store);
      const ends = await Promise.all([1, 2, 3].map(() => run("check", "--once", "--due")));
      assert.deepEqual(ends.map(({ stderr }) => stderr), ["", "", ""]);
      assert.equal(summariesOf(hook).length, 1);
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
