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
  start: START,
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
