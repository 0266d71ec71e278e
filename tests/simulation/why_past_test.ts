/** `monitor why --at` prints the same explanation later as `monitor why` printed at that time. */
import assert from "node:assert/strict";
import type { Action } from "../../testing/simulation/actions.ts";
import { simulate, type World } from "../../testing/simulation/mod.ts";
import { campaign, testRandom } from "../../testing/seed.ts";

/** Minutes after midnight. */
const START_MINUTE = 15 * 60 + 30;
const START = timeOf(0);
/** How long each world lasts. */
const MINUTE_COUNT = campaign(6 * 60, 165);
const END = timeOf(MINUTE_COUNT + 30);
const NAMES = ["web", "api", "db", "all"] as const;
const SCHEDULE = { regular_interval: "1 minute", attentive_interval: "30 seconds" };
const random = testRandom("why --at");

/** Random conditions, some of which last for minutes and some for hours. */
function resultsOf(minutes = MINUTE_COUNT): string {
  const changes: string[] = [];
  for (let minute = 5 + Math.floor(random.below(60)); minute < minutes;) {
    const { condition } = random.pick([
      { condition: "ok" },
      { condition: "ok" },
      { condition: "warning" },
      { condition: "critical" },
      { condition: "critical" },
      { condition: "unknown" },
    ]);
    changes.push(`${timeOf(minute)} ${condition}`);
    minute += 1 + Math.floor(random.below(random.oneIn(2) ? 10 : 150));
  }
  return changes.join(", ");
}

function timeOf(minute: number, second = 0): string {
  const at = START_MINUTE + minute;
  const two = (number: number): string => String(number).padStart(2, "0");
  return `2026-03-0${2 + Math.floor(at / 1440)} ${two(Math.floor(at / 60) % 24)}:${two(at % 60)}${
    second === 0 ? "" : `:${two(second)}`
  }`;
}

interface Said {
  readonly name: string;
  readonly at: string;
  readonly text: string;
}

/** Returns the explanation of a check without durations, which differ by the latency of the command. */
async function why(world: World, name: string, ...options: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await world.machine().run("why", name, ...options, "--format", "json");
  assert.equal(code, 0, stderr);
  const { at: _, last, monitor: __, notes: ___, ...said } = JSON.parse(stdout);
  const channels = said.channels.map((channel: { readonly queued: readonly object[] }) => ({
    ...channel,
    // Unknown for a past time.
    reminder: null,
    queued: channel.queued.map((row) => ({
      ...row,
      attempts: null,
      next_attempt_at: null,
      last_failure: null,
    })),
  }));
  return JSON.stringify({ ...said, channels, last: last?.condition ?? null }, null, 1)
    .replaceAll(/\b\d+ (?:d|h|min|s)\b(?: \d+ (?:h|min|s)\b)*/g, "TIME")
    // The journal moves the second of two results of one millisecond to the next millisecond.
    .replaceAll(/(?<=:\d\d)\.\d{3}(?=Z")/g, "")
    // It has ended by now.
    .replaceAll(", for TIME more at most", "");
}

const said: Said[] = [];
const TIMES = Array.from({ length: campaign(12, 4) }, () => Math.floor(random.below(MINUTE_COUNT)))
  .sort((one, other) => one - other);

const QUESTIONS = TIMES.map((minute): [string, Action] => {
  const at = timeOf(minute, 20);
  return [at, async (world) => {
    for (const name of NAMES) said.push({ name, at, text: await why(world, name) });
  }];
});

const PEOPLE = ([
  ["2026-03-02 15:50", "silence web --for 3h"],
  ["2026-03-02 16:27", "silence end web"],
  ["2026-03-02 19:20", "maintenance start api --for 30min"],
  ["2026-03-02 20:05", "silence db --for 40min"],
  ["2026-03-02 20:25", "silence db --for 10min"],
  ["2026-03-02 17:10", "acknowledge --all"],
  ["2026-03-02 18:40", "acknowledge --all"],
] as const).filter(([at]) => at < END);

const CONFIG = {
  channels: {
    chat: {},
    late: { after: "30 min 10 s" },
    pager: { conditions: ["critical"] },
    night: { hours: [{ from: "20:00", to: "06:00" }] },
    ends: { events: ["recovery"] },
    day: { hours: [{ from: "08:00", to: "18:00" }], outside_hours: "never" },
  },
  checks: {
    web: { threshold: 3, schedule: SCHEDULE },
    api: { schedule: SCHEDULE, depends_on: ["db"], recovery_threshold: 2 },
    db: { schedule: SCHEDULE, flapping: "once", maintenance_windows: [{ from: "16:00", to: "17:00" }] },
    all: { kind: "group", parameters: { checks: ["web", "db"] } },
  },
};

const SENT = { chat: "any", late: "any", pager: "any", night: "any", ends: "any", day: "any" } as const;

simulate("why --at prints later the explanation that why printed at that time", {
  start: START,
  config: CONFIG,
  results: { web: resultsOf(), api: resultsOf(), db: resultsOf() },
  actions: {
    ...Object.fromEntries([...PEOPLE, ...QUESTIONS].sort(([one], [other]) => one < other ? -1 : 1)),
    [END]: async (world: World) => {
      for (const { name, at, text } of said) {
        assert.equal(await why(world, name, "--at", at), text, `${name} at ${at}`);
      }
    },
  },
  until: timeOf(MINUTE_COUNT + 31),
  expect: SENT,
});

/** A time at which the service was not running. */
interface Stop {
  readonly fromMinute: number;
  readonly minutes: number;
}

/** With a few stops. */
const STOPPED_COUNT = Math.min(MINUTE_COUNT, campaign(6 * 60, 150));

const STOPS: readonly Stop[] = Array.from({ length: STOPPED_COUNT / 66 }, (_, index) => ({
  fromMinute: 20 + 65 * index + Math.floor(random.below(20)),
  minutes: 1 + Math.floor(random.below(random.oneIn(2) ? 3 : 40)),
}));

const stops = STOPS.flatMap(({ fromMinute, minutes }): readonly [string, Action][] => [
  [timeOf(fromMinute, 50), random.oneIn(2) ? "stop" : "kill"],
  [timeOf(fromMinute + minutes, 55), "start"],
]);

const stopped: Pick<Said, "name" | "at">[] = [];
const ran: Said[] = [];

function minuteIn({ fromMinute, minutes }: Stop): number {
  return fromMinute + 2 + Math.floor(random.below(minutes));
}

const MINUTES_ASKED = [
  ...STOPS.slice(0, campaign(20)).map(minuteIn),
  ...Array.from({ length: campaign(12, 4) }, () => Math.floor(random.below(STOPPED_COUNT))),
];

const ASKED = MINUTES_ASKED.map((minute): [string, Action] => {
  const at = timeOf(minute, 20);
  return [at, async (world) => {
    const stop = STOPS.findLast(({ fromMinute }) => fromMinute < minute);
    const [sinceStop, sinceStart] = stop === undefined
      ? [Infinity, Infinity]
      : [minute - stop.fromMinute, minute - stop.fromMinute - stop.minutes];
    // Each check runs within a minute.
    if (sinceStop < 2 || sinceStart === 1) return;
    const isStopped = sinceStart <= 0;
    for (const name of NAMES) {
      if (isStopped) stopped.push({ name, at });
      else ran.push({ name, at, text: await why(world, name) });
    }
  }];
});

simulate("why --at shows unknown for times at which the service did not run", {
  start: START,
  config: CONFIG,
  results: { web: resultsOf(STOPPED_COUNT), api: resultsOf(STOPPED_COUNT), db: resultsOf(STOPPED_COUNT) },
  actions: {
    ...Object.fromEntries([...stops, ...ASKED].sort(([one], [other]) => one < other ? -1 : 1)),
    [timeOf(STOPPED_COUNT + 30)]: async (world: World) => {
      for (const { name, at } of stopped) {
        const { condition, state, reason } = JSON.parse(await why(world, name, "--at", at));
        assert.deepEqual([condition, state], ["unknown", "overdue"], `${name} at ${at}`);
        assert.match(reason, /^(?:"\w+" )?not run from /);
      }
      for (const { name, at, text } of ran) {
        assert.equal(await why(world, name, "--at", at), text, `${name} at ${at}`);
      }
    },
  },
  until: timeOf(STOPPED_COUNT + 31),
  expect: SENT,
});

simulate("why --at prints pending notifications of a channel, and rejects times without data", {
  start: "2026-03-02 21:55",
  config: { checks: { web: { recovery_threshold: 2 } } },
  results: { web: "22:00 critical, 22:40 ok, 22:41 critical" },
  servers: { chat: "22:00 refuse, 22:30 404, 22:50 up" },
  actions: {
    "23:55": [
      async (world) => {
        const { stdout } = await world.machine().run("why", "web", "--at", "22:10");
        assert.match(
          stdout,
          /^At 2026-03-02 22:10:00 UTC, by the config of now:\nweb: critical since 2026-03-02 22:00:\d\d UTC\nlast run .* before: critical: .*\n\nchat {2}pending: problem critical\n$/,
        );
        const { stdout: rejected } = await world.machine().run("why", "web", "--at", "22:49");
        assert.match(rejected, /\nchat {2}rejected: problem critical\n$/);
        const { stdout: sent } = await world.machine().run("why", "web", "--at", "23:54");
        const [, at = ""] =
          /\nchat {2}notified of critical\n {6}sent critical at (.*), accepted\n/.exec(sent) ??
            assert.fail(sent);
        // As messages show the time: without its milliseconds.
        const { stdout: same } = await world.machine().run("why", "web", "--at", at);
        assert.match(same, /\nchat {2}notified of critical\n/);
        const { stderr } = await world.machine().run("why", "web", "--at", "2026-03-01 21:00");
        assert.match(
          stderr,
          /^monitor: no result of "web" until 2026-03-01 21:00:00 UTC is stored: the first one is of 2026-03-02 21:5\d:\d\d UTC\n$/,
        );
      },
      "why web --at 2026-03-01 => 1",
      "why web --at 2026-03-03 => 64",
      "why web --at 2026-02-30 => 64",
      "why web --at yesterday => 64",
    ],
  },
  until: "23:56",
  expect: { chat: "any" },
});

const MINUTES = Array.from({ length: 80 }, (_, minute) => {
  const [hour, rest] = [22 + Math.floor(minute / 60), String(minute % 60).padStart(2, "0")];
  return `${hour}:${rest} ${minute % 2 === 0 ? "critical" : "ok"}`;
});

simulate("why --at includes a notification that was sent without a run while a check flaps", {
  start: "2026-03-02 21:55",
  config: {
    checks: {
      web: { flapping: "once", schedule: { regular_interval: "1 minute", attentive_interval: "1 minute" } },
    },
  },
  results: { web: MINUTES.join(", ") },
  actions: {
    "21:58": "silence web --until 2026-03-02T22:42:05",
    "22:43:30": async (world) => {
      said.length = 0;
      const text = await why(world, "web");
      assert.match(text, /"kind": "flapping"/);
      said.push({ name: "web", at: "2026-03-02 22:43:30", text });
    },
    "23:10": async (world) => {
      for (const { name, at, text } of said) assert.equal(await why(world, name, "--at", at), text);
    },
  },
  until: "23:21",
  expect: { chat: "any" },
});

// `monitor why --at` of times at which a check did not run: its condition is unknown.

const OFTEN = { regular_interval: "10 seconds", attentive_interval: "10 seconds" };

async function whyAt(world: World, name: string, at: string): Promise<{
  readonly json: { readonly condition: string; readonly state: string; readonly reason: string };
  readonly text: string;
}> {
  const { stdout: text } = await world.machine().run("why", name, "--at", at);
  const { stdout } = await world.machine().run("why", name, "--at", at, "--format", "json");
  return { json: JSON.parse(stdout), text };
}

const TIME = String.raw`2026-03-02 \d\d:\d\d:\d\d UTC`;

async function assertUnknown(world: World, name: string, at: string, reason: RegExp): Promise<void> {
  const { json, text } = await whyAt(world, name, at);
  assert.deepEqual([json.condition, json.state], ["unknown", "overdue"], `${name} at ${at}: ${text}`);
  assert.match(json.reason, reason);
  assert.match(text.split("\n")[1] ?? "", new RegExp(`^${name}: unknown \\(${reason.source}\\)$`));
  assert.match(text, /\nchat {2}nothing is due: nothing was decided until it ran again\n/);
}

async function assertOk(world: World, name: string, at: string): Promise<void> {
  const { json } = await whyAt(world, name, at);
  assert.deepEqual([json.condition, json.state, json.reason], ["ok", "current", ""], `${name} at ${at}`);
}

for (const end of ["stop", "kill"]) {
  simulate(`why --at never prints ok for a time at which the service did not run, after a ${end}`, {
    start: "2026-03-02 16:40",
    config: {
      checks: {
        web: { schedule: OFTEN },
        all: { kind: "group", parameters: { checks: ["web"] }, schedule: { regular_interval: "1 hour" } },
      },
    },
    actions: {
      "16:52:39": end,
      "16:53:10": "start",
      "16:56": async (world) => {
        const span = new RegExp(`not run from ${TIME} to ${TIME}`).source;
        await assertOk(world, "web", "16:52:30");
        await assertOk(world, "web", "16:52:39");
        await assertUnknown(world, "web", "16:52:51", new RegExp(`${span}, was ok`));
        await assertUnknown(world, "web", "16:53", new RegExp(`${span}, was ok`));
        await assertUnknown(world, "all", "16:53", new RegExp(`"web" ${span}`));
        await assertOk(world, "web", "16:53:40");
        await assertOk(world, "all", "16:53:40");
      },
      "16:57": end,
      "16:57:15": (world) =>
        assertUnknown(world, "web", "16:57:12", new RegExp(`not run since ${TIME}, was ok`)),
      "17:10": async (world) => {
        await assertUnknown(world, "web", "17:00", new RegExp(`not run since ${TIME}, was ok`));
        await assertUnknown(world, "all", "17:00", /not run since .*, was ok/);
        await assertOk(world, "web", "16:56:49");
      },
    },
    expect: {},
  });
}

simulate("why --at does not count a dependency as ok that did not run", {
  start: "2026-03-02 17:40",
  config: {
    checks: {
      web: {
        schedule: { regular_interval: "4 hours", attentive_interval: "4 hours" },
        depends_on: ["router"],
        maintenance_windows: [{ from: "16:00", to: "20:00" }],
      },
      router: { schedule: OFTEN },
    },
  },
  results: { web: "critical" },
  actions: {
    "18:00": "stop",
    "18:04": "start",
    "18:10": async (world) => {
      const causes = async (at: string): Promise<readonly string[]> => {
        const { stdout } = await world.machine().run("why", "web", "--at", at, "--format", "json");
        return JSON.parse(stdout).channels[0].causes.map(({ kind }: { readonly kind: string }) => kind);
      };
      assert.deepEqual(await causes("17:59"), ["maintenance"]);
      assert.deepEqual(await causes("18:02"), ["maintenance", "depends_on"]);
      const { stdout } = await world.machine().run("why", "web", "--at", "18:02");
      assert.match(
        stdout,
        /\nchat {2}problem not sent while any of these applies:\n {6}- maintenance window/,
      );
    },
  },
  until: "18:11",
  expect: {},
});
