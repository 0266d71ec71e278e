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
  expect: { mail: ["22:10 problem web critical"], sms: ["22:10 problem channel chat critical"] },
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

simulate("a channel for a tag gets the problems of its checks alone, and a dependency by tag suppresses", {
  start: "2026-03-02 21:55",
  config: {
    channels: { chat: {}, dba: { checks: ["tag:database"] }, net: {} },
    defaults: { notifications: ["chat", "dba", { channel: "net", checks: ["router-*"] }] },
    checks: {
      "router-1": { tags: ["network"] },
      "router-2": { tags: ["network"] },
      db: { tags: ["database"], depends_on: [{ any: ["tag:network"] }] },
      web: { depends_on: ["router-?"] },
    },
  },
  results: {
    db: "22:10 critical, 22:20 ok, 22:45 critical, 23:30 ok",
    "router-1": "22:40 critical, 23:20 ok",
    web: "22:45 critical, 23:00 ok",
  },
  until: "23:50",
  expect: {
    chat: [
      "22:10 problem db critical",
      "22:20 recovery db ok",
      "22:40 problem router-1 critical (1 dependent)",
      "22:45 problem db critical",
      "23:20 recovery router-1 ok",
      "23:30 recovery db ok",
    ],
    dba: [
      "22:10 problem db critical",
      "22:20 recovery db ok",
      "22:45 problem db critical",
      "23:30 recovery db ok",
    ],
    net: ["22:40 problem router-1 critical (1 dependent)", "23:20 recovery router-1 ok"],
  },
});
