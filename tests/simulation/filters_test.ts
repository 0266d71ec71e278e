/** Channels that get a part of the notifications: conditions, events, hours, escalation, limits; and flapping checks. */
import assert from "node:assert/strict";
import { simulate } from "../../testing/simulation/mod.ts";

const START = "2026-03-02 21:55";

simulate("each channel gets what passes its filters", {
  start: START,
  config: {
    channels: {
      all: {},
      critical: { conditions: ["critical"] },
      late: { after: "4 minutes" },
      changes: { events: ["change", "recovery"] },
    },
    checks: { web: {}, known: {} },
  },
  results: { web: "22:10 critical, 22:30 warning, 22:50 ok", known: "22:00 critical, 22:50 ok" },
  actions: { "22:02": "acknowledge known" },
  expect: {
    all: [
      "22:00 problem known critical",
      "22:10 problem web critical",
      "22:30 change web warning",
      "22:50 recovery web ok",
      "22:50 recovery known ok (acknowledged)",
    ],
    critical: [
      "22:00 problem known critical",
      "22:10 problem web critical",
      "22:30 recovery web warning",
      "22:50 recovery known ok (acknowledged)",
    ],
    late: ["22:14 problem web critical", "22:30 change web warning", "22:50 recovery web ok"],
    changes: ["22:30 change web warning", "22:50 recovery web ok", "22:50 recovery known ok (acknowledged)"],
  },
});

const EVENING = [{ from: "18:00", to: "08:00", time_zone: "Europe/Zurich" }];
const NIGHT = [{ from: "10:00", to: "08:00", time_zone: "Europe/Zurich" }];
const DAY = [{ from: "08:00", to: "10:00", time_zone: "Europe/Zurich" }];

simulate("a channel with outside_hours never is not notified of a problem from before its hours", {
  start: "2026-03-02 06:55",
  zone: "Europe/Zurich",
  config: { channels: { never: { hours: DAY, outside_hours: "never" } }, checks: { web: {} } },
  results: { web: "07:00 critical, 09:30 ok" },
  expect: {},
});

simulate("a channel whose hours ended before a problem had lasted long enough delays no reminder of others", {
  start: "2026-03-02 09:50",
  zone: "Europe/Zurich",
  config: {
    channels: { all: {}, never: { hours: DAY, outside_hours: "never", after: "4 min 55 s" } },
    checks: { web: { reminders: "10 minutes" } },
  },
  // It has lasted long enough after the last decision in the hours.
  results: { web: "09:55 critical, 10:12 ok" },
  expect: { all: ["09:55 problem web critical", "10:04 reminder web critical", "10:12 recovery web ok"] },
});

simulate("a channel gets the problems of its hours, and a lasting one when they begin", {
  start: "2026-03-02 06:55",
  zone: "Europe/Zurich",
  config: {
    channels: { pager: { hours: NIGHT }, chat: { hours: DAY } },
    // Not at the next run of a check that runs rarely.
    checks: {
      web: {},
      mail: {},
      db: { schedule: { regular_interval: "1 hour", attentive_interval: "1 hour" } },
    },
  },
  results: {
    web: "07:00 critical, 07:30 ok",
    mail: "07:40 critical, 08:30 ok",
    db: "08:05 critical, 10:10 ok",
  },
  until: "10:30",
  expect: {
    pager: [
      "07:00 problem web critical",
      "07:30 recovery web ok",
      "07:40 problem mail critical",
      "08:30 recovery mail ok",
      "10:00 problem db critical",
      "10:23 recovery db ok",
    ],
    chat: [
      "08:00 problem mail critical",
      "08:23 problem db critical",
      "08:30 recovery mail ok",
      "10:23 recovery db ok",
    ],
  },
});

const FLAPS =
  "22:00 critical, 22:05 ok, 22:10 critical, 22:15 ok, 22:20 critical, 22:25 ok, 22:30 critical, " +
  "22:35 ok, 01:30 critical";

for (const [name, channel] of Object.entries({ "": {}, ", to a channel in its hours": { hours: EVENING } })) {
  simulate(`a flapping check stops its notifications, and begins again when it is steady${name}`, {
    start: START,
    zone: "Europe/Zurich",
    config: { channels: { chat: channel }, checks: { web: {} } },
    results: { web: FLAPS },
    actions: {
      "22:32": async (world) => {
        const { stdout } = await world.machine().run("why", "web");
        assert.match(
          stdout,
          /notified of critical before this problem began, without a recovery in between\n +sent critical at .* 22:20/,
        );
      },
    },
    expect: {
      chat: [
        "22:00 problem web critical",
        "22:05 recovery web ok",
        "22:10 problem web critical",
        "22:15 recovery web ok (flapping)",
        "22:20 problem web critical (flapping)",
        "22:50 recovery web ok",
        "01:30 problem web critical",
      ],
    },
  });
}

simulate("a problem that begins before the hours of a channel and flaps is sent when they begin", {
  start: "2026-03-02 17:30",
  zone: "Europe/Zurich",
  config: { channels: { chat: {}, pager: { hours: EVENING } }, checks: { web: { flapping: "once" } } },
  results: { web: "17:35 critical, 17:40 ok, 17:45 critical, 17:50 ok, 17:55 critical" },
  until: "18:30",
  expect: { chat: "any", pager: ["18:00 problem web critical (flapping)"] },
});

simulate("a flapping check that gets worse is sent, also to a channel for that condition alone", {
  start: START,
  config: {
    channels: { chat: {}, pager: { conditions: ["critical"] } },
    checks: { web: { flapping: "once" } },
  },
  results: {
    web: FLAPS.replaceAll("critical", "warning").replace("01:30 warning", "22:37 critical, 22:38 ok"),
  },
  until: "22:39",
  expect: { chat: "any", pager: ["22:37 problem web critical (flapping)"] },
});

const SHOPS = Object.fromEntries(
  Array.from({ length: 12 }, (_, index) => [`shop-${index + 1}`, {}]),
);
const DOWN = Object.fromEntries(Object.keys(SHOPS).map((name) => [name, "22:00 critical"]));

simulate("an outage costs as many text messages as the limit of the channel, also after a restart", {
  start: START,
  config: {
    channels: {
      sms: { at_most: "5 per hour", parameters: { body: ["{{condition}} {{check}}: {{output}}"] } },
      chat: { at_most: "1 per hour" },
      page: { parameters: { body: ["{{check}}"] } },
    },
    defaults: { schedule: { regular_interval: "2 minutes", attentive_interval: "2 minutes" } },
    checks: SHOPS,
  },
  results: DOWN,
  actions: { "22:10": "stop", "22:15": "start" },
  until: "23:15",
  expect: { sms: "any", chat: "any", page: "any" },
  log: [/the limit of sms is reached: notifications are pending until 2026-03-02 23:0[0-2]:\d\d UTC/],
  finally: (_, { messages }) => {
    const textsOf = (channel: string) =>
      messages.filter((message) => message.channel === channel).map(({ text }) => text);
    const sms = textsOf("sms");
    for (const text of sms.slice(0, 5)) assert.match(text, /^\["CRITICAL shop-\d+: /i);
    assert.equal(sms.length, 6);
    assert.match(sms[5] ?? "", /^\["CRITICAL 7 notifications: 7 checks are critical: shop-\d+, .*"\]$/i);
    assert.equal(textsOf("page").length, 12, "a channel without a limit");
    const chats = messages.filter(({ channel }) => channel === "chat");
    assert.equal(chats.length, 2, "one an hour");
    assert.equal(chats.flatMap(({ items }) => items).length, 12);
  },
});

simulate("calls by hand obey the limit of a channel, and exit as if all were delivered", {
  start: START,
  mode: "manual",
  config: {
    channels: { sms: { kind: "command", at_most: "2 per day" } },
    checks: { a: {}, b: {}, c: {}, d: {}, e: {} },
  },
  results: Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [name, "critical, 22:05 ok"])),
  actions: {
    "22:00": "check --once => 2",
    "22:10": ["check --once", "check --once"],
    "22:20": async (world) => {
      const { stdout } = await world.machine().run("status");
      assert.match(stdout, /pending: ok of "\w" to sms, .*, tried 0 times, limit reached for \d+ h/);
      assert.match(stdout, /5 notifications are pending/);
      const json = JSON.parse((await world.machine().run("status", "--format", "json")).stdout);
      const hours = json.notifications.map(({ limited_until: time }: { readonly limited_until: string }) =>
        Math.round((Date.parse(time) - world.nowMs) / 3_600_000)
      );
      assert.deepEqual(hours, [24, 24, 24, 24, 24]);
    },
  },
  expect: { sms: "any" },
  log: ["the limit of sms is reached: notifications are pending until "],
  finally: (_, { messages }) => {
    assert.deepEqual(messages.map(({ items }) => items.map(({ event }) => event)), [["problem"], [
      "problem",
    ]]);
  },
});

simulate("a check whose name is empty is notified like any other", {
  start: START,
  config: {
    channels: { chat: {} },
    checks: {
      "": { notifications: [{ kind: "webhook", parameters: { target: "http://chat.example/own" } }] },
    },
  },
  results: { "": "ok, 22:00 critical, 22:10 ok" },
  expect: { chat: ["22:00-22:01 problem  critical", "22:10-22:11 recovery  ok"] },
});

for (const [step, at] of [["-10min", "22:25-22:26"], ["-1d", "22:05-22:06"]]) {
  simulate(`a problem escalates once it has lasted as long by a clock that was set by ${step}, or at once`, {
    start: START,
    config: { channels: { chat: {}, late: { after: "15 minutes" } }, checks: { web: {} } },
    results: { web: "22:00 critical" },
    actions: { "22:05": `clock ${step}` },
    until: "22:40",
    expect: { chat: ["22:00 problem web critical"], late: [`${at} problem web critical`] },
  });
}
