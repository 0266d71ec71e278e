/** A check that three monitors run at three locations: each location has its own target. */
import assert from "node:assert/strict";
import type { AddCase } from "../support/concurrent_tests.ts";
import { POSTGRES, type PostgresServer } from "../support/postgres.ts";
import { until } from "./installation.ts";
import { type Harness, withHarness } from "./program.ts";
import { startHook } from "./receivers.ts";

/** A run, as the target saw it. */
interface SeenRun {
  readonly location: string;
  readonly member: string;
  readonly atMs: number;
  readonly isOk: boolean;
}

/** A target that fails at some locations. */
interface LocatedTarget extends AsyncDisposable {
  readonly url: string;
  readonly failing: Set<string>;
  readonly runs: readonly SeenRun[];
}

function startTarget(): LocatedTarget {
  const failing = new Set<string>();
  const runs: SeenRun[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const member = (new URL(request.url).searchParams.get("from") ?? "").replace("member ", "");
    const location = member.slice(0, 3);
    const isOk = !failing.has(location);
    runs.push({ location, member, atMs: performance.now(), isOk });
    return new Response("", { status: isOk ? 200 : 500 });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/?from=\${env:MEMBER}`,
    failing,
    runs,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const INTERVAL_MS = 8_000;
const MEMBERS = ["fra-1", "nyc-1", "sgp-1", "sgp-2"];

/** Adds the cases. */
export function testLocations(test: AddCase, postgres: () => PostgresServer): void {
  test("locations confirm a problem together, and look early after the first failure", async () => {
    await withHarness(async ({ writeConfig, start, run }) => {
      await using target = startTarget();
      await using hook = startHook();
      const { directory } = postgres();
      const { database, user, schema } = postgres().place();
      writeConfig({
        web: {
          kind: "http_request",
          parameters: { request: { target: target.url } },
          schedule: { regular_interval: INTERVAL_MS / 1000, attentive_interval: 2 },
          locations: { from: ["fra", "nyc", "sgp"], agree: 2 },
          notifications: [hook.channel],
        },
        lab: { kind: "test", parameters: {}, locations: { from: ["lab"] }, notifications: [] },
      }, { state: { postgres: { hosts: [directory], database, user, schema } } });
      const members = MEMBERS.map((member) =>
        start(["check", "--member", member, "--location", member.slice(0, 3)], {
          environment: { MEMBER: `member ${member}` },
          limitMs: 120_000,
        })
      );
      const sent = () => hook.posts.flatMap(({ notifications }) => notifications);
      const runsOf = (location: string) => target.runs.filter((run) => run.location === location);
      const describe = () =>
        JSON.stringify([sent(), target.runs, members.map(({ stderr }) => stderr.text())]);
      const wait = (what: string, isTrue: () => boolean): Promise<void> => until(what, isTrue, describe);
      await wait(
        "a result of each location",
        () => ["fra", "nyc", "sgp"].every((location) => runsOf(location).length > 0),
      );

      target.failing.add("fra");
      await wait("fra to fail", () => runsOf("fra").some(({ isOk }) => !isOk));
      const failedAtMs = runsOf("fra").find(({ isOk }) => !isOk)?.atMs ?? 0;
      const earlyOf = (location: string) => runsOf(location).find(({ atMs }) => atMs > failedAtMs)?.atMs;
      await wait(
        "the early looks",
        () => ["nyc", "sgp"].every((location) => earlyOf(location) !== undefined),
      );
      // Without them, the last of the three would come half an interval after the first.
      const tookMs = Math.max(...["nyc", "sgp"].map((location) => (earlyOf(location) ?? 0) - failedAtMs));
      assert.ok(tookMs < INTERVAL_MS / 2, `early looks took ${tookMs} ms`);
      await wait("two more failures", () => runsOf("fra").filter(({ isOk }) => !isOk).length >= 3);
      assert.deepEqual(sent(), []);

      target.failing.add("nyc");
      await wait("a notification", () => sent().length > 0);
      assert.match(sent()[0]?.output ?? "", /^critical from fra, nyc; ok from sgp \(fra: .*500/);
      target.failing.clear();
      await wait("a recovery", () => sent().length > 1);
      assert.deepEqual(sent().map(({ event }) => event), ["problem", "recovery"]);
      await assertShown(run);

      const running = runsOf("sgp").at(-1)?.member ?? "";
      members[MEMBERS.indexOf(running)]?.signal("SIGKILL");
      await wait("the other member at sgp", () => runsOf("sgp").some(({ member }) => member !== running));
      const live = members.filter((_, index) => MEMBERS[index] !== running);
      for (const member of live) member.signal("SIGTERM");
      for (const member of live) {
        const { code, stderr } = await member.end();
        assert.equal(code, 0, stderr);
      }
      assert.equal(sent().length, 2, describe());
    });
  }, POSTGRES);
  test("calls by cron at two locations confirm a problem together", async () => {
    await withHarness(async ({ writeConfig, run }) => {
      await using target = startTarget();
      await using hook = startHook();
      const { directory } = postgres();
      const { database, user, schema } = postgres().place();
      const checks = {
        web: {
          kind: "http_request",
          parameters: { request: { target: target.url } },
          locations: { from: ["fra", "nyc"] },
          notifications: [hook.channel],
        },
      };
      const state = { postgres: { hosts: [directory], database, user, schema } };
      writeConfig(checks, { state });
      const call = async (location: string, ...args: readonly string[]) => {
        const environment = { MEMBER: `member ${location}-1` };
        return await run(["check", "--once", "--location", location, ...args], { environment });
      };
      const outputs = () =>
        hook.posts.flatMap(({ notifications }) => notifications).map(({ output }) => output);
      target.failing.add("fra").add("nyc");
      const one = await call("fra", "--due");
      assert.equal(one.code, 3, one.stderr);
      assert.deepEqual(target.runs.map(({ location }) => location), ["fra"]);
      const untilNotified = (count: number, what: string) =>
        until(what, async () => {
          await call("nyc", "--due");
          return outputs().length >= count;
        });
      // The first call awaits those at the other locations, so there is no notification of one location alone.
      await untilNotified(1, "the second location to be due");
      assert.match(outputs()[0] ?? "", /^critical from fra, nyc \(fra: .*500/);
      const elsewhere = await run(["check", "--once", "web"], { environment: { MEMBER: "member lab-1" } });
      assert.match(elsewhere.stdout, /critical from fra, nyc/);
      await untilNotified(2, "the first location to be silent");
      assert.match(outputs()[1] ?? "", /^results from 1 of 2 locations, 2 required: critical from nyc; not/);
      target.failing.clear();
      const { code, stdout } = await call("fra", "--state", "none");
      assert.equal(code, 0, stdout);
      assert.ok(target.runs.every(({ location }) => location !== "lab"));

      writeConfig(checks);
      const { code: refused, stderr } = await call("fra");
      assert.equal(refused, 78);
      assert.match(
        stderr,
        /checks\.web\.locations\.from: has 2 locations, which require a state in PostgreSQL/,
      );
    });
  }, POSTGRES);
}

/** Asserts that commands name the locations. */
async function assertShown(run: Harness["run"]): Promise<void> {
  const shown = async (...args: readonly string[]): Promise<string> => (await run(args)).stdout;
  const members = await shown("members");
  assert.match(members, /^fra-1 {2}live at fra, /m);
  const { checks: [web], monitor } = JSON.parse(await shown("status", "web", "--format", "json"));
  const votes = web.last.locations as readonly { readonly location: string; readonly condition: string }[];
  assert.deepEqual(votes.map(({ location }) => location), ["fra", "nyc", "sgp"]);
  assert.ok(votes.some(({ condition }) => condition === "ok"));
  assert.deepEqual(monitor.locations.at(-1), { location: "lab", live: false, checks: 1 });
  const status = await shown("status", "web");
  assert.match(status, /ok from .*fra/);
  assert.match(status, /^ +nyc: /m);
  assert.match(status, /^location "lab": no member has joined, 1 check names it$/m);
  assert.match(await shown("report"), /fra-1 \(fra\): live/);
  assert.match(await shown("explain", "web"), /locations\.agree +2 +check/);
}
