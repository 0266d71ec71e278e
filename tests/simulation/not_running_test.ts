/** What commands print about a service that was stopped, was killed or hangs. */
import assert from "node:assert/strict";
import { simulate, type World } from "../../testing/simulation/mod.ts";

const START = "2026-03-02 21:55";
const KEPT = {
  state: "kept.sqlite",
  report: { path: "page.html" },
  metrics: { path: "monitor.prom" },
  checks: { web: {}, db: {}, nightly: { schedule: { cron: "0 3 * * *" } } },
};

/** The exit code of `monitor status`, the state of the monitor, and the condition of each check. */
async function statusOf(world: World): Promise<string> {
  const { code, stdout } = await world.machine().run("status", "--format", "json");
  const { checks, monitor } = JSON.parse(stdout) as {
    readonly checks: readonly { readonly condition: string }[];
    readonly monitor: { readonly state: string };
  };
  return `${code} ${monitor.state}: ${checks.map(({ condition }) => condition).join(" ")}`;
}

async function jsonOf(world: World, command: string) {
  return JSON.parse(await textOf(world, ...command.split(" "), "--format", "json"));
}

async function textOf(world: World, ...args: readonly string[]): Promise<string> {
  return (await world.machine().run(...args)).stdout;
}

const WAYS = {
  stop: { state: "stopped", words: "monitor stopped 30 s ago" },
  kill: { state: "died", words: /^monitor terminated unexpectedly, last seen .* ago$/ },
  pause: { state: "hangs", words: /^monitor hangs, last seen .* ago$/ },
};

for (const [way, { state, words }] of Object.entries(WAYS)) {
  simulate(`no check is ok after the service got the command ${way}`, {
    start: START,
    config: KEPT,
    results: { db: "22:00 critical" },
    actions: { "22:30": way },
    until: "22:30:30",
    expect: { chat: ["22:00 problem db critical"] },
    finally: async (world) => {
      assert.equal(await statusOf(world), `3 ${state}: unknown unknown unknown`);
      const { checks, monitor } = await jsonOf(world, "status");
      assert.deepEqual(checks.map((check: Named) => check.state), [
        "not_running",
        "not_running",
        "never_ran",
      ]);
      assert.equal(monitor.last_seen_at === null, state === "stopped");
      const text = await textOf(world, "status");
      const [, last = ""] = /; (.*)\n$/.exec(text) ?? [];
      if (typeof words === "string") assert.equal(last, words);
      else assert.match(last, words);
      assert.match(text, new RegExp(`UNKNOWN +web +${last.replace(/\d.*\d/, ".*")}, was ok`));
      assert.match(text, /\n3 checks: 3 unknown; /);
    },
  });
}

function fileOf(world: World, name: string): string {
  return new TextDecoder().decode(world.machine().files.read(`/etc/monitor/${name}`));
}

const PAGE = (path: string) => ({ config: { report: { path, interval: "1 hour" }, checks: { web: {} } } });

simulate("the page is renewed after a change, a reload and a call by cron, not by a call by hand", {
  start: START,
  ...PAGE("page.html"),
  results: { web: "22:10 critical (boom)" },
  actions: {
    "22:05": (world) => assert.match(fileOf(world, "page.html"), /The check is ok/),
    "22:11": [(world) => assert.match(fileOf(world, "page.html"), /boom/), PAGE("other.html"), "reload"],
    "22:12": [(world) => assert.match(fileOf(world, "other.html"), /boom/), "stop"],
    "22:13": [(world) => world.machine().files.delete("/etc/monitor/other.html"), "check --once => 2"],
    "22:14": (world) => assert.ok(!world.machine().files.has("/etc/monitor/other.html")),
    "22:15": ["check --once --due => 2", (world) => assert.match(fileOf(world, "other.html"), /boom/)],
  },
  expect: { chat: ["22:10 problem web critical"] },
});

simulate(
  "a stopped service leaves a page and metrics in which no check is ok, a killed one that it was to be valid",
  {
    start: START,
    config: KEPT,
    actions: {
      "22:29": async (world) => {
        assert.match(fileOf(world, "monitor.prom"), /^monitor_running 1$/m);
        assert.match(await textOf(world, "status"), /; monitor running for 3[34] min.*\n$/);
        assert.equal(await textOf(world, "report", "-o", "own.html", "web"), "");
        assert.match(fileOf(world, "own.html"), /^<!doctype html>[^]*<h3>web<\/h3>/);
        assert.doesNotMatch(fileOf(world, "own.html"), /<h3>db<\/h3>/);
        const { code, stderr } = await world.machine().run("report", "-o", "none/own.html");
        assert.equal(code, 74);
        assert.match(
          stderr,
          /cannot write "\/etc\/monitor\/none\/own\.html": its directory does not exist\n$/,
        );
        assert.equal((await world.machine().run("report", "--state", "none")).code, 64);
      },
      "22:30": "stop",
      "22:31": async (world) => {
        const stopped =
          /monitor is not running: it was stopped at <time[^]*No check runs until you start it\./;
        assert.match(fileOf(world, "page.html"), stopped);
        assert.match(await textOf(world, "report"), stopped);
        assert.match(fileOf(world, "page.html"), />3 unknown<\/a>/);
        const metrics = fileOf(world, "monitor.prom");
        assert.match(metrics, /^monitor_check_status\{check="web",condition="unknown"\} 1$/m);
        assert.match(metrics, /^monitor_running 0$/m);
      },
      "22:32": "start",
      "22:35": "kill",
      "22:36": async (world) => {
        assert.match(fileOf(world, "page.html"), /valid until <time[^]*After that, monitor is not running/);
        const died = /monitor is not running: it terminated unexpectedly and was last seen at /;
        assert.match(await textOf(world, "report"), died);
      },
      "22:37": [
        "check --once --due => 3",
        (world) =>
          assert.doesNotMatch(fileOf(world, "monitor.prom"), /monitor_running/, "cron is no service"),
      ],
    },
    until: "22:38",
  },
);

for (const [way, state] of [["stop", "stopped"], ["kill", "died"]] as const) {
  const words = way === "stop" ? "monitor stopped" : "monitor terminated unexpectedly, last seen";
  simulate(`calls by hand do not hide that nothing runs the checks after the ${way}`, {
    start: START,
    config: KEPT,
    actions: {
      "22:30": [way, "check --once web", async (world) => {
        assert.equal(await statusOf(world), `3 ${state}: ok unknown unknown`);
        const metrics = fileOf(world, "monitor.prom");
        assert.match(metrics, /monitor_check_status\{check="web",condition="ok"\} 1/);
        assert.match(metrics, /monitor_check_status\{check="db",condition="unknown"\} 1/);
      }],
      "22:30:30": "check --once",
    },
    until: "22:31",
    finally: async (world) => {
      assert.equal(await statusOf(world), `3 ${state}: ok ok ok`);
      assert.match(await textOf(world, "status"), new RegExp(`3 checks: 3 ok; ${words} .* ago\\n$`));
      assert.match(
        await textOf(world, "status", "web", "--format", "plugin"),
        new RegExp(`^MONITOR UNKNOWN - ${words} .* ago; 1 check ok \\|`),
      );
      assert.match(await textOf(world, "summary"), new RegExp(`^${words} .* ago$`, "m"));
      assert.equal((await world.machine().run("check", "--once", "--due")).code, 0);
      assert.equal(await statusOf(world), "0 cron: ok ok ok");
    },
  });
}

simulate("status of a frozen service responds before NRPE gives up, and names the process to restart", {
  start: START,
  config: KEPT,
  actions: { "22:30": "pause" },
  until: "22:30:10",
  finally: async (world) => {
    const beginMs = world.nowMs;
    const plugin = await textOf(world, "status", "--format", "plugin");
    assert.ok(world.nowMs - beginMs < 5_000);
    const line = String.raw`monitor: process \d+ does not respond; restart it`;
    assert.match(plugin, new RegExp(`^MONITOR UNKNOWN - monitor hangs, last seen .* ago; ${line}; 3 of 3`));
    assert.match(await textOf(world, "status"), new RegExp(`^${line}$`, "m"));
  },
});

simulate("calls by cron keep checks ok until they are overdue", {
  start: START,
  config: KEPT,
  actions: { "22:30": "kill", "22:31": "check --once --due => 3" },
  until: "22:32",
  finally: async (world) => assert.equal(await statusOf(world), "3 cron: ok ok pending"),
});

const ADDED = { ...KEPT, checks: { web: {}, shop: {} } };
/** `web` is of another kind. */
const EDITED = {
  ...KEPT,
  checks: { web: { kind: "file_timestamp", parameters: { path: "/etc/passwd", warning_age: "1 day" } } },
};

simulate("history and summary print that the service was stopped, in the words of status", {
  start: START,
  config: KEPT,
  actions: { "22:30": "stop" },
  until: "22:32",
  finally: async (world) => {
    assert.match(
      await textOf(world, "history", "web"),
      /^web\nunknown: monitor stopped 2 min ago, was ok\n\n/,
    );
    const history = await jsonOf(world, "history web");
    assert.deepEqual(
      [history.condition, history.state, history.in_config, history.monitor.state],
      ["unknown", "not_running", true, "stopped"],
    );
    const text = await textOf(world, "summary", "--period", "1h");
    assert.match(text, /^All 2 checks with data were up.*; 2 are unknown now; 1 check has no data\.\n/);
    assert.match(
      text,
      /\nHost: .*\nmonitor stopped 2 min ago\n\n[^]*\n\nChecks without data\n- nightly: never ran\n$/,
    );
    const summary = await jsonOf(world, "summary --period 1h");
    assert.deepEqual(
      [summary.checks_unknown, summary.monitor.state, summary.notes],
      [2, "stopped", ["monitor stopped 2 min ago"]],
    );
  },
});

simulate("history and summary print that a check was edited, or left the config", {
  start: START,
  config: ADDED,
  actions: { "22:30": ["stop", { config: EDITED }] },
  until: "22:32",
  finally: async (world) => {
    assert.match(
      await textOf(world, "history", "web"),
      /^web\nunknown: not run since it was edited, was ok\nmonitor stopped 2 min ago\n\n/,
    );
    assert.match(
      await textOf(world, "history", "shop"),
      /^shop\nunknown: monitor stopped 2 min ago, was ok\nnot in the config\n\n/,
    );
    assert.equal((await jsonOf(world, "history shop")).in_config, false);
    assert.equal((await jsonOf(world, "history web")).state, "edited");
    const text = await textOf(world, "summary", "--period", "1h");
    assert.match(text, /\nUnknown now\n- web: not run since it was edited, was ok\n/);
    assert.match(text, /\nNot in the config\n- shop: not run since 2026-03-02 22:\d\d\n$/);
    const summary = await jsonOf(world, "summary");
    assert.deepEqual(summary.unknown.items.map(({ name, state }: Named) => `${name} ${state}`), [
      "web edited",
    ]);
    assert.deepEqual(summary.not_in_config.items.map(({ name }: Named) => name), ["shop"]);
  },
});

interface Named {
  readonly name: string;
  readonly state: string;
}

simulate("history and summary print that the service uses another config", {
  start: START,
  config: KEPT,
  actions: { "22:30": { config: KEPT } },
  until: "22:32",
  finally: async (world) => {
    const machine = world.machine();
    machine.files.put("/etc/monitor/other.json", machine.files.read(CONFIG_PATH));
    for (const words of [["history", "web"], ["summary"], ["status"]]) {
      const text = await textOf(world, ...words, "-c", "/etc/monitor/other.json");
      assert.match(text, /^config: monitor uses another one, "\/etc\/monitor\/monitor\.jsonc"$/m);
    }
  },
});

const CONFIG_PATH = "/etc/monitor/monitor.jsonc";

const RARE = {
  ...KEPT,
  defaults: { schedule: { regular_interval: "2 hours" } },
  checks: { web: {}, db: {}, often: { schedule: { regular_interval: "1 minute" } } },
};

for (const [way, actions] of [["stop", {}], ["kill", { "05:00": "start" }]] as const) {
  simulate(`no time is observed after the ${way} while nothing runs`, {
    start: "2026-03-02 00:00",
    config: RARE,
    results: { db: "00:00 critical" },
    actions: { "00:30": way, ...actions },
    until: "05:15",
    expect: { chat: "any" },
    finally: async (world) => {
      const endMs = Date.UTC(2026, 2, 2, 0, 30);
      const nowMs = Date.UTC(2026, 2, 2, 5, 15);
      for (const name of ["web", "db"]) {
        const { spans, recent_runs } = await jsonOf(world, `history ${name}`);
        const [first, second] = recent_runs.map(({ ended_at }: { ended_at: string }) => Date.parse(ended_at))
          .sort();
        const expectedMs = endMs - first + (second === undefined ? 0 : nowMs - second);
        const lostMs = expectedMs - spans.day.observed_ms;
        // A service that was killed was last seen at its last run, within a minute before.
        assert.ok(Math.abs(lostMs) < (way === "kill" ? 62_000 : 2000), `${name}: ${lostMs} ms`);
        if (name === "web" || second !== undefined) continue;
        const { outages: { items: [outage] }, down_ms: downMs } = await jsonOf(world, "summary --period 1d");
        assert.equal(outage.name, name);
        assert.ok(Math.abs(downMs - outage.duration_ms) < 2000, `${downMs} ${outage.duration_ms}`);
      }
    },
  });
}

simulate("an outage whose last run is in the future is not called down", {
  start: START,
  config: { ...KEPT, checks: { web: {} } },
  results: { web: "22:00 critical" },
  actions: { "22:30": "clock +2d", "22:31": "stop", "22:32": "clock -2d" },
  until: "22:33",
  expect: { chat: ["22:00 problem web critical"] },
  finally: async (world) => {
    const { checks_still_down, checks_unknown, outages } = await jsonOf(world, "summary");
    assert.deepEqual([checks_still_down, checks_unknown], [0, 1]);
    assert.equal(outages.items[0].end, "unobserved");
  },
});

simulate(
  "a frozen service that no command can reach runs no check, once one is overdue and none has run since",
  {
    start: START,
    config: RARE,
    actions: {
      "22:30": ["pause", (world) => world.machine().controlSockets.clear()],
      "22:31": async (world) => assert.equal(await statusOf(world), "0 running: ok ok ok"),
      "22:35": async (world) => {
        assert.equal(await statusOf(world), "3 hangs: unknown unknown unknown");
        assert.match(await textOf(world, "status"), /; monitor hangs, last seen [45] min .*ago\n$/);
      },
    },
    until: "22:36",
  },
);

simulate("a service that no command can reach runs, however late one of its checks is", {
  start: START,
  config: { ...KEPT, checks: { web: {}, slow: {}, db: {} } },
  results: { slow: "22:20 hang" },
  args: "--concurrency 1",
  actions: { "22:30": (world) => world.machine().controlSockets.clear() },
  until: "22:40",
  expect: { chat: "any" },
  finally: async (world) => assert.match(await statusOf(world), /^\d running: /),
});

for (const [way, actions] of Object.entries({ kill: ["kill"], suspend: ["suspend 8h"] })) {
  simulate(`no condition lasts while nothing runs: ${way}`, {
    start: START,
    config: KEPT,
    results: { db: "22:00 critical" },
    actions: { "22:30": actions, ...way === "kill" && { "Tue 06:30": "start" } },
    until: "Tue 06:40",
    expect: { chat: "any" },
    finally: async (world) => {
      const text = await textOf(world, "status");
      for (const name of ["web", "db"]) assert.match(text, new RegExp(`^[A-Z]+ +${name} +(8|9|10) min`, "m"));
    },
  });
}

const HOURLY = { schedule: { regular_interval: "1 hour" } };
const GROUPED = {
  state: "kept.sqlite",
  checks: { a: HOURLY, b: HOURLY, all: { kind: "group", parameters: { checks: ["a"] }, ...HOURLY } },
};

for (
  const [name, action] of Object.entries({
    "a service of other checks": "start b",
    "a call by cron for other checks": "check --once --due b",
    "a call by cron with another config": "check --once --due -c /etc/monitor/other.jsonc",
  })
) {
  simulate(`${name} does not make the checks of a dead service ok`, {
    start: START,
    config: GROUPED,
    actions: {
      "21:56": (world) =>
        void world.machine().files.put(
          "/etc/monitor/other.jsonc",
          JSON.stringify({
            state: "kept.sqlite",
            defaults: {},
            checks: { z: { kind: "test", parameters: { condition: "ok" } } },
          }),
        ),
      "22:00": "kill",
      "22:01": action,
      "22:05": async (world) => {
        assert.match(await statusOf(world), /: unknown \w+ unknown$/);
        const { stdout } = await world.machine().run("summary");
        assert.doesNotMatch(stdout, /[Aa]ll \d checks were up/);
      },
    },
    until: "22:06",
    expect: {},
  });
}

async function observedMs(world: World, name: string): Promise<number> {
  return (await jsonOf(world, `history ${name}`)).spans.day.observed_ms;
}

simulate("the time in which a check was not in the config is not observed", {
  start: START,
  config: GROUPED,
  actions: {
    "22:05": [{ config: { ...GROUPED, checks: { b: HOURLY } } }, "reload"],
    "22:40": [{ config: GROUPED }, "reload"],
    "22:45": async (world) => {
      assert.ok(await observedMs(world, "a") <= 11 * 60_000);
      assert.match(await statusOf(world), /: ok /, "it ran at once");
    },
  },
  until: "22:46",
});

simulate("a group of a check that left the config by a reload runs at once", {
  start: START,
  config: GROUPED,
  actions: {
    "22:30": [
      { config: { ...GROUPED, checks: { ...GROUPED.checks, a: { ...HOURLY, active: false } } } },
      "reload",
    ],
    "22:30:02": async (world) => assert.match(await textOf(world, "status", "all"), /^UNKNOWN +all/m),
    "22:30:30": async (world) =>
      assert.match(await textOf(world, "status", "all"), /^UNKNOWN +all .*none of its checks is active/m),
  },
  until: "22:31",
  expect: { chat: "any" },
});

simulate("a frozen service without a control socket runs no check, after three minutes", {
  start: START,
  config: GROUPED,
  environment: { XDG_RUNTIME_DIR: "" },
  log: ["no control socket"],
  actions: {
    "22:30": "pause",
    "22:31": async (world) => assert.match(await statusOf(world), / running: /),
    "22:34": async (world) => assert.equal(await statusOf(world), "3 hangs: unknown unknown unknown"),
    "22:35": "continue",
    "22:37": async (world) => assert.match(await statusOf(world), / running: /),
  },
  until: "22:38",
});

const callDue = async (world: World): Promise<void> =>
  void await world.machine().run("check", "--once", "--due");

simulate("a check at times of cron that came back runs at once", {
  start: START,
  config: KEPT,
  mode: "manual",
  results: { nightly: "ok, Tue 03:01 critical" },
  actions: {
    "Tue 03:00": callDue,
    "Tue 03:01": [{ config: { ...KEPT, checks: { web: {} } } }, callDue],
    "Tue 03:02": [{ config: KEPT }, callDue],
    "Tue 03:03": async (world) => {
      const { stdout } = await world.machine().run("status", "nightly");
      assert.match(stdout, /^(?:PENDING|CRITICAL) +nightly/m);
    },
  },
  until: "Tue 03:04",
  expect: { chat: "any" },
});

for (const action of ["check --once --due all", "start all", "check --once all"]) {
  simulate(`a group alone is not ok by the last run of a dead service: ${action}`, {
    start: START,
    config: { ...GROUPED, defaults: { threshold: 1 } },
    actions: {
      "22:00": "kill",
      "22:05": async (world) => {
        if (action.startsWith("start")) world.machine().start("check", "--format", "ndjson", "all");
        else {
          const { stdout } = await world.machine().run(...action.split(" "));
          assert.doesNotMatch(stdout, /OK +all/);
        }
      },
      "22:06": async (world) => assert.doesNotMatch(await statusOf(world), / ok$/),
    },
    until: "22:07",
    expect: { chat: "any" },
  });
}

simulate("no time between several stops is observed, also once cron has taken over", {
  start: START,
  config: GROUPED,
  actions: {
    "22:00": "stop",
    "22:20": "start",
    "22:21": "stop",
    "22:40": "start",
    "22:41": async (world) => assert.ok(await observedMs(world, "a") <= 6 * 60_000),
    "22:42": "stop",
    "22:43": "check --once --due",
    "23:10": "check --once --due",
    "23:11": async (world) => assert.ok(await observedMs(world, "a") <= 7 * 60_000),
  },
  until: "23:12",
  expect: {},
});

simulate("the time of a suspend is not observed, before the next run either", {
  start: START,
  config: GROUPED,
  actions: {
    "22:05": "suspend 40min",
    "22:46": async (world) => assert.ok(await observedMs(world, "a") <= 11 * 60_000),
    "Tue 00:46": async (world) => {
      const lost = 171 * 60_000 - await observedMs(world, "a");
      assert.ok(lost >= 40 * 60_000 && lost <= 100 * 60_000, `${lost} ms`);
    },
  },
  until: "Tue 00:47",
});

simulate("a service on a terminal names the checks that ran so recently that they wait", {
  start: "2026-03-02 21:55",
  config: { defaults: { schedule: { regular_interval: "5 minutes" } }, checks: { web: {}, db: {} } },
  // At the start, the other one is overdue.
  actions: {
    "22:01": "stop",
    "22:02": async (world) => {
      const service = world.machine().startWith({ args: ["check"], typed: [] });
      service.stdout.isKept = true;
      await world.until(() => /see: monitor status\n/.test(service.stdout.text()), "the line");
      assert.match(service.stdout.text(), /\n1 check ran recently, next run in 3 min \d+ s; see/);
      service.signal("SIGTERM");
    },
  },
  until: "22:04",
  expect: {},
});
