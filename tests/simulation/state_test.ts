/** States that are locked, full, busy, damaged or denied, or whose lock is lost. */
import assert from "node:assert/strict";
import { type Machine, simulate, type World } from "../../testing/simulation/mod.ts";

const START = "2026-03-02 21:55";
const STATE = "/etc/monitor/kept.sqlite";
const KEPT = { state: "kept.sqlite", checks: { web: {} } };

simulate("a full disk loses nothing: results are kept in memory, and written when there is space", {
  start: START,
  config: KEPT,
  results: { web: "22:10 critical, 22:30 ok, 22:50 critical" },
  actions: { "22:00": "disk full", "22:40": "disk free", "23:00": ["kill", "start"] },
  until: "23:10",
  expect: { chat: ["22:10 problem web critical", "22:30 recovery web ok", "22:50 problem web critical"] },
  log: [
    /error: cannot write state ".*": the disk is full; free some space; retrying, monitoring continues/,
    "the state is writable again, nothing was lost",
  ],
  finally: async (world) => {
    const { stdout } = await world.machine().run("history", "web", "--format", "json");
    const { changes } = JSON.parse(stdout) as { readonly changes: readonly { readonly to: string }[] };
    assert.deepEqual(changes.map(({ to }) => to), ["critical", "ok", "critical"]);
  },
});

simulate("a state that can't be written any more doesn't end monitoring", {
  start: START,
  config: KEPT,
  results: { web: "22:10 critical, 22:30 ok" },
  actions: { "22:00": "disk read-only", "22:40": "disk writable", "22:45": "stop" },
  expect: { chat: ["22:10 problem web critical", "22:30 recovery web ok"] },
  log: [/error: cannot write state ".*": read-only/, "the state is writable again, nothing was lost"],
});

simulate("a service that is stopped while its disk is full loses its last results, and says so", {
  start: START,
  config: KEPT,
  actions: {
    "22:00": "disk full",
    "22:10": async (world) => {
      const service = world.machine().service;
      service?.signal("SIGTERM");
      await world.until(() => service?.hasEnded ?? true, "the end");
      assert.equal(service?.code, 74);
    },
  },
  log: ["cannot write the state: the last results are lost"],
});

simulate("a service that is stopped waits a moment until its state can be written", {
  start: START,
  config: KEPT,
  results: { web: "22:10 critical" },
  actions: {
    "22:10:30": "disk full",
    "22:15": async (world) => {
      const { service, files } = world.machine();
      service?.signal("SIGTERM");
      await world.advance(2_000);
      files.isFull = false;
      await world.until(() => service?.hasEnded ?? true, "the end");
      assert.equal(service?.code, 0);
    },
  },
  expect: { chat: ["22:10 problem web critical"] },
  log: ["the state is writable again, nothing was lost"],
});

simulate(
  "a notification that was decided while the disk was full arrives after a kill, by the next results",
  {
    start: START,
    config: KEPT,
    results: { web: "22:10 critical" },
    servers: { chat: "503, 22:25 up" },
    actions: { "22:00": "disk full", "22:20": ["kill", "disk free", "start"] },
    expect: { chat: ["22:20-22:42 problem web critical"] },
  },
);

simulate("another process that writes to the state for seconds is no error, and no check waits", {
  start: START,
  config: KEPT,
  results: { web: "22:00 critical" },
  actions: {
    "22:00": (world) => lock(world),
    "22:00:08": (world) => world.machine().lockedDatabases.clear(),
    "22:20": "stop",
  },
  expect: { chat: ["22:00 problem web critical"] },
  finally: ({ trace, runs }) => {
    assert.equal(runs.get("web"), 25);
    assert.ok(!trace.events.some(({ text }) => text.includes("cannot write")));
  },
});

simulate("another process that writes for minutes is an error, and nothing is lost", {
  start: START,
  config: KEPT,
  results: { web: "22:00 critical" },
  actions: {
    "21:59": (world) => lock(world),
    "22:04": (world) => world.machine().lockedDatabases.clear(),
    "22:10": ["kill", "start"],
  },
  expect: { chat: ["22:00 problem web critical"] },
  log: [
    /error: cannot write state ".*": locked by another process for too long/,
    "the state is writable again",
  ],
});

function lock(world: World): void {
  const { files, lockedDatabases } = world.machine();
  lockedDatabases.add(files.node(STATE));
}

for (const damage of ["header", "tables"] as const) {
  simulate(`a damaged state is quarantined at the start, and monitoring begins again: ${damage}`, {
    start: START,
    config: KEPT,
    results: { web: "22:00 critical" },
    actions: {
      "22:10": ["kill", (world) => void (world.machine().files.node(STATE).damage = damage), "start"],
      "22:20": "status => 2",
    },
    expect: { chat: ["22:00 problem web critical", "22:10 problem web critical"] },
    log: [/it was quarantined as ".*kept\.sqlite\.damaged-20260302T221000Z" and replaced by an empty state$/],
  });
}

simulate("a state that is damaged while a service runs is quarantined, and nothing known is lost", {
  start: START,
  config: { state: "kept.sqlite", checks: { web: {}, slow: { threshold: 30 } } },
  results: { web: "22:00 critical, 23:00 ok", slow: "22:00 critical, 23:00 ok" },
  actions: {
    "22:10": (world) => void (world.machine().files.node(STATE).damage = "tables"),
    "22:50": "status => 2",
  },
  until: "23:31",
  expect: {
    chat: [
      "22:00 problem web critical",
      "22:29-22:30 problem slow critical",
      "23:00 recovery web ok",
      "23:29-23:30 recovery slow ok",
    ],
  },
  log: [
    /it was quarantined as ".*kept\.sqlite\.damaged-.*" and replaced by an empty state$/,
    "the state is writable again",
  ],
});

const HOME = "/home/monitor";

simulate("a default directory that can't be used is a warning, and the state lives in memory", {
  start: START,
  mode: "manual",
  config: { checks: { web: { threshold: 2 } } },
  results: { web: "critical" },
  actions: { "22:00": [(world) => world.machine().files.put(`${HOME}/.local`, ""), "start"] },
  expect: { chat: ["22:01 problem web critical"] },
  log: [/warning: cannot lock ".*\/\.local\/.*; counts are lost when this run ends/],
});

simulate("without any directory for it the state lives in memory", {
  start: START,
  config: { checks: { web: { threshold: 2 } } },
  environment: { HOME: "", XDG_STATE_HOME: "relative" },
  results: { web: "critical" },
  expect: { chat: ["21:55-21:57 problem web critical"] },
  log: ["warning: cannot store the state: none of STATE_DIRECTORY, XDG_STATE_HOME and HOME "],
});

const LOCKED = /^monitor: error: cannot lock ".*\/\.local\/state.*\.sqlite\.lock": /m;
type Unusable = readonly [args: string, message: RegExp, state?: string | undefined, home?: string];

const UNUSABLE: Readonly<Record<string, Unusable>> = {
  "named by --state": [`check --state ${HOME}/.local/state.sqlite`, LOCKED],
  "named by the config": ["check --once", LOCKED, `${HOME}/.local/state.sqlite`],
  "the default one, with --due": ["check --once --due", LOCKED],
  "no directory for it, with --due": [
    "check --once --due",
    /^monitor: error: cannot store the state: none of .*; set --state PATH$/m,
    undefined,
    "",
  ],
};

for (const [name, [args, message, state, home = HOME]] of Object.entries(UNUSABLE)) {
  simulate(`an unusable state is error 74, and nothing runs: ${name}`, {
    start: START,
    mode: "manual",
    environment: { HOME: home },
    config: { ...state !== undefined && { state }, checks: { web: {} } },
    actions: {
      "22:00": async (world) => {
        world.machine().files.put(`${HOME}/.local`, "");
        const { code, stdout, stderr } = await world.machine().run(...args.split(" "));
        assert.deepEqual([code, stdout], [74, ""]);
        assert.match(stderr, message);
      },
    },
    finally: ({ runs }) => assert.equal(runs.size, 0),
  });
}

simulate("a config from stdin has no state, and the error says how to give it one", {
  start: START,
  mode: "manual",
  config: { checks: {} },
  results: { web: "critical" },
  actions: {
    "22:00": async (world) => {
      const stdin = JSON.stringify({
        defaults: {},
        checks: { web: { kind: "script", parameters: { path: "/bin/probe" } } },
      });
      const args = ["check", "--once", "--due", "--config", "-"];
      const { code, stderr } = await world.machine().runWith({ args, stdin });
      assert.equal(code, 74);
      assert.match(stderr, /the config is read from stdin; set --state PATH/);
      assert.equal((await world.machine().runWith({ args: [...args, "--state", STATE], stdin })).code, 2);
    },
  },
});

simulate("with --state none nothing is kept", {
  start: START,
  args: "--state none",
  config: { checks: { web: {} } },
  results: { web: "22:00 critical" },
  actions: { "22:10": ["status --state none => 64", "stop"] },
  expect: { chat: ["22:00 problem web critical"] },
  finally: (world) => {
    assert.ok(!world.machine().files.has(`${HOME}/.local`));
    assert.ok(!world.trace.events.some(({ text }) => text.includes("warning")));
  },
});

const CALLS: readonly (readonly string[])[] = [["check"], ["check", "--once"], ["check", "--once", "--due"]];

for (const holder of CALLS) {
  simulate(`other calls on its state end at once with 75: ${holder.join(" ")}`, {
    start: START,
    mode: "manual",
    config: {
      state: "kept.sqlite",
      checks: { web: { timeout: 120, schedule: { regular_interval: "10 minutes" } } },
    },
    results: { web: "ok slow 100s" },
    actions: {
      "22:00": async (world) => {
        const machine = world.machine();
        const program = machine.start(...holder);
        await world.until(() => world.runs.get("web") === 1, "its check");
        for (const other of CALLS) await assertHeld(machine, other, program.id);
        assert.equal(world.runs.get("web"), 1, "the others ran nothing");
        program.signal("SIGKILL");
        assert.equal((await machine.run("check", "--once")).code, 0, "once the holder was killed");
      },
    },
  });
}

async function assertHeld(machine: Machine, args: readonly string[], holder: number): Promise<void> {
  const { code, stdout, stderr } = await machine.run(...args);
  assert.deepEqual([code, stdout], [75, ""]);
  const [first, hint] = stderr.split("\n");
  const words = `monitor: error: cannot use state "${STATE}": in use by another monitor (process ${holder})`;
  assert.equal(first, words);
  assert.match(hint ?? "", /^monitor: hint: .*--state none$/);
}

const LOST = /^monitor: error: cannot use state ".*kept\.sqlite": its lock file was removed or replaced$/m;

for (const args of [["check"], ["check", "--once"]]) {
  simulate(`it ends with 75 once its lock file is removed, with the checks that run: ${args.join(" ")}`, {
    start: START,
    mode: "manual",
    config: { state: "kept.sqlite", checks: { web: { timeout: 600 } } },
    results: { web: "ok slow 300s" },
    actions: {
      "22:00": async (world) => {
        const machine = world.machine();
        const first = machine.start(...args);
        await world.until(() => world.runs.get("web") === 1, "its check");
        machine.files.delete(`${STATE}.lock`);
        const second = machine.start("check");
        await world.until(() => first.hasEnded, "the end of the first");
        assert.equal(first.code, 75);
        assert.match(first.stderr.text(), LOST);
        await world.until(() => world.runs.get("web") === 2, "the check of the second");
        assert.ok(!second.hasEnded);
      },
    },
  });
}

simulate("it ends with 75 once its lock file is replaced, in the middle of a delivery", {
  start: START,
  config: KEPT,
  results: { web: "22:00 critical" },
  servers: { chat: "hang" },
  actions: {
    "22:00:10": async (world) => {
      const { files, service } = world.machine();
      files.put(`${STATE}.lock`, "");
      await world.until(() => service?.hasEnded ?? true, "its end");
      assert.equal(service?.code, 75);
    },
  },
  until: "22:30",
  expect: { chat: ["22:00 problem web critical"] },
  log: ["its lock file was removed or replaced"],
});

simulate("while the state can't be written, no stored ok is shown as current", {
  start: START,
  config: {
    ...KEPT,
    listen: { address: "127.0.0.1:9797" },
    checks: { web: { schedule: { regular_interval: "1 hour" } } },
  },
  results: { web: "23:00 critical" },
  actions: {
    "22:50": "disk full",
    "00:05": async (world) => {
      const run = async (...args: readonly string[]) => await world.machine().run(...args);
      const { code, stdout } = await run("status");
      assert.equal(code, 3);
      assert.match(
        stdout,
        /UNKNOWN +web +monitor cannot write its state, last written 2 h 9 min ago, was ok[^]*1 check: 1 unknown/,
      );
      const { monitor } = JSON.parse((await run("status", "--format", "json")).stdout);
      assert.equal(monitor.state, "unwritable");
      assert.match(monitor.last_seen_at, /^2026-03-02T21:55/);
      assert.doesNotMatch((await run("summary")).stdout, /(was|were) up/);
      assert.match((await run("report")).stdout, /<h1>Unknown: monitor cannot write its state/);
      assert.match(await pageOf(world), /<h1>The check is not ok[^]*cannot write its state[^]*Free space/);
    },
    "00:06": "disk free",
    "00:10": "status => 2",
    "00:11": async (world) => assert.doesNotMatch(await pageOf(world), /cannot write its state/),
  },
  expect: { chat: ["23:00-00:00 problem web critical"] },
});

/** The live page of all checks. */
async function pageOf(world: World): Promise<string> {
  return (await world.machine().request("/"))?.body ?? assert.fail("no response");
}
