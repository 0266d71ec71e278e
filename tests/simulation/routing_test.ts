/** Which channel gets what, and when. */
import { simulate } from "../../testing/simulation/mod.ts";

const CHECKS = { web: {} };

simulate("a channel that rejects is told of by the first other channel, once, and when it accepts again", {
  start: "2026-03-02 21:55",
  config: { channels: { chat: {}, mail: {} }, checks: CHECKS },
  results: { web: "22:10 critical, 22:20 ok, 22:30 critical" },
  servers: { chat: "22:00 403, 23:20 up" },
  until: "00:00",
  expect: {
    mail: [
      "22:10 problem web critical",
      "22:10 problem channel chat critical",
      "22:20 recovery web ok",
      "22:30 problem web critical",
      "23:20-23:59 recovery channel chat ok",
    ],
    chat: ["23:20-23:59 recovery web ok (missed critical), problem web critical"],
  },
  log: ['the notification of "web" rejected by chat'],
});

simulate("a fallback that the config names is told, also after a restart only once", {
  start: "2026-03-02 21:55",
  config: {
    channels: { chat: { fallback: "sms" }, mail: {}, sms: {} },
    defaults: { notifications: ["chat", "mail"] },
    checks: CHECKS,
  },
  results: { web: "22:10 critical" },
  servers: { chat: "22:00 403" },
  actions: { "22:15": "kill", "22:16": "start" },
  expect: {
    mail: ["22:10 problem web critical"],
    sms: ["22:10 problem channel chat critical"],
  },
  log: ['the notification of "web" rejected by chat'],
});

simulate("another channel gets the notice that one accepts again after hours, also after a restart", {
  start: "2026-03-02 21:55",
  config: { channels: { chat: {}, mail: {} }, checks: CHECKS },
  results: { web: "22:10 critical" },
  servers: { chat: "22:00 403, 03:00 up" },
  actions: { "01:30": "kill", "01:31": "start" },
  until: "04:00",
  expect: {
    mail: [
      "22:10 problem web critical",
      "22:10 problem channel chat critical",
      "03:00-03:59 recovery channel chat ok",
    ],
    chat: ["03:00-03:59 problem web critical"],
  },
});

simulate("without another channel, a rejection is only logged", {
  start: "2026-03-02 21:55",
  config: { channels: { chat: {} }, checks: CHECKS },
  results: { web: "22:10 critical" },
  servers: { chat: "22:00 403" },
  log: ['the notification of "web" rejected by chat'],
});

simulate("with hours, a problem that goes on is sent when they begin", {
  start: "2026-03-02 05:55",
  zone: "Europe/Zurich",
  config: {
    channels: {
      day: { hours: [{ from: "08:00", to: "09:00" }] },
      never: { hours: [{ from: "08:00", to: "09:00" }], outside_hours: "never" },
    },
    checks: { web: {}, db: {} },
  },
  results: { web: "06:00 critical (gone), 10:00 ok", db: "06:10 critical, 07:00 ok" },
  expect: { day: ["08:00-08:01 problem web critical", "10:00 recovery web ok"] },
});

simulate("a recovery is sent in a silence and in a maintenance window", {
  start: "2026-03-02 21:55",
  config: { channels: { chat: {} }, checks: { web: {}, db: {} } },
  results: { web: "22:00 critical, 22:20 ok, 22:30 critical", db: "22:00 critical, 22:20 ok" },
  actions: { "22:10": ["silence web --for 1h", "maintenance start db --for 1h"] },
  until: "23:20",
  expect: {
    chat: [
      "22:00 problem web critical",
      "22:00 problem db critical",
      "22:20 recovery web ok",
      "22:20 recovery db ok",
      "23:10-23:11 problem web critical",
    ],
  },
});
