/** Checks that become slow: what `duration` makes of their results, and which notifications follow. */
import assert from "node:assert/strict";
import { type Scenario, simulate } from "../../testing/simulation/mod.ts";

const TOKEN = "sesame-open-sesame";

const WEB = {
  start: "2026-03-02 20:55",
  config: {
    listen: { address: "127.0.0.1:9797", token: TOKEN },
    checks: {
      web: {
        duration: { p95_above: "1 s", over: "1 hour" },
        schedule: { regular_interval: "1 minute", attentive_interval: "1 minute" },
      },
    },
  },
} as const satisfies Partial<Scenario>;

simulate("a check that is slow for some minutes has one warning, until few of an hour's runs are slow", {
  ...WEB,
  results: { web: "22:00 ok slow 2s, 22:10 ok" },
  actions: {
    "21:00": async (world) => {
      const { stdout } = await world.machine().run("why", "web");
      assert.match(stdout, /^duration: p95 above 1 s: not known, \d runs in 1 h, 20 required$/m);
    },
    "22:30": async (world) => {
      const { stdout } = await world.machine().run("why", "web");
      assert.match(
        stdout,
        /^last run \d+ s ago: warning: p95 above 1 s: 10 of \d\d runs in 1 h took longer; it is ok$/m,
      );
      assert.match(stdout, /^duration: p95 above 1 s: 10 of \d\d runs in 1 h took longer$/m);
      const { durations } = JSON.parse((await world.machine().run("why", "--format", "json", "web")).stdout);
      assert.equal(durations.length, 1);
      const metrics = await world.machine().request("/metrics", {
        headers: { authorization: `Bearer ${TOKEN}` },
      });
      const seconds = metrics?.body.match(
        /^monitor_check_duration_percentile_seconds\{check="web",percentile="p\d\d"\} [\d.]+$/gm,
      ) ?? [];
      const [p50 = NaN, p95 = NaN, p99 = NaN] = seconds.map((line) => Number(line.split(" ")[1]));
      assert.ok(p50 < 0.1 && p95 > 1.5 && p95 < p99 && p99 <= 2.1, seconds.join());
      const history = await world.machine().run("history", "web");
      assert.match(history.stdout, /^duration +p95 above 1 s: 10 of/m);
      assert.match(
        history.stdout,
        /^last 24 hours [^]* p50 \d+ ms, p95 [\d.]+ s,\s+p99 [\d.]+ s,\s+2\.0\s+s\s+at\s+most$/m,
      );
    },
  },
  until: "23:59",
  expect: { chat: ["22:02 problem web warning", "23:05 recovery web ok"] },
  finally: (_world, { messages }) =>
    assert.match(
      messages[0]?.items[0]?.output ?? "",
      /^p95 above 1 s: 3 of \d\d runs in 1 h took longer; it is ok$/,
    ),
});

simulate("slow runs count across a kill and a restart", {
  ...WEB,
  results: { web: "22:00 ok slow 2s" },
  actions: { "22:02:30": "kill", "22:03": "start" },
  until: "22:20",
  expect: { chat: "any" },
  finally: (_world, { messages }) => {
    assert.equal(messages.length, 1);
    assert.match(messages[0]?.items[0]?.output ?? "", /^p95 above 1 s: [34] of \d\d runs in 1 h took longer/);
  },
});

simulate("slow runs count under cron as in a service", {
  ...WEB,
  start: "2026-03-02 21:38",
  mode: "cron",
  config: { checks: { web: { ...WEB.config.checks.web, duration: { p95_above: "1 s", over: "30 min" } } } },
  results: { web: "22:00 ok slow 2s, 22:10 ok" },
  until: "22:45",
  expect: { chat: ["22:01-22:05 problem web warning", "22:37-22:42 recovery web ok"] },
});

simulate(
  "a check that is slower than at this hour of the weeks before has a warning, on as many weeks as it ran",
  {
    start: "2026-03-04 00:00",
    config: {
      checks: {
        web: {
          duration: { slower_than_usual: 3, over: "6 hours" },
          schedule: { regular_interval: "30 minutes", attentive_interval: "30 minutes" },
        },
      },
    },
    results: {
      web:
        "2026-03-11 12:00 ok slow 1s, 2026-03-12 00:00 ok, 2026-03-18 12:00 ok slow 1s, 2026-03-19 00:00 ok",
    },
    actions: {
      "2026-03-11 20:00": async (world) => {
        const { stdout } = await world.machine().run("why", "web");
        assert.match(stdout, /^duration: 3 times slower than usual: not known, on 1 week, 2 required$/m);
      },
    },
    until: "2026-03-19 12:00",
    expect: {
      chat: ["2026-03-18 14:00-15:31 problem web warning", "2026-03-19 02:30-03:31 recovery web ok"],
    },
    finally: (_world, { messages }) =>
      assert.match(
        messages[0]?.items[0]?.output ?? "",
        /^3 times slower than the usual \d+ ms of this hour of the week, on 2 weeks: 7 of 12 runs in 6 h took longer; it is ok$/,
      ),
  },
);

simulate(
  "a value that is higher or lower than at this hour of the weeks before has a warning, also after a kill",
  {
    start: "2026-03-04 00:00",
    config: {
      checks: {
        web: {
          metrics: {
            "queue (MB)": { more_than_usual: 3, less_than_usual: 2, over: "6 hours" },
            balance: { more_than_usual: 3, over: "6 hours" },
          },
          schedule: { regular_interval: "30 minutes", attentive_interval: "30 minutes" },
        },
      },
    },
    results: {
      web: "ok (fine | queue=10MB balance=-1), 2026-03-11 12:00 ok (fine | queue=12MB balance=-1), " +
        "2026-03-18 12:00 ok (fine | queue=40MB balance=-1), 2026-03-18 20:00 ok (fine | queue=4MB balance=-1)",
    },
    actions: {
      "2026-03-11 20:00": async (world) => {
        const { stdout } = await world.machine().run("why", "web");
        const unknown = "than usual: not known, on 1 week, 2 required";
        for (const comparison of ["more", "less"]) {
          assert.match(
            stdout,
            new RegExp(`^metric queue \\(MB\\): \\d times ${comparison} ${unknown}$`, "m"),
          );
        }
      },
      "2026-03-18 11:10": "clock +365d",
      "2026-03-18 11:40": "clock -365d",
      "2026-03-18 13:10": "kill",
      "2026-03-18 13:11": "start",
      "2026-03-18 20:10": async (world) => {
        const { stdout } = await world.machine().run("history", "web");
        assert.match(
          stdout.replaceAll(/\s+/g, " "),
          /balance: 3 times more than the usual -1 of this hour of the week, on 2 weeks: not known, the usual is below zero/,
        );
      },
    },
    until: "2026-03-19 03:30",
    expect: {
      chat: [
        "2026-03-18 14:00-16:01 problem web warning",
        "2026-03-18 22:30-23:31 recovery web ok",
        "2026-03-18 22:30-2026-03-19 00:01 problem web warning",
      ],
    },
    finally: (_world, { messages }) =>
      assert.deepEqual(messages.map(({ items }) => items[0]?.output), [
        "queue (MB): 3 times more than the usual 11 of this hour of the week, on 2 weeks: " +
        "6 of 11 values in 6 h were higher; fine",
        "fine",
        "queue (MB): 2 times less than the usual 11 of this hour of the week, on 2 weeks: " +
        "7 of 12 values in 6 h were lower; fine",
      ]),
  },
);

simulate("a slow run of a failing check does not count, and a failure stays what it is", {
  ...WEB,
  results: { web: "22:00 critical slow 2s, 22:30 ok" },
  until: "23:30",
  expect: { chat: ["22:00 problem web critical", "22:30 recovery web ok"] },
});

simulate("the measured values of a plugin are kept by hour, also across a restart, and shown as charts", {
  start: "2026-03-02 20:55",
  config: {
    listen: { address: "127.0.0.1:9797", token: TOKEN },
    checks: { web: { schedule: { regular_interval: "1 minute", attentive_interval: "1 minute" } } },
  },
  results: { web: "ok (fine | load=-1 /=5MB;10), 21:30 ok (fine | load=3 /=7MB;10)" },
  actions: {
    "21:20:05": "clock -30min",
    "21:22:05": "clock +30min",
    "21:40:30": "kill",
    "21:41": "start",
    "22:10": async (world) => {
      const machine = world.machine();
      const { stdout } = await machine.run("history", "web");
      const known = String.raw`-1\s+to\s+3,\s+mean\s+1.1\d*,\s+p50\s+3,\s+p95\s+3,\s+p99\s+3`;
      assert.match(
        stdout,
        new RegExp(String.raw`^load: ${known}\s+\(24\s+hours\);\s+${known}\s+\(7\s+days\)`, "m"),
      );
      const { spans } = JSON.parse((await machine.run("history", "--format", "json", "web")).stdout);
      const { runs, min, max, p50, p95, p99 } = spans.day.metrics["/ (MB)"];
      assert.deepEqual([min, p50, p95, p99, max], [5, 7, 7, 7, 7]);
      // The kill may lose a second.
      assert.ok(runs >= 73 && runs <= 75, String(runs));
      const headers = { authorization: `Bearer ${TOKEN}` };
      const metrics = await machine.request("/metrics", { headers });
      const percentiles = metrics?.body.match(/^monitor_check_metric_percentile\{.*/gm);
      assert.deepEqual(percentiles?.slice(2, 4), [
        'monitor_check_metric_percentile{check="web",metric="load",unit="",percentile="p99"} 3',
        'monitor_check_metric_percentile{check="web",metric="/",unit="bytes",percentile="p50"} 7000000',
      ]);
      const page = await machine.request("/checks/web", { headers });
      const text = page?.body.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ") ?? "";
      assert.match(
        text,
        / load, 7 d: p50 -1 to 3, p95 -1 to 3, p99 -1 to 3, min -1 to 3, max -1 to 3 .* \/ \(MB\), 7 d: p50 5 to 7/,
      );
      assert.match(
        page?.body ?? "",
        /data-unit="" data-names="p50,p95,p99,min,max" data-values="[^"]*-1,-1,3;/,
      );
    },
  },
  until: "22:15",
});

simulate("a value that is high for some minutes has one warning, until few of an hour's values are", {
  start: "2026-03-02 20:55",
  config: {
    checks: {
      web: {
        metrics: { "queue (MB)": { p95_above: 100, over: "1 hour" }, constructor: { p50_above: 1 } },
        schedule: { regular_interval: "1 minute", attentive_interval: "1 minute" },
      },
    },
  },
  results: {
    web: "ok (fine | queue=100MB constructor=1), 22:00 ok (fine | queue=101MB constructor=1), " +
      "22:10 ok (fine | queue=-5MB constructor=0)",
  },
  actions: {
    "21:50:05": "clock +365d",
    "21:51:05": "clock -365d",
    "22:05:30": "kill",
    "22:06": "start",
    "22:30": async (world) => {
      const { stdout } = await world.machine().run("why", "web");
      assert.match(stdout, /^metric queue \(MB\): p95 above 100: \d+ of \d\d values in 1 h were higher$/m);
      assert.match(stdout, /^metric constructor: p50 not above 1: 0 of \d\d values in 1 h were higher$/m);
      const history = JSON.parse((await world.machine().run("history", "--format", "json", "web")).stdout);
      assert.equal(history.metric_limits.length, 2);
    },
  },
  until: "23:59",
  expect: { chat: ["22:02-22:05 problem web warning", "23:05-23:10 recovery web ok"] },
  finally: (_world, { messages }) =>
    assert.match(
      messages[0]?.items[0]?.output ?? "",
      /^queue \(MB\): p95 above 100: [34] of \d\d values in 1 h were higher; fine$/,
    ),
});

simulate("a check is not ok without a value that has limits", {
  start: "2026-03-02 21:55",
  config: {
    checks: {
      web: {
        metrics: { size: { p50_above: 100, over: "1 hour" } },
        schedule: { regular_interval: "1 minute", attentive_interval: "1 minute" },
      },
    },
  },
  // The value lacks once, is measured, and has another name then.
  results: {
    web:
      "ok (fine | size=200), 22:10 ok (fine), 22:11 ok (fine | size=1), 22:40 ok (fine | size=1B sent=5c free=1,5)",
  },
  until: "22:50",
  expect: {
    chat: ["22:04-22:06 problem web warning", "22:22-22:36 recovery web ok", "22:41 problem web unknown"],
  },
  finally: (_world, { messages }) =>
    assert.equal(
      messages[2]?.items[0]?.output,
      'no value "size", which "metrics" limits; measured: "exit_code", "size (B)"; ' +
        'counters, which have no limits: "sent"; no numbers: "free=1,5"; fine',
    ),
});
