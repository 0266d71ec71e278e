/** Actions of checks, such as restarts: how often, when, and which notifications wait for them. */
import assert from "node:assert/strict";
import { playWithKills } from "../../testing/simulation/kills.ts";
import { type Scenario, simulate, type World } from "../../testing/simulation/mod.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { test } from "./installation.ts";

const TOKEN = "sesame-open-sesame";
const START = "2026-03-02 21:55";
const FIX = { path: "/bin/fix", title: "restart web", at_most: 2, settle: "1 minute" };

interface FixOptions {
  readonly code?: number;
  readonly stderr?: string;
  readonly durationMs?: number;
  /** Whether it ends the problem. @default false */
  readonly helps?: boolean;
}

/** Makes the command of the action, on every machine; it notes its runs in the trace. */
function install({ helps = false, ...end }: FixOptions = {}): (world: World) => void {
  return (world) => {
    for (const machine of world.machines) {
      machine.commands.set("/bin/fix", () => {
        runs.set(world, [...runs.get(world) ?? [], world.describeTime().slice(10, 15)]);
        if (helps) world.outcomes.set("web", { condition: "ok", output: "", durationMs: null });
        return { durationMs: 100, ...end };
      });
    }
  };
}

const runs = new WeakMap<World, readonly string[]>();

/** Times may be patterns. */
function expectRuns(...times: readonly string[]): (world: World) => void {
  return (world) => assert.match((runs.get(world) ?? []).join(" "), new RegExp(`^${times.join(" ")}$`));
}

const WEB = { start: START, config: { checks: { web: { action: FIX } } } } as const satisfies Partial<
  Scenario
>;

simulate("an action that helps sends nothing", {
  ...WEB,
  results: { web: "22:00 critical" },
  actions: { "21:56": install({ helps: true }) },
  finally: expectRuns("22:00"),
});

simulate("an action that does not help runs at_most times, then the problem is sent", {
  ...WEB,
  config: { ...WEB.config, listen: { address: "127.0.0.1:9797", token: TOKEN } },
  results: { web: "22:00 critical (refused)" },
  actions: {
    "21:56": install({ code: 5, stderr: "no such unit\nmore" }),
    "22:01:30": async (world) => {
      const { stdout } = await world.machine().run("why", "web");
      assert.match(stdout, /^action "restart web" at .* 22:00:01 UTC: exit code 5: no such unit$/m);
      assert.match(
        stdout,
        /problem not sent:\n *- "action": "restart web" ran 2 of at most 2 times, and the next results decide/,
      );
      const { actions } = JSON.parse((await world.machine().run("why", "--format", "json", "web")).stdout);
      assert.deepEqual([actions.length, actions[1].outcome], [2, "failed"]);
    },
    "22:50": async (world) => {
      const headers = { authorization: `Bearer ${TOKEN}` };
      const page = await world.machine().request("/checks/web", { headers });
      const text = page?.body.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ") ?? "";
      assert.match(
        text,
        /Action restart web after 1 critical result, at most 2 an hour .* exit code 5: no such unit/,
      );
    },
    "23:00": async (world) => {
      const listed = await world.machine().run("history", "--from", "21:50");
      assert.equal(
        listed.stdout.match(/ UTC {2}web: "restart web" ran: exit code 5: no such unit$/gm)?.length,
        2,
      );
      const { stdout } = await world.machine().run("replay", "--verify");
      assert.match(stdout, /1 notification as sent/);
      const replayed = await world.machine().run("replay", "--format", "json");
      const [{ actions }] = JSON.parse(replayed.stdout).configs;
      assert.deepEqual(actions.map(({ text }: { text: string }) => text), [
        "restart web (web)",
        "restart web (web)",
      ]);
    },
  },
  until: "23:15",
  expect: { chat: ["22:02 problem web critical"] },
  finally: (world, { messages }) => {
    expectRuns("22:00", "22:01")(world);
    assert.match(
      messages[0]?.items[0]?.output ?? "",
      /refused; "restart web" ran twice without success: exit code 5: no such unit/,
    );
  },
});

simulate("an action runs again for the next problem, once a recovery ended the last one", {
  ...WEB,
  results: { web: "22:00 critical, 22:30 ok, 23:30 critical" },
  actions: { "21:56": install() },
  expect: { chat: ["22:02 problem web critical", "22:30 recovery web ok", "23:32 problem web critical"] },
  finally: expectRuns("22:00", "22:01", "23:30", "23:31"),
});

simulate("an action that helps for some minutes runs at_most times an hour", {
  ...WEB,
  results: { web: "22:00 critical, 22:01 ok, 22:10 critical, 22:11 ok, 22:20 critical" },
  actions: { "21:56": install() },
  until: "23:12",
  expect: { chat: ["22:20 problem web critical (flapping)"] },
  // The run of the check at the full hour may be some milliseconds too early.
  finally: expectRuns("22:00", "22:10", "23:0[01]", "23:1[01]"),
});

simulate("an action does not run again while it is in progress, or may still help", {
  start: START,
  config: { checks: { web: { action: { ...FIX, settle: "2 minutes", timeout: "10 minutes" } } } },
  results: { web: "22:00 critical, 22:05 ok" },
  actions: { "21:56": install({ durationMs: 200_000 }) },
  finally: expectRuns("22:00"),
});

simulate("an action that cannot start is not tried again, and the problem is sent", {
  ...WEB,
  results: { web: "22:00 critical" },
  actions: { "21:56": (world) => void world.machine().commands.set("/bin/fix", () => null) },
  expect: { chat: ["22:00-22:01 problem web critical"] },
  log: ["action did not start"],
  finally: (_world, { messages }) =>
    assert.match(messages[0]?.items[0]?.output ?? "", /"restart web" did not start: no such file/),
});

simulate("an action waits for critical results in a row, and a problem that was sent does not wait", {
  start: START,
  config: { checks: { web: { action: { ...FIX, after: 3, at_most: 1 } } } },
  results: { web: "22:00 critical, 22:02 ok, 22:05 critical, 22:06 unknown, 22:08 critical" },
  actions: { "21:56": install() },
  until: "22:20",
  expect: {
    chat: [
      "22:00 problem web critical",
      "22:02 recovery web ok",
      "22:05 problem web critical",
      "22:06 change web unknown",
      "22:08 change web critical",
    ],
  },
  log: ["is 3, more than the threshold 1, so the problem is sent first"],
  finally: expectRuns("22:10"),
});

simulate("an action does not run for warning and unknown results", {
  ...WEB,
  results: { web: "22:00 warning, 22:10 unknown" },
  actions: { "21:56": install() },
  expect: { chat: ["22:00 problem web warning", "22:10 change web unknown"] },
  finally: expectRuns(),
});

simulate("an action does not run in maintenance or after an acknowledgement, but during a silence", {
  start: START,
  config: { checks: { web: { action: FIX }, other: {} } },
  results: { web: "22:00 critical", other: "critical" },
  actions: { "21:56": [install(), "maintenance start web --for 10m"], "22:20": "acknowledge web" },
  until: "22:30",
  expect: { chat: ["21:55 problem other critical", "22:08 problem web critical"] },
  finally: (world) => assert.match((runs.get(world) ?? []).join(), /^22:0[67],22:0[78]$/),
});

simulate("an action does not run while a dependency is down", {
  start: START,
  config: { checks: { web: { action: FIX, depends_on: ["database"] }, database: {} } },
  results: { web: "22:00 critical, 22:30 ok", database: "22:00 critical, 22:20 ok" },
  actions: { "21:56": install({ helps: true }) },
  expect: { chat: ["22:00 problem database critical (1 dependent)", "22:20 recovery database ok"] },
  finally: (world) => assert.match((runs.get(world) ?? []).join(), /^22:2[01]$/),
});

simulate("an action does not start while the state cannot be written", {
  ...WEB,
  results: { web: "22:00 critical" },
  actions: { "21:56": install(), "21:58": "disk full", "22:10": "disk free" },
  expect: { chat: ["22:00-22:01 problem web critical"] },
  log: [/disk|full|space/, "action did not start"],
  finally: expectRuns(),
});

simulate("the runs of an action count across restarts of the service", {
  ...WEB,
  results: { web: "22:00 critical" },
  actions: {
    "21:56": install({ durationMs: 20_000 }),
    "22:00:10": "kill",
    "22:00:40": "start",
    "22:10": "stop",
    "22:11": "start",
  },
  until: "22:30",
  expect: { chat: ["22:03-22:05 problem web critical"] },
  finally: (world) => assert.equal(runs.get(world)?.length, 2),
});

simulate("an action runs at_most times in a problem, also if the clock is set back in it", {
  ...WEB,
  config: { checks: { web: { action: { ...FIX, settle: "10 minutes" } } } },
  results: { web: "22:00 critical" },
  actions: { "21:56": install(), "22:03": "clock -6h" },
  until: "23:59",
  expect: { chat: ["22:13 problem web critical"] },
  finally: (world) => assert.equal(runs.get(world)?.length, 2),
});

simulate("an action runs under cron", {
  ...WEB,
  mode: "cron",
  results: { web: "22:00 critical" },
  actions: { "21:56": install() },
  until: "22:30",
  expect: { chat: ["22:02-22:03 problem web critical"] },
  finally: (world) => assert.equal(runs.get(world)?.length, 2),
});

simulate("an action does not run with --no-notify", {
  ...WEB,
  args: "--no-notify",
  results: { web: "22:00 critical" },
  actions: { "21:56": install() },
  finally: expectRuns(),
});

Deno.test("a kill between any two steps starts no action more often than at_most", async () => {
  const scenario: Scenario = {
    ...WEB,
    start: "2026-03-02 21:59",
    results: { web: "22:00 critical" },
    actions: { "21:59:30": install() },
    until: "22:12",
  };
  let kills = 0;
  const counts = new Set<number>();
  for await (
    const { world, receivers, failure, where } of playWithKills(scenario, {
      seed: testSeed(),
      count: campaign(25),
    })
  ) {
    kills++;
    const count = runs.get(world)?.length ?? 0;
    counts.add(count);
    const details = `${where}, seed ${testSeed()}\n${world.trace.text({ zone: "UTC", linesMax: 100 })}`;
    assert.doesNotMatch(failure ?? "", /^at /, details);
    assert.ok(count <= 2, `${count} runs\n${details}`);
    const problems = receivers.messages.filter(({ isAgain }) => !isAgain);
    assert.equal(problems.length, 1, details);
  }
  assert.ok(kills > 0 && counts.has(2), `${kills} kills, ${[...counts]} runs`);
});

test("members that share a state run an action at_most times together, also if one dies", async (installation) => {
  const { world, names, statuses, hook } = installation;
  const started: string[] = [];
  for (const name of ["a", "b", "c"]) {
    world.machine(name).commands.set("/bin/fix", ({ environment }) => {
      started.push(environment["MONITOR_CHECK"] ?? "");
      return { durationMs: 500 };
    });
  }
  const action = { path: "/bin/fix", at_most: 2, settle: 5, timeout: 5 };
  installation.writeConfig({
    checks: Object.fromEntries(names.map((name) => [name, { ...installation.checkOf(name), action }])),
  });
  const members = ["a", "b", "c"].map((name) => installation.start(name));
  await world.advance(30_000);
  for (const name of names) statuses.set(name, 500);
  await world.advance(1_400);
  members[0]?.signal("SIGKILL");
  await world.advance(60_000);
  const counts = Map.groupBy(started, (name) => name);
  for (const name of names) assert.equal(counts.get(name)?.length, 2, `${name}: ${started}`);
  assert.deepEqual(hook.events().toSorted(), names.map((name) => `${name} problem`));
});
