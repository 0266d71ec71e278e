import assert from "node:assert/strict";
import type { Program } from "../../testing/simulation/mod.ts";
import { type Installation, test } from "./installation.ts";

const MINUTE_MS = 60_000;

/** Starts members at locations, the owner of the check among them, with a check that runs each minute. */
async function startAt(
  installation: Installation,
  locations: Readonly<Record<string, unknown>> | undefined,
  members: Readonly<Record<string, string | null>>,
): Promise<Readonly<Record<string, Program>>> {
  installation.writeConfig({
    checks: {
      web0: { ...installation.checkOf("web0"), locations },
      all: { kind: "group", parameters: { checks: ["web0"] } },
    },
    defaults: { threshold: 3, schedule: { regular_interval: 60, attentive_interval: 60 } },
  });
  const programs: Record<string, Program> = {};
  for (const [member, location] of Object.entries(members)) {
    programs[member] = installation.start(member, ...location === null ? [] : ["--location", location]);
  }
  await installation.world.advance(4 * MINUTE_MS);
  return programs;
}

/** Calls by cron on a machine of each place, in turn each minute. */
async function callAt(
  installation: Installation,
  minutes: number,
  ...places: readonly string[]
): Promise<void> {
  for (let index = 0; index < minutes; index++) {
    for (const place of places) {
      installation.start(place, "--once", "--due", "--location", place);
      await installation.world.advance(MINUTE_MS / places.length);
    }
  }
}

async function statusOf(installation: Installation): Promise<{
  readonly condition: string;
  readonly output: string;
  readonly group: string;
  readonly text: string;
}> {
  const { stdout } = await installation.run("status", "--format", "json");
  const { checks } = JSON.parse(stdout);
  const check = checks.find(({ name }: { readonly name: string }) => name === "web0");
  const group = checks.find(({ name }: { readonly name: string }) => name === "all");
  const { stdout: text } = await installation.run("status");
  return { condition: check.condition, output: check.last.output, group: group?.condition, text };
}

async function dayOf(installation: Installation): Promise<{
  readonly observed: Readonly<Record<string, number>>;
  readonly lasted_ms: Readonly<Record<string, number>>;
}> {
  const { stdout } = await installation.run("history", "web0", "--format", "json");
  return JSON.parse(stdout).spans.day;
}

test(
  "a check whose only location died is unknown, and its last result is no new run",
  async (installation) => {
    const { world, hook } = installation;
    const { a, b } = await startAt(installation, { from: ["paris"] }, { a: "paris", b: null });
    assert.equal((await statusOf(installation)).condition, "ok");
    a?.signal("SIGKILL");
    await world.advance(MINUTE_MS);
    const runs = installation.runs.get("web0") ?? 0;
    await world.advance(4 * MINUTE_MS);
    assert.match(
      (await statusOf(installation)).output,
      /paris \(no live member, has not reported for \d min/,
    );
    await world.advance(6 * MINUTE_MS);
    const after = await statusOf(installation);
    assert.deepEqual([after.condition, after.group], ["unknown", "unknown"]);
    assert.match(after.text, /web0 .*paris \(no live member, has not reported for 1\d min/);
    const { observed, lasted_ms: lastedMs } = await dayOf(installation);
    assert.ok((observed.ok ?? 0) <= runs, `${observed.ok} of ${runs} runs counted`);
    assert.equal(observed.unknown, 0);
    assert.ok((lastedMs.ok ?? 0) < 5.5 * MINUTE_MS, `${lastedMs.ok} ms ok`);
    assert.equal(lastedMs.unknown, 0);
    assert.deepEqual(hook.events("web0"), ["web0 problem"]);
    if (b !== undefined) await installation.stop(b);
  },
  { checks: 1 },
);

test("an edited check is pending until calls by cron at enough locations have run it", async (installation) => {
  const { hook } = installation;
  const write = (name: string): void => {
    const locations = { from: ["paris", "rome"] };
    installation.writeConfig({
      checks: { web0: { ...installation.checkOf(name), locations } },
      defaults: { threshold: 1, schedule: { regular_interval: "5 minutes" } },
    }, { machines: ["paris", "rome", "office"] });
  };
  write("web0");
  await callAt(installation, 10, "paris", "rome");
  const before = hook.posts.length;
  write("two");
  await callAt(installation, 10, "paris", "rome");
  assert.deepEqual(hook.posts.slice(before), []);
  write("three");
  await callAt(installation, 10, "paris");
  assert.deepEqual(hook.posts.slice(before), []);
  assert.match((await installation.run("status")).stdout, /1 check: 1 pending/);
  // The other location is overdue.
  await callAt(installation, 10, "paris");
  assert.deepEqual(hook.posts.slice(before).map(({ event, condition }) => `${event} ${condition}`), [
    "problem unknown",
  ]);
});

for (const agree of [1, 2, 3]) {
  test(`a roll-out of an edited check is no problem while ${agree} of 3 locations must agree`, async (installation) => {
    const { world, hook } = installation;
    const members = { a: "paris", b: "rome", c: "oslo" };
    const write = (name: string, machines: readonly string[]): void =>
      installation.writeConfig({
        checks: {
          web0: { ...installation.checkOf(name), locations: { from: Object.values(members), agree } },
        },
        defaults: { threshold: 1, schedule: { regular_interval: "1 minute" } },
      }, { machines });
    write("web0", ["office", ...Object.keys(members)]);
    const programs = Object.entries(members).map(([member, location]) =>
      [member, installation.start(member, "--location", location)] as const
    );
    await world.advance(2 * MINUTE_MS);
    const before = hook.posts.length;
    for (const [member, program] of programs) {
      write("two", [member]);
      program.signal("SIGHUP");
      await world.advance(40_000);
    }
    write("two", ["office"]);
    await world.advance(2 * MINUTE_MS);
    assert.deepEqual(hook.posts.slice(before).map(({ event, condition }) => `${event} ${condition}`), []);
    assert.equal((await statusOf(installation)).condition, "ok");
    // Locations that never run the edited check are a problem once they are overdue.
    write("three", ["a", "b"]);
    for (const [member, program] of programs) {
      if (member === "c") program.signal("SIGKILL");
      else program.signal("SIGHUP");
    }
    await world.advance(2 * MINUTE_MS);
    assert.deepEqual(hook.posts.slice(before).length, 0);
    await world.advance(5 * MINUTE_MS);
    assert.equal(hook.posts.slice(before).length, agree === 3 ? 1 : 0);
  });
}

for (
  const [words, before] of [["of a location that is no longer named", { from: ["paris"] }], [
    "from before a check had locations",
    undefined,
  ]] as const
) {
  test(`an ok ${words} does not count`, async (installation) => {
    const { world, hook } = installation;
    const { a } = await startAt(installation, before, { a: "paris" });
    assert.equal((await statusOf(installation)).condition, "ok");
    const count = hook.posts.length;
    installation.writeConfig({
      checks: {
        web0: { ...installation.checkOf("web0"), locations: { from: ["rome"] } },
        all: { kind: "group", parameters: { checks: ["web0"] } },
      },
      defaults: { threshold: 3, schedule: { regular_interval: 60, attentive_interval: 60 } },
    });
    assert.equal((await statusOf(installation)).condition, "ok", "the service runs it as before");
    a?.signal("SIGHUP");
    await world.advance(30_000);
    const { condition, group } = await statusOf(installation);
    assert.deepEqual([condition === "ok", group === "ok"], [false, false]);
    const program = installation.start("b", "--location", "rome");
    await world.advance(MINUTE_MS);
    const ran = await statusOf(installation);
    assert.deepEqual([ran.condition, ran.group, hook.posts.length], ["ok", "ok", count]);
    await installation.stop(program);
  });
}

test("calls by cron await the first results of locations that are new", async (installation) => {
  const { hook } = installation;
  const write = (...from: readonly string[]): void =>
    installation.writeConfig({
      checks: { web0: { ...installation.checkOf("web0"), locations: { from } } },
      defaults: { threshold: 1, schedule: { regular_interval: "1 minute" } },
    }, { machines: ["paris", "rome", "oslo"] });
  write("paris", "rome");
  await callAt(installation, 5, "paris", "rome");
  write("oslo");
  await callAt(installation, 5, "paris", "oslo");
  assert.deepEqual(hook.posts, []);
  write("rome", "paris");
  await callAt(installation, 3, "oslo");
  assert.deepEqual(hook.posts.map(({ event, condition }) => `${event} ${condition}`), ["problem unknown"]);
});

const PLACES = ["fra", "nyc", "sgp"];

/** Starts a member at each of three locations, two of which must agree on a check; lists the runs of its target. */
async function startThree(
  installation: Installation,
  { connectivity, ...settings }: Readonly<Record<string, unknown>> = {},
) {
  const { world, statuses, names: [name = ""] } = installation;
  const runs: { readonly place: string; readonly atMs: number }[] = [];
  world.network.add("web.example.org", {
    respond: ({ machine }) => {
      runs.push({ place: machine, atMs: world.nowMs });
      return { status: statuses.get(`${machine} ${name}`) ?? 200 };
    },
  });
  installation.writeConfig({
    checks: {
      [name]: {
        ...installation.checkOf(name),
        parameters: { request: { target: "http://web.example.org/" } },
        locations: { from: PLACES, agree: 2 },
        ...settings,
      },
    },
    ...connectivity !== undefined && { connectivity },
    defaults: { threshold: 1, schedule: { regular_interval: 60, attentive_interval: 10 } },
  });
  const programs = PLACES.map((place) => installation.start(place, "--location", place));
  await world.advance(2 * MINUTE_MS);
  return { runs, programs };
}

function failAt({ statuses, names: [name = ""] }: Installation, ...places: readonly string[]): void {
  for (const place of PLACES) statuses.set(`${place} ${name}`, places.includes(place) ? 500 : 200);
}

test("locations run a check at their own offsets, with one result an interval", async (installation) => {
  const { runs } = await startThree(installation);
  await installation.world.advance(8 * MINUTE_MS);
  const [fra = 0, nyc = 0, sgp = 0] = PLACES.map((place) => {
    const times = runs.filter((run) => run.place === place).map(({ atMs }) => atMs % MINUTE_MS).slice(2);
    assert.ok(Math.max(...times) - Math.min(...times) < 100, `${times}`);
    return times[0];
  });
  for (const [one, other] of [[fra, nyc], [nyc, sgp]] as const) {
    const distanceMs = (other - one + MINUTE_MS) % MINUTE_MS;
    assert.ok(Math.abs(distanceMs - MINUTE_MS / 4) < 100, `${distanceMs}`);
  }
  const { observed } = await dayOf(installation);
  assert.ok(observed.ok !== undefined && observed.ok >= 9 && observed.ok <= 12, `${observed.ok}`);
  // A location that has not run yet makes no check unknown.
  assert.equal(observed.unknown, 0);
});

test("a failure at one location causes early runs at the others, and notifies nothing", async (installation) => {
  const { world, hook } = installation;
  const { runs } = await startThree(installation);
  runs.length = 0;
  failAt(installation, "fra");
  await world.until(() => runs.some(({ place }) => place === "fra"), "the failure");
  const failedAtMs = world.nowMs;
  await world.advance(4_000);
  const early = runs.filter(({ atMs }) => atMs >= failedAtMs).map(({ place }) => place);
  assert.deepEqual(early.toSorted(), PLACES.toSorted());
  await world.advance(3 * MINUTE_MS);
  assert.match((await statusOf(installation)).output, /^critical from fra; ok from nyc, sgp /);
  assert.deepEqual(hook.posts, []);
  // It fails at its attentive interval there, and requests no more early runs.
  const [fra = 0, nyc = 0] = PLACES.map((at) => runs.filter(({ place }) => place === at).length);
  assert.ok(fra > 15 && nyc < 6, `${fra} and ${nyc}`);
});

test("failures at two locations count for the threshold once an interval", async (installation) => {
  const { world, hook, shared } = installation;
  const { runs } = await startThree(installation, { threshold: 3 });
  runs.length = 0;
  failAt(installation, "nyc", "sgp");
  await world.until(() => hook.posts.length > 0, "the problem");
  const [change] = await shared.server.database.base.changes("web0", { sinceMs: 0, limit: 1 });
  assert.match(change?.trace ?? "", /^at nyc:\n.*http:\/\/web\.example\.org\//s);
  const [{ output, problem_began_at: beganAt } = assert.fail()] = hook.posts as unknown as readonly {
    readonly output: string;
    readonly problem_began_at: string;
  }[];
  assert.equal(output, "critical from nyc, sgp; ok from fra (nyc: status is 500, expected 200)");
  const beganMs = Date.parse(beganAt);
  const failedMs = Math.max(...["nyc", "sgp"].map((at) => runs.find(({ place }) => place === at)?.atMs ?? 0));
  assert.ok(beganMs - failedMs < 5_000, `${beganMs - failedMs} ms after the second failure`);
  assert.ok(world.nowMs - beganMs > 19_000 && world.nowMs - beganMs < 25_000, `${world.nowMs - beganMs} ms`);
  failAt(installation);
  await world.advance(2 * MINUTE_MS);
  assert.deepEqual(hook.events(), ["web0 problem", "web0 recovery"]);
});

test("a location without a network does not count", async (installation) => {
  const { world, hook } = installation;
  for (const name of ["one", "other"]) world.network.add(name, {});
  await startThree(installation, { connectivity: ["one:443", "other:443"] });
  const cutOff = ["one", "other", "web.example.org"];
  for (const place of ["fra", "nyc"]) for (const name of cutOff) world.machine(place).cutOff(name);
  await world.advance(2 * MINUTE_MS);
  for (const place of ["fra", "nyc"]) world.machine(place).reconnect("other");
  await world.advance(2 * MINUTE_MS);
  const outputs = hook.distinct.map(({ output }) => output);
  assert.equal(
    outputs[0],
    "results from 1 of 3 locations, 2 required: ok from sgp; not counted: fra, nyc " +
      "(this machine has no network: no response from one:443, other:443; connecting to web.example.org:80 failed: connection refused)",
  );
  assert.match(outputs.at(-1) ?? "", /^critical from fra, nyc; ok from sgp/);
});

test("the result depends only on the locations that are live now", async (installation) => {
  const { world, shared: { server } } = installation;
  const { programs: [, nyc, sgp] } = await startThree(installation);
  const assertCondition = async (condition: string): Promise<void> => {
    await world.advance(3 * MINUTE_MS);
    assert.equal((await statusOf(installation)).condition, condition);
  };
  failAt(installation, "fra", "nyc");
  server.stall();
  await world.advance(2 * MINUTE_MS);
  server.resume();
  await assertCondition("critical");
  nyc?.signal("SIGKILL");
  await assertCondition("ok");
  sgp?.signal("SIGKILL");
  await assertCondition("unknown");
});

test("a dependency that is needed runs at all its locations first", async (installation) => {
  const { world, hook } = installation;
  const { runs } = await startThree(installation, { schedule: { regular_interval: "1 hour" } });
  const config = JSON.parse(world.machine("fra").files.textOf("/etc/monitor/monitor.jsonc"));
  const leaf = { ...installation.checkOf("leaf"), depends_on: ["web0"] };
  installation.writeConfig({ ...config, checks: { ...config.checks, leaf } });
  for (const { service } of world.machines) service?.signal("SIGHUP");
  await world.advance(2 * MINUTE_MS);
  runs.length = 0;
  failAt(installation, "nyc", "sgp");
  installation.statuses.set("leaf", 500);
  await world.advance(2 * MINUTE_MS);
  assert.deepEqual(new Set(runs.slice(0, 3).map(({ place }) => place)), new Set(PLACES));
  assert.deepEqual(hook.events(), ["web0 problem"]);
});

test("commands name the locations", async (installation) => {
  const locations = { from: ["paris", "rome", "lab"], agree: 2 };
  installation.statuses.set("a web0", 500);
  const { a, b } = await startAt(installation, locations, { a: "paris", b: "rome" });
  const shown = async (...args: readonly string[]): Promise<string> =>
    (await installation.run(...args)).stdout;
  assert.match(await shown("members"), /^a {2}live at paris, /m);
  const { checks: [web], monitor } = JSON.parse(await shown("status", "web0", "--format", "json"));
  assert.deepEqual(
    web.last.locations.map((one: Record<string, unknown>) => [one["location"], one["condition"]]),
    [["paris", "critical"], ["rome", "ok"], ["lab", null]],
  );
  assert.deepEqual(monitor.locations.at(-1), { location: "lab", live: false, checks: 1 });
  const status = await shown("status", "web0");
  assert.match(status, /critical from paris; ok from rome[^]*^ +rome: /m);
  assert.match(status, /^location "lab": no member has joined, 1 check names it$/m);
  assert.match(await shown("report"), /a \(paris\): live/);
  assert.match(await shown("explain", "web0"), /locations\.agree +2 +check/);
  for (const member of [a, b]) if (member !== undefined) await installation.stop(member);
}, { checks: 1 });
