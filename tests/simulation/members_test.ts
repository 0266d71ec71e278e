import assert from "node:assert/strict";
import type { Program } from "../../testing/simulation/mod.ts";
import { Hook, type Installation, test } from "./installation.ts";

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

test("a loopback address of each member, and a private one of each location, are other ones: a healthy one does not refute a common cause", async (installation) => {
  const { world, names, hook } = installation;
  const failing = new Set<string>();
  for (const host of ["127.0.0.1", "10.0.0.5"]) {
    world.network.add(host, { respond: ({ machine }) => ({ status: failing.has(machine) ? 500 : 200 }) });
  }
  const checkOf = (host: string) => ({
    kind: "http_request",
    parameters: { request: { target: `http://${host}/` } },
    notifications: [hook.channel],
  });
  const local = [...names, ...names.map((name) => `api ${name}`)];
  const site = local.map((name) => `site ${name}`);
  installation.writeConfig({
    checks: Object.fromEntries([
      ...local.map((name) => [name, checkOf("127.0.0.1")]),
      ...site.map((name) => [name, checkOf("10.0.0.5")]),
    ]),
  });
  const members = [["a", "paris"], ["b", "rome"]].map(([member = "", location = ""]) =>
    installation.start(member, "--location", location)
  );
  await world.advance(60_000);
  failing.add("a");
  await world.advance(30_000);
  const problems = hook.distinct.map(({ check }) => check);
  for (const [some, place] of [[local, "127.0.0.1:80 on a"], [site, "10.0.0.5:80 at paris"]] as const) {
    const found = problems.filter((name) => some.includes(name));
    assert.ok(found.length >= 3 && found.length < some.length, String(problems));
    const { stdout } = await installation.run("why", found[0] ?? "");
    assert.match(
      stdout,
      new RegExp(`^cause: \\d+ checks fail since .*: all connect to ${place}, and no healthy`, "m"),
    );
  }
  await installation.stop(...members);
});

test("a member that was paused does not notify of a check that was silenced meanwhile", async (installation) => {
  const { world, statuses, hook } = installation;
  installation.writeConfig({ defaults: { threshold: 1, schedule: { regular_interval: 5 } } }, {
    channels: [{ ...hook.channel, after: "3 minutes" }],
  });
  const member = installation.start("a");
  await world.advance(120_000);
  for (const name of ["web0", "web1"]) statuses.set(name, 500);
  await world.advance(120_000);
  member.signal("SIGSTOP");
  await world.advance(60_000);
  await installation.run("silence", "web0", "--for", "1h");
  await world.advance(300_000);
  member.signal("SIGCONT");
  await world.advance(60_000);
  assert.deepEqual([hook.events("web0"), hook.events("web1")], [[], ["web1 problem"]]);
  await installation.stop(member);
});

for (const [difference, aheadMs] of [["3 minutes behind", -180_000], ["3 minutes ahead", 180_000]] as const) {
  test(`members whose clocks are ${difference} know each other's checks`, async (installation) => {
    const { world, names, hook } = installation;
    const team = new Hook(world, "team");
    const headers = { host: "127.0.0.1:9797" };
    const group = { kind: "group", parameters: { checks: names }, notifications: [team.channel] };
    const checks = Object.fromEntries(names.map((name) => [name, installation.checkOf(name)]));
    installation.writeConfig({ checks: { ...checks, all: group }, listen: { address: "127.0.0.1:9797" } });
    world.machine("b").stepClock(aheadMs);
    const [a, b] = [installation.start("a"), installation.start("b")];
    await world.advance(60_000);
    assert.match((await installation.run("status")).stdout, /7 checks: 7 ok/);
    for (const machine of ["a", "b"]) {
      const { stdout, code } = await world.machine(machine).run("status", "--format", "json");
      const conditions = JSON.parse(stdout).checks.map((check: { readonly condition: string }) =>
        check.condition
      );
      assert.deepEqual([machine, code, ...new Set(conditions)], [machine, 0, "ok"]);
      const { stdout: report } = await world.machine(machine).run("report");
      assert.doesNotMatch(report, /in the future|not run for/);
      const metrics = (await world.machine(machine).request("/metrics", { headers }))?.body ?? "";
      const confirmed = [...metrics.matchAll(/^monitor_check_confirmed_condition\{.*\} (\d)$/gm)].map((
        [, code],
      ) => code);
      assert.deepEqual(confirmed, [...names, "all"].map(() => "0"), metrics);
    }
    assert.deepEqual(hook.posts, []);
    await installation.turn(500);
    await installation.turn(200);
    await world.advance(10_000);
    a.signal("SIGKILL");
    await installation.logged(b, 'member "a" left or died');
    await installation.turn(500);
    await installation.turn(200);
    await installation.stop(b);
    installation.assertEachOnce();
    assert.deepEqual(team.events(), ["all problem", "all recovery", "all problem", "all recovery"]);
  });
}

test("a status by a clock that is more than 5 minutes behind is unknown, and names the clock", async (installation) => {
  const { world } = installation;
  const [a, b] = [installation.start("a"), installation.start("b")];
  for (const machine of ["a", "b"]) world.machine(machine).stepClock(360_000);
  await world.advance(60_000);
  const { stdout } = await installation.run("status");
  assert.match(stdout, /last run is 5 min \d+ s in the future by the clock of this machine, was ok/);
  await installation.stop(a, b);
});

test("a disconnected member shows no stored ok of checks of other members", async (installation) => {
  const { world, names, statuses } = installation;
  const headers = { host: "127.0.0.1:9797" };
  installation.writeConfig({
    listen: { address: headers.host },
    defaults: { threshold: 1, schedule: { regular_interval: "2 minutes" } },
  }, { failOpenAfter: 60 });
  const [a, b] = [installation.start("a"), installation.start("b")];
  await world.advance(3 * 60_000);
  const okIn = async (): Promise<readonly boolean[]> => {
    const metrics = (await world.machine("a").request("/metrics", { headers }))?.body ?? "";
    const found: boolean[] = [];
    for (const name of names) {
      const badge = (await world.machine("a").request(`/badge/${name}.svg`, { headers }))?.body ?? "";
      found.push(metrics.includes(`monitor_check_status{check="${name}",condition="ok"} 1`));
      found.push(badge.includes(`${name}: ok`));
    }
    return found;
  };
  installation.shared.ways.set("a", { kind: "cut" });
  await world.advance(30_000);
  assert.deepEqual([...new Set(await okIn())], [true]);
  for (const name of names) statuses.set(name, 500);
  await world.advance(3 * 60_000);
  assert.deepEqual([...new Set(await okIn())], [false]);
  for (const name of names) statuses.set(name, 200);
  installation.shared.ways.clear();
  await world.advance(3 * 60_000);
  assert.deepEqual([...new Set(await okIn())], [true]);
  await installation.stop(a, b);
});

test("a dependency of another member runs at once if its state is needed", async (installation) => {
  const { world, hook, statuses, checkOf } = installation;
  const indexes = Array.from({ length: 8 }, (_, index) => index);
  const check = (name: string, interval = "30 seconds"): Record<string, unknown> => ({
    ...checkOf.call(installation, name),
    schedule: { regular_interval: interval },
  });
  // The first dependency decides where a check runs, so some of the others run elsewhere.
  installation.writeConfig({
    checks: Object.fromEntries(indexes.flatMap((index) => [
      [`web${index}`, { ...check(`web${index}`), depends_on: [`near${index}`, `far${index}`] }],
      [`near${index}`, check(`near${index}`)],
      [`far${index}`, check(`far${index}`, "1 hour")],
    ])),
  });
  const [a, b] = [installation.start("a"), installation.start("b")];
  await world.advance(2 * 60_000);
  for (const index of indexes) statuses.set(`web${index}`, 500);
  await world.advance(60_000);
  assert.deepEqual(hook.events().toSorted(), indexes.map((index) => `web${index} problem`));
  await installation.stop(a, b);
});

test("a dependency of another member suppresses no problem while the shared state is unreachable", async (installation) => {
  const { world, hook, shared, statuses, checkOf } = installation;
  const indexes = Array.from({ length: 8 }, (_, index) => index);
  const check = (name: string): Record<string, unknown> => checkOf.call(installation, name);
  installation.writeConfig({
    checks: Object.fromEntries(indexes.flatMap((index) => [
      [`web${index}`, { ...check(`web${index}`), depends_on: [`near${index}`, `far${index}`] }],
      [`near${index}`, check(`near${index}`)],
      [`far${index}`, check(`far${index}`)],
    ])),
    defaults: { threshold: 1, schedule: { regular_interval: "20 seconds" } },
  }, { failOpenAfter: 60 });
  const [a, b] = [installation.start("a"), installation.start("b")];
  await world.advance(60_000);
  statuses.set("far0", 500);
  await world.advance(60_000);
  for (const member of ["a", "b"]) shared.ways.set(member, { kind: "cut" });
  for (const index of indexes) statuses.set(`web${index}`, 500);
  await world.advance(3 * 60_000);
  const failing = indexes.map((index) => `web${index} problem`);
  assert.deepEqual(hook.events().toSorted(), ["far0 problem", ...failing.slice(1)]);
  statuses.set("far0", 200);
  shared.ways.clear();
  await world.advance(3 * 60_000);
  assert.deepEqual(hook.events().toSorted(), ["far0 problem", "far0 recovery", ...failing]);
  await installation.stop(a, b);
});

test("a group that runs rarely is known again once another member ran an edited check", async (installation) => {
  const { world, names } = installation;
  const schedule = { regular_interval: "6 hours" };
  const write = (path: string): void =>
    installation.writeConfig({
      checks: Object.fromEntries(names.flatMap((name) => [
        [name, { ...installation.checkOf(`${name}${path}`), schedule: { regular_interval: 60 } }],
        [`all ${name}`, { kind: "group", parameters: { checks: [name] }, schedule }],
      ])),
    });
  write("");
  const [a, b] = [installation.start("a"), installation.start("b")];
  await world.advance(5 * 60_000);
  write("/edited");
  for (const program of [a, b]) program.signal("SIGHUP");
  await world.advance(2 * 60_000);
  assert.match((await installation.run("status")).stdout, /12 checks: 12 ok/);
  await installation.stop(a, b);
});

for (const hosts of ["ba", "abc", "bca"]) {
  test(`one member without a check does not end its problem, the second does, in the order ${hosts}`, async (installation) => {
    const { world, hook, names: [removed = "", ...others] } = installation;
    const members = new Map([...hosts].toSorted().map((host) => [host, installation.start(host)]));
    await installation.turn(500);
    installation.writeConfig({
      checks: Object.fromEntries(others.map((name) => [name, installation.checkOf(name)])),
    });
    for (const [index, host] of [...hosts].entries()) {
      members.get(host)?.signal("SIGHUP");
      await world.advance(20_000);
      const ends = index === 0 ? [] : [`${removed} recovery`];
      assert.deepEqual(hook.events(removed), [`${removed} problem`, ...ends], host);
    }
    assert.equal(hook.distinct.length, installation.names.length + 1);
    assert.equal(hook.distinct.at(-1)?.condition, "unknown");
    await installation.stop(...members.values());
  });
}

test("checks that come back begin like new ones, whichever members ran them and sent their ends", async (installation) => {
  const { world, hook, names } = installation;
  const members = ["a", "b", "c"].map((name) => installation.start(name));
  const reload = async (checks: readonly string[]): Promise<void> => {
    installation.writeConfig({
      checks: Object.fromEntries(checks.map((name) => [name, installation.checkOf(name)])),
    });
    for (const member of members) member.signal("SIGHUP");
    await world.advance(20_000);
  };
  await installation.ranAgain();
  await installation.turn(500);
  await reload(names.slice(0, 1));
  await reload(names);
  for (const name of names.slice(1)) {
    assert.deepEqual(hook.events(name), [`${name} problem`, `${name} recovery`, `${name} problem`]);
    const last = hook.distinct.findLast(({ check }) => check === name) as unknown as { previous: string };
    assert.equal(last.previous, "pending", name);
  }
  await installation.stop(...members);
});

test("a single run does not hide that the members died, and its check counts", async (installation) => {
  const { world, names: [name = "", ...others] } = installation;
  installation.writeConfig({ defaults: { threshold: 1, schedule: { regular_interval: 60 } } });
  const member = installation.start("a");
  await world.advance(120_000);
  const single = async (): Promise<unknown> => {
    await installation.run("check", "--once", name);
    const { checks, monitor } = JSON.parse((await installation.run("status", "--format", "json")).stdout);
    const ok = checks.filter(({ condition }: { readonly condition: string }) => condition === "ok").length;
    return [monitor.state, ok];
  };
  assert.deepEqual(await single(), ["running", others.length + 1]);
  member.signal("SIGKILL");
  // Clocks may differ by 5 minutes.
  await world.advance(400_000);
  assert.deepEqual(await single(), ["died", 1]);
});

const HOURLY = { threshold: 1, schedule: { regular_interval: "1 hour", attentive_interval: "1 hour" } };

test("calls by cron do not hide that the members died, before they take over", async (installation) => {
  const { world } = installation;
  installation.writeConfig({ defaults: HOURLY });
  const member = installation.start("a");
  await world.advance(120_000);
  await installation.run("check", "--once", "--due");
  member.signal("SIGKILL");
  await world.advance(10_000);
  const stateOf = async (): Promise<unknown> => {
    const { stdout, code } = await installation.run("status", "--format", "json");
    return [JSON.parse(stdout).monitor.state, code];
  };
  assert.deepEqual(await stateOf(), ["died", 3]);
  await installation.run("check", "--once", "--due");
  assert.deepEqual(await stateOf(), ["cron", 0]);
});

test("a check-in by a clock that is up to 5 minutes ahead is no problem", async (installation) => {
  const { world, hook } = installation;
  installation.writeConfig({
    checks: { job: { kind: "job", parameters: { expected_every: "1 hour" }, notifications: [hook.channel] } },
    defaults: { threshold: 1, schedule: { regular_interval: "1 minute" } },
  });
  const member = installation.start("a");
  world.machine("office").stepClock(4 * 60_000);
  await world.advance(60_000);
  await installation.run("beat", "job");
  await world.advance(120_000);
  assert.match((await world.machine("a").run("status")).stdout, /^OK +job/m);
  assert.deepEqual(hook.events(), []);
  await installation.stop(member);
});

test("a job runs at once after a check-in, whichever member runs it", async (installation) => {
  const { world, hook, names } = installation;
  installation.writeConfig({
    defaults: { threshold: 1, schedule: { regular_interval: 3600, attentive_interval: 3600 } },
    checks: Object.fromEntries(names.map((name) => [
      name,
      { kind: "job", parameters: { expected_every: "6 hours" }, notifications: [hook.channel] },
    ])),
  });
  const members = [installation.start("a"), installation.start("b")];
  await world.advance(5 * 60_000);
  for (const name of names) await installation.run("beat", name, "--failed");
  await world.advance(10_000);
  assert.deepEqual(hook.events().toSorted(), names.map((name) => `${name} problem`).toSorted());
  for (const name of names) await installation.run("beat", name);
  await world.advance(10_000);
  for (const name of names) assert.deepEqual(hook.events(name), [`${name} problem`, `${name} recovery`]);
  const { stdout } = await installation.run("history", names[0] ?? "", "--format", "json");
  assert.equal(JSON.parse(stdout).recent_runs.length, 2, "one run for each check-in");
  await installation.stop(...members);
});

async function shownOf(installation: Installation, name: string): Promise<{
  readonly condition: string;
  readonly observedMs: number;
}> {
  const { stdout } = await installation.run("history", name, "--format", "json");
  const { condition, spans } = JSON.parse(stdout);
  return { condition, observedMs: spans.day.observed_ms };
}

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  test(`the time after the end of all members is not observed, by ${signal}`, async (installation) => {
    const { world, names } = installation;
    installation.writeConfig({ defaults: { threshold: 1, schedule: { regular_interval: "8 minutes" } } });
    const start = (): readonly Program[] => ["a", "b"].map((name) => installation.start(name));
    let members = start();
    await world.advance(4 * 60_000);
    for (const member of members) member.signal(signal);
    await world.advance(6 * 60_000);
    members = start();
    await world.advance(60_000);
    for (const name of names) {
      const { observedMs } = await shownOf(installation, name);
      assert.ok(observedMs > 3 * 60_000 && observedMs <= 6 * 60_000, `${name}: ${observedMs} ms`);
    }
    await world.advance(8 * 60_000);
    for (const name of names) {
      const { observedMs } = await shownOf(installation, name);
      assert.ok(observedMs <= 14 * 60_000, `${name}: ${observedMs} ms`);
    }
    await installation.stop(...members);
  }, { checks: 4 });
}

for (const way of ["reload", "restart"] as const) {
  test(`a check that no member runs any more is unknown, and runs at once when it is back, by ${way}`, async (installation) => {
    const { world, hook, names } = installation;
    const [gone = "", ...others] = names;
    const hosts = ["a", "b", "c"];
    let members = hosts.map((host) => installation.start(host));
    const use = async (checks: readonly string[]): Promise<void> => {
      installation.writeConfig({
        defaults: HOURLY,
        checks: Object.fromEntries(checks.map((name) => [name, installation.checkOf(name)])),
      });
      for (const [index, host] of hosts.entries()) {
        if (way === "reload") members[index]?.signal("SIGHUP");
        else {
          members[index]?.signal("SIGTERM");
          await world.advance(2_000);
          members = members.with(index, installation.start(host));
        }
        await world.advance(10_000);
      }
    };
    await world.advance(10_000);
    await use(names);
    await world.advance(4 * 60_000);
    await use(others);
    await world.advance(2 * 60_000);
    installation.writeConfig({ defaults: HOURLY }, { machines: ["office"] });
    assert.equal((await shownOf(installation, gone)).condition, "unknown");
    assert.equal((await shownOf(installation, others[0] ?? "")).condition, "ok");
    await world.advance(2 * 60_000);
    const before = installation.runs.get(gone) ?? 0;
    await use(names);
    await world.advance(60_000);
    assert.equal(installation.runs.get(gone), before + 1);
    const { condition, observedMs } = await shownOf(installation, gone);
    assert.equal(condition, "ok");
    assert.ok(observedMs <= 8 * 60_000, `${observedMs} ms`);
    assert.deepEqual(hook.posts, []);
    await installation.stop(...members);
  });
}
