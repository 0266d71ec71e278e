/** `monitor reload --plan`: what the edited config changes is shown before the service applies it. */
import assert from "node:assert/strict";
import { simulate, type World } from "../../testing/simulation/mod.ts";
import { PROBE } from "../../testing/simulation/world.ts";

const START = "2026-03-02 20:00";
const SCHEDULE = { regular_interval: "1 minute", attentive_interval: "30 seconds" };

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

simulate("reload --plan compares the edited files with those in use, and then applies them", {
  start: START,
  mode: "manual",
  config: configOf(1),
  results: { web: "20:10 critical, 20:12 ok, 23:30 critical, +50min ok", db: "21:00 critical, 21:20 ok" },
  actions: {
    "20:00:01": [includes(1), "start"],
    "Tue 08:00": [{ config: configOf(10) }, includes(100)],
    "08:05": async (world) => {
      const { code, stdout, stderr } = await world.machine().run("reload", "--plan");
      assert.deepEqual([code, stderr], [0, ""]);
      assert.deepEqual(stdout.replaceAll(/ +/g, " ").replaceAll(/:\d\d UTC/g, "").split("\n"), [
        "2026-03-02 19:59 to 2026-03-03 08:05",
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
        'config reloaded: 2 checks, 0 added, 2 changed ("web", "db"), 0 removed',
        "",
      ]);
    },
    "08:10": [{ config: configOf(2) }, async (world) => {
      for (
        const [answers, isApplied] of [[["perhaps", "no"], false], [[], false], [["yes"], true]] as const
      ) {
        const { code, stdout } = await world.machine().runWith({
          args: ["reload", "--plan"],
          typed: answers,
        });
        assert.equal(code, 0);
        assert.match(stdout, isApplied ? /config reloaded: 2 checks/ : /config not reloaded\n$/);
      }
    }],
    "08:12": async (world) => {
      const { stdout } = await world.machine().run("reload", "--plan", "--format", "json");
      const { adopted, changed, plan } = JSON.parse(stdout);
      assert.deepEqual([adopted, changed, plan.differences], [true, [], []], "the applied one is in use");
      assert.deepEqual(plan.configs.map(({ config }: { readonly config: string }) => config), [
        "running",
        "edited",
      ]);
    },
    "08:15": [{ config: '{ "checks": ' }, async (world) => {
      const { code, stdout, stderr } = await world.machine().run("reload", "--plan");
      assert.deepEqual([code, stdout], [78, ""]);
      assert.match(stderr, /monitor\.jsonc:1:/);
      const { stdout: status } = await world.machine().run("status");
      assert.doesNotMatch(status, /not reloaded/, "the service was not asked");
    }],
  },
  until: "08:20",
  expect: { chat: "any" },
});

simulate("reload --plan goes on without a stored result, but not without a service", {
  start: START,
  config: { checks: {} },
  actions: {
    "20:05": [{ config: { checks: { web: {} } } }, async (world) => {
      const { code, stdout, stderr } = await world.machine().run("reload", "--plan");
      assert.deepEqual([code, stderr], [0, "monitor: no result of the last 7 d is stored\n"]);
      assert.equal(stdout, 'config reloaded: 1 check, 1 added ("web"), 0 changed, 0 removed\n');
    }],
    "20:10": ["stop", async (world) => {
      const { code, stdout, stderr } = await world.machine().run("reload", "--plan");
      assert.deepEqual([code, stdout], [74, ""]);
      assert.match(stderr, /no monitor runs on this state; start it with: monitor check/);
    }],
  },
});
