/** Where members send, while those that send are killed. */
import assert from "node:assert/strict";
import { hostOf } from "../../src/members/rendezvous.ts";
import { Hook, test } from "./installation.ts";

/** The first half of the checks is `warning` when it fails. */
const WARNINGS = ["web0", "web1", "web2"];
const ACKNOWLEDGED = ["web0", "web3"];

test("members that are killed before and during an escalation: it and its recovery are sent where they should", async (installation) => {
  const { world, hook, names } = installation;
  const [critical, late, recoveries, closed] = ["critical", "late", "recoveries", "closed"]
    .map((name) => new Hook(world, name)) as [Hook, Hook, Hook, Hook];
  const channels = {
    all: hook.channel,
    critical: { ...critical.channel, conditions: ["critical"] },
    late: { ...late.channel, after: "12 seconds" },
    recoveries: { ...recoveries.channel, events: ["recovery"] },
    closed: { ...closed.channel, hours: [{ from: "2000-01-01", until: "2000-01-02" }] },
  };
  const checks = names.map((name) => {
    const { parameters, ...check } = installation.checkOf(name, Object.keys(channels));
    const asWarning = WARNINGS.includes(name) && { as_warning: true };
    return [name, { ...check, parameters: { ...parameters as object, ...asWarning } }];
  });
  installation.writeConfig({ channels, checks: Object.fromEntries(checks) });
  const [a, b, c] = [installation.start("a"), installation.start("b"), installation.start("c")];
  await installation.turn(500);
  assert.equal((await installation.run("acknowledge", ...ACKNOWLEDGED)).code, 0);
  a.signal("SIGKILL");
  const escalating = names.filter((name) => !ACKNOWLEDGED.includes(name));
  await world.until(() => late.posts.length > 0, "an escalation");
  b.signal("SIGKILL");
  await world.until(() => late.distinct.length >= escalating.length, "each escalation");
  await installation.turn(200);
  await world.until(() => late.distinct.length >= 2 * escalating.length, "each recovery");
  await installation.stop(c);
  installation.assertEachOnce();
  const bothOf = (name: string): readonly string[] => [`${name} problem`, `${name} recovery`];
  for (const name of names) {
    assert.deepEqual(late.events(name), escalating.includes(name) ? bothOf(name) : []);
    assert.deepEqual(critical.events(name), WARNINGS.includes(name) ? [] : bothOf(name));
    assert.deepEqual(recoveries.events(name), [`${name} recovery`]);
  }
  assert.deepEqual(closed.posts, []);
});

test("members obey the limit of a channel together, also if the one that sent was killed", async (installation) => {
  const { world, hook, names } = installation;
  const sms = new Hook(world, "sms");
  const write = (limit: Readonly<Record<string, unknown>>): void =>
    installation.writeConfig({ channels: { sms: { ...sms.channel, ...limit } } }, {
      channels: [hook.channel, "sms"],
    });
  write({ at_most: "2 per day" });
  const [a, b] = [installation.start("a"), installation.start("b")];
  await installation.turn(500, { isStored: false });
  await world.until(() => sms.posts.length > 0, "a message");
  await world.advance(3_000);
  a.signal("SIGKILL");
  await installation.turn(200, { isStored: false });
  const c = installation.start("c");
  await world.advance(10_000);
  b.signal("SIGKILL");
  await installation.turn(500, { isStored: false });
  assert.equal(new Set(sms.posts.map(({ atMs }) => atMs)).size, 2, "messages");
  await installation.stop(c);
  write({});
  await installation.run("check", "--once");
  assert.ok(installation.isQueueEmpty);
  for (const name of names) assert.equal(sms.events(name).at(-1), `${name} problem`, "nothing is lost");
});

test("members send each summary once, also if those that would send it were killed", async (installation) => {
  const { world, hook } = installation;
  installation.writeConfig({ summary: { cron: "*/4 * * * *", notifications: [hook.channel] } });
  const members = new Map(["a", "b", "c"].map((name) => [name, installation.start(name)]));
  const summaries = (): number => hook.posts.filter(({ event }) => event === "summary").length;
  await world.until(() => summaries() === 1, "the first summary");
  await world.advance(60_000);
  for (let left = 3; left > 1; left--) {
    const sender = hostOf("summary", [...members.keys()]) ?? assert.fail();
    members.get(sender)?.signal("SIGKILL");
    members.delete(sender);
  }
  await world.until(() => summaries() === 2, "the second summary");
  await world.advance(60_000);
  await installation.stop(...members.values());
  assert.equal(summaries(), 2);
  assert.ok(installation.isQueueEmpty);
}, { checks: 1 });

// Members that send without the shared state, while they can't reach it.

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
