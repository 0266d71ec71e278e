import assert from "node:assert/strict";
import { messagesOf, play } from "./play.ts";

const CONFIG = { channels: { chat: {} }, checks: { web: {} } };
const ZONE = { time_zone: "Europe/Zurich" };

Deno.test("rehearse: a threshold of more results than are kept is confirmed", async () => {
  const config = {
    ...CONFIG,
    checks: { web: { threshold: 40, schedule: { regular_interval: "1 minute" } } },
  };
  const scenario = { start: "2026-03-02 12:00", results: { web: "13:00 critical, 14:00 ok" } };
  const [problem] = messagesOf(await play(scenario, config))["chat"] ?? [];
  assert.equal(problem, "13:39 problem web critical");
});

Deno.test("rehearse: a message before or after its minute is another one", async () => {
  const scenario = { start: "2026-03-02 12:00", results: { web: "13:00 critical" } };
  const sameWith = async (line: string): Promise<boolean> =>
    (await play({ ...scenario, expect: { chat: [line] } }, CONFIG)).isAsExpected;
  const lines = ["12:59", "13:00", "13:01", "12:50-13:10", "+60min"].map((time) =>
    `${time} problem web critical`
  );
  assert.deepEqual(await Promise.all(lines.map(sameWith)), [false, true, false, true, true]);
});

Deno.test("rehearse: times of a repeated hour name their distance from UTC", async () => {
  const results = { web: "02:10 critical, 02:30 ok, +60min critical, +90min ok" };
  const rehearsal = await play({ start: "2026-10-25 01:00", ...ZONE, results }, CONFIG);
  assert.deepEqual(messagesOf(rehearsal)["chat"], [
    "02:10 problem web critical",
    "02:30 recovery web ok",
    "02:30 +01:00 problem web critical",
    "04:00 recovery web ok",
  ]);
});

Deno.test("rehearse: a time that the change to summer time skips is an hour later", async () => {
  const results = { web: "02:10 critical, 04:00 ok" };
  const rehearsal = await play({ start: "2026-03-29 01:00", ...ZONE, results }, CONFIG);
  assert.deepEqual(messagesOf(rehearsal)["chat"], ["03:10 problem web critical", "04:00 recovery web ok"]);
});

Deno.test("rehearse: actions are shown, and a notification waits until they did not help", async () => {
  const action = { path: "/bin/fix", title: "restart web", at_most: 2 };
  const config = { channels: { chat: {} }, checks: { web: { action, threshold: 1 } } };
  const scenario = {
    start: "2026-03-02 12:00",
    results: { web: "13:00 critical, 18:00 ok, 18:30 critical, 18:31 ok" },
  };
  const rehearsal = await play({ ...scenario, expect: { actions: [] } }, config);
  assert.deepEqual(messagesOf(rehearsal), {
    actions: ["13:00 restart web (web)", "13:01 restart web (web)", "18:30 restart web (web)"],
    chat: ["13:02 problem web critical", "18:00 recovery web ok"],
  });
});

Deno.test("rehearse: slow results lead to a warning by the duration of the check", async () => {
  const duration = { p95_above: "1 s", over: "1 hour" };
  const config = { channels: { chat: {} }, checks: { web: { duration, threshold: 1 } } };
  const results = { web: "ok in 50 ms, 13:00 ok in 2 s (status is 200), 13:10 ok in 50 ms" };
  const rehearsal = await play({ start: "2026-03-02 12:00", results, until: "14:59" }, config);
  assert.deepEqual(messagesOf(rehearsal)["chat"], ["13:02 problem web warning", "14:05 recovery web ok"]);
});

Deno.test("rehearse: high values lead to a warning by the metrics of the check, if the scenario has values", async () => {
  const limit = { p95_above: 100, over: "1 hour" };
  const metrics = { "queue (MB)": limit, "never in the scenario": limit };
  const config = { channels: { chat: {} }, checks: { web: { metrics }, db: { metrics } } };
  const results = {
    web: "ok (fine | queue=5MB), 13:00 ok in 1 s (fine | queue=200MB), 13:10 ok (fine | queue=5MB), 14:30 ok",
    db: "13:00 critical, 13:10 ok",
  };
  const rehearsal = await play({ start: "2026-03-02 12:00", results, until: "14:59" }, config);
  assert.deepEqual(messagesOf(rehearsal)["chat"], [
    "13:00 problem db critical",
    "13:02 problem web warning",
    "13:10 recovery db ok",
    "14:05 recovery web ok",
  ]);
  assert.deepEqual(rehearsal.untestedLimits, [
    "never in the scenario of web",
    "queue (MB) of db",
    "never in the scenario of db",
  ]);
});

Deno.test("rehearse: checks of a host that fails are one message, unless one of them is ok", async () => {
  const page = (path: string) => ({
    kind: "http_request",
    parameters: { request: { target: `https://web1.example.org/${path}` } },
  });
  const config = {
    channels: { chat: {} },
    checks: {
      ...Object.fromEntries(["shop", "api", "docs", "login"].map((path) => [path, page(path)])),
      ssh: { kind: "tcp_connect", parameters: { host: "web1.example.org", port: 22 } },
      other: { kind: "tcp_connect", parameters: { host: "web2.example.org", port: 22 } },
    },
  };
  const scenario = { start: "2026-03-02 12:00" };
  const host = await play(
    { ...scenario, results: { "*": "13:00 critical, 14:00 ok", other: "12:30 ok" } },
    config,
  );
  assert.deepEqual(messagesOf(host)["chat"]?.map((line) => line.split(", ").length), [5, 5]);
  assert.deepEqual(host.causes, ["all connect to web1.example.org, and no healthy check does"]);
  const refused = await play(
    {
      ...scenario,
      results: { "*": "13:00 critical (connection refused), 14:00 ok", ssh: "12:30 ok", other: "12:30 ok" },
    },
    config,
  );
  assert.deepEqual(refused.causes, ["all connect to web1.example.org:443, and no healthy check does"]);
  const some = await play({
    ...scenario,
    results: { "*": "13:00 critical", api: "12:30 ok", other: "12:30 ok" },
  }, config);
  assert.deepEqual(some.causes, []);
});
