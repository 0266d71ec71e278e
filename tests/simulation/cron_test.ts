/** `monitor check --once --due`, called by cron each minute, and summaries. */
import assert from "node:assert/strict";
import { campaign, testRandom } from "../../testing/seed.ts";
import { type Machine, playAndAssert, simulate, type World } from "../../testing/simulation/mod.ts";

const START = "2026-03-02 21:55";

simulate("calls by cron count, notify, and do nothing if nothing is due", {
  start: START,
  mode: "cron",
  config: {
    checks: { web: { threshold: 3, recovery_threshold: 2, schedule: { regular_interval: "5 minutes" } } },
  },
  results: { web: "22:01 critical, 22:20 ok" },
  until: "22:35",
  expect: { chat: ["22:15-22:17 problem web critical", "22:25-22:31 recovery web ok"] },
  finally: ({ runs }) => assert.equal(runs.get("web"), 8),
});

simulate("calls run a check with a cron expression once for each time, and not before the first", {
  start: "2026-03-29 01:40",
  zone: "Europe/Zurich",
  mode: "cron",
  config: {
    state: "kept.sqlite",
    checks: {
      each: { schedule: { cron: "* * * * *" } },
      quarterly: { schedule: { cron: "*/15 * * * *" } },
      nightly: { schedule: { cron: "30 2 * * *" } },
    },
  },
  actions: {
    "01:44:30": (world) => assert.equal(world.runs.get("quarterly"), undefined),
    "01:59:30": (world) => {
      assert.deepEqual([world.runs.get("each"), world.runs.get("quarterly")], [19, 1]);
      assert.equal(world.runs.get("nightly"), undefined);
    },
    // The hour from 02:00 on is skipped that night.
    "03:00:30": (world) => {
      assert.deepEqual([world.runs.get("each"), world.runs.get("quarterly")], [20, 2]);
      assert.equal(world.runs.get("nightly"), 1);
    },
  },
});

simulate(
  "calls that are further apart than the times of a check run it once each, and count skipped runs",
  {
    start: START,
    mode: "manual",
    config: { metrics: { path: "monitor.prom" }, checks: { web: { schedule: { cron: "0 * * * *" } } } },
    actions: {
      "22:40": "check --once --due => 3",
      "Tue 03:40": "check --once --due",
      "Tue 08:40": [
        "check --once --due",
        ({ runs }) => assert.equal(runs.get("web"), 2),
        (world) =>
          assert.match(
            world.machine().files.textOf(METRICS),
            /^monitor_check_missed_runs_total\{check="web"\} 8$/m,
          ),
      ],
    },
  },
);

Deno.test("calls by cron notify like a service, whatever the results", async () => {
  const random = testRandom("cron");
  for (let round = 0; round < campaign(4, 1); round++) {
    const names = ["a", "b", "c"];
    const checks = names.map((name) => [name, {
      threshold: random.pick([1, 2, 3]),
      recovery_threshold: random.pick([1, 2, 3]),
      annoy: random.oneIn(3),
      schedule: { regular_interval: random.pick([60, 120]), attentive_interval: random.pick([60, 120]) },
    }]);
    const results = names.map((name) => {
      // Longer than any threshold takes.
      const conditions = [0, 10, 20, 30].map((minute) => `22:${minute + 1} ${random.pick(CONDITIONS)}`);
      return [name, conditions.join(", ").replace("22:1 ", "22:01 ")];
    });
    const [service, cron] = await Promise.all((["service", "cron"] as const).map(async (mode) => {
      const scenario = { start: START, mode, until: "22:42", expect: { chat: "any" } } as const;
      const config = { checks: Object.fromEntries(checks) };
      const { receivers } = await playAndAssert("calls by cron", {
        ...scenario,
        config,
        results: Object.fromEntries(results),
      });
      return new Set(
        receivers.messages.flatMap(({ items }) =>
          items.map(({ check, event, condition }) => `${check} ${event} ${condition}`)
        ),
      );
    }));
    assert.deepEqual(cron, service, JSON.stringify([checks, results]));
  }
});

const CONDITIONS = ["ok", "ok", "unknown", "warning", "critical"] as const;

const CALL = ["check", "--once", "--due"] as const;

simulate("a call by cron prints only notifications, and exits by what it has seen", {
  start: START,
  mode: "manual",
  config: {
    channels: { lines: { kind: "console" } },
    checks: { web: { threshold: 3, recovery_threshold: 2 } },
  },
  results: { web: "critical, 22:04 ok" },
  actions: {
    "22:00": async (world) => {
      const said: (readonly [number, string])[] = [];
      for (let minute = 0; minute < 6; minute++) {
        const { code, stdout, stderr } = await world.machine().run(...CALL);
        assert.equal(stderr, "");
        said.push([
          code,
          stdout.replaceAll(/\d{4}-\S+ \S+ UTC/g, "[TIME]").replace(/5 min(?: 1 s)?:/, "5 min:"),
        ]);
        // Too early for the next run: it exits by what is stored, pending at first.
        const stored = minute < 2 ? 3 : minute < 5 ? 2 : 0;
        assert.deepEqual(await world.machine().run(...CALL), { code: stored, stdout: "", stderr: "" });
        await world.advance(60_000);
      }
      assert.deepEqual(said, [
        [2, ""],
        [2, ""],
        [
          2,
          "[TIME] web is critical: it is critical (CRITICAL for 2 min, was pending, 3 results in a row since [TIME]; target: /bin/probe)\n",
        ],
        [2, ""],
        [0, ""],
        [0, "[TIME] web is ok again after 5 min: it is ok (OK, was critical since [TIME])\n"],
      ]);
    },
  },
  finally: ({ runs }) => assert.equal(runs.get("web"), 6),
});

simulate("calls by cron exit by all checks, whichever are due", {
  start: START,
  mode: "manual",
  config: {
    checks: {
      web: { tags: ["a"], schedule: { regular_interval: "10 minutes", attentive_interval: "10 minutes" } },
      db: { schedule: { regular_interval: "1 minute" } },
    },
  },
  results: { web: "22:00 critical", db: "22:04 warning" },
  actions: {
    "22:00": "check --once --due => 2",
    "22:00:10": "check --once --due => 2",
    "22:02": ["check --once --due => 2", "check --once --due db => 0", "check --once --due --tag a => 2"],
    "22:04": ["check --once --due db --fail-on critical => 0", "check --once --due => 2"],
  },
  expect: { chat: ["22:00 problem web critical", "22:04 problem db warning"] },
});

const HOURLY = { schedule: { regular_interval: "1 hour" } };
const OTHER = "/etc/monitor/other.jsonc";
const callBoth = ["check --once --due", `check --once --due -c ${OTHER}`];

simulate("calls with two configs on one state keep each other's checks, and run them at their intervals", {
  start: START,
  mode: "manual",
  config: {
    state: "kept.sqlite",
    checks: { web: HOURLY, all: { kind: "group", parameters: { checks: ["web"] }, ...HOURLY } },
  },
  actions: {
    "22:00": [
      (world) => {
        const { files } = world.machine();
        files.put(
          OTHER,
          files.textOf("/etc/monitor/monitor.jsonc").replaceAll('"web"', '"api"').replace('"all"', '"apis"'),
        );
      },
      ...callBoth,
    ],
    ...Object.fromEntries(Array.from({ length: 9 }, (_, minute) => [`22:0${minute + 1}`, callBoth])),
    "22:10": ["status => 0", `status -c ${OTHER} => 0`],
    // The other config left the crontab.
    ...Object.fromEntries(
      ["23:00", "Tue 00:00", "Tue 01:00", "Tue 02:00"].map((time) => [time, callBoth.slice(0, 1)]),
    ),
    "Tue 02:10": ["status => 0", `status -c ${OTHER} => 3`],
  },
  until: "Tue 02:11",
  expect: { chat: [] },
  finally: ({ runs }) => assert.deepEqual([runs.get("web"), runs.get("api")], [4, 1]),
});

simulate("a service goes on where calls by cron left off, and they where it did", {
  start: START,
  mode: "manual",
  config: { checks: { web: { threshold: 3, recovery_threshold: 1 } } },
  results: { web: "critical, 22:05 ok" },
  actions: {
    "22:00": "check --once --due => 2",
    "22:01": "check --once --due => 2",
    "22:02": "start",
    "22:04": "stop",
    "22:06": "check --once --due",
  },
  expect: { chat: ["22:02 problem web critical", "22:06 recovery web ok"] },
});

simulate("metrics that cannot be written are a warning, and change nothing else", {
  start: START,
  mode: "manual",
  config: { metrics: { path: "none/monitor.prom" }, checks: { web: {} } },
  actions: { "22:00": "check --once" },
  log: [
    'monitor: warning: cannot write the metrics to "/etc/monitor/none/monitor.prom": its directory does not exist',
  ],
});

simulate("metrics accumulate from call to call, and require a state", {
  start: START,
  mode: "manual",
  config: { metrics: { path: "monitor.prom" }, checks: { web: {} } },
  results: { web: "critical" },
  servers: { chat: "503, 22:00:10 up" },
  actions: {
    "22:00": ["check --once => 2", (world) => assertCounts(world.machine(), 1, 0)],
    // No check is due, but the file is rewritten.
    "22:00:20": [
      (world) => world.machine().files.delete(METRICS),
      "check --once --due => 2",
      (world) => assertCounts(world.machine(), 1, 1),
    ],
    "22:01": ["check --once => 2", (world) => assertCounts(world.machine(), 2, 1)],
    "22:02": [
      (world) => world.machine().files.delete(METRICS),
      "check --once --state none => 2",
      (world) => assert.ok(!world.machine().files.has(METRICS)),
    ],
  },
  expect: { chat: "any" },
});

const METRICS = "/etc/monitor/monitor.prom";

/** Asserts the counts of runs and of notifications that were accepted; the first attempt failed. */
function assertCounts({ files }: Machine, runs: number, sent: number): void {
  const lines = files.textOf(METRICS).split("\n");
  const values = {
    'monitor_check_runs_total{check="web"}': runs,
    'monitor_check_failures_total{check="web",condition="critical"}': runs,
    'monitor_notifications_sent_total{channel="chat"}': sent,
    'monitor_notifications_pending{channel="chat"}': 1 - sent,
    'monitor_notification_attempts_failed_total{channel="chat"}': 1,
  };
  for (const [series, value] of Object.entries(values)) {
    assert.ok(lines.includes(`${series} ${value}`), series);
  }
}

const SUMMARY = {
  summary: { cron: "@daily", notifications: ["chat"] },
  checks: { web: { schedule: { regular_interval: "1 hour" } } },
};

simulate("a service sends a summary each day", {
  start: START,
  zone: "Europe/Zurich",
  config: SUMMARY,
  until: "Wed 03:00",
  expect: {
    chat: ["00:00 1 check was up; there is data of 2 h 4 min only", "Wed 00:00 1 check was up all day"],
  },
});

for (const way of ["cron", "service"] as const) {
  simulate(`a summary that was missed is sent once: ${way}`, {
    start: START,
    mode: "manual",
    config: SUMMARY,
    actions: {
      "22:00": "check --once --due",
      "Thu 12:00": way === "cron" ? "check --once --due" : "start",
      "Thu 12:05": way === "cron" ? "check --once --due" : "stop",
      "Thu 12:10": "check --once --due",
    },
    expect: {
      chat: [
        // A single run sends it after its checks, a service before the first one.
        `Thu 12:00 There is no data${way === "cron" ? "" : "; 1 is unknown now"}`,
      ],
    },
  });
}

simulate("a channel that is down gets the summary later", {
  start: START,
  mode: "manual",
  config: {
    channels: { tell: { kind: "command" } },
    summary: { cron: "@daily", notifications: ["tell"] },
    checks: { web: {} },
  },
  servers: { tell: "reset, Tue 00:30 up" },
  actions: {
    "22:00": "check --once --due",
    "Tue 00:10": "check --once --due => 69",
    "Tue 00:11": async (world) => {
      const { stdout } = await world.machine().run("status", "--format", "json");
      const [pending] = JSON.parse(stdout).notifications;
      assert.deepEqual([pending.check, pending.event], ["summary", "summary"]);
      assert.match((await world.machine().run("status")).stdout, /^pending: summary to tell/m);
    },
    "Tue 00:40": ["check --once --due", "check --once --due"],
  },
  expect: { tell: "any" },
  finally: (_, { messages }) => {
    assert.deepEqual(messages.map(({ items: [item] }) => item?.event), ["summary"]);
    assert.match(messages[0]?.items[0]?.id ?? "", /^summary-[\da-f-]+$/);
  },
});

simulate("a summary by hand is sent at once, and prints what becomes of it", {
  start: START,
  mode: "manual",
  config: {
    channels: { lines: { kind: "console" }, tell: { kind: "command" }, chat: {} },
    summary: { cron: "@daily", notifications: ["lines", "tell", "chat"] },
    checks: { web: {} },
  },
  servers: { tell: "65" },
  actions: {
    "22:00": "check --once",
    "22:10": async (world) => {
      const { code, stdout, stderr } = await world.machine().run("summary", "--send");
      assert.deepEqual([code, stderr, stdout.split("\n")], [69, "", [
        "lines (console)",
        "2026-03-02 22:10:00 UTC Summary: There is no data; 1 is unknown now",
        "  written",
        "  delivered",
        "tell (command /bin/tell)",
        '  not delivered: "/bin/tell" exited with code 65',
        "chat (webhook chat.example)",
        "  accepted with status 200",
        "  delivered",
        "",
      ]]);
    },
  },
  expect: { chat: ["22:10 There is no data; 1 is unknown now"] },
});

simulate("the heartbeat file is touched while a service runs, and by calls of cron, not by calls by hand", {
  start: START,
  mode: "manual",
  config: { heartbeat: { path: "./alive", interval: 60 }, checks: { web: {} } },
  actions: {
    "22:00": "start",
    "22:05": (world) => touchedWithin(world.machine(), 65_000),
    "22:06": "stop",
    "22:10": (world) => world.machine().files.delete(ALIVE),
    "22:11": "check --once --due",
    "22:12": (world) => {
      touchedWithin(world.machine(), 65_000);
      world.machine().files.delete(ALIVE);
    },
    "22:13": "check --once",
    "22:14": (world) => assert.ok(!world.machine().files.has(ALIVE)),
  },
});

const ALIVE = "/etc/monitor/alive";

function touchedWithin({ files, wallMs }: Machine, ms: number): void {
  const touchedMs = files.facts(ALIVE).modifiedAtMs ?? 0;
  assert.ok(wallMs - touchedMs <= ms, `touched ${wallMs - touchedMs} ms ago`);
}

// The position of a log check in the state.

const LOG = "/var/log/app.log";

const CONFIG = {
  state: "kept.sqlite",
  checks: {
    app: {
      kind: "log",
      parameters: { path: LOG, pattern: "ERROR" },
      schedule: { regular_interval: "10 minutes", attentive_interval: "10 minutes" },
    },
  },
};

function append(text: string): (world: World) => void {
  return (world) => {
    const { files } = world.machine();
    files.put(LOG, (files.has(LOG) ? files.textOf(LOG) : "") + text);
  };
}

simulate("a log check continues where it was after a kill and a reload", {
  start: "2026-03-02 22:00",
  config: CONFIG,
  actions: {
    "22:00": append("ERROR before the first run\n"),
    "22:15": "kill",
    "22:20": append("ERROR while nothing runs\n"),
    "22:25": "start",
    "22:45": ["reload", append("fine\n")],
    "22:55": append("ERROR again\n"),
  },
  until: "23:20",
  expect: {
    chat: [
      "22:25 problem app critical",
      "22:35 recovery app ok",
      "22:59 problem app critical",
      "23:09 recovery app ok",
    ],
  },
});

simulate("a log check continues where it was after runs that could not read the file", {
  start: "2026-03-02 22:00",
  config: CONFIG,
  actions: {
    "22:00": append("ERROR before the first run\n"),
    "22:05": (world) => world.machine().files.setMode(LOG, 0),
    "22:12": append("ERROR while it could not be read\n"),
    "22:15": (world) => world.machine().files.setMode(LOG, 0o600),
  },
  until: "22:25",
  expect: { chat: ["22:09 problem app unknown", "22:19 change app critical"] },
});
