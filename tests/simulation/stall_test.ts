/** A process that is paused, a machine that is suspended, and clocks that step. */
import assert from "node:assert/strict";
import { simulate, type World } from "../../testing/simulation/mod.ts";

const START = "2026-03-02 21:55";
const WEB = { kind: "http_request", timeout: 20, parameters: { request: { target: "http://web.example/" } } };

/** Pauses the service while a check is in progress. */
async function pauseDuring(world: World, check: string): Promise<void> {
  const before = world.runs.get(check) ?? 0;
  await world.until(() => world.runs.get(check) === before + 1, `a run of ${check}`);
  world.machine().service?.signal("SIGSTOP");
}

simulate("a pause invents no timeout, and one that is real counts once", {
  start: START,
  config: { checks: { script: { timeout: 20 }, web: WEB, hanging: { timeout: 20, threshold: 2 } } },
  results: { script: "22:00 ok slow 10s", hanging: "22:00 hang" },
  servers: { web: "22:00 slow 10s" },
  actions: {
    "22:00:01": (world) => pauseDuring(world, "hanging"),
    "22:02": "continue",
    "22:05": (world) => pauseDuring(world, "script"),
    "22:10": "continue",
    "22:15": (world) => pauseDuring(world, "hanging"),
    "22:18": "continue",
  },
  until: "22:30",
  // The run that was paused doesn't count.
  expect: { chat: ["22:03-22:04 problem hanging unknown"] },
  finally: ({ trace }) => {
    const discarded = trace.events.filter(({ text }) => text.includes("stall: discarding the result of"));
    assert.ok(discarded.length >= 2, "two runs were in progress");
    const failed = trace.events.filter(({ what, text }) => what === "result" && !/ ok[:,]/.test(text));
    assert.deepEqual(new Set(failed.map(({ text }) => text.split(" ")[0])), new Set(["hanging"]));
  },
});

simulate("minutes of a pause are no timeout for a single run", {
  start: START,
  mode: "manual",
  config: { checks: { script: { timeout: 30 }, web: { ...WEB, timeout: 30 } } },
  results: { script: "ok slow 10s" },
  servers: { web: "hang, 22:05 500" },
  actions: {
    "22:00": (world) => void world.machine().start("check", "--once"),
    "22:00:05": (world) => world.machine().programs[0]?.signal("SIGSTOP"),
    "22:10": async (world) => {
      const [program] = world.machine().programs;
      program?.signal("SIGCONT");
      await world.until(() => program?.hasEnded ?? true, "the end");
      assert.match(program?.stdout.text() ?? "", /^CRITICAL +web +\S+ ms +status is 500, expected 200$/m);
      assert.match(program?.stdout.text() ?? "", /^OK +script/m);
    },
  },
  expect: { chat: ["22:10 problem web critical"] },
});

simulate("a machine that was suspended runs what is due, and invents nothing", {
  start: START,
  config: { checks: { script: { timeout: 20 }, web: WEB } },
  results: { script: "ok slow 10s" },
  servers: { web: "slow 10s" },
  actions: { "22:00:05": "suspend 8h", "06:30:20": "suspend 10min" },
  until: "07:00",
  finally: ({ runs }) => assert.ok((runs.get("script") ?? 0) >= 30, "it runs before and after"),
});

const DAY = {
  channels: { chat: {}, day: { hours: [{ from: "22:00", to: "22:30" }] } },
  checks: { web: { notifications: ["chat"] } },
};

simulate("a reload right after a suspend decides by the present time", {
  start: START,
  config: DAY,
  results: { web: "22:00 critical" },
  actions: { "22:10": "suspend 30min", "22:20": [{ config: { ...DAY, checks: { web: {} } } }, "reload"] },
  until: "23:00",
  expect: { chat: ["22:00 problem web critical"] },
});

simulate("a problem that lasts through a suspend has one notification", {
  start: START,
  config: { defaults: { threshold: 3 }, checks: { web: {} } },
  results: { web: "22:00 critical, 07:00 ok" },
  actions: { "22:01:30": "suspend 8h" },
  expect: { chat: ["06:01-06:05 problem web critical", "07:02 recovery web ok"] },
});

/** Asserts what the status is after the next result of a check. */
function statusAfterRun(check: string, expected: RegExp): (world: World) => Promise<void> {
  return async (world) => {
    const before = world.runs.get(check) ?? 0;
    await world.until(() => (world.runs.get(check) ?? 0) > before, "a run");
    await world.advance(5_000);
    assert.match((await world.machine().run("status")).stdout, expected);
  };
}

simulate("after a stop, an ok is pending and a problem goes on", {
  start: START,
  config: {
    defaults: { threshold: 3 },
    checks: { web: {}, db: {}, all: { kind: "group", threshold: 1, parameters: { checks: ["web"] } } },
  },
  results: { web: "22:20 critical, 06:30 ok, 06:40 critical, 06:50 ok", db: "22:00 critical, 07:00 ok" },
  actions: {
    "22:10": "kill",
    "06:00": ["start", statusAfterRun("web", /^PENDING +web .*critical, 1 of 3/m)],
    "06:35": "status => 2",
    "06:40": statusAfterRun("web", /^OK +web .*critical, 1 of 3/m),
  },
  expect: {
    chat: [
      "22:02-22:03 problem db critical",
      "06:02-06:03 problem web critical, problem all critical",
      "06:32-06:33 recovery web ok, recovery all ok",
      "06:42-06:43 problem web critical, problem all critical",
      "06:52-06:53 recovery web ok, recovery all ok",
      "07:02-07:03 recovery db ok",
    ],
  },
});

for (const [what, before, after] of [["stop", "kill", "start"], ["suspend", "suspend 8h", "status => 3"]]) {
  simulate(`failures from before a ${what} do not count after it`, {
    start: START,
    config: { defaults: { threshold: 3 }, checks: { web: {}, other: { within: 5 } } },
    results: { web: "22:00 critical, 07:00 ok", other: "22:00 critical, 06:01 ok, 06:03 critical, 07:00 ok" },
    actions: {
      "22:01:30": before ?? "",
      "06:01:30": [after ?? "", statusAfterRun("web", /^PENDING +web .*critical, 1 of 3/m)],
    },
    expect: {
      chat: [
        "06:03-06:04 problem web critical",
        "06:05-06:06 problem other critical",
        "07:02-07:03 recovery web ok",
        "07:02-07:03 recovery other ok",
      ],
    },
  });
}

const SCRIPTS = ["a", "b", "c", "d", "e", "f"];

simulate("checks that wait for others that hang confirm a problem", {
  start: START,
  mode: "manual",
  config: {
    defaults: { threshold: 3 },
    checks: Object.fromEntries(SCRIPTS.map((name) => [name, { timeout: 50 }])),
  },
  results: Object.fromEntries(SCRIPTS.map((name) => [name, "22:00 hang"])),
  actions: { "21:56": "start check --concurrency 1" },
  until: "22:30",
  expect: { chat: "any" },
  finally: (_, { messages }) => {
    const problems = messages.flatMap(({ items }) => items.map(({ check, event }) => `${event} ${check}`));
    assert.deepEqual(problems.toSorted(), SCRIPTS.map((name) => `problem ${name}`));
  },
});

simulate("calls that are further apart than the interval confirm a problem", {
  start: START,
  mode: "manual",
  config: { defaults: { threshold: 3 }, checks: { web: {} } },
  results: { web: "22:00 critical" },
  actions: {
    "21:58": "check --once --due",
    "22:10": "check --once --due => 2",
    "22:20": "check --once --due => 2",
    "22:30": "check --once --due => 2",
  },
  expect: { chat: ["22:30 problem web critical"] },
});

simulate("between single runs that are far apart, an ok is no longer known", {
  start: START,
  mode: "manual",
  config: { defaults: { threshold: 2 }, checks: { web: {} } },
  results: { web: "21:59 critical, 22:01 ok, 06:00 critical" },
  actions: {
    "21:58": "check --once",
    "21:59": ["check --once => 2", "status"],
    "22:01": ["check --once", "status"],
    "06:00": ["check --once => 2", "status => 3"],
    "06:01": ["check --once => 2", "status => 2"],
  },
  expect: { chat: ["06:01 problem web critical"] },
});

for (const step of ["+3h", "-400d"]) {
  simulate(`a clock that steps by ${step} loses and invents nothing`, {
    start: START,
    config: { checks: { web: {} } },
    results: { web: "22:00 critical, 22:30 ok, 23:00 critical, 23:20 ok" },
    actions: {
      "22:10": `clock ${step}`,
      "22:50": `clock ${step.startsWith("+") ? "-" : "+"}${step.slice(1)}`,
    },
    until: "23:40",
    expect: {
      chat: [
        "22:00 problem web critical",
        "22:30 recovery web ok",
        "23:00 problem web critical",
        "23:20 recovery web ok",
      ],
    },
    finally: ({ runs }) => assert.ok((runs.get("web") ?? 0) >= 100, `${runs.get("web")} runs`),
  });
}
