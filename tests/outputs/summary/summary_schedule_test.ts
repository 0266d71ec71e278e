/** Summaries of a service on a fake clock. */
import assert from "node:assert/strict";
import type { Store } from "../../../src/domain/store.ts";
// Loading it at its first use takes real time, which the fake clock would not wait for.
import "../../../src/outputs/summary/queue_summary.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/shared/time_units.ts";
import { openInMemoryStore } from "../../../src/state/sqlite/in_memory_store.ts";
import { type FakeService, startFakeService } from "../../support/fake_service.ts";
import { createFaultyStore } from "../../support/faulty_store.ts";

/** A Sunday. */
const NOON_MS = Date.UTC(2026, 2, 22, 12);
const HOST = "hook.example.org";

type SummaryKey = Readonly<Record<string, unknown>>;

/** Daily at 08:00. */
const DAILY: SummaryKey = { cron: "0 8 * * *", notifications: [hookOf(HOST)] };

function hookOf(host: string): SummaryKey {
  return { kind: "webhook", parameters: { target: `https://${host}/` } };
}

interface Installation {
  readonly store: Store;
  configOf(summary: SummaryKey | undefined): string;
  start(summary: SummaryKey | undefined, startMs: number, store?: Store): Promise<FakeService>;
}

async function withInstallation(work: (installation: Installation) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "monitor_summary_" });
  const store = await openInMemoryStore();
  let configs = 0;
  const configOf = (summary: SummaryKey | undefined): string => {
    const path = `${directory}/${configs++}.json`;
    const checks = { fine: { kind: "test", parameters: { condition: "ok" } } };
    Deno.writeTextFileSync(path, JSON.stringify({ summary, defaults: {}, checks }));
    return path;
  };
  try {
    await work({
      store,
      configOf,
      start: (summary, startMs, own = store) =>
        startFakeService({ config: configOf(summary), environment: {}, startMs, store: own }),
    });
  } finally {
    await store.close();
    await Deno.remove(directory, { recursive: true });
  }
}

/** The messages as `HOST WHEN-IT-CAME: PERIOD-OF-THE-SUMMARY`. */
function summariesOf({ messages }: FakeService): readonly string[] {
  return messages.map(({ receiver, atMs, text }) => {
    const [{ summary }] = JSON.parse(text).notifications;
    const from = shortTime(Date.parse(summary.from));
    return `${receiver} ${shortTime(atMs)}: ${from} to ${shortTime(Date.parse(summary.until))}`;
  });
}

function shortTime(ms: number): string {
  return new Date(ms).toISOString().slice(8, 16);
}

Deno.test("SummarySchedule sends at its times, and a reload changes times and channels", () =>
  withInstallation(async ({ configOf, start }) => {
    await using service = await start(undefined, NOON_MS);
    await service.clock.advance(DAY_MS);
    assert.deepEqual(service.messages, [], "without the key, there is none");
    await service.reload(configOf(DAILY));
    await service.clock.advance(2 * DAY_MS);
    await service.reload(configOf({ ...DAILY, notifications: [hookOf("other.example.org")] }));
    await service.clock.advance(DAY_MS);
    await service.reload(configOf({ ...DAILY, cron: "0 18 * * *", period: "2 hours" }));
    await service.clock.advance(DAY_MS);
    await service.reload(configOf(undefined));
    await service.clock.advance(3 * DAY_MS);
    assert.deepEqual(summariesOf(service), [
      `${HOST} 24T08:00: 23T08:00 to 24T08:00`,
      `${HOST} 25T08:00: 24T08:00 to 25T08:00`,
      "other.example.org 26T08:00: 25T08:00 to 26T08:00",
      `${HOST} 26T18:00: 26T16:00 to 26T18:00`,
    ]);
    assert.equal(service.log, "");
  }));

Deno.test("SummarySchedule sends one at the start after a downtime over several", () =>
  withInstallation(async ({ start }) => {
    {
      await using service = await start(DAILY, NOON_MS);
      await service.clock.advance(HOUR_MS);
      assert.deepEqual(summariesOf(service), []);
    }
    await using service = await start(DAILY, NOON_MS + 4 * DAY_MS);
    await service.clock.advance(MINUTE_MS);
    assert.deepEqual(summariesOf(service), [`${HOST} 26T12:00: 25T08:00 to 26T08:00`]);
    await service.clock.advance(DAY_MS);
    assert.deepEqual(summariesOf(service).slice(1), [`${HOST} 27T08:00: 26T08:00 to 27T08:00`]);
  }));

Deno.test("SummarySchedule sends once, later, if the state was not readable at the time", () =>
  withInstallation(async ({ store, start }) => {
    const faulty = createFaultyStore(store);
    await using service = await start(DAILY, NOON_MS, faulty);
    await service.clock.advance(HOUR_MS);
    faulty.failure = "full";
    await service.clock.advance(20 * HOUR_MS);
    assert.deepEqual(summariesOf(service), []);
    assert.equal(service.log.match(/the summary is pending: /g)?.length, 1, service.log);
    faulty.failure = null;
    await service.clock.advance(DAY_MS - 2 * HOUR_MS);
    assert.deepEqual(summariesOf(service), [`${HOST} 23T09:00: 22T08:00 to 23T08:00`]);
  }));

Deno.test("SummarySchedule leaves summaries in the queue while a channel is down, and old ones are dropped", () =>
  withInstallation(async ({ start }) => {
    await using service = await start(DAILY, NOON_MS);
    service.conditions.set(HOST, "critical");
    await service.clock.advance(4 * DAY_MS);
    assert.deepEqual(summariesOf(service), []);
    service.conditions.set(HOST, "ok");
    await service.clock.advance(DAY_MS / 2);
    assert.deepEqual(summariesOf(service).map((line) => line.replace(/^.*: /, "")), ["25T08:00 to 26T08:00"]);
  }));

Deno.test("SummarySchedule sends a summary alone through a limited channel, never in a digest", () =>
  withInstallation(async ({ start }) => {
    const body = { event: "{{event}}", text: "{{summary}}" };
    const limited = {
      ...hookOf(HOST),
      at_most: "1 per hour",
      parameters: { target: `https://${HOST}/`, body },
    };
    const twice = { ...DAILY, cron: "0,1 13 * * *", notifications: [limited] };
    await using service = await start(twice, NOON_MS);
    await service.clock.advance(3 * HOUR_MS);
    assert.deepEqual(service.messages.map(({ text }) => JSON.parse(text).event), ["summary", "summary"]);
    const [first = 0, second = 0] = service.messages.map(({ atMs }) => atMs);
    assert.ok(second - first >= HOUR_MS, `${second - first} ms`);
  }));
