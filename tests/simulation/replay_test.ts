/** `monitor replay --verify`: what the service itself recorded leads to what it really sent. */
import assert from "node:assert/strict";
import { simulate } from "../../testing/simulation/mod.ts";
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
