/** What reaches a channel whose server fails. */
import { simulate } from "../../testing/simulation/mod.ts";

const CONFIG = { checks: { web: {} } };

simulate("a problem and its recovery reach the channel", {
  start: "2026-03-02 21:55",
  zone: "Europe/Zurich",
  config: CONFIG,
  results: { web: "22:10 critical (no space), 06:20 ok" },
  expect: { chat: ["22:10 problem web critical", "06:20 recovery web ok"] },
});

simulate("a server that is down for an hour gets one message", {
  start: "2026-03-02 21:55",
  config: CONFIG,
  results: { web: "22:10 critical" },
  servers: { chat: "22:00 refuse, 23:00 up" },
  expect: { chat: ["23:00-23:16 problem web critical"] },
  log: ['the notification of "web" not delivered'],
});

simulate("a message whose reply is lost is sent again under the same id, also after a kill", {
  start: "2026-03-02 21:55",
  config: CONFIG,
  results: { web: "22:10 critical" },
  servers: { chat: "22:00 lose, 22:15 up" },
  actions: { "22:12": "kill", "22:14": "start" },
  expect: { chat: ["22:10 problem web critical", "22:10-22:31 problem web critical again…"] },
});
