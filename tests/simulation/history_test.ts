/** What `monitor history` lists of a night, in the time zone of the config. */
import assert from "node:assert/strict";
import { simulate } from "../../testing/simulation/mod.ts";
import type { PastEvent } from "../../src/outputs/past_events.ts";
import type { World } from "../../testing/simulation/world.ts";

const NIGHT = {
  start: "2026-03-02 20:00",
  config: {
    time_zone: "Europe/Zurich",
    channels: { chat: {} },
    defaults: { schedule: { regular_interval: "2 minutes", attentive_interval: "2 minutes" } },
    checks: { web: { tags: ["shop"] }, db: {} },
  },
  results: { web: "22:10 critical (no space), Tue 03:00 ok", db: "Tue 07:30 warning" },
  expect: { chat: "any" },
} as const;

async function textOf(world: World, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await world.machine().run("history", ...args);
  assert.equal(code, 0, stderr);
  // The checks run some seconds after the minute.
  return stdout.replaceAll(/:\d\d \+01:00/g, "");
}

simulate("history lists the events of last night, the oldest first, and a check, and a summary, of a span", {
  ...NIGHT,
  actions: {
    "22:30": "silence web --for 1h --reason deploy",
    "Tue 01:00": "stop",
    "Tue 01:20": "start",
    "Tue 08:30": async (world) => {
      const night = await textOf(world, "--from", "22:00", "--to", "07:00");
      assert.equal(
        night.replaceAll(/for \d+ min( \d+ s)?(?=$|:)/gm, "for MIN"),
        [
          "2026-03-02 22:00 to 2026-03-03 07:00",
          "",
          "2026-03-02 23:10  web: ok to critical: no space",
          "2026-03-02 23:10  web: chat: sent critical, accepted",
          "2026-03-02 23:30  web: silenced until 2026-03-03 00:30: deploy",
          "2026-03-03 01:58  no results of 2 checks for MIN: db, web",
          "2026-03-03 02:20  the service started",
          "2026-03-03 04:00  web: critical to ok: it is ok",
          "2026-03-03 04:00  web: chat: sent recovery, accepted",
          "",
        ].join("\n"),
      );
      const shop = await textOf(world, "--from", "2026-03-03", "--tag", "shop");
      assert.match(
        shop,
        /^2026-03-03 00:00 to .*\n\n.*no results for.*\n.*critical to ok.*\n.*recovery.*\n$/,
      );
      const before = await textOf(world, "--from", "2026-03-02", "--to", "2026-03-02 20:59");
      assert.equal(before, "2026-03-02 00:00 to 2026-03-02 20:59\n\nno events\n");
      // A date as an end includes its day, and a time to come is now.
      const day = await textOf(world, "--from", "2026-03-02", "--to", "2026-03-02", "db", "web");
      assert.match(day, /^2026-03-02 00:00 to 2026-03-03 00:00\n\n(?:.* web: .*\n){3}$/);
      assert.match(await textOf(world), /^2026-03-02 09:30 to 2026-03-03 09:30\n\n[^]*the service started/);
      const late = await world.machine().run(
        "history",
        "--from",
        "08:00",
        "--to",
        "23:00",
        "--format",
        "json",
      );
      const { from, to, events } = JSON.parse(late.stdout);
      assert.deepEqual([from, to.slice(0, 16)], ["2026-03-03T07:00:00.000Z", "2026-03-03T08:30"]);
      assert.deepEqual(events.map(({ event, check }: PastEvent) => [event, check]), [["change", "db"], [
        "delivery",
        "db",
      ]]);
      assert.deepEqual(events[0].details, { from: "ok", to: "warning", output: "it is warning" });
    },
    "Tue 08:32": async (world) => {
      const evening = await textOf(
        world,
        "--results",
        "--deliveries",
        "--from",
        "22:00",
        "--to",
        "23:30",
        "web",
      );
      assert.match(
        evening,
        /^web\n\n2026-03-02 22:00 to 2026-03-02 23:30\nby whole hours {2}58\.3\d\d% ok, /,
      );
      assert.match(evening, /changes, newest first:\n.*ok to critical: no space\n\n/);
      assert.doesNotMatch(evening, /recovery|critical to ok/);
      const words = "history --from 22:00 --to 23:30 --format json web";
      const { spans, changes } = JSON.parse((await world.machine().run(...words.split(" "))).stdout);
      assert.deepEqual([Object.keys(spans), changes.length], [["span"], 1]);
      const month = await world.machine().run("summary", "--month", "2026-03", "--format", "json");
      const summary = JSON.parse(month.stdout);
      assert.deepEqual([summary.from, summary.until.slice(0, 16)], [
        "2026-02-28T23:00:00.000Z",
        "2026-03-03T08:32",
      ]);
    },
  },
  until: "Tue 08:33",
});

const REJECTED: Readonly<Record<string, RegExp>> = {
  "history --to 07:00": /--to requires --from/,
  "history --from yesterday": /--from is "yesterday", expected a time such as 18:30/,
  "history --from 2026-02-30": /--from is "2026-02-30", a time that does not exist/,
  "history --from 2026-04-01": /--from is "2026-04-01", which is in the future/,
  "history --from 2026-03-01 --to 2026-02-01":
    /--to is "2026-02-01", expected a time after --from "2026-03-01"/,
  "history --trace": /--trace requires the name of one check/,
  "history --tag shpo": /no check has the tag "shpo"/,
  "summary --month 2026-13": /--month is "2026-13", expected a year and a month such as 2026-10/,
  "summary --month 2026-04": /--month is "2026-04", which is in the future/,
  "summary --month 2026-02 --period 1d": /--month cannot be used with --period/,
};

simulate("history and summary reject a span that makes no sense", {
  ...NIGHT,
  results: {},
  actions: {
    "20:10": async (world) => {
      for (const [words, message] of Object.entries(REJECTED)) {
        const { code, stderr } = await world.machine().run(...words.split(" "));
        assert.match(stderr, message);
        assert.equal(code, 64);
      }
    },
  },
  until: "20:11",
});
