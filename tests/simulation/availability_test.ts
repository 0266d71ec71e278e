/** Availability of a service: error budgets that burn, the interval of its downtime, and summaries. */
import assert from "node:assert/strict";
import { playWithKills } from "../../testing/simulation/kills.ts";
import { type Scenario, simulate, type World } from "../../testing/simulation/mod.ts";
import { campaign, testRandom, testSeed } from "../../testing/seed.ts";
import { test } from "./installation.ts";
import { play } from "../../testing/simulation/scenario.ts";
import type { Random } from "../../testing/random.ts";
import type { Received } from "../../testing/simulation/receivers.ts";

const START = "2026-03-02 21:55";
const FLAKY = { tags: ["all"], objective: "99.9 % a month", threshold: 3 };

/** Results that fail for two minutes of each five, from a time of the day on. */
function flaky(from: string, times: number): string {
  const [hour = 0, minute = 0] = from.split(":").map(Number);
  return Array.from({ length: times }, (_, index) => {
    const at = (ahead: number): string => {
      const minutes = hour * 60 + minute + 5 * index + ahead;
      return [Math.floor(minutes / 60) % 24, minutes % 60].map((part) => `${part}`.padStart(2, "0")).join(
        ":",
      );
    };
    return `${at(0)} critical (refused), ${at(2)} ok`;
  }).join(", ");
}

const WEB = {
  start: START,
  config: { checks: { web: FLAKY } },
  results: { web: flaky("22:00", 8) },
} as const satisfies Partial<Scenario>;

const BURNING = ["22:05 burning web warning"];

simulate("a target that flaps below the threshold sends no problem, and once that its error budget burns", {
  ...WEB,
  actions: {
    "22:30": async (world) => {
      const { stdout } = await world.machine().run("why", "web");
      assert.match(stdout, /^error budget burns \d+\.\d times too fast .* is used up \(since .*\)$/m);
      const { burning } = JSON.parse((await world.machine().run("why", "--format", "json", "web")).stdout);
      assert.deepEqual([burning.rate, burning.notified], [14.4, true]);
      assert.match((await world.machine().run("status")).stdout, / \[error budget burns\]$/m);
      const page = await world.machine().run("report", "--output", "-");
      assert.match(page.stdout, /\[error budget burns\]/);
      const open = await world.machine().run("report", "--output", "-", "--public", "all");
      assert.match(open.stdout, /^<!doctype html>[^]*web/);
      assert.doesNotMatch(open.stdout, /error budget/);
      const { checks } = JSON.parse((await world.machine().run("status", "--format", "json")).stdout);
      assert.deepEqual([checks[0].burning.rate, checks[0].burning.since], [burning.rate, burning.since]);
      const history = await world.machine().run("history", "--from", "21:50");
      assert.match(history.stdout, /chat: sent burning error budget, accepted/);
    },
    "22:50": async (world) => {
      const { stdout } = await world.machine().run("replay", "--verify");
      assert.match(stdout, /1 notification as sent/);
    },
  },
  expect: { chat: BURNING },
  finally: (_world, { messages }) =>
    assert.match(
      messages[0]?.items[0]?.output ?? "",
      /^error budget burns \d+\.\d times too fast \(down 2 min.* of 1 h\): .* until the error budget of 99\.9% in 30 d is used up; last result: refused$/,
    ),
});

simulate("a check without an objective, or with one of 100 %, does not burn", {
  ...WEB,
  config: { checks: { web: { threshold: 3 }, api: { threshold: 3, objective: "100 %" } } },
  results: { web: flaky("22:00", 8), api: flaky("22:00", 8) },
  log: ["permits 0 s in 30 d"],
});

simulate("the notified problem has the burning error budget, and no other message follows", {
  ...WEB,
  config: { checks: { web: { ...FLAKY, threshold: 4 } } },
  results: { web: "22:00 critical, 22:30 ok, 22:40 critical, 22:41 ok" },
  expect: { chat: ["22:03 problem web critical", "22:33 recovery web ok"] },
  finally: (_world, { messages }) =>
    assert.match(messages[0]?.items[0]?.output ?? "", /; error budget burns \d+\.\d times too fast/),
});

simulate("an error budget that burns again hours later is sent again", {
  ...WEB,
  results: { web: `${flaky("22:00", 3)}, ${flaky("02:00", 3)}` },
  expect: { chat: ["22:05 burning web warning", "02:05 burning web warning"] },
});

simulate("channels get that an error budget burns by their filters", {
  ...WEB,
  config: {
    channels: {
      chat: {},
      pager: { conditions: ["critical"] },
      later: { after: "10 minutes" },
      mail: { events: ["problem", "recovery"] },
      day: { hours: [{ days: ["mon"], from: "08:00", to: "20:00", time_zone: "UTC" }] },
    },
    checks: { web: FLAKY },
  },
  expect: { chat: BURNING },
});

simulate("a silence suppresses that an error budget burns, and its end sends it if it still does", {
  ...WEB,
  actions: {
    "21:58": "silence web --for 30m",
    "22:20:50": async (world) => {
      const { stdout } = await world.machine().run("why", "web");
      assert.match(stdout, /burning not sent:\n *- silenced: /);
    },
  },
  expect: { chat: ["22:30 burning web warning (flapping)"] },
});

simulate("downtime in a maintenance window does not burn the error budget, also after it", {
  ...WEB,
  config: {
    maintenance_windows: [{ days: ["mon"], from: "21:50", to: "22:19", time_zone: "UTC" }],
    checks: { web: FLAKY },
  },
  results: { web: flaky("22:00", 5) },
});

simulate("a dependency that is down suppresses that an error budget burns", {
  ...WEB,
  config: { checks: { web: { ...FLAKY, depends_on: ["router"] }, router: {} } },
  results: { web: flaky("22:00", 8), router: "21:58 critical" },
  expect: { chat: ["21:58 problem router critical (1 dependent)"] },
});

const AWAY = flaky("22:00", 4).replaceAll("critical (refused)", "refuse").replaceAll("ok", "up");

simulate(
  "failures without a network of this machine, and the time in between, do not burn the error budget",
  {
    start: START,
    config: {
      connectivity: ["one.example:53"],
      checks: { web: { ...FLAKY, kind: "tcp_connect", parameters: { host: "web.example", port: 80 } } },
    },
    servers: {
      web: `${AWAY}, 22:30 refuse, 22:33 up, 22:50 refuse, 22:51 up`,
      one: `${AWAY}, 22:31 refuse, 22:32 up`,
    },
  },
);

simulate("calls by cron send that an error budget burns once", {
  ...WEB,
  mode: "cron",
  expect: { chat: ["22:05-22:06 burning web warning"] },
});

simulate("a rehearsal sends the same as the service", {
  ...WEB,
  actions: {
    "21:56": async (world: World) => {
      const scenario = { start: "2026-03-02 21:55", results: WEB.results, until: "22:59" };
      world.machine().files.put("/tmp/night.jsonc", JSON.stringify(scenario));
      const { stdout } = await world.machine().run("rehearse", "/tmp/night.jsonc");
      assert.match(stdout, /22:05.* burning web warning/);
      assert.equal(stdout.match(/burning web/g)?.length, 1);
    },
  },
  expect: { chat: BURNING },
});

Deno.test("that an error budget burns is sent once, at each step at which the service is killed", async () => {
  const scenario: Scenario = { ...WEB, results: { web: flaky("22:00", 4) }, until: "22:30" };
  const scenarios = playWithKills({ ...scenario, expect: { chat: "any" } }, {
    seed: testSeed(),
    count: campaign(20, 5),
  });
  for await (const { where, failure, receivers } of scenarios) {
    assert.equal(failure, null, where);
    const ids = new Set(
      receivers.messages.flatMap(({ items }) => items.map(({ id, event }) => `${event} ${id}`)),
    );
    assert.deepEqual([...ids].map((one) => one.split(" ")[0]), ["burning"], where);
  }
});

test("members send once that an error budget burns, though one of them dies", async (installation) => {
  const { world, hook, statuses } = installation;
  installation.writeConfig({ defaults: { ...FLAKY, schedule: { regular_interval: 60 } } });
  const members = [installation.start("a"), installation.start("b")];
  await world.advance(5 * 60_000);
  for (let outage = 0; outage < 5; outage++) {
    for (const name of installation.names) statuses.set(name, 500);
    await world.advance(60_000);
    if (outage === 1) members.shift()?.signal("SIGKILL");
    for (const name of installation.names) statuses.set(name, 200);
    await world.advance(3 * 60_000);
  }
  assert.deepEqual(hook.events().toSorted(), installation.names.map((name) => `${name} burning`));
  assert.equal(hook.posts.length, installation.names.length);
  await installation.stop(...members);
});

// Availability as an interval, of the real program: the true downtime of a random target is in it.

const START_MS = Date.UTC(2026, 2, 2, 21, 55);
const SECOND_MS = 1000;

/** Returns random outages, none shorter than a pause between runs, and what the target does. */
function outagesOf(random: Random): { readonly results: string; readonly downMs: number } {
  const seconds = (most: number): number => 75 + Math.floor(random.below(most));
  const changes: string[] = [];
  let downMs = 0;
  let atMs = START_MS + 180 * SECOND_MS;
  const note = (condition: string): void =>
    void changes.push(`${new Date(atMs).toISOString().slice(0, 19).replace("T", " ")} ${condition}`);
  for (let count = 0; count < 6; count++) {
    atMs += seconds(random.pick([60, 600, 1800])) * SECOND_MS;
    note("critical");
    const lastsMs = seconds(random.pick([30, 120, 900])) * SECOND_MS;
    downMs += lastsMs;
    atMs += lastsMs;
    note(random.pick(["ok", "warning"]));
  }
  return { results: changes.join(", "), downMs };
}

Deno.test("the true downtime is in the interval of the summary, whatever the schedule and the threshold", async () => {
  const random = testRandom("objectives");
  for (let count = 0; count < campaign(8, 1); count++) {
    const { results, downMs } = outagesOf(random);
    const attentive = random.pick(["1 minute", "20 seconds", "10 seconds"]);
    let shown = "";
    const scenario: Scenario = {
      start: "2026-03-02 21:55",
      mode: random.pick(["service", "service", "cron"]),
      config: {
        checks: {
          web: {
            objective: "99 % a day",
            threshold: random.pick([1, 3, 50]),
            schedule: { regular_interval: "1 minute", attentive_interval: attentive },
            notifications: [],
          },
        },
      },
      results: { web: results },
      finally: async (world) => {
        const { stdout } = await world.machine().run("summary", "--format", "json");
        const { objective } = JSON.parse(stdout).availability.items[0];
        const { used_lower_ms: lower, used_upper_ms: upper, outages, time } = objective;
        shown = JSON.stringify({ count, results, downMs, objective });
        assert.ok(lower <= downMs && downMs <= upper, shown);
        assert.equal(outages, 6, shown);
        assert.ok(upper - lower <= 6 * 2 * 61 * SECOND_MS, shown);
        assert.ok(time.monitor_off_ms + time.own_network_ms + time.maintenance_ms === 0, shown);
      },
    };
    const { failure } = await play(scenario, { seed: testSeed() + count });
    assert.equal(failure, null, shown);
  }
});

// Summaries of a service, at their times.

/** A Sunday. */
const NOON = "2026-03-22 12:00";
const CHECKS = { fine: { schedule: { regular_interval: "1 hour" } } };

function configOf(summary: Readonly<Record<string, unknown>> | null): Scenario["config"] {
  const channels = { chat: {}, other: {} };
  return { channels, checks: CHECKS, ...summary !== null && { summary: { ...DAILY, ...summary } } };
}

const DAILY = { cron: "0 8 * * *", notifications: ["chat"] };

/** The period of a summary. */
function words({ items: [item] }: Received): string {
  const { from, until } = (item as unknown as { readonly summary: Readonly<Record<string, string>> }).summary;
  return [from, until].map((time = "") => time.slice(8, 16).replace("T", " ")).join(" to ");
}

simulate("a reload changes the times and the channels of summaries", {
  start: "2026-03-22 11:30",
  config: configOf(null),
  actions: {
    "11:40": [{ config: configOf({ cron: "0 * * * *" }) }, "reload"],
    "13:30": [{ config: configOf({ cron: "0 * * * *", notifications: ["other"] }) }, "reload"],
    "14:30": [{ config: configOf({ cron: "30 15 * * *", period: "2 hours" }) }, "reload"],
    "16:00": [{ config: configOf(null) }, "reload"],
  },
  until: "18:00",
  words,
  expect: {
    chat: ["12:00 22 11:00 to 22 12:00", "13:00 22 12:00 to 22 13:00", "15:30 22 13:30 to 22 15:30"],
    other: ["14:00 22 13:00 to 22 14:00"],
  },
  finally: ({ trace }) => {
    assert.ok(!trace.events.some(({ text }) => /^(?:warning|error): /.test(text)));
  },
});

simulate("a summary is sent once, later, if the state can't be written at its time", {
  start: NOON,
  config: configOf({ cron: "0 * * * *" }),
  actions: { "12:30": "disk full", "13:20": "disk free" },
  until: "13:50",
  words,
  expect: { chat: ["13:20 22 12:00 to 22 13:00"] },
  log: ["the summary is pending: "],
});

simulate("while a channel is down, old summaries are dropped", {
  start: "2026-03-22 07:30",
  config: configOf({}),
  servers: { chat: "503, Mon 09:00 up" },
  until: "Mon 10:00",
  words,
  expect: { chat: ["Mon 09:00-09:16 22 08:00 to 23 08:00"] },
});

simulate("a summary is sent alone through a limited channel, never in a digest", {
  start: NOON,
  config: {
    channels: {
      sms: { at_most: "1 per hour", parameters: { body: { event: "{{event}}", text: "{{summary}}" } } },
    },
    checks: CHECKS,
    summary: { cron: "0,1 13 * * *", notifications: ["sms"] },
  },
  until: "15:00",
  words: ({ text }) => JSON.parse(text).event,
  expect: { sms: ["13:00 summary", "14:00 summary"] },
});
