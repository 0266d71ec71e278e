/** The position of a log check in the state. */
import { simulate, type World } from "../../testing/simulation/mod.ts";

const LOG = "/var/log/app.log";

const CONFIG = {
  state: "kept.sqlite",
  checks: {
    app: {
      kind: "log",
      parameters: { path: LOG, pattern: "ERROR" },
      schedule: { regular_interval: "10 minutes", attentive_interval: "10 minutes" },
    },
  },
};

function append(text: string): (world: World) => void {
  return (world) => {
    const { files } = world.machine();
    files.put(LOG, (files.has(LOG) ? files.textOf(LOG) : "") + text);
  };
}

simulate("a log check continues where it was after a kill and a reload", {
  start: "2026-03-02 22:00",
  config: CONFIG,
  actions: {
    "22:00": append("ERROR before the first run\n"),
    "22:15": "kill",
    "22:20": append("ERROR while nothing runs\n"),
    "22:25": "start",
    "22:45": ["reload", append("fine\n")],
    "22:55": append("ERROR again\n"),
  },
  until: "23:20",
  expect: {
    chat: [
      "22:25 problem app critical",
      "22:35 recovery app ok",
      "22:59 problem app critical",
      "23:09 recovery app ok",
    ],
  },
});

simulate("a log check continues where it was after runs that could not read the file", {
  start: "2026-03-02 22:00",
  config: CONFIG,
  actions: {
    "22:00": append("ERROR before the first run\n"),
    "22:05": (world) => world.machine().files.setMode(LOG, 0),
    "22:12": append("ERROR while it could not be read\n"),
    "22:15": (world) => world.machine().files.setMode(LOG, 0o600),
  },
  until: "22:25",
  expect: { chat: ["22:09 problem app unknown", "22:19 change app critical"] },
});
