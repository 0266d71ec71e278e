/** Silences, acknowledgements, maintenance windows and dependencies. */
import assert from "node:assert/strict";
import { simulate } from "../../testing/simulation/mod.ts";

const START = "2026-03-02 21:55";

simulate("a silence suppresses the notifications of its check, and its end sends what is still true", {
  start: START,
  config: { checks: { web: {}, other: {} } },
  results: { web: "22:10 critical", other: "22:10 critical" },
  actions: {
    "22:00": "silence web --for 1h --reason deploy",
    "22:20": async (world) => {
      const { stdout } = await world.machine().run("silence", "list");
      assert.match(stdout, /^web: silenced until .* \(deploy\)$/m);
    },
    "22:30": async (world) => {
      assert.equal((await world.machine().run("silence", "end", "web")).stdout, "ended 1 silence\n");
    },
  },
  expect: { chat: ["22:10 problem other critical", "22:30-22:31 problem web critical"] },
});

const CRITICAL_ONLY = {
  channels: { chat: {}, pager: { conditions: ["critical"] } },
  maintenance_windows: [{ days: ["mon"], from: "22:10", to: "23:10", time_zone: "UTC" }],
  checks: { web: {} },
};

for (
  const [name, { windows = [], actions = {} }] of Object.entries(
    {
      "silence": { actions: { "22:10": "silence web --for 1h" } },
      "window by hand": { actions: { "22:10": "maintenance start web --for 1h" } },
      "window of the config": { windows: CRITICAL_ONLY.maintenance_windows },
    } as const satisfies Readonly<Record<string, { windows?: object[]; actions?: Record<string, string> }>>,
  )
) {
  simulate(`a channel of some conditions gets its recovery during a ${name}`, {
    start: START,
    config: { ...CRITICAL_ONLY, maintenance_windows: windows },
    results: { web: "22:00 critical, 22:30 warning (slow)" },
    actions: { ...actions, "22:40": "kill", "22:41": "start" },
    until: "23:12",
    expect: {
      chat: ["22:00 problem web critical", "23:10-23:11 change web warning"],
      pager: ["22:00 problem web critical", "22:30-22:31 recovery web warning"],
    },
  });
}

simulate("a channel of some conditions gets its recovery while a dependency is down", {
  start: START,
  config: {
    ...CRITICAL_ONLY,
    maintenance_windows: [],
    checks: { web: { depends_on: ["router"] }, router: { notifications: [] } },
  },
  results: { web: "22:00 critical, 22:30 warning", router: "22:10 critical, 23:00 ok" },
  expect: {
    chat: ["22:00-22:01 problem web critical", "23:00-23:01 change web warning"],
    pager: ["22:00-22:01 problem web critical", "22:30-22:31 recovery web warning"],
  },
});

simulate("a suppressed problem is sent when the suppression ends, not at the next run of its check", {
  start: START,
  config: {
    maintenance_windows: [{ days: ["mon"], from: "21:50", to: "22:40", time_zone: "UTC" }],
    checks: { web: { schedule: { regular_interval: "1 hour", attentive_interval: "1 hour" } } },
  },
  results: { web: "critical" },
  until: "22:45",
  expect: { chat: ["22:40-22:41 problem web critical"] },
});

simulate("an acknowledged problem has no reminders and no escalation, and its recovery tells so", {
  start: START,
  config: {
    channels: { chat: {}, boss: { after: "30 minutes" } },
    defaults: { reminders: "1 hour" },
    checks: { web: {}, other: {} },
  },
  results: { web: "22:00 critical, 00:20 ok", other: "22:00 critical, 00:20 ok" },
  actions: { "22:10": 'acknowledge web --note "Ada is on it"' },
  expect: {
    chat: [
      "22:00 problem web critical",
      "22:00 problem other critical",
      "22:54-22:55 reminder other critical",
      "23:48-23:50 reminder other critical",
      "00:20 recovery web ok (acknowledged)",
      "00:20 recovery other ok",
    ],
    boss: [
      "22:30-22:31 problem other critical",
      "22:54-22:55 reminder other critical",
      "23:48-23:50 reminder other critical",
      "00:20 recovery other ok",
    ],
  },
});

const FRONT = { tags: ["front"] };

simulate("a maintenance window by hand suppresses a tag, also of a check that gets it later", {
  start: START,
  config: { checks: { web: FRONT, other: {} } },
  results: { web: "22:00 critical, 22:30 ok", other: "22:00 critical, 22:30 ok", new: "critical" },
  actions: {
    "22:10": "maintenance start --tag front --for 1h --id deploy",
    "22:15": async (world) => {
      assert.equal((await world.machine().run("silence", "end", "--all")).stdout, "ended 0 silences\n");
    },
    "22:20": [{ config: { checks: { web: FRONT, new: FRONT, other: {} } } }, "reload"],
    "22:40": async (world) => {
      const { stdout } = await world.machine().run("status");
      assert.match(stdout, /^maintenance: 2 checks for (?:29|30) min/m);
      for (const name of ["web", "new"]) assert.match(stdout, new RegExp(` ${name} .*\\[maintenance for `));
    },
    "22:50": async (world) => {
      const { stdout } = await world.machine().run("maintenance", "end", "--id", "deploy");
      assert.equal(stdout, "ended 1 maintenance window\n");
    },
  },
  expect: {
    chat: [
      "22:00 problem web critical",
      "22:00 problem other critical",
      "22:30 recovery web ok",
      "22:30 recovery other ok",
      "22:50 problem new critical",
    ],
  },
});

simulate("a maintenance window of the config opens and closes by its time zone, also on the day DST begins", {
  start: "2026-03-29 00:30",
  zone: "Europe/Zurich",
  config: {
    maintenance_windows: [{ days: ["sun"], from: "02:00", to: "04:00", time_zone: "Europe/Zurich" }],
    checks: { web: {}, mail: {} },
  },
  results: { web: "Sun 01:30 critical, Sun 03:30 ok", mail: "Sun 03:10 critical" },
  until: "Sun 06:00",
  expect: {
    chat: ["Sun 01:30 problem web critical", "03:30 recovery web ok", "04:00 problem mail critical"],
  },
});

simulate("a dependency suppresses a problem, and never a recovery", {
  start: START,
  // Some depend on it by way of others, each counts once.
  config: {
    checks: {
      web: { depends_on: ["router"] },
      page: { depends_on: ["web", "router"] },
      mail: { depends_on: ["web", { any: ["dns", "page"] }] },
      dns: {},
      router: {},
    },
  },
  results: { web: "22:10 critical, 22:50 ok", router: "22:10 critical, 22:30 ok, 22:50 critical" },
  expect: {
    chat: [
      "22:10 problem router critical (3 dependents)",
      "22:30 recovery router ok",
      "22:30 problem web critical (2 dependents)",
      "22:50 recovery web ok",
      "22:50 problem router critical (3 dependents)",
    ],
  },
});

const TAGGED = { web: { depends_on: ["router"], tags: ["front"] }, router: {} };

for (
  const [name, { active = true, call }] of Object.entries({
    "is inactive": { active: false, call: "check --once => 2" },
    "is not named": { call: "check --once web => 2" },
    "is not tagged": { call: "check --once --tag front => 2" },
  } as Readonly<Record<string, { readonly active?: boolean; readonly call: string }>>)
) {
  simulate(`a dependency suppresses nothing if it ${name}`, {
    start: START,
    mode: "manual",
    config: { checks: TAGGED },
    results: { web: "critical", router: "critical" },
    actions: {
      // Its problem is recorded before.
      "22:00": "check --once router => 2",
      "22:04": { config: { checks: { ...TAGGED, router: { active } } } },
      "22:05": call,
      "22:06": async (world) => {
        const { stdout } = await world.machine().run("status");
        assert.doesNotMatch(stdout, /waits for/);
      },
    },
    expect: { chat: ["22:00 problem router critical", "22:05 problem web critical"] },
    log: active ? [] : [/"router", which is inactive and suppresses nothing/],
  });
}

for (const mode of ["service", "cron"] as const) {
  for (const isRouterDown of [false, true]) {
    simulate(
      `a dependency that runs once an hour delays no notification: ${mode}, ${isRouterDown ? "down" : "up"}`,
      {
        start: "2026-03-02 21:50",
        mode,
        config: {
          checks: {
            web: { depends_on: ["router"] },
            router: { schedule: { regular_interval: "1 hour", attentive_interval: "1 hour" } },
          },
        },
        results: { web: "22:02 critical", router: isRouterDown ? "22:01 critical" : "ok" },
        until: "22:10",
        expect: {
          chat: isRouterDown
            ? ["22:02-22:03 problem router critical (1 dependent)"]
            : ["22:02-22:03 problem web critical"],
        },
      },
    );
  }
}

for (const daily of [{ regular_interval: "1 day" }, { cron: "0 3 * * *" }]) {
  simulate(
    `a dependency on a group with a check of once a day delays no notification: ${Object.keys(daily)}`,
    {
      start: "2026-03-02 21:50",
      config: {
        checks: {
          web: { depends_on: ["network"] },
          network: { kind: "group", parameters: { checks: ["router", "line"] } },
          router: {},
          line: { schedule: daily },
        },
      },
      results: { web: "21:52 critical" },
      until: "21:58",
      expect: { chat: ["21:52-21:54 problem web critical"] },
    },
  );
}

simulate("a failure that is not confirmed yet can't be acknowledged, and the command says so", {
  start: "2026-03-02 21:55",
  mode: "manual",
  config: { checks: { web: { threshold: 3 }, db: {} } },
  results: { web: "critical" },
  actions: {
    "22:00": ["check --once => 2", async (world) => {
      const run = world.machine().run.bind(world.machine());
      const line = "web: not acknowledged, its problem is not confirmed yet: critical, 1 of 3\n";
      assert.deepEqual(await run("acknowledge", "--all"), { code: 0, stdout: line, stderr: "" });
      const { stdout } = await run("acknowledge", "web", "db");
      assert.equal(stdout, `${line}db: no problem to acknowledge\n`);
    }],
    "22:01": "check --once => 2",
    "22:02": "check --once => 2",
    "22:03": async (world) => {
      const { stdout } = await world.machine().run("acknowledge", "web");
      assert.equal(stdout, "web: acknowledged until ok\n");
    },
  },
  expect: { chat: ["22:02 problem web critical"] },
});

for (
  const [router, web] of [["1 minute", "1 minute"], ["15 seconds", "5 minutes"]]
) {
  simulate(`a check every ${web} that recovers with a dependency run every ${router} sends nothing`, {
    start: START,
    config: {
      checks: {
        router: { schedule: { regular_interval: router, attentive_interval: router } },
        web: { schedule: { regular_interval: web, attentive_interval: web }, depends_on: ["router"] },
      },
    },
    results: { router: "22:10 critical, 22:32 ok", web: "22:10 critical, 22:32 ok" },
    until: "23:30",
    expect: { chat: ["22:10 problem router critical (1 dependent)", "22:32-22:33 recovery router ok"] },
  });
}

simulate("a check that goes on failing without its dependency is run at once when that recovers, and sent", {
  start: START,
  config: {
    checks: {
      router: { schedule: { regular_interval: "15 seconds", attentive_interval: "15 seconds" } },
      web: { schedule: { regular_interval: "1 hour", attentive_interval: "1 hour" }, depends_on: ["router"] },
    },
  },
  results: { router: "22:10 critical, 22:32 ok", web: "22:10 critical" },
  actions: { "22:12": "run web => 2" },
  until: "22:50",
  expect: {
    chat: [
      "22:10 problem router critical (1 dependent)",
      "22:32-22:33 recovery router ok",
      "22:32-22:34 problem web critical",
    ],
  },
});
