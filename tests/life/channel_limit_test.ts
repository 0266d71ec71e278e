/** A channel with a limit, and members that share it. */
import assert from "node:assert/strict";
import { POSTGRES, sharedPostgres } from "../support/postgres.ts";
import { until, withInstallation } from "./installation.ts";
import { startHook } from "./receivers.ts";

const postgres = sharedPostgres();

Deno.test({
  ...POSTGRES,
  name: "members obey the limit of a channel together, also if the one that sent was killed",
  fn: () =>
    withInstallation(
      async ({ start, run, turn, idle, hook, names, writeConfig, isQueueEmpty, describe }) => {
        await using sms = startHook();
        const write = (limit: Readonly<Record<string, unknown>>): void =>
          writeConfig({ channels: { sms: { ...sms.channel, ...limit } } }, [hook.channel, "sms"]);
        write({ at_most: "2 per day" });
        const [first, second] = [start("a"), start("b")];
        await turn(500, { isStored: false });
        await until("a message", () => sms.posts.length > 0, describe);
        await idle();
        first.signal("SIGKILL");
        await turn(200, { isStored: false });
        const third = start("c");
        await idle();
        second.signal("SIGKILL");
        await turn(500, { isStored: false });
        assert.equal(sms.posts.length, 2);
        third.signal("SIGTERM");
        assert.equal((await third.end()).code, 0);
        write({});
        await run("check", "--once");
        assert.equal(await isQueueEmpty(), true, describe());
        const items = sms.posts.flatMap(({ notifications }) => notifications);
        const last = names.map((name) => items.findLast(({ check }) => check === name)?.event);
        assert.deepEqual(last, names.map(() => "problem"), "nothing is lost");
      },
      postgres(),
    ),
});
