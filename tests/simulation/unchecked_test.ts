/** Problems of checks that the config no longer runs: channels that were notified of one get an end. */
import assert from "node:assert/strict";
import { simulate, type World } from "../../testing/simulation/mod.ts";

const START = "2026-03-02 21:55";
const OUTAGE = { web: "22:00 critical" };
const LEFT: Readonly<Record<string, { readonly checks: unknown; readonly why: string }>> = {
  "removed": { checks: { other: {} }, why: "removed from the config" },
  "inactive": { checks: { web: { active: false }, other: {} }, why: "inactive in the config" },
};
const BEFORE = { checks: { web: {}, other: {} } };

for (const [name, { checks, why }] of Object.entries(LEFT)) {
  for (const way of ["reload", "restart", "cron"] as const) {
    simulate(`the problem of a ${name} check ends where it was notified, once, by ${way}`, {
      start: START,
      mode: way === "cron" ? "cron" : "service",
      config: BEFORE,
      results: OUTAGE,
      actions: {
        "22:10:30": [
          { config: { checks } },
          ...way === "reload" ? ["reload"] : way === "restart" ? ["kill", "start"] : [],
        ],
        "22:30:30": way === "cron" ? [] : ["reload", "stop", "start"],
      },
      expect: { chat: ["22:00-22:01 problem web critical", "22:10-22:11 recovery web unknown"] },
      finally: (_, { messages }) => {
        const { previous, output } = messages[1]?.items[0] as unknown as Record<string, unknown>;
        assert.deepEqual([previous, output], ["critical", `no longer checked: ${why}, was critical`]);
      },
    });
  }
}

const CHANNELS = {
  incidents: { parameters: { body: ["{{action}} {{check}} {{condition}}"] } },
  mail: { kind: "email" },
  problems: { events: ["problem"] },
  night: { hours: [{ from: "21:00", to: "22:05" }] },
  critical: { conditions: ["critical"] },
};

simulate("an unchecked problem closes an incident, and no filter of another event keeps it open", {
  start: START,
  config: { channels: CHANNELS, ...BEFORE },
  results: OUTAGE,
  actions: { "22:10": [{ config: { channels: CHANNELS, checks: { other: {} } } }, "reload"] },
  expect: {
    incidents: ['22:00 ["trigger web critical"]', '22:10 ["resolve web unknown"]'],
    mail: [
      "22:00 web is critical: it is critical",
      "22:10 web is no longer checked, was critical for 9 min 58 s",
    ],
    problems: ["22:00 problem web critical"],
    night: ["22:00 problem web critical", "22:10 recovery web unknown"],
    critical: ["22:00 problem web critical", "22:10 recovery web unknown"],
  },
  finally: (_, { messages }) => {
    const text = messages.findLast(({ mail }) => mail !== null)?.mail?.text ?? "";
    assert.match(text, /Was CRITICAL: since 2026-03-02 22:00:\d\d UTC, no longer checked since/);
    assert.doesNotMatch(text, /Next run|recovered/);
  },
});

simulate("history and why print the last notification of a check that left the config", {
  start: START,
  config: BEFORE,
  results: OUTAGE,
  actions: {
    "22:10": [{ config: { checks: { other: {} } } }, "reload"],
    "22:20": async (world) => {
      const { stdout } = await world.machine().run("history", "web", "--deliveries");
      assert.match(
        stdout,
        / {2}chat: sent unknown, no longer checked, accepted\n.* {2}chat: sent critical, accepted\n/,
      );
      const { code, stderr } = await world.machine().run("why", "web");
      assert.equal(code, 64);
      assert.match(
        stderr,
        /: the config no longer has the check "web"; last to "chat": sent unknown, no longer checked at 2026-03-02 22:10:\d\d UTC, accepted\n/,
      );
      const { stderr: unknown } = await world.machine().run("why", "nothing");
      assert.match(unknown, /: the config has no check "nothing"\n/);
    },
  },
  until: "22:21",
  expect: { chat: ["22:00 problem web critical", "22:10 recovery web unknown"] },
});

simulate(
  "a problem that was not sent before its check left is one message, which does not claim a recovery",
  {
    start: START,
    config: BEFORE,
    results: OUTAGE,
    servers: { chat: "503, 22:20 up" },
    actions: { "22:10": [{ config: { checks: { other: {} } } }, "reload"] },
    expect: { chat: ["22:20-22:40 recovery web unknown (missed critical)"] },
    log: [/not delivered to chat/],
  },
);

simulate("other configs on the same state end no problem of each other, nor do chosen checks", {
  start: START,
  mode: "manual",
  config: { state: "kept.sqlite", ...BEFORE },
  results: { web: "critical" },
  actions: {
    "22:00": "check --once --due => 2",
    "22:10": [
      copyConfig("/etc/monitor/second.jsonc", (text) => text.replace('"web"', '"api"')),
      "check --once --due -c /etc/monitor/second.jsonc",
      "check --once --due other",
      "check --once --due -c /etc/monitor/second.jsonc",
    ],
  },
  expect: { chat: ["22:00 problem web critical"] },
});

const PAGER = { pager: {}, chat: {} };

for (const way of ["reload", "cron"] as const) {
  simulate(`the last check of a channel that stays in the config ends its problem there, by ${way}`, {
    start: START,
    mode: way === "cron" ? "cron" : "service",
    config: {
      channels: PAGER,
      defaults: { notifications: [] },
      checks: { web: { notifications: ["pager"] }, other: {} },
    },
    results: OUTAGE,
    actions: {
      "22:10:30": [
        { config: { channels: PAGER, defaults: { notifications: [] }, checks: { other: {} } } },
        ...way === "reload" ? ["reload"] : [],
      ],
    },
    expect: { pager: ["22:00-22:01 problem web critical", "22:10-22:11 recovery web unknown"], chat: [] },
  });
}

simulate("a call without notifications leaves the end of a problem to the next call", {
  start: START,
  mode: "manual",
  config: BEFORE,
  results: { web: "critical" },
  actions: {
    "22:00": "check --once --due => 2",
    "22:10": [{ config: { checks: { other: {} } } }, "check --once --due --no-notify"],
    "22:20": ["check --once --due"],
    "22:30": ["check --once --due"],
  },
  expect: { chat: ["22:00 problem web critical", "22:20 recovery web unknown"] },
});

simulate("a config that was moved is the one that is used, and the problem of a removed check ends", {
  start: START,
  mode: "manual",
  config: { state: "/etc/monitor/kept.sqlite", ...BEFORE },
  results: { web: "critical" },
  actions: {
    "22:00": "check --once --due => 2",
    "22:10": [
      copyConfig("/etc/moved.jsonc"),
      "check --once --due -c /etc/moved.jsonc => 2",
      async (world) => {
        const { stdout } = await world.machine().run("status", "-c", "/etc/moved.jsonc");
        assert.doesNotMatch(stdout, /another/);
      },
    ],
    "22:20": [
      copyConfig("/etc/moved.jsonc", (text) => text.replace('"web"', '"api"')),
      "check --once --due -c /etc/moved.jsonc",
    ],
  },
  expect: { chat: ["22:00 problem web critical", "22:20 recovery web unknown"] },
});

simulate("a notification of a check that leaves before it is sent passes the filter of events", {
  start: START,
  config: { channels: { chat: {}, problems: { events: ["problem"] } }, ...BEFORE },
  results: { web: "22:00 critical, 22:05 ok" },
  actions: {
    "22:05:02": [
      { config: { channels: { chat: {}, problems: { events: ["problem"] } }, checks: { other: {} } } },
      "reload",
    ],
  },
  expect: {
    chat: ["22:00 problem web critical", "22:05 recovery web ok"],
    problems: ["22:00 problem web critical"],
  },
});

simulate("a check that comes back begins like a new one, but keeps its history", {
  start: START,
  config: { defaults: { threshold: 2 }, ...BEFORE },
  results: { web: "22:00 critical, 22:40 ok" },
  actions: {
    "22:10:30": [{ config: { defaults: { threshold: 2 }, checks: { other: {} } } }, "reload"],
    "22:12:30": [{ config: { defaults: { threshold: 2 }, ...BEFORE } }, "reload"],
  },
  expect: {
    chat: [
      "22:01-22:02 problem web critical",
      "22:10 recovery web unknown",
      "22:13-22:15 problem web critical",
      "22:41-22:42 recovery web ok",
    ],
  },
  finally: async (world, { messages }) => {
    const { previous, occurrences, problem_began_at } = messages[2]?.items[0] as unknown as Record<
      string,
      unknown
    >;
    assert.deepEqual([previous, occurrences], ["pending", 2]);
    assert.ok(String(problem_began_at) >= "2026-03-02T22:12:30");
    const { stdout } = await world.machine().run("history", "web");
    assert.match(stdout, /22:0[12]/);
  },
});

for (const [condition, after] of [["ok", ["22:40-23:20 recovery web ok"]], ["critical", []]] as const) {
  simulate(`an end that was not sent is dropped if the check comes back and is ${condition}`, {
    start: START,
    config: BEFORE,
    results: { web: `22:00 critical, 22:15 ${condition}` },
    servers: { chat: "22:05 refuse, 22:40 up" },
    actions: {
      "22:10": [{ config: { checks: { other: {} } } }, "reload"],
      "22:20": [{ config: BEFORE }, "reload"],
    },
    until: "23:20",
    expect: { chat: ["22:00 problem web critical", ...after] },
    log: [/not delivered to chat/],
  });
}

/** Puts the config, perhaps edited, at another path. */
function copyConfig(path: string, edit = (text: string): string => text): (world: World) => void {
  return (world) => {
    const { files } = world.machine();
    files.put(path, edit(files.textOf("/etc/monitor/monitor.jsonc")));
  };
}
