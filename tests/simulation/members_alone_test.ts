/** Members that send without the shared state, while they can't reach it. */
import assert from "node:assert/strict";
import { test } from "./installation.ts";

for (const [last, before] of [["recovery", "problem"], ["problem", "recovery"]] as const) {
  test(`a ${last} that a member sends alone is followed by it once more, if another one sent the ${before} before it late`, async (installation) => {
    const { world, shared: { server }, hook, names, statuses } = installation;
    const statusOf = (event: string): number => event === "problem" ? 500 : 200;
    const members = [installation.start("a"), installation.start("b")];
    await installation.turn(500);
    if (before === "problem") await installation.turn(200);
    hook.fault = { kind: "refuse" };
    for (const name of names) statuses.set(name, statusOf(before));
    await world.until(() => server.database.pendingChannels().length > 0, `a queued ${before}`);
    await installation.ranAgain(2);
    await world.advance(3_000);
    server.kill();
    for (const member of members) {
      await installation.logged(member, "sending notifications of own checks without it");
    }
    for (const name of names) statuses.set(name, statusOf(last));
    await installation.ranAgain(2);
    const sentAlone = hook.posts.length;
    const owner = server.database.members().find(({ channelKeys }) => channelKeys.length > 0)?.host;
    world.machine(owner).cutOff("hook.example.org");
    hook.fault = { kind: "up" };
    await world.until(() => hook.posts.length > sentAlone, "what the other one sends alone");
    world.machine(owner).reconnect("hook.example.org");
    await world.advance(60_000);
    const alone = hook.posts.slice(sentAlone).map(({ check, event }) => `${check} ${event}`);
    const overtaken = names.filter((name) =>
      alone.indexOf(`${name} ${last}`) < alone.indexOf(`${name} ${before}`)
    );
    assert.ok(overtaken.length > 0, "one overtakes");
    server.start();
    await world.advance(60_000);
    for (const name of names) {
      const events = hook.posts.filter(({ check }) => check === name).map(({ event }) => event);
      assert.equal(events.at(-1), last, `${name}: ${events}`);
    }
    await installation.stop(...members);
  });
}
