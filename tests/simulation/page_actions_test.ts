/** Actions on the live page have the effect of the commands, and are recorded with who took them. */
import assert from "node:assert/strict";
import { type Scenario, simulate, type World } from "../../testing/simulation/mod.ts";
import { test } from "./installation.ts";
import { TOKEN, Visitor } from "./visitor.ts";

const LISTEN = { address: "127.0.0.1:9797", token: TOKEN, actions: true } as const;
const NIGHT = {
  start: "2026-03-02 21:55",
  config: {
    listen: LISTEN,
    defaults: { annoy: "10 minutes" },
    channels: { chat: {} },
    checks: { "web & <more>": {}, db: {} },
  },
  results: { "web & <more>": "22:00 critical" },
} as const satisfies Scenario;
const WEB = "web & <more>";

async function signedIn(world: World): Promise<Visitor> {
  const visitor = new Visitor(world);
  assert.equal((await visitor.signIn()).status, 303);
  return visitor;
}

async function printed(world: World, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await world.machine().run(...args);
  assert.equal(code < 4, true, stderr);
  return stdout.replaceAll(/\s+/g, " ");
}

simulate("an acknowledgement from the page ends reminders, and everything shows who made it", {
  ...NIGHT,
  actions: {
    "21:58": async (world) => {
      const ada = await signedIn(world);
      assert.equal(
        await ada.act(WEB, "acknowledge"),
        "Nothing was done: there is no problem to acknowledge.",
      );
    },
    "22:05": async (world) => {
      const ada = await signedIn(world);
      const said = await ada.act(WEB, "acknowledge", { note: "on it\r\nSet-Cookie: x=1" });
      assert.equal(said, "Acknowledged: no reminders and no escalation until it is ok.");
      const who = "on it Set-Cookie: x=1, by Ada from 192.0.2.7";
      assert.ok((await printed(world, "status")).includes(`acknowledged: "${WEB}" until it is ok (${who})`));
      assert.ok((await printed(world, "why", WEB)).includes("acknowledged"));
      assert.ok(
        (await printed(world, "history", WEB)).includes(
          "acknowledged by Ada from 192.0.2.7: on it Set-Cookie: x=1",
        ),
      );
      const { body } = await ada.open(`/checks/${encodeURIComponent(WEB)}`);
      assert.match(
        body,
        /<form [^>]*id=acknowledge>.*?Acknowledged until it is ok \(on it.*?End acknowledgement/,
      );
      assert.match(body, /Actions on this page.*acknowledged by Ada from 192\.0\.2\.7: on it/);
      const [silence] = JSON.parse(await printed(world, "status", "--format", "json")).silences;
      assert.equal(silence.by, "Ada from 192.0.2.7");
      const { actions } = JSON.parse(await printed(world, "history", WEB, "--format", "json"));
      assert.deepEqual(actions, [{
        at: actions[0].at,
        action: "acknowledge",
        by: "Ada from 192.0.2.7",
        until: null,
        note: "on it Set-Cookie: x=1",
      }]);
    },
    "22:35": async (world) => {
      const ada = await signedIn(world);
      assert.match(await ada.act("db", "silence 1 hour"), /^Silenced until/);
      assert.match(await ada.act(WEB, "end silence"), /^Nothing was done: it has ended already/);
      assert.match(await printed(world, "status"), /silenced: "db" for/);
      assert.match(await ada.act(WEB, "end acknowledgement"), /^Ended: acknowledgement\./);
      assert.match(await ada.act(WEB, "end acknowledgement"), /^Nothing was done: it has ended already/);
    },
  },
  until: "22:44",
  expect: { chat: [`22:00 problem ${WEB} critical`, `22:35 reminder ${WEB} critical`] },
});

simulate("page and commands read and show times in the zone of the config, not in that of the machine", {
  ...NIGHT,
  config: { ...NIGHT.config, time_zone: "Europe/Zurich" },
  actions: {
    "21:58": async (world) => {
      const ada = await signedIn(world);
      assert.equal(await ada.act("db", "silence 08:00"), "Silenced until 2026-03-03 08:00:00 +01:00.");
      assert.equal(
        await ada.act(WEB, "silence", { for: "23:10" }),
        "Silenced until 2026-03-02 23:10:00 +01:00.",
      );
      const { body } = await ada.open("/");
      assert.match(body, /Time zone: Europe\/Zurich \(UTC\+1\)/);
      assert.match(await printed(world, "report"), /Time zone: Europe\/Zurich \(UTC\+1\)/);
      assert.match(await printed(world, "summary"), /\(Europe\/Zurich\)/);
      assert.match(
        await printed(world, "silence", "db", "--until", "23:20"),
        /until 2026-03-02 23:20:00 \+01:00/,
      );
      assert.match(await printed(world, "silence", "end", "db"), /^ended/);
    },
    "22:15": async (world) => {
      assert.match(await printed(world, "why", WEB), / 23:10:\d\d \+01:00/);
      assert.match(await printed(world, "history", WEB), / 23:0\d:\d\d \+01:00/);
    },
  },
  until: "22:20",
  expect: { chat: [`22:10 problem ${WEB} critical`, `22:20 reminder ${WEB} critical`] },
});

simulate("a silence from the page suppresses messages until its time, or until ok", {
  ...NIGHT,
  results: { [WEB]: "22:00 critical, 22:25 ok, 22:40 critical, 22:55 ok" },
  actions: {
    "21:58": async (world) => {
      const ada = await signedIn(world);
      assert.equal(await ada.act(WEB, "silence 1 hour"), "Silenced until 2026-03-02 22:58:00 UTC.");
      assert.equal(
        await ada.act(WEB, "silence", { for: "until 22:10", note: "deploy" }),
        "Silenced until 2026-03-02 22:10:00 UTC.",
      );
      assert.equal(await ada.act(WEB, "silence ok"), "Nothing was done: there is no problem that could end.");
      assert.match(await ada.act(WEB, "silence", { for: "2 hous" }), /^Nothing was done: .*unknown unit/);
      assert.match(await ada.act(WEB, "silence", { for: "2026-02-30" }), /does not exist/);
      assert.match(await ada.act(WEB, "silence", { for: "2026-01-01" }), /is past/);
      assert.match(await ada.act(WEB, "constructor"), /this is no action/);
      assert.match(
        await printed(world, "status"),
        /silenced: "web & <more>" for 11 min \d+ s more \(deploy, by Ada from 192\.0\.2\.7\)/,
      );
    },
    "22:45": async (world) => {
      assert.equal(await (await signedIn(world)).act(WEB, "silence ok"), "Silenced until it is ok.");
    },
  },
  until: "23:10",
  expect: {
    chat: [
      `22:10 problem ${WEB} critical`,
      `22:20 reminder ${WEB} critical`,
      `22:25 recovery ${WEB} ok`,
      `22:40 problem ${WEB} critical`,
      `22:55 recovery ${WEB} ok`,
    ],
  },
});

simulate("maintenance from the page suppresses messages, and can be ended there", {
  ...NIGHT,
  actions: {
    "21:58": async (world) => {
      const ada = await signedIn(world);
      assert.equal(
        await ada.act(WEB, "maintenance ok"),
        "Nothing was done: maintenance needs a time or a duration.",
      );
      assert.match(await ada.act(WEB, "maintenance 4 hours", { note: "new disk" }), /^In maintenance until/);
      assert.match(await printed(world, "maintenance", "list"), /new disk, by Ada from 192\.0\.2\.7/);
      assert.match(await printed(world, "status"), /\[maintenance for .* more: new disk, by Ada/);
    },
    "22:20": async (world) => {
      assert.match(
        await printed(world, "why", WEB),
        /maintenance window \(new disk, by Ada from 192\.0\.2\.7\)/,
      );
      assert.match(await (await signedIn(world)).act(WEB, "end maintenance"), /^Ended: maintenance/);
    },
  },
  until: "22:25",
  expect: { chat: [`22:20 problem ${WEB} critical`] },
});

simulate("an action that cannot be recorded is not taken, and can be repeated", {
  ...NIGHT,
  results: {},
  actions: {
    "22:00": "disk full",
    "22:01": async (world) => {
      const ada = await signedIn(world);
      assert.equal(
        await ada.act("db", "silence 1 hour"),
        "Nothing was done: the state cannot be written now.",
      );
    },
    "22:02": "disk free",
    "22:03": async (world) => {
      assert.match(await (await signedIn(world)).act("db", "silence 1 hour"), /^Silenced until/);
    },
  },
  log: [/the disk is full|cannot write/],
});

simulate("a check runs at once from the page", {
  ...NIGHT,
  config: { ...NIGHT.config, checks: { db: { schedule: { regular_interval: "1 hour" } } } },
  results: {},
  actions: {
    "22:30": async (world) => {
      const before = world.runs.get("db") ?? 0;
      assert.equal(
        await (await signedIn(world)).act("db", "run"),
        "The check runs now. Its result appears here.",
      );
      await world.advance(1_000);
      assert.equal(world.runs.get("db"), before + 1);
      assert.match(await printed(world, "history", "db"), /run requested by Ada from 192\.0\.2\.7/);
    },
  },
  until: "22:35",
});

test("the page of one member acts on the checks of all", async (installation) => {
  const { world, names, runs, statuses, hook } = installation;
  installation.writeConfig({
    defaults: { threshold: 1, schedule: { regular_interval: "1 hour" } },
    listen: LISTEN,
  });
  const members = [installation.start("a"), installation.start("b")];
  await world.advance(60_000);
  const ada = new Visitor(world, { machine: "a" });
  assert.equal((await ada.signIn()).status, 303);
  const quiet = new Set(names.slice(0, 2));
  for (const name of quiet) assert.match(await ada.act(name, "silence 1 hour"), /^Silenced until/);
  const before = new Map(runs);
  for (const name of names) {
    statuses.set(name, 500);
    assert.equal(await ada.act(name, "run"), "The check runs now. Its result appears here.");
  }
  await world.advance(60_000);
  assert.deepEqual(names.filter((name) => (runs.get(name) ?? 0) <= (before.get(name) ?? 0)), []);
  const problems = names.filter((name) => !quiet.has(name)).map((name) => `${name} problem`);
  assert.deepEqual(hook.events().toSorted(), problems.toSorted());
  const { stdout } = await installation.run("history", names[0] ?? "");
  assert.match(stdout, /silenced until .* by Ada from\s+192\.0\.2\.7/s);
  for (const member of members) await installation.stop(member);
});

// The script of the live page asks for the rows that changed since the version that it shows.

const CHECKS = 300;
/** Those with details, in which times pass. */
const DETAILED = 100;

let version = "";
/** A check without details. */
let calm = "";

/** Returns the names of the rows with content and of those without. */
async function rowsOf(world: World, query = `?since=${version}`) {
  const response = await world.machine().request(`/${query}`);
  assert.equal(response?.status, 200);
  [, version = ""] = /<header [^>]*data-version="([^"]*)"/.exec(response.body) ?? [];
  const rows = [...response.body.matchAll(/<li (class=. )?id="check-([^"]*)"/g)];
  assert.equal(rows.length, CHECKS);
  const [whole = [], empty = []] = [true, false].map((isWhole) =>
    rows.filter(([, begin]) => (begin !== undefined) === isWhole).map(([, , name = ""]) => name)
  );
  return { whole, empty };
}

simulate("the live page sends only the rows that changed since a version", {
  start: "2026-03-02 10:00",
  config: {
    listen: { address: "127.0.0.1:9797" },
    defaults: { schedule: { regular_interval: "2 hours" } },
    checks: Object.fromEntries(Array.from({ length: CHECKS }, (_, index) => [`c${index}`, {}])),
  },
  actions: {
    "10:10": async (world) => {
      assert.deepEqual((await rowsOf(world, "")).empty, []);
      assert.match(version, /^[\w-]+-1$/);
    },
    "10:11": async (world) => {
      const { whole, empty } = await rowsOf(world);
      assert.equal(whole.length, DETAILED);
      calm = empty[0] ?? "";
    },
    "10:12": async (world) => {
      const before = version;
      await world.machine().run("run", calm);
      await world.advance(5_000);
      assert.ok((await rowsOf(world)).whole.includes(calm), "it ran");
      await world.advance(1_000);
      assert.ok(!(await rowsOf(world)).whole.includes(calm), "the client has it");
      assert.ok((await rowsOf(world, `?since=${before}`)).whole.includes(calm), "another one has not");
    },
    "10:14": async (world) => {
      for (const query of ["?since=", "?since=other-1", `?since=${version.replace(/\d+$/, "99")}`]) {
        assert.deepEqual((await rowsOf(world, query)).empty, [], query);
      }
      const query = `?since=${version}&tag=x`;
      assert.deepEqual((await rowsOf(world, query)).empty, [], "a filtered page");
    },
  },
  until: "10:15",
});
