/** What commands print about a service that was stopped, was killed or hangs. */
import assert from "node:assert/strict";
import { simulate, type World } from "../../testing/simulation/mod.ts";

const START = "2026-03-02 21:55";
const KEPT = {
  state: "kept.sqlite",
  report: { path: "page.html" },
  metrics: { path: "monitor.prom" },
  checks: { web: {}, db: {}, nightly: { schedule: { cron: "0 3 * * *" } } },
};

interface Status {
  readonly condition: string;
  readonly checks: readonly { readonly name: string; readonly condition: string; readonly state: string }[];
  readonly monitor: { readonly state: string; readonly last_seen_at: string | null };
}

async function statusOf(world: World): Promise<Status & { readonly code: number }> {
  const { code, stdout } = await world.machine().run("status", "--format", "json");
  return { code, ...JSON.parse(stdout) as Status };
}

async function textOf(world: World, ...args: readonly string[]): Promise<string> {
  return (await world.machine().run(...args)).stdout;
}

const WAYS = {
  stop: { state: "stopped", words: "monitor stopped 30 s ago" },
  kill: { state: "died", words: /^monitor terminated unexpectedly, last seen .* ago$/ },
  pause: { state: "hangs", words: /^monitor hangs, last seen .* ago$/ },
};

for (const [way, { state, words }] of Object.entries(WAYS)) {
  simulate(`no check is ok after the service got the command ${way}`, {
    start: START,
    config: KEPT,
    results: { db: "22:00 critical" },
    actions: { "22:30": way },
    until: "22:30:30",
    expect: { chat: ["22:00 problem db critical"] },
    finally: async (world) => {
      const { code, condition, checks, monitor } = await statusOf(world);
      assert.deepEqual([code, condition, monitor.state], [3, "unknown", state]);
      assert.deepEqual(
        checks.map((check) => [check.name, check.condition, check.state]),
        [["web", "unknown", "not_running"], ["db", "unknown", "not_running"], [
          "nightly",
          "unknown",
          "never_ran",
        ]],
      );
      assert.equal(monitor.last_seen_at === null, state === "stopped");
      const text = await textOf(world, "status");
      const [, last = ""] = /; (.*)\n$/.exec(text) ?? [];
      if (typeof words === "string") assert.equal(last, words);
      else assert.match(last, words);
      assert.match(text, new RegExp(`UNKNOWN +web +${last.replace(/\d.*\d/, ".*")}, was ok`));
      assert.match(text, /\n3 checks: 3 unknown; /);
    },
  });
}

simulate("a stopped service leaves a page and metrics in which no check is ok", {
  start: START,
  config: KEPT,
  actions: { "22:30": "stop" },
  until: "22:31",
  finally: (world) => {
    const { files } = world.machine();
    const read = (name: string): string => new TextDecoder().decode(files.read(`/etc/monitor/${name}`));
    assert.match(read("page.html"), /<a href=#problems>3 unknown<\/a>/);
    assert.match(read("monitor.prom"), /monitor_check_status\{check="web",condition="unknown"\} 1/);
    return Promise.resolve();
  },
});

for (const way of ["stop", "kill"]) {
  simulate(`a check that a single call ran after the ${way} counts until it is overdue`, {
    start: START,
    config: KEPT,
    actions: { "22:30": way, "22:30:30": "check --once web" },
    until: "22:31",
    finally: async (world) => {
      const { checks, code } = await statusOf(world);
      assert.equal(code, 3);
      assert.deepEqual(checks.map(({ condition }) => condition), ["ok", "unknown", "unknown"]);
      assert.equal((await world.machine().run("status", "web")).code, 0);
    },
  });
}

simulate("calls by cron keep checks ok until they are overdue", {
  start: START,
  config: KEPT,
  actions: { "22:30": "kill", "22:31": "check --once --due => 3" },
  until: "22:32",
  finally: async (world) => {
    const { checks, monitor } = await statusOf(world);
    assert.deepEqual([monitor.state, ...checks.map(({ condition }) => condition)], [
      "cron",
      "ok",
      "ok",
      "pending",
    ]);
  },
});
