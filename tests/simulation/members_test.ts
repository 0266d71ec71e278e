import assert from "node:assert/strict";
import { test } from "./installation.ts";

test("members share the checks, and the others take over those of one that is killed", async (installation) => {
  const { runs, names } = installation;
  const [killed, b, c] = [installation.start("a"), installation.start("b"), installation.start("c")];
  await installation.turn(500);
  killed.signal("SIGKILL");
  const before = new Map(runs);
  await installation.turn(200);
  await installation.turn(500);
  for (const name of names) assert.ok((runs.get(name) ?? 0) > (before.get(name) ?? 0), name);
  await installation.logged(b, 'member "a" left or died');
  await installation.stop(b, c);
  installation.assertEachOnce();
});

test("a member that leaves sends one heartbeat a second, and does not come back", async (installation) => {
  const { world, shared, hook, names, statuses } = installation;
  const [leaving, staying] = [installation.start("a"), installation.start("b")];
  await installation.turn(500);
  const count = (): number => shared.server.database.members().find(({ host }) => host === "a")?.count ?? 0;
  hook.fault = { kind: "hang" };
  for (const name of names) statuses.set(name, 200);
  await world.advance(5_000);
  // While a heartbeat is in progress.
  shared.server.stall();
  await world.advance(1_200);
  leaving.signal("SIGTERM");
  await world.advance(300);
  shared.server.resume();
  await world.advance(1_000);
  const before = count();
  await world.advance(5_000);
  assert.ok(count() - before <= 6, `${count() - before} heartbeats in 5 s`);
  await installation.stop(leaving);
  await world.advance(5_000);
  assert.deepEqual(shared.server.database.members().map(({ host }) => host), ["b"]);
  hook.fault = { kind: "up" };
  await installation.stop(staying);
});

test("a problem that a member sent alone is followed by its recovery, if the member ends before it runs its checks again", async (installation) => {
  const { world, shared, statuses, names, hook } = installation;
  const b = installation.start("b");
  // So that its heartbeats are not those of the other one.
  await world.advance(500);
  const a = installation.start("a");
  await installation.turn(500);
  await installation.turn(200);
  shared.ways.set("a", { kind: "cut" });
  await installation.logged(b, 'member "a" left or died');
  for (const name of names) statuses.set(`a ${name}`, 500);
  const before = hook.distinct.length;
  await world.until(() => hook.distinct.length > before, "problems that it alone sees");
  await world.advance(3_000);
  const problems = [...new Set(hook.distinct.slice(before).map(({ check }) => check))];
  shared.ways.delete("a");
  await installation.logged(a, "shared state reachable again");
  a.signal("SIGTERM");
  await world.advance(120_000);
  await installation.stop(b);
  for (const name of problems) {
    assert.deepEqual(hook.events(name).slice(2), [`${name} problem`, `${name} recovery`]);
  }
  assert.ok(problems.length > 0);
});
