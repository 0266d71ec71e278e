/** Jobs that check in by a command or over HTTP, and what the endpoint serves meanwhile. */
import assert from "node:assert/strict";
import { simulate, type World } from "../../testing/simulation/mod.ts";

const KEY = "a-key-of-some-length";
const CONFIG = {
  listen: { address: "127.0.0.1:9797" },
  checks: {
    backup: { kind: "job", parameters: { expected_every: "2 hours", ping_key: KEY } },
    report: { kind: "job", parameters: { expected_every: "2 hours" } },
  },
};

async function ping(world: World, path: string, body = ""): Promise<void> {
  const headers = { host: "127.0.0.1:9797" };
  const response = await world.machine().request(`/ping/${KEY}${path}`, { method: "POST", headers, body });
  assert.deepEqual([response?.status, response?.body], [200, "OK\n"]);
}

simulate("a job that fails or is missed is a problem, and a check-in its recovery", {
  start: "2026-03-02 12:00",
  config: CONFIG,
  actions: {
    "12:05": async (world) => {
      const headers = { host: "127.0.0.1:9797" };
      const { body = "" } = await world.machine().request("/metrics", { headers }) ?? {};
      // No result counts until the first run.
      assert.match(body, /^monitor_check_runs_total\{check="report"\} 0$/m);
      assert.match(body, /^monitor_check_failures_total\{check="report",condition="unknown"\} 0$/m);
      assert.match(body, /^monitor_check_run_seconds_total\{check="report"\} 0$/m);
    },
    "12:10": [(world) => ping(world, ""), "beat report"],
    "13:00": (world) => ping(world, "/3", `no space; ${KEY}`),
    "13:20": async (world) => {
      const { stdout } = await world.machine().run("status", "backup");
      assert.match(stdout, /with exit code 3: no space; \[secret\]/);
      await ping(world, "/start");
    },
    "13:40": async (world) => {
      const headers = { host: "127.0.0.1:9797" };
      const response = await world.machine().request("/metrics", { headers });
      assert.equal(response?.status, 200);
      assert.match(response?.body ?? "", /monitor_check_condition\{check="backup"\} 2/);
      await ping(world, "/0");
    },
    "16:00": "beat report",
  },
  until: "16:20",
  expect: {
    chat: [
      "13:00-13:01 problem backup critical",
      "13:40-13:41 recovery backup ok",
      "14:20-14:22 problem report critical",
      "15:50-15:52 problem backup critical",
      "16:00-16:01 recovery report ok",
    ],
  },
});

simulate("a run that a cron schedule expects is missed after its grace, in the time zone of the config", {
  start: "2026-03-02 12:00",
  config: {
    time_zone: "Europe/Zurich",
    checks: {
      report: { kind: "job", parameters: { cron: "0 14,16 * * *" } },
      other: { kind: "job", parameters: { cron: "0 16 * * *", time_zone: "UTC" } },
    },
  },
  actions: { "13:05": "beat report", "16:00": ["beat report", "beat other"] },
  until: "17:00",
  expect: { chat: ["15:10-15:11 problem report critical", "16:00-16:01 recovery report ok"] },
  finally: (_world, { messages }) =>
    assert.match(
      messages[0]?.items[0]?.output ?? "",
      /^overdue: last ended at 2026-03-02 14:05:\d\d \+01:00, expected at 2026-03-02 16:00:00 \+01:00 by/,
    ),
});

const JOB = { kind: "job", parameters: { expected_every: "2 hours" } };

simulate("a job that never ran is pending until it runs or is overdue", {
  start: "2026-03-02 12:00",
  config: { checks: { web: {}, all: { kind: "group", parameters: { checks: ["web"] } } } },
  actions: {
    "12:05": {
      config: {
        checks: {
          web: {},
          all: { kind: "group", parameters: { checks: ["web", "backup", "report"] } },
          backup: JOB,
          report: JOB,
          leaf: { depends_on: ["report", "all"] },
        },
      },
    },
    "12:06": "reload",
    "12:20": async (world) => {
      const { code, stdout } = await world.machine().run("status");
      assert.equal(code, 3);
      assert.match(stdout, /^PENDING +backup +no run yet, the first one is expected by/m);
      assert.match(stdout, /^PENDING +all +1 of 3 ok, expected all: "backup" is pending/m);
    },
    "12:30": ["run backup => 3", "check --once backup --state none => 3"],
    "12:40": "beat backup",
    "13:10": async (world) => {
      const { code, stdout } = await world.machine().run("history", "report");
      assert.equal(code, 0);
      assert.doesNotMatch(stdout, /runs|failed/);
    },
    "13:30": "beat report",
    "13:40": "status => 2",
  },
  results: { leaf: "13:00 critical" },
  until: "16:00",
  expect: {
    chat: [
      // Neither the job nor the group is failing.
      "13:00-13:01 problem leaf critical",
      "14:50-14:52 problem all critical (1 dependent), problem backup critical",
      "15:40-15:42 problem report critical (1 dependent)",
    ],
  },
});

simulate("a job that never ran recovers by its first run, not because more time is allowed", {
  start: "2026-03-02 12:00",
  config: { checks: { backup: JOB } },
  actions: {
    "14:30": [
      { config: { checks: { backup: { kind: "job", parameters: { expected_every: "2 days" } } } } },
      "reload",
    ],
    "15:00": "status => 2",
    "15:30": "beat backup",
  },
  until: "15:40",
  expect: { chat: ["14:10-14:11 problem backup critical", "15:30-15:32 recovery backup ok"] },
});

simulate("a group with a job that never ran recovers when what ran is ok, and is pending", {
  start: "2026-03-02 12:00",
  config: {
    checks: {
      web: {},
      backup: JOB,
      all: { kind: "group", recovery_threshold: 2, parameters: { checks: ["web", "backup"] } },
      leaf: { depends_on: ["all"] },
    },
  },
  results: { web: "12:20 critical, 12:40 ok, 13:20 critical", leaf: "13:00 critical, 13:10 ok" },
  actions: {
    "12:30": "status => 2",
    "12:50": async (world) => {
      const { code, stdout } = await world.machine().run("status");
      assert.equal(code, 3);
      assert.match(stdout, /^PENDING +all +1 of 2 ok, expected all: "backup" is pending$/m);
    },
  },
  until: "13:30",
  expect: {
    chat: [
      "12:20-12:21 problem all critical (1 dependent), problem web critical",
      "12:40-12:41 recovery web ok",
      "12:41-12:43 recovery all ok",
      "13:00-13:01 problem leaf critical",
      "13:10-13:11 recovery leaf ok",
      "13:20-13:21 problem all critical (1 dependent), problem web critical",
    ],
  },
});

simulate("a group does not recover because a missed job was replaced by one that never ran", {
  start: "2026-03-02 12:00",
  config: groupWith("backup"),
  actions: {
    "14:30": [{ config: groupWith("dump") }, "reload"],
    "14:50": "status => 2",
    "15:10": "beat dump",
  },
  until: "15:20",
  words: ({ text }) => text.replace("problem backup critical, problem all critical", "both"),
  expect: { chat: ["14:10-14:12 both", "14:30 recovery backup unknown", "15:10-15:12 recovery all ok"] },
});

function groupWith(job: string): Record<string, unknown> {
  return { checks: { web: {}, [job]: JOB, all: { kind: "group", parameters: { checks: ["web", job] } } } };
}

simulate("beat runs its command whatever the state is, and exits as it does", {
  start: "2026-03-02 12:00",
  mode: "manual",
  config: CONFIG,
  actions: {
    "12:05": (world) =>
      void world.machine().commands.set("/bin/dump", () => ({ code: 4, stderr: "no connection" })),
    "12:10": ["disk full", "beat report -- /bin/dump => 4", "disk free", "beat report -- /bin/dump => 4"],
    "12:20": "check --once report => 2",
  },
  expect: { chat: ["12:20 problem report critical"] },
});

simulate("a check-in shows at once, by whatever way it comes", {
  start: "2026-03-02 12:00",
  config: { ...CONFIG, defaults: { threshold: 1, schedule: { regular_interval: "1 hour" } } },
  actions: {
    "12:10": [(world) => ping(world, ""), "beat report"],
    "12:10:05": "status => 0",
    "13:10:10": [(world) => ping(world, "/fail"), "beat report --failed"],
    "13:10:15": "status => 2",
    "13:20:10": ["pause", "beat report", "continue"],
  },
  until: "13:21",
  expect: { chat: ["13:10 problem backup critical, problem report critical"] },
});
