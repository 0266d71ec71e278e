/** `monitor why --at` of times at which a check did not run: its condition is unknown. */
import assert from "node:assert/strict";
import { simulate, type World } from "../../testing/simulation/mod.ts";

const SCHEDULE = { regular_interval: "10 seconds", attentive_interval: "10 seconds" };

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
        web: { schedule: SCHEDULE },
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
        await assertOk(world, "web", "16:56:50");
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
      router: { schedule: SCHEDULE },
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
