/**
 * Three members under random faults: kill -9, SIGSTOP, a database that crashes. `MEMBER_FAULTS_SECONDS` sets for how long;
 * without it, as in all but the soak, this is no test: it takes minutes.
 */
import assert from "node:assert/strict";
import { POSTGRES, startPostgres } from "../support/postgres.ts";
import { type Installation, until, withInstallation } from "./installation.ts";
import type { Program } from "./program.ts";
import type { PostedNotification } from "./receivers.ts";

const SECONDS = Number(Deno.env.get("MEMBER_FAULTS_SECONDS") ?? 0);

const test = SECONDS > 0 ? Deno.test : () => {};

test("members notify each problem once and in order, whatever fails", POSTGRES, async () => {
  await using server = await startPostgres();
  await withInstallation(
    async (installation) => {
      const { targets, names, start, hook } = installation;
      const members = new Map<string, Program>(["a", "b", "c"].map((name) => [name, start(name)]));
      const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T;
      const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
      const counts: Record<string, number> = {};
      const faults: Record<string, (name: string) => Promise<void>> = {
        kill: async (name) => {
          members.get(name)?.signal("SIGKILL");
          await wait(Math.random() * 8_000);
          members.set(name, start(name));
        },
        stop: async (name) => {
          members.get(name)?.signal("SIGSTOP");
          await wait(2_000 + Math.random() * 10_000);
          members.get(name)?.signal("SIGCONT");
        },
        leave: async (name) => {
          members.get(name)?.signal("SIGTERM");
          await members.get(name)?.end();
          members.set(name, start(name));
        },
        crash: async () => {
          await server.kill();
          await wait(Math.random() * 6_000);
          await server.start();
        },
      };
      const endMs = performance.now() + 1_000 * SECONDS;
      while (performance.now() < endMs) {
        names.filter(() => Math.random() < 0.4).forEach((name) =>
          targets.statuses.set(name, pick([200, 500]))
        );
        const fault = pick(Object.keys(faults));
        counts[fault] = (counts[fault] ?? 0) + 1;
        await faults[fault]?.(pick(["a", "b", "c"]));
        await wait(Math.random() * 5_000);
      }
      names.forEach((name) => targets.statuses.set(name, 500));
      await waitForLast(installation, "problem");
      names.forEach((name) => targets.statuses.set(name, 200));
      await waitForLast(installation, "recovery");
      const all = eventsOf(hook.posts.flatMap(({ notifications }) => notifications));
      console.log(counts, { posts: hook.posts.length, notifications: all.length });
      for (const name of names) {
        const events = all.filter(({ check }) => check === name)
          .map(({ event, missed_problem }) => missed_problem === null ? event : "missed");
        const lasting = events.filter((event) => event !== "missed");
        lasting.forEach((event, index) =>
          assert.equal(event, index % 2 === 0 ? "problem" : "recovery", `${name}: ${events.join(" ")}`)
        );
      }
      for (const member of members.values()) member.signal("SIGTERM");
      for (const member of members.values()) assert.equal((await member.end()).code, 0);
    },
    server,
    { failOpenAfter: 60 },
  );
});

/** Without duplicates of the same id. */
function eventsOf(notifications: readonly PostedNotification[]): readonly PostedNotification[] {
  return [...new Map(notifications.toReversed().map((one) => [one.id, one])).values()].toReversed();
}

async function waitForLast({ names, hook, describe }: Installation, event: string): Promise<void> {
  await until(
    `the last ${event} of each`,
    () => {
      const all = hook.posts.flatMap(({ notifications }) => notifications);
      return names.every((name) => all.findLast(({ check }) => check === name)?.event === event);
    },
    describe,
    150_000,
  );
}
