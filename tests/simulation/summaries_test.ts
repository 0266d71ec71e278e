/** Summaries of a service, at their times. */
import assert from "node:assert/strict";
import { type Scenario, simulate } from "../../testing/simulation/mod.ts";
import type { Received } from "../../testing/simulation/receivers.ts";

/** A Sunday. */
const START = "2026-03-22 12:00";
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
  start: START,
  config: configOf(null),
  actions: {
    "Mon 12:00": [{ config: configOf({}) }, "reload"],
    "Wed 12:00": [{ config: configOf({ notifications: ["other"] }) }, "reload"],
    "Thu 12:00": [{ config: configOf({ cron: "0 18 * * *", period: "2 hours" }) }, "reload"],
    "Fri 12:00": [{ config: configOf(null) }, "reload"],
  },
  until: "Mon 12:00",
  words,
  expect: {
    chat: [
      "Tue 08:00 23 08:00 to 24 08:00",
      "Wed 08:00 24 08:00 to 25 08:00",
      "Thu 18:00 26 16:00 to 26 18:00",
    ],
    other: ["Thu 08:00 25 08:00 to 26 08:00"],
  },
  finally: ({ trace }) => {
    assert.ok(!trace.events.some(({ text }) => /^(?:warning|error): /.test(text)));
  },
});

simulate("after a downtime over several summaries, the last one is sent at the start", {
  start: START,
  config: configOf({}),
  actions: { "13:00": "stop", "Thu 12:00": "start" },
  until: "Fri 12:01",
  words,
  expect: { chat: ["Thu 12:00 25 08:00 to 26 08:00", "Fri 08:00 26 08:00 to 27 08:00"] },
});

simulate("a summary is sent once, later, if the state can't be written at its time", {
  start: START,
  config: configOf({}),
  actions: { "13:00": "disk full", "Mon 09:00": "disk free" },
  until: "Tue 07:00",
  words,
  expect: { chat: ["Mon 09:00 22 08:00 to 23 08:00"] },
  log: ["the summary is pending: "],
});

simulate("while a channel is down, old summaries are dropped", {
  start: START,
  config: configOf({}),
  servers: { chat: "503, Thu 12:00 up" },
  until: "Fri 00:00",
  words,
  expect: { chat: ["Thu 12:00-12:16 25 08:00 to 26 08:00"] },
});

simulate("a summary is sent alone through a limited channel, never in a digest", {
  start: START,
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
