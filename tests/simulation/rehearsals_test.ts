/** Rehearsals of channels: each is sent once, and one that nobody confirms is a problem that goes to another channel. */
import assert from "node:assert/strict";
import { type Scenario, simulate, type World } from "../../testing/simulation/mod.ts";
import { playWithKills } from "../../testing/simulation/kills.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { test as testMembers } from "./installation.ts";
import { Visitor } from "./visitor.ts";

const CONFIG = {
  time_zone: "UTC",
  listen: { address: "127.0.0.1:9797" },
  page: { url: "https://status.example.org/ops" },
  channels: { ops: {}, pager: {} },
  checks: {
    "ops arrives": {
      kind: "rehearsal",
      parameters: { channel: "ops", cron: "0 10 * * mon" },
      schedule: { regular_interval: "10 minutes" },
      notifications: ["pager"],
    },
  },
} as const satisfies Scenario["config"];

/** The config with other parameters and settings of its check. */
function configOf(parameters: object, settings: object = {}) {
  const check = {
    ...CONFIG.checks["ops arrives"],
    parameters: { channel: "ops", ...parameters },
    ...settings,
  };
  return { ...CONFIG, checks: { "ops arrives": check } };
}

const WEEKLY = {
  /** A Monday. */
  start: "2026-03-02 09:00",
  config: CONFIG,
  words: ({ text }) => text.replace(/confirm\/[\w-]{36}$/, "confirm/TOKEN"),
} as const satisfies Partial<Scenario>;

const SENT = "confirm that this arrived: https://status.example.org/ops/confirm/TOKEN";

/** The paths behind the links that were received, as the endpoint serves them. */
function paths(world: World): readonly string[] {
  return world.trace.events.flatMap(({ what, text }) =>
    what === "received" ? [...text.matchAll(/\/confirm\/[\w-]+/g)].map(([path]) => path) : []
  );
}

function lastPath(world: World): string {
  return paths(world).at(-1) ?? assert.fail("no link was received");
}

async function send(world: World, method: string, path: string, machine?: string): Promise<string> {
  const response = await world.machine(machine).request(path, { method, address: "192.0.2.7" }) ??
    assert.fail("nothing listens");
  return `${response.status} ${response.body.trim()}`;
}

async function confirm(world: World, machine?: string): Promise<void> {
  assert.match(await send(world, "POST", lastPath(world), machine), /^200 Confirmed at /);
  await world.advance(2_000);
}

async function shown(world: World): Promise<string> {
  const { stdout, code } = await world.machine().run("status", "--format", "json");
  const [{ condition, last }] = JSON.parse(stdout).checks;
  return `${code} ${condition}: ${last.output}`;
}

simulate("a channel is proven each day, and one that is not is a problem of another channel, once", {
  ...WEEKLY,
  config: configOf({ cron: "0 10 * * *", confirm_within: "6 hours" }, {
    schedule: { regular_interval: "30 minutes" },
  }),
  actions: {
    "09:30": async (world) =>
      assert.equal(
        await shown(world),
        "3 pending: never proven, the first rehearsal is sent at 2026-03-02 10:00:00 UTC",
      ),
    "10:30": async (world) => {
      const pending = /^3 pending: never proven, queued at 2026-03-02 10:0\d:\d\d UTC$/;
      assert.match(await shown(world), pending);
      await confirm(world);
      assert.equal(
        await shown(world),
        "0 ok: last proven at 2026-03-02 10:30:00 UTC by 192.0.2.7, " +
          "the next rehearsal is sent at 2026-03-03 10:00:00 UTC",
      );
      const { stdout } = await world.machine().run("summary");
      assert.match(stdout, /^Rehearsals\n- ops arrives: last proven on 2026-03-02 10:30$/m);
      const history = await world.machine().run("history");
      assert.match(history.stdout, /channel ops: ops: sent rehearsal, accepted$/m);
      const { body = "" } = await world.machine().request("/metrics") ?? {};
      assert.match(
        body,
        /^monitor_check_metric\{check="ops arrives",metric="last_proven_timestamp_seconds"\} 1772447400/m,
      );
    },
    "Tue 11:00": async (world) => {
      const sent =
        /^0 ok: last proven at 2026-03-02 .*, sent at 2026-03-03 10:0\d:\d\d UTC and not confirmed yet$/;
      assert.match(await shown(world), sent);
      await confirm(world);
    },
    // Nobody confirms the third one, and the service is restarted several times.
    "Wed 12:00": ["kill", "start"],
    "Wed 15:00": ["stop", "start"],
    "Wed 17:30": async (world) =>
      assert.match(
        await shown(world),
        /^2 critical: not proven: the rehearsal of 2026-03-04 10:0\d:\d\d UTC was not confirmed within 6 h, last proven at 2026-03-03 11:00:00 UTC by/,
      ),
    "Wed 17:45": async (world) => {
      const { stdout } = await world.machine().run("run", "ops arrives");
      assert.match(stdout, /another one is queued/);
    },
    "Wed 18:00": "kill",
    "Wed 18:05": "start",
    "Thu 12:00": confirm,
  },
  until: "Thu 14:00",
  expect: {
    ops: [
      ...["02", "03", "04"].map((day) => `2026-03-${day} 10:00-10:30 ${SENT}`),
      `2026-03-04 17:45 ${SENT}`,
      `2026-03-05 10:00-10:30 ${SENT}`,
    ],
    pager: [
      "2026-03-04 16:00-16:31 problem ops arrives critical",
      "2026-03-05 12:00-12:01 recovery ops arrives ok",
    ],
  },
});

simulate(
  "of the rehearsals of a channel that is down, only the last one is sent",
  {
    ...WEEKLY,
    config: configOf({ cron: "@hourly", confirm_within: "3 hours" }),
    servers: { ops: "09:30 503, Tue 12:20 up" },
    actions: {
      "12:30": async (world) =>
        assert.match(
          await shown(world),
          /^3 pending: never proven, queued at 2026-03-02 12:0\d:\d\d UTC and not delivered yet: .*503/,
        ),
      "14:30": async (world) =>
        assert.match(
          await shown(world),
          /^2 critical: not proven: .*, never proven; not delivered yet: .*503/,
        ),
      "Tue 12:55": confirm,
    },
    until: "Tue 12:58",
    expect: {
      ops: [`Tue 12:20-12:40 ${SENT}`],
      pager: ["13:00-13:20 problem ops arrives critical", "Tue 12:55 recovery ops arrives ok"],
    },
  },
);

simulate("a rehearsal that was missed is sent once after a downtime, and none without notifications", {
  ...WEEKLY,
  mode: "manual",
  actions: {
    "09:00": "start check --no-notify",
    "10:30": async (world) => {
      assert.equal(await shown(world), "3 pending: not sent, since notifications are off: never proven");
    },
    "11:00": "stop",
    "2026-03-18 12:00": "start",
    "2026-03-18 12:30": confirm,
  },
  until: "2026-03-19 12:00",
  expect: { ops: [`2026-03-18 12:00-12:20 ${SENT}`] },
});

simulate("a reload changes the channel: what proved the old one proves nothing", {
  ...WEEKLY,
  actions: {
    "10:30": confirm,
    "11:00": [
      { config: configOf({ channel: "pager", cron: "0 10 * * mon" }, { notifications: ["ops"] }) },
      "reload",
    ],
    "11:30": async (world) => {
      assert.match(
        await shown(world),
        /never proven, the first rehearsal is sent at 2026-03-09 10:00:00 UTC$/,
      );
      assert.match(await send(world, "POST", lastPath(world)), /^404 /, "the link of the old channel");
    },
  },
  until: "12:00",
  expect: { ops: [`10:00-10:10 ${SENT}`] },
});

simulate("only a POST request with the last token confirms", {
  ...WEEKLY,
  config: {
    ...configOf({ cron: "0 10 * * *" }),
    listen: { ...CONFIG.listen, token: "sesame-open-sesame", public: ["none"] },
  },
  actions: {
    "10:30": async (world) => {
      const path = lastPath(world);
      const before = await shown(world);
      // Programs that scan messages or show a preview open links.
      for (const method of ["GET", "HEAD", "GET"]) assert.match(await send(world, method, path), /^200 /);
      const browser = new Visitor(world);
      const { body } = await browser.open(path, { accept: "text/html,*/*" });
      assert.match(body, /<form[^>]* method=post><button>It arrived<\/button>/);
      for (const method of ["PUT", "DELETE", "OPTIONS"]) {
        assert.match(await send(world, method, path), /^405 expected GET, HEAD or POST$/);
      }
      const token = path.slice("/confirm/".length);
      const wrong = [
        token.slice(0, -1),
        `${token}0`,
        token.toUpperCase(),
        crypto.randomUUID(),
        "",
        "x",
        "%00".repeat(20),
        "a".repeat(100_000),
        `${token}/`,
        `${token}/confirm`,
        encodeURIComponent("../ping"),
      ];
      const answers = new Set<string>();
      for (const one of wrong) answers.add(await send(world, "POST", `/confirm/${one}`));
      assert.equal(answers.size, 1, "the answer reveals nothing");
      assert.match([...answers].join(), /^404 No rehearsal waits for this link\./);
      assert.match(await send(world, "POST", "/confirm"), /^404 /);
      await world.advance(20_000);
      assert.equal(await shown(world), before);
      await confirm(world);
      const proven = await shown(world);
      assert.match(proven, /^0 ok: last proven at 2026-03-02 10:30:2\d UTC by 192\.0\.2\.7, /);
      // Sent again, or by somebody else, it is the same confirmation.
      for (const method of ["POST", "GET"]) {
        assert.match(await send(world, method, path), /^200 Confirmed at 2026-03-02 10:30:2\d UTC: /);
      }
      assert.match(
        (await browser.post(path, {}, { accept: "text/html" })).body,
        /<p>Confirmed at 2026-03-02 10:30/,
      );
      await world.advance(60_000);
      assert.equal(await shown(world), proven);
    },
    "Tue 10:30": async (world) => {
      const [old = "", path] = paths(world);
      assert.notEqual(path, undefined);
      for (const method of ["GET", "POST"]) {
        assert.match(await send(world, method, old), /^404 No rehearsal/, "a replay of the day before");
      }
      assert.match(await shown(world), /^0 ok: last proven at 2026-03-02 .* and not confirmed yet$/);
    },
  },
  until: "Tue 10:40",
  expect: { ops: [`2026-03-02 10:00-10:10 ${SENT}`, `2026-03-03 10:00-10:10 ${SENT}`] },
});

simulate("calls by cron send each rehearsal once, and their problems", {
  ...WEEKLY,
  mode: "cron",
  start: "2026-03-02 09:50",
  config: configOf({ cron: "0 10 * * mon", confirm_within: "1 hour" }),
  until: "11:25",
  expect: { ops: [`10:00-10:11 ${SENT}`], pager: ["11:00-11:21 problem ops arrives critical"] },
});

Deno.test("a kill between any two steps sends one rehearsal, and loses no confirmation", async () => {
  const scenario: Scenario = {
    ...WEEKLY,
    start: "2026-03-02 09:58",
    config: configOf({ cron: "0 10 * * mon", confirm_within: "2 minutes" }, {
      schedule: { regular_interval: "1 minute" },
    }),
    actions: {
      "10:05": async (world) => {
        const path = lastPath(world);
        // As a person does while the service is away.
        while ((await world.machine().request(path, { method: "POST" }))?.status !== 200) {
          await world.advance(1_000);
        }
      },
    },
    until: "10:10",
  };
  let kills = 0;
  const options = { seed: testSeed(), count: campaign(40, 5) };
  for await (const { world, receivers, failure, where } of playWithKills(scenario, options)) {
    kills++;
    const details = `${where}, seed ${testSeed()}\n${world.trace.text({ zone: "UTC", linesMax: 100 })}`;
    // It compares with no expectation.
    assert.doesNotMatch(failure ?? "", /^at /, details);
    const first = receivers.messages.filter(({ isAgain }) => !isAgain);
    const arrived = first.map(({ channel, items }) => `${channel} ${items.map(({ event }) => event)}`);
    assert.deepEqual(arrived, ["ops rehearsal", "pager problem", "pager recovery"], details);
    assert.equal(new Set(paths(world)).size, 1, details);
  }
  assert.ok(kills >= campaign(20, 4), `${kills} kills`);
});

testMembers(
  "members send each rehearsal once, and any of them accepts its confirmation",
  async (installation) => {
    const { world, hook } = installation;
    const parameters = { channel: "hook", cron: "*/4 * * * *", confirm_within: "2 minutes" };
    installation.writeConfig({
      listen: { address: "127.0.0.1:9797" },
      page: { url: "https://status.example.org/" },
      channels: {
        hook: hook.channel,
        other: { kind: "webhook", parameters: { target: "http://other.example/" } },
      },
      checks: { proven: { kind: "rehearsal", parameters, notifications: ["other"] } },
    });
    const others: string[] = [];
    world.network.add("other.example", {
      respond: ({ body = "" }) => {
        others.push(...JSON.parse(body).notifications.map(({ event }: { event: string }) => event));
        return { status: 200 };
      },
    });
    // Otherwise, members read the records of others just before a rehearsal.
    await world.advance(5_000);
    const members = ["a", "b", "c"].map((name) => installation.start(name));
    await world.until(() => hook.posts.length === 1, "the first rehearsal");
    const linkOf = (index: number): string => hook.posts[index]?.output.split("example.org").at(-1) ?? "";
    // One member runs the check, and each of them knows the link at once.
    for (const name of ["a", "b", "c"]) {
      assert.match(await send(world, "GET", linkOf(0), name), /^200 Rehearsal/);
    }
    assert.match(await send(world, "POST", linkOf(0), "b"), /^200 Confirmed at /);
    for (const name of ["a", "c"]) {
      assert.match(await send(world, "POST", linkOf(0), name), /^200 Confirmed at /);
    }
    await world.until(() => hook.posts.length === 2, "the second rehearsal");
    assert.deepEqual(others, []);
    // Nobody confirms it, and members die.
    members[0]?.signal("SIGKILL");
    await world.until(() => others.length === 1, "the problem");
    members[1]?.signal("SIGKILL");
    await world.until(() => hook.posts.length === 3, "the third rehearsal");
    await world.advance(60_000);
    assert.match(await send(world, "POST", linkOf(2), "c"), /^200 Confirmed at /);
    await world.until(() => others.length === 2, "the recovery");
    await world.advance(60_000);
    if (members[2] !== undefined) await installation.stop(members[2]);
    assert.deepEqual(others, ["problem", "recovery"]);
    assert.deepEqual(hook.posts.map(({ event }) => event), ["rehearsal", "rehearsal", "rehearsal"]);
    assert.ok(installation.isQueueEmpty);
  },
);
