/** `connectivity`: failures of checks while this machine has no network. */
import assert from "node:assert/strict";
import { simulate, type World } from "../../testing/simulation/mod.ts";

const START = "2026-03-02 21:55";
const http = (host: string): object => ({
  kind: "http_request",
  parameters: { request: { target: `http://${host}/` } },
});
const CONFIG = {
  connectivity: ["one.example:443", "other.example:443"],
  channels: { chat: {} },
  checks: { web: http("web.example"), api: http("api.example"), local: http("localhost:8080"), disk: {} },
};

async function conditionsOf(world: World): Promise<Readonly<Record<string, string>>> {
  const { stdout } = await world.machine().run("status", "--format", "json");
  const { checks } = JSON.parse(stdout) as { checks: { name: string; condition: string }[] };
  return Object.fromEntries(checks.map(({ name, condition }) => [name, condition]));
}

simulate("failures without a network do not count, and are no problem, no change and no downtime", {
  start: START,
  config: {
    ...CONFIG,
    checks: { ...CONFIG.checks, site: { kind: "group", parameters: { checks: ["web", "api"] } } },
  },
  servers: {
    web: "22:00 refuse, 22:20 up",
    api: "22:00 hang, 22:20 up",
    one: "21:59 refuse, 22:21 up",
    other: "21:59 hang, 22:21 up",
  },
  log: ["no network: failures of checks that need it do not count"],
  actions: {
    "22:10": async (world) => {
      assert.deepEqual(await conditionsOf(world), {
        web: "pending",
        api: "pending",
        local: "ok",
        disk: "ok",
        site: "pending",
      });
      const { stdout } = await world.machine().run("why", "web");
      assert.match(
        stdout,
        /unknown: this machine has no network: no response from one\.example:443, other\.example:443; /,
      );
    },
    "22:30": async (world) => {
      assert.deepEqual(await conditionsOf(world), {
        web: "ok",
        api: "ok",
        local: "ok",
        disk: "ok",
        site: "ok",
      });
      const { stdout } = await world.machine().run("history", "--format", "json", "web");
      assert.doesNotMatch(stdout, /"to": "(?:critical|unknown)"/);
    },
  },
  expect: {},
});

simulate("failures of this machine count without a network, and those that the config says", {
  start: START,
  config: {
    ...CONFIG,
    checks: {
      ...CONFIG.checks,
      web: { ...http("web.example"), connectivity: false },
      disk: { connectivity: true },
      backup: {},
      answers: http("answers.example"),
    },
  },
  results: { "answers.example": "22:00 critical", disk: "22:00 critical", backup: "22:00 critical" },
  servers: { web: "22:00 refuse", api: "22:00 refuse", one: "21:59 refuse", other: "21:59 refuse" },
  log: ["no network"],
  actions: { "22:00": "cut localhost" },
  until: "22:05",
  expect: {
    chat: [
      "22:00 problem web critical",
      "22:00 problem backup critical",
      "22:00 problem answers critical",
      "22:00 problem local critical",
    ],
  },
});

simulate("a failure of a time server on this machine counts without a network", {
  start: START,
  config: { ...CONFIG, checks: { clock: { kind: "ntp", parameters: { host: "127.0.0.1" } } } },
  servers: { one: "21:55 refuse", other: "21:55 refuse" },
  until: "22:05",
  expect: { chat: ["21:55-21:56 problem clock critical"] },
});

simulate("failures count if one server responds, and again once the network is back", {
  start: START,
  config: CONFIG,
  servers: { web: "22:00 refuse", api: "22:30 refuse", one: "21:59 refuse", other: "22:29 refuse, 22:40 up" },
  log: ["no network"],
  expect: { chat: ["22:00 problem web critical", "22:40-22:41 problem api critical"] },
});

simulate("a problem that was sent goes on without a network, until the recovery", {
  start: START,
  config: CONFIG,
  servers: { web: "22:00 refuse, 22:30 up", one: "22:10 refuse, 22:20 up", other: "22:10 refuse, 22:20 up" },
  log: ["no network"],
  expect: { chat: ["22:00 problem web critical", "22:30 recovery web ok"] },
});

simulate("connectivity counts for single runs", {
  start: START,
  mode: "manual",
  config: CONFIG,
  servers: { web: "21:55 refuse", one: "21:55 refuse", other: "21:55 refuse" },
  actions: {
    "21:56": async (world) => {
      const { code, stdout } = await world.machine().run("check", "--once", "--state", "none", "web");
      assert.equal(code, 3, stdout);
      assert.match(stdout, /this machine has no network/);
    },
    "21:57": async (world) => {
      const { stdout } = await world.machine().run("permissions");
      assert.match(stdout, /--allow-net=[^ ]*one\.example:443,other\.example:443/);
    },
  },
  expect: {},
});

simulate(
  "an inverted check is ok while it fails, critical while it does not, and neither without a network",
  {
    start: START,
    config: {
      connectivity: ["one.example:443"],
      channels: { chat: {} },
      checks: { closed: { ...http("web.example"), invert: true } },
    },
    servers: { web: "21:55 refuse, 22:30 up, 23:00 refuse", one: "21:55 refuse, 22:11 up" },
    log: ["no network"],
    until: "23:05",
    actions: {
      "22:05": async (world) => {
        assert.deepEqual(await conditionsOf(world), { closed: "pending" });
        const { stdout } = await world.machine().run("why", "closed");
        assert.match(stdout, /unknown: this machine has no network/);
      },
      "22:20": async (world) => {
        assert.deepEqual(await conditionsOf(world), { closed: "ok" });
        const { stdout } = await world.machine().run("why", "closed");
        assert.match(stdout, /failed as expected: /);
      },
    },
    expect: { chat: ["22:30 problem closed critical", "23:00 recovery closed ok"] },
    finally: (_, { messages }) => {
      const [problem, recovery] = messages.map(({ items }) => items[0]?.headline ?? "");
      assert.match(problem ?? "", /^closed is up, but must not be: status is 200, expected a failure$/);
      assert.match(recovery ?? "", /^closed is no longer up after (?:30 min|29 min \d\d s)$/);
    },
  },
);
