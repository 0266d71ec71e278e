/**
 * Several monitors that share a state: every check runs, and each problem is notified once and in order, even if one
 * of them fails. A test has the truth, since it is the target; the receiver logs the notifications.
 */
import assert from "node:assert/strict";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import type { PostgresPlace } from "../../src/domain/stores.ts";
import { PostgresClient } from "../../src/state/postgres/postgres_client.ts";
import {
  clientOptions,
  POSTGRES,
  type PostgresServer,
  sharedPostgres,
  startPostgres,
} from "../support/postgres.ts";
import { until } from "./in_time.ts";
import { type Installation, withInstallation } from "./installation.ts";
import type { Program } from "./program.ts";

import "./several_machines_cases.ts";

const postgres = sharedPostgres();
const test = concurrentTests("members", POSTGRES);
const testWithShared = provided(withShared, test);

function withShared(
  use: (installation: Installation) => Promise<void>,
  server: PostgresServer = postgres(),
): Promise<void> {
  return withInstallation(use, server);
}

async function stop(...members: readonly Program[]): Promise<void> {
  members.forEach((member) => member.signal("SIGTERM"));
  for (const member of members) {
    const { code, stderr } = await member.end();
    assert.equal(code, 0, stderr);
  }
}

async function execute(place: PostgresPlace, ...statements: readonly string[]): Promise<void> {
  const client = new PostgresClient(place, clientOptions());
  for (const statement of statements) await client.query(statement);
  client.close();
}

testWithShared(
  "members share the checks, and the others take over those of one that is killed",
  async ({ targets, names, start, turn, assertEachOnce }) => {
    const [killed, ...others] = ["a", "b", "c"].map((name) => start(name)) as [Program, Program, Program];
    await turn(500);
    killed.signal("SIGKILL");
    const before = new Map(targets.runs);
    await turn(200);
    await turn(500);
    for (const name of names) assert.ok((targets.runs.get(name) ?? 0) > (before.get(name) ?? 0), name);
    await others[0].stderr.next('member "a" left or died');
    await stop(...others);
    assertEachOnce();
  },
);

testWithShared(
  "members have no control socket, and the commands name the member to go to",
  async ({ start, turn, runHere }) => {
    const members = new Map(["a", "b"].map((name) => [name, start(name)]));
    await turn(500);
    const reload = await runHere("reload");
    assert.equal(reload.code, 74);
    assert.match(reload.stderr, /no control socket with a shared state: use SIGHUP on the members "a", "b"/);
    const unknown = await runHere("run", "nobody");
    assert.equal(unknown.code, 64);
    assert.match(unknown.stderr, /unknown check "nobody"/);
    const ownerOf = async (): Promise<string> => {
      const { code, stderr } = await runHere("run", "web0");
      assert.equal(code, 74, stderr);
      return /no control socket with a shared state: "web0" runs at member "(.)"/.exec(stderr)?.[1] ??
        assert.fail(stderr);
    };
    const [first, second] = await ownerOf() === "a" ? ["a", "b"] as const : ["b", "a"] as const;
    await stop(members.get(first) ?? assert.fail());
    assert.equal(await ownerOf(), second);
    await stop(members.get(second) ?? assert.fail());
    assert.match((await runHere("reload")).stderr, /no monitor runs on this state/);
  },
);

testWithShared(
  "a second monitor with the name of a member takes its place, which exits with 75",
  async ({ start, turn, assertEachOnce }) => {
    const older = start("a");
    await turn(500);
    const newer = start("a");
    const { code, stderr } = await older.end();
    assert.equal(code, 75);
    assert.match(stderr, /a newer monitor has the same member name, "a"/);
    await turn(200);
    await stop(newer);
    assertEachOnce();
  },
);

test("members send their own notifications while the database is away, and write back", async () => {
  await using server = await startPostgres();
  await withShared(
    async ({ hook, names, start, runHere, turn, ranAgain, writeConfig, assertEachOnce }) => {
      const heartbeat = `${server.directory}/heartbeat`;
      const beatAtMs = (): number => Deno.statSync(heartbeat).mtime?.getTime() ?? 0;
      writeConfig({ heartbeat: { path: heartbeat, interval: 1 } });
      const members = [start("a", ["--listen", "127.0.0.1:0"]), start("b")] as const;
      const [url = ""] = (await members[0].stderr.next("listening on http://")).match(/http:\S+?:\d+/) ?? [];
      await turn(500);
      await server.kill();
      await turn(200, { isStored: false });
      const lastBeatMs = beatAtMs();
      for (let count = 0; count < 3; count++) await ranAgain();
      assert.equal(beatAtMs(), lastBeatMs, "the outgoing heartbeat stops");
      assert.match(await (await fetch(`${url}/metrics`)).text(), /^monitor_shared_state_connected 0$/m);
      const texts = hook.posts.slice(-2).flatMap(({ notifications }) =>
        notifications.map(({ output }) => output)
      );
      assert.ok(texts.every((text) => text.endsWith("(shared state unreachable)")), texts.join("\n"));
      assert.equal((await runHere("status")).code, 74);
      await server.start();
      await members[0].stderr.next("shared state reachable again");
      await turn(500);
      await until("the next heartbeat", () => beatAtMs() > lastBeatMs);
      await stop(...members);
      assertEachOnce();
      const { stdout } = await runHere("history", names[0] ?? "");
      assert.equal(stdout.match(/(?:ok|pending) to critical/g)?.length, 2, stdout);
    },
    server,
  );
});

test("a member that starts before its database runs all checks, sends alone, and joins later", async () => {
  await using server = await startPostgres();
  await withShared(async ({ place, hook, start, runHere, turn, describe, assertEachOnce }) => {
    await execute(place, `DROP SCHEMA "${place.schema}" CASCADE`);
    await server.kill();
    const early = start("a");
    await early.stderr.next(/cannot open state "postgres:.*; retrying, monitoring starts/);
    const once = await runHere("check", "--once");
    assert.equal(once.code, 74, once.stderr);
    await turn(500, { isStored: false });
    const texts = hook.posts.flatMap(({ notifications }) => notifications.map(({ output }) => output));
    assert.ok(texts.every((text) => text.endsWith("(shared state unreachable)")), describe());
    await server.start();
    await early.stderr.next("shared state reachable again");
    const other = start("b");
    await early.stderr.next('member "b" joined');
    await turn(200);
    await turn(500);
    assert.match((await runHere("status")).stdout, /monitor running for/);
    await stop(early, other);
    assertEachOnce();
  }, server);
});

test("a member that waits for its database exits with 74 if it may not use it", async () => {
  await using server = await startPostgres();
  await withShared(async ({ place, start }) => {
    await execute(place, "CREATE ROLE alice NOLOGIN");
    await server.kill();
    const early = start("a", [], { DATABASE_USER: "alice" });
    await early.stderr.next("; retrying, monitoring starts");
    await server.start();
    const { code, stderr } = await early.end();
    assert.equal(code, 74, stderr);
    assert.match(stderr, /^monitor: error: cannot open state .*: role "alice" may not log in; check "user"/m);
  }, server);
});

testWithShared(
  "calls by cron on several machines run each due check once, and one of them sends",
  async ({ targets, names, run, runHere, hook, writeConfig, assertEachOnce, expect }) => {
    // However long the calls take, no check is due again.
    writeConfig({ defaults: { threshold: 1, schedule: { regular_interval: "1 hour" } } });
    names.forEach((name) => targets.statuses.set(name, 500));
    const ends = await Promise.all([1, 2, 3].map(() => run("check", "--once", "--due")));
    // One that another call left no check to knows nothing.
    for (const { code, stderr } of ends) assert.ok([2, 3].includes(code), stderr);
    const plans = names.filter((name) => (targets.runs.get(name) ?? 0) > 1);
    assert.deepEqual(plans, []);
    const later = await runHere("check", "--once");
    assert.equal(later.code, 2, later.stderr);
    expect("problem");
    assertEachOnce();
    assert.ok(hook.posts.length <= 3);
  },
);

testWithShared(
  "a single run leaves it to the members that run as services to send",
  async ({ start, runHere, turn, assertEachOnce }) => {
    const member = start("a");
    await turn(500);
    const { code } = await runHere("check", "--once");
    assert.equal(code, 2);
    await turn(200);
    await stop(member);
    assertEachOnce();
  },
);

testWithShared(
  "a member with another config than most runs nothing, until most have it, and monitor members shows it",
  async ({ names, start, runHere, turn, writeConfig, assertEachOnce }) => {
    const killed = start("a");
    const live = start("b", ["--listen", "127.0.0.1:0"]);
    const [url = ""] = (await live.stderr.next("listening on http://")).match(/http:\S+?:\d+/) ?? [];
    await turn(500);
    writeConfig({ defaults: { threshold: 2, schedule: { regular_interval: 1 } } });
    const other = start("c");
    await other.stderr.next("most members have another config: running no checks");
    writeConfig();
    const { stdout } = await runHere("members");
    const counts = [...stdout.matchAll(/^[ab] {2}live, (\d+) checks?, sends for [01] channels?$/gm)];
    assert.equal(counts.reduce((sum, [, count]) => sum + Number(count), 0), names.length, stdout);
    assert.match(stdout, /^c {2}live, has another config than most: runs no checks$/m);
    killed.signal("SIGKILL");
    await live.stderr.next('member "a" left or died');
    const metrics = await (await fetch(`${url}/metrics`)).text();
    assert.deepEqual(metrics.match(/^monitor_(members|served_by|shared_state).*/gm), [
      "monitor_shared_state_connected 1",
      'monitor_served_by_info{member="b"} 1',
      'monitor_members{member="a"} 0',
      'monitor_members{member="b"} 1',
      'monitor_members{member="c"} 1',
    ]);
    const { stdout: status } = await runHere("status");
    assert.match(status, /^member "a": no heartbeat for .*\nmember "c": another config, runs no checks$/m);
    const { monitor } = JSON.parse((await runHere("status", "--format", "json")).stdout);
    assert.deepEqual([monitor.state, monitor.members[0]], [
      "running",
      { member: "a", live: false, location: null },
    ]);
    const lines = (html: string): readonly string[] => html.match(/(?<=<li>)[abc]: .*/g) ?? [];
    const page = lines(await (await fetch(url)).text());
    assert.deepEqual(lines((await runHere("report")).stdout).map((line) => line.replace(/\d.*/, "…")), [
      "a: no heartbeat for …",
      "b: live",
      "c: another config, runs no checks",
    ]);
    assert.deepEqual(page.slice(1), ["b: live", "c: another config, runs no checks"]);
    const response = await fetch(`${url}/api/v1/status`);
    assert.equal(response.headers.get("x-served-by"), "b");
    const served = await response.json();
    assert.equal(served.served_by, "b");
    assert.deepEqual(served.monitor.members[0], { member: "a", live: false, location: null });
    const { stdout: text } = await runHere("members", "--format", "json");
    const members = JSON.parse(text) as readonly Readonly<Record<string, unknown>>[];
    assert.deepEqual(members.map(({ member, live }) => [member, live]), [["a", false], ["b", true], [
      "c",
      true,
    ]]);
    other.signal("SIGHUP");
    await other.stderr.next("the config of this member is active");
    await turn(200);
    await stop(live, other);
    assertEachOnce();
    assert.match((await runHere("members")).stdout, /^a {2}dead, last heartbeat .+ ago\n$/);
  },
);
