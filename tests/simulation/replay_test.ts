/** `monitor replay --verify`: what the service itself recorded leads to what it really sent. */
import assert from "node:assert/strict";
import { simulate, type World } from "../../testing/simulation/mod.ts";
import { completeConfig } from "../../testing/simulation/scenario_config.ts";
import { PROBE } from "../../testing/simulation/world.ts";

const SCHEDULE = { regular_interval: "1 minute", attentive_interval: "30 seconds" };

simulate("replay --verify finds the notifications as they were sent", {
  start: "2026-03-02 20:00",
  config: {
    channels: { chat: {}, pager: { after: "10 min 10 s", conditions: ["critical"] } },
    checks: {
      web: { threshold: 3, schedule: SCHEDULE, notifications: ["chat", "pager"] },
      db: { schedule: SCHEDULE, reminders: "21 min", notifications: ["chat"] },
      api: { schedule: SCHEDULE, depends_on: ["db"], notifications: ["chat", "pager"] },
    },
  },
  results: {
    web: "20:10 critical, 20:40 ok, 21:05 warning, 21:06 ok, 22:20 critical",
    db: "20:30 critical, 21:40 ok",
    api: "20:31 critical, 21:45 ok, 22:00 critical, 22:05 warning, 22:10 ok",
  },
  actions: {
    "21:58": "silence api --for 9min",
    "22:40": async (world) => {
      const { code, stdout } = await world.machine().run("replay", "--verify");
      assert.equal(code, 0, stdout);
      assert.match(stdout, /^\d\d notifications as sent\n$/);
    },
  },
  expect: {
    chat: [
      "20:11 problem web critical",
      "20:30 problem db critical (1 dependent)",
      "20:41 recovery web ok",
      "20:49 reminder db critical (1 dependent)",
      "21:08 reminder db critical (1 dependent)",
      "21:27 reminder db critical (1 dependent)",
      "21:40 recovery db ok",
      "21:40 problem api critical",
      "21:45 recovery api ok",
      "22:07 problem api warning",
      "22:10 recovery api ok",
      "22:21 problem web critical",
    ],
    pager: [
      "20:21 problem web critical",
      "20:41 recovery web ok",
      "21:40 problem api critical",
      "21:45 recovery api ok",
      "22:31 problem web critical",
    ],
  },
});

simulate(
  "replay of a new config prints a hint to use --against, and lists results of other parameters",
  {
    start: "2026-03-02 20:00",
    config: { checks: { web: {} } },
    results: { web: "20:10 critical" },
    actions: {
      "20:30": async (world) => {
        const machine = world.machine();
        const checks = { web: { parameters: { path: PROBE, arguments: ["90"] } } };
        machine.files.put("/etc/monitor/new.jsonc", JSON.stringify(completeConfig({ checks })));
        const replay = ["replay", "-c", "/etc/monitor/new.jsonc"];
        const alone = await machine.run(...replay);
        assert.equal(alone.code, 1);
        assert.match(
          alone.stderr,
          /\nmonitor: hint: use the results of the config that runs: --against PATH\n$/,
        );
        const compared = await machine.run(...replay, "--against", "/etc/monitor/monitor.jsonc");
        assert.match(
          compared.stdout,
          /\nthe results are those of other parameters: web\nthe same messages\n$/,
        );
      },
    },
    expect: { chat: ["20:10 problem web critical"] },
  },
);

// `monitor reload --plan` shows the changes of the edited config before the service applies them.

const START = "2026-03-02 20:00";

function configOf(threshold: number): Readonly<Record<string, unknown>> {
  return {
    defaults: { schedule: SCHEDULE },
    include: "conf.d/*.jsonc",
    checks: { web: { threshold } },
  };
}

function includes(threshold: number): (world: World) => void {
  const check = { kind: "script", parameters: { path: PROBE }, threshold };
  return (world) =>
    world.machine().files.put("/etc/monitor/conf.d/db.jsonc", JSON.stringify({ checks: { db: check } }));
}

simulate("reload --plan compares the edited files with those in use, and applies them only if confirmed", {
  start: START,
  mode: "manual",
  config: configOf(1),
  results: { web: "20:10 critical, 20:12 ok, 23:30 critical, +50min ok", db: "21:00 critical, 21:20 ok" },
  actions: {
    "20:00:01": [includes(1), "start"],
    "Tue 01:00": [{ config: configOf(10) }, includes(100)],
    "01:05": async (world) => {
      const { code, stdout, stderr } = await world.machine().run("reload", "--plan", "--yes");
      assert.deepEqual([code, stderr], [0, ""]);
      assert.deepEqual(stdout.replaceAll(/ +/g, " ").replaceAll(/:\d\d UTC/g, "").split("\n"), [
        "2026-03-02 19:59 to 2026-03-03 01:05",
        "",
        " running edited",
        "messages 6 2",
        " chat 6 2",
        "nights with one 1 1",
        "outages 3 1",
        "mean delay 2 s 4 min 31 s",
        "",
        "only running reports: web from 2026-03-02 20:10",
        "only running reports: db from 2026-03-02 21:00",
        "- only running, + only edited:",
        "- 2026-03-02 20:10 chat: problem web critical",
        "- 2026-03-02 20:12 chat: recovery web ok",
        "- 2026-03-02 21:00 chat: problem db critical",
        "- 2026-03-02 21:20 chat: recovery db ok",
        "- 2026-03-02 23:30 chat: problem web critical",
        "+ 2026-03-02 23:34 chat: problem web critical",
        "- 2026-03-03 00:20 chat: recovery web ok",
        "+ 2026-03-03 00:24 chat: recovery web ok",
        "",
        'edited: 2 checks, 0 added, 2 changed ("web", "db"), 0 removed',
        'config reloaded: 2 checks, 0 added, 2 changed ("web", "db"), 0 removed',
        "",
      ]);
    },
    "01:10": [{ config: configOf(2) }, async (world) => {
      const rows = [
        { name: "no", typed: ["perhaps", "no"], code: 1, end: /config not reloaded\n$/ },
        { name: "end of input", typed: [], code: 1, end: /config not reloaded\n$/ },
        { name: "no terminal", code: 0, end: /config not reloaded; to reload it, add --yes\n$/ },
        { name: "yes", typed: ["yes"], code: 0, end: /config reloaded: 2 checks, 0 added, 1 changed/ },
      ];
      for (const { name, typed, code, end } of rows) {
        const ran = await world.machine().runWith({
          args: ["reload", "--plan"],
          ...typed !== undefined && { typed },
        });
        assert.equal(ran.code, code, name);
        assert.match(ran.stdout, end, name);
      }
    }],
    "01:12": [{ config: { ...configOf(3), common_causes: false } }, async (world) => {
      const plan = ["reload", "--plan", "--format", "json"];
      let isPending = true;
      for (const args of [plan, [...plan, "--yes"], plan]) {
        const { code, stdout } = await world.machine().runWith({ args, typed: ["yes"] });
        const { adopted, changed, settings, plan: { configs } } = JSON.parse(stdout);
        const isApplied = args.includes("--yes");
        assert.deepEqual([code, adopted, changed], [0, isApplied, isPending ? ["web"] : []]);
        assert.deepEqual(settings, isPending ? ["common_causes"] : []);
        isPending &&= !isApplied;
        assert.deepEqual(configs.map(({ config }: { readonly config: string }) => config), [
          "running",
          "edited",
        ]);
      }
    }],
    "01:15": [{ config: '{ "checks": ' }, async (world) => {
      const { code, stdout, stderr } = await world.machine().run("reload", "--plan");
      assert.deepEqual([code, stdout], [78, ""]);
      assert.match(stderr, /monitor\.jsonc:1:/);
      const { stdout: status } = await world.machine().run("status");
      assert.doesNotMatch(status, /not reloaded/, "the service was not asked");
    }],
  },
  until: "01:20",
  expect: { chat: "any" },
});

simulate("reload --plan lists results of other parameters, and problems of changed or removed checks", {
  start: START,
  config: { checks: { web: {}, db: {}, load: {} } },
  results: { web: "20:10 critical", db: "20:10 warning", load: "20:10 critical" },
  actions: {
    "20:30": [
      {
        config: {
          checks: {
            db: { threshold: 2 },
            load: { parameters: { path: PROBE, arguments: ["load", "90"] } },
            api: {},
          },
          common_causes: false,
        },
      },
      async (world) => {
        const { stdout } = await world.machine().run("reload", "--plan");
        assert.match(stdout, /UTC; without 1 check that never ran then: api\n/);
        assert.match(stdout, /\nthe results are those of other parameters: load\n/);
        assert.deepEqual(stdout.split("\n").slice(-6), [
          'web is critical now and removed: channels that were notified of it get "no longer checked"',
          "db is warning now and changed",
          "load is critical now and changed",
          'edited: 3 checks, 1 added ("api"), 2 changed ("db", "load"), 1 removed ("web"), changed setting "common_causes"',
          "config not reloaded; to reload it, add --yes",
          "",
        ]);
        const { stdout: json } = await world.machine().run("reload", "--plan", "--format", "json");
        const { problems, removed, plan } = JSON.parse(json);
        assert.deepEqual([plan.checks_with_other_parameters, plan.differences.length > 0], [["load"], true]);
        assert.deepEqual([removed, problems[0]], [["web"], {
          check: "web",
          condition: "critical",
          change: "removed",
        }]);
      },
    ],
  },
  until: "20:31",
  expect: { chat: "any" },
});

simulate("reload --plan asks without a stored result, and needs a service", {
  start: START,
  config: { checks: { web: { schedule: { cron: "0 5 * * *" } } } },
  actions: {
    "20:05": [{ config: { checks: { web: {} } } }, async (world) => {
      for (const [answer, end] of [["no", "config not reloaded"], ["yes", "config reloaded"]] as const) {
        const { stdout, stderr } = await world.machine().runWith({
          args: ["reload", "--plan"],
          typed: [answer],
        });
        assert.equal(stderr, "monitor: no result of the last 7 d is stored\n");
        const [edited, ended] = stdout.split("\n");
        assert.equal(edited, 'edited: 1 check, 0 added, 1 changed ("web"), 0 removed');
        assert.ok(ended?.startsWith(`apply it (yes or no): ${end}`), stdout);
      }
    }],
    "20:10": ["stop", async (world) => {
      const { code, stdout, stderr } = await world.machine().run("reload", "--plan");
      assert.deepEqual([code, stdout], [74, ""]);
      assert.match(stderr, /no monitor runs on this state; start it with: monitor check/);
    }],
  },
});
