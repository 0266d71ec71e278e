/** Channels that send the notifications of a group as one message. */
import assert from "node:assert/strict";
import { simulate } from "../../testing/simulation/mod.ts";

const START = "2026-03-02 21:55";
const NAMES = Array.from({ length: 20 }, (_, index) => `host-${index + 1}`);
const HOSTS = Object.fromEntries(NAMES.map((name) => [name, {}]));
/** All fail at once; three are ok again before the others. */
const OUTAGE = Object.fromEntries(
  NAMES.map((name, index) => [name, `22:00 critical, ${index < 3 ? "22:10" : "22:20"} ok`]),
);
const LINE = { parameters: { body: ["{{headline}}"] } };

simulate("20 hosts are one message in a chat, and their recoveries say how many are back", {
  start: START,
  config: {
    channels: {
      chat: { ...LINE, group: { by: "all", wait: "70 seconds" } },
      sms: { kind: "command", group: { by: "all", wait: "70 seconds" } },
      all: { group: { by: "all", wait: "70 seconds" } },
      each: LINE,
    },
    checks: HOSTS,
  },
  results: OUTAGE,
  until: "22:30",
  expect: { chat: "any", sms: "any", all: "any", each: "any" },
  finally: (_, { messages }) => {
    const of = (channel: string) => messages.filter((message) => message.channel === channel);
    const texts = of("chat").map(({ text }) => text);
    assert.equal(texts.length, 3);
    assert.match(texts[0] ?? "", /^\["20 checks are critical: host-\d+, host-\d+, .*, and \d+ more"\]$/);
    assert.match(texts[1] ?? "", /^\["3 of 20 checks are ok again: host-\d, host-\d, host-\d"\]$/);
    assert.match(texts[2] ?? "", /^\["17 checks are ok again: host-\d+, .*, and \d+ more"\]$/);
    assert.equal(of("sms").length, 3, "a command is started for each group");
    assert.deepEqual(of("all").map(({ items }) => items.length), [20, 3, 17]);
    assert.equal(of("each").length, 40, "a channel without groups");
  },
});

simulate("checks are grouped by their first tag or by their parent", {
  start: START,
  config: {
    channels: {
      tags: { group: { by: "tag", wait: "70 seconds" } },
      parents: { group: { by: "parent", wait: "70 seconds" } },
    },
    checks: {
      router: {},
      a: { tags: ["east", "web"], depends_on: ["router"] },
      b: { tags: ["east"], depends_on: [{ any: ["router", "lone"] }] },
      c: { tags: ["west", "east"] },
      lone: {},
    },
  },
  results: Object.fromEntries(["a", "b", "c", "lone"].map((name) => [name, "22:00 critical"])),
  until: "22:30",
  expect: { tags: "any", parents: "any" },
  finally: (_, { messages }) => {
    const of = (channel: string) =>
      messages.filter((message) => message.channel === channel)
        .map(({ items }) => items.map(({ check }) => check).sort().join(" ")).sort();
    assert.deepEqual(of("tags"), ["a b", "c", "lone"]);
    assert.deepEqual(of("parents"), ["a b", "c", "lone"]);
  },
});

for (const end of ["kill", "stop"] as const) {
  simulate(`a ${end} while a group waits loses nothing`, {
    start: START,
    config: {
      channels: { chat: { group: { by: "all", wait: "10 minutes" } } },
      checks: { a: {}, b: {}, c: {} },
    },
    results: { a: "22:00 critical", b: "22:02 critical", c: "22:08 critical" },
    actions: { "22:05": end, "22:06": "start" },
    until: "22:40",
    expect: { chat: "any" },
    finally: (_, { messages }) => {
      const checks = messages.map(({ items }) => items.map(({ check }) => check).sort().join(" "));
      assert.deepEqual(
        checks,
        end === "kill" ? ["a b c"] : ["a b", "c"],
        "a service that stops sends what waits",
      );
    },
  });
}

simulate("a group waits no longer than the hours of its channel", {
  start: START,
  config: {
    channels: { chat: { group: { by: "all", wait: "10 minutes" }, hours: [{ from: "21:00", to: "22:05" }] } },
    checks: { a: {} },
  },
  results: { a: "22:00 critical, 22:20 ok" },
  until: "23:00",
  expect: { chat: ["22:05 problem a critical", "22:30 recovery a ok"] },
});

simulate("a group waits no longer than a reload tells", {
  start: START,
  config: { channels: { chat: { group: { by: "all", wait: "1 hour" } } }, checks: { a: {} } },
  results: { a: "22:00 critical" },
  actions: {
    "22:05": {
      config: { channels: { chat: { group: { by: "all", wait: "1 minute" } } }, checks: { a: {} } },
    },
    "22:06": "reload",
  },
  until: "23:30",
  expect: { chat: ["22:06 problem a critical"] },
});

simulate("status and why show until when a notification waits for its group", {
  start: START,
  config: { channels: { chat: { group: { by: "all", wait: "10 minutes" } } }, checks: { a: {}, b: {} } },
  results: { a: "22:00 critical", b: "22:04 critical" },
  actions: {
    "22:06": async (world) => {
      const run = async (...args: readonly string[]) => (await world.machine().run(...args)).stdout;
      for (const name of ["a", "b"]) {
        assert.match(
          await run("why", name),
          /pending: problem critical, waits for its group until 2026-03-02 22:10:\d\d UTC/,
        );
      }
      assert.match(
        await run("status"),
        /pending: critical of "a" to chat, .*, waits for its group for 4 min/,
      );
    },
  },
  until: "22:30",
  expect: { chat: ["22:10 problem a critical, problem b critical"] },
});

simulate("calls by cron send the group of each call", {
  start: START,
  mode: "manual",
  config: {
    channels: { chat: { ...LINE, group: { by: "all", wait: "10 minutes" } } },
    checks: { a: {}, b: {}, c: {} },
  },
  results: { a: "critical", b: "critical", c: "22:03 critical" },
  actions: { "22:00": "check --once => 2", "22:05": "check --once => 2" },
  expect: { chat: "any" },
  finally: (_world, { messages }) => {
    // Whichever ends first.
    const texts = messages.map(({ text }) => text.replace("b, a", "a, b"));
    assert.deepEqual(texts, ['["2 checks are critical: a, b"]', '["c is critical: it is critical"]']);
  },
});
