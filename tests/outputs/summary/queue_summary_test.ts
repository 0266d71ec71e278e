import assert from "node:assert/strict";
import { createCronReader } from "../../../src/config/cron_times.ts";
import type { Notification, QueuedNotification } from "../../../src/domain/outbox.ts";
import type { Store } from "../../../src/domain/store.ts";
import type { SummarySettings } from "../../../src/domain/channel.ts";
import {
  lastTime,
  periodOf,
  periodUntil,
  queueDueSummary,
} from "../../../src/outputs/summary/gather_summary.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/shared/time_units.ts";
import { openStateRepository } from "../../../src/state/state_repository.ts";
import { openInMemoryStore } from "../../../src/state/sqlite/sqlite_store.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { queuedOf } from "../../state/records.ts";
import fc from "../../support/property.ts";
import type { CronTimes } from "../../../src/domain/schedule.ts";

const MONDAY_MS = Date.UTC(2026, 2, 23, 8);

/** A process that queues the summary; `sent` are the rows that it gave to its channels, in order. */
function startProcess(store: Store) {
  const sent: string[] = [];
  /** Queues the summary that is due at a time. */
  const look = async (
    atMs: number,
    { cron = "0 8 * * mon", dies }: { readonly cron?: string; readonly dies?: "before" | "after" } = {},
  ) => {
    const repository = await openStateRepository({
      store: dies === undefined ? store : { ...store, queueSummary: dyingAt(dies, store) },
      onFailure: () => {},
      reopen: () => Promise.reject(new Error("It is not damaged")),
    });
    await queueDueSummary({
      settings: settingsOf(cron),
      checks: [],
      repository,
      shared: null,
      system: { ...createMemorySystem(), clock: createFakeClock(atMs) },
      sender: { queuedSummary: rowsOf, send: (queued) => void sent.push(...queued.map(({ id }) => id)) },
    });
  };
  return { store, sent, look };
}

function settingsOf(cron: string): SummarySettings {
  const times = createCronReader()(cron, "UTC") ?? assert.fail(cron);
  return { times, periodMs: 7 * DAY_MS, notifications: [] };
}

function rowsOf(notification: Notification): readonly QueuedNotification[] {
  const untilMs = Date.parse(JSON.parse(notification.summary?.json ?? "").until);
  return ["mail", "chat"].map((channelKey, index) =>
    queuedOf(`${untilMs}-${channelKey}`, index, { channelKey, notification })
  );
}

function dyingAt(point: "before" | "after", store: Store): Store["queueSummary"] {
  return async (...given) => {
    if (point === "after") await store.queueSummary(...given);
    throw new Error("It was killed");
  };
}

async function queuedIn(store: Store): Promise<readonly string[]> {
  return (await store.outbox()).notifications.map(({ id }) => id);
}

const idsAt = (ms: number): readonly string[] => [`${ms}-mail`, `${ms}-chat`];

Deno.test("queueDueSummary() queues each summary once, the first one at its next time", async () => {
  const { store, look, sent } = startProcess(await openInMemoryStore());
  await look(MONDAY_MS - HOUR_MS);
  await look(MONDAY_MS - 1);
  assert.deepEqual(sent, []);
  await look(MONDAY_MS);
  assert.deepEqual(sent, idsAt(MONDAY_MS));
  // Another clock may be a little behind.
  for (const ms of [-MINUTE_MS, -1, 0, 1, DAY_MS, 7 * DAY_MS - 1]) await look(MONDAY_MS + ms);
  assert.deepEqual(sent, idsAt(MONDAY_MS));
  await look(MONDAY_MS + 7 * DAY_MS + MINUTE_MS);
  assert.deepEqual(sent, [...idsAt(MONDAY_MS), ...idsAt(MONDAY_MS + 7 * DAY_MS)]);
  // One after a downtime over several.
  for (const ms of [0, 1]) await look(MONDAY_MS + 30 * DAY_MS + ms);
  assert.deepEqual(sent.slice(4), idsAt(MONDAY_MS + 28 * DAY_MS));
  const [first] = (await store.outbox()).notifications;
  assert.deepEqual([first?.notification.event, first?.notification.check], ["summary", "summary"]);
  assert.equal(first?.notification.output, "There are no checks");
  assert.match(first?.notification.summary?.html ?? "", /^<!DOCTYPE html>/);
  assert.equal(JSON.parse(first?.notification.summary?.json ?? "").until, "2026-03-23T08:00:00.000Z");
  await store.close();
});

Deno.test("queueDueSummary() begins again with another schedule, and if the clock was set back", async () => {
  const { look, sent, store } = startProcess(await openInMemoryStore());
  await look(MONDAY_MS + HOUR_MS);
  await look(MONDAY_MS + 3 * DAY_MS, { cron: "0 8 * * *" });
  assert.deepEqual(sent, [], "a time before the change is not made up for");
  await look(MONDAY_MS + 4 * DAY_MS, { cron: "0 8 * * *" });
  assert.deepEqual(sent, idsAt(MONDAY_MS + 4 * DAY_MS));
  await look(MONDAY_MS + DAY_MS - HOUR_MS, { cron: "0 8 * * *" });
  await look(MONDAY_MS + DAY_MS, { cron: "0 8 * * *" });
  assert.deepEqual(sent.slice(2), idsAt(MONDAY_MS + DAY_MS), "days are not lost");
  await store.close();
});

Deno.test("queueDueSummary() of several processes at once queues one", async () => {
  const store = await openInMemoryStore();
  const processes = [startProcess(store), startProcess(store), startProcess(store)];
  for (const atMs of [MONDAY_MS - HOUR_MS, MONDAY_MS]) {
    await Promise.all(processes.map(({ look }) => look(atMs)));
  }
  assert.deepEqual(processes.flatMap(({ sent }) => sent), idsAt(MONDAY_MS));
  assert.deepEqual(await queuedIn(store), idsAt(MONDAY_MS));
  await store.close();
});

Deno.test("queueDueSummary() loses and doubles nothing if it is killed", async () => {
  for (const dies of ["before", "after"] as const) {
    const { look, sent, store } = startProcess(await openInMemoryStore());
    await look(MONDAY_MS - HOUR_MS);
    await assert.rejects(look(MONDAY_MS, { dies }), /It was killed/);
    assert.deepEqual(await queuedIn(store), dies === "before" ? [] : idsAt(MONDAY_MS));
    await look(MONDAY_MS + MINUTE_MS);
    assert.deepEqual(await queuedIn(store), idsAt(MONDAY_MS));
    // Rows that were queued before the kill are sent from the outbox at the start.
    assert.deepEqual(sent, dies === "before" ? idsAt(MONDAY_MS) : []);
    await store.close();
  }
});

Deno.test("queueDueSummary() of two installations gives summaries other ids, so that no receiver drops one", async () => {
  const ids: string[] = [];
  for (let installation = 0; installation < 2; installation++) {
    const { look, store } = startProcess(await openInMemoryStore());
    await look(MONDAY_MS - HOUR_MS);
    await look(MONDAY_MS);
    ids.push(...(await store.outbox()).notifications.map(({ notification: { id } }) => id));
    await store.close();
  }
  const [first, second, third, fourth] = ids;
  assert.deepEqual([first, third], [second, fourth], "the channels of one get the same");
  assert.notEqual(first, third);
});

const createCronTimes = createCronReader();

function timesOf(expression: string, timeZone = "Europe/Zurich"): CronTimes {
  const times = createCronTimes(expression, timeZone);
  assert.ok(times !== null);
  return times;
}

function scheduledBy(expression: string, fields: Partial<SummarySettings> = {}): SummarySettings {
  return { times: timesOf(expression), notifications: [], ...fields };
}

const iso = (ms: number | null): string => ms === null ? "none" : new Date(ms).toISOString();

Deno.test("lastTime() returns the time that the next times lead to, for any expression, zone and moment", () => {
  const expressions = fc.constantFrom(
    "0 8 * * 1",
    "*/7 * * * *",
    "30 2 * * *",
    "0 0 1 * *",
    "0 9 * * mon-fri",
  );
  const zones = fc.constantFrom("UTC", "Europe/Zurich", "America/New_York", "Australia/Lord_Howe");
  const moments = fc.integer({ min: Date.UTC(2024, 0), max: Date.UTC(2027, 0) });
  fc.assert(fc.property(expressions, zones, moments, (expression, zone, nowMs) => {
    const times = timesOf(expression, zone);
    const last = lastTime(times, nowMs);
    assert.ok(last !== null && last <= nowMs);
    assert.ok(times.after(last) > nowMs, "none is between");
    assert.equal(times.after(last - 1), last, "it is one of the times");
    assert.equal(lastTime(times, last), last, "the time itself counts");
  }));
  assert.equal(iso(lastTime(timesOf("0 0 29 2 *"), Date.UTC(2027, 5))), "2024-02-28T23:00:00.000Z");
});

Deno.test("periodOf() begins at the scheduled time before, so that none of a DST change is left out or counted twice", () => {
  for (const fields of [{}, { periodMs: 7 * DAY_MS }]) assertWholeWeeks(scheduledBy("0 8 * * mon", fields));
});

function assertWholeWeeks(settings: SummarySettings): void {
  // Summer time began on 29 March 2026, and ended on 25 October.
  const spring = periodOf(settings, Date.UTC(2026, 2, 30, 6));
  assert.equal(iso(spring.sinceMs), "2026-03-23T07:00:00.000Z");
  assert.equal(spring.untilMs - spring.sinceMs, 7 * DAY_MS - 3_600_000);
  const autumn = periodOf(settings, Date.UTC(2026, 9, 26, 7));
  assert.equal(autumn.untilMs - autumn.sinceMs, 7 * DAY_MS + 3_600_000);
  let scheduledMs = Date.UTC(2026, 2, 2, 7);
  for (let week = 0; week < 60; week++) {
    const nextMs = settings.times.after(scheduledMs);
    assert.equal(periodOf(settings, nextMs).sinceMs, scheduledMs);
    scheduledMs = nextMs;
  }
}

Deno.test("periodOf() covers a calendar month, and a configured period", () => {
  const march = periodOf(scheduledBy("0 0 1 * *"), Date.UTC(2026, 2, 31, 22));
  assert.deepEqual([iso(march.sinceMs), iso(march.untilMs)], [
    "2026-02-28T23:00:00.000Z",
    "2026-03-31T22:00:00.000Z",
  ]);
  const two = periodOf(scheduledBy("0 8 * * mon", { periodMs: 2 * DAY_MS }), NOON_MS);
  assert.deepEqual(two, { sinceMs: NOON_MS - 2 * DAY_MS, untilMs: NOON_MS });
  const hours = periodOf(scheduledBy("0 * * * *", { periodMs: 2 * HOUR_MS }), NOON_MS);
  assert.deepEqual(hours, { sinceMs: NOON_MS - 2 * HOUR_MS, untilMs: NOON_MS });
});

const NOON_MS = Date.UTC(2026, 0, 27, 12);

Deno.test("periodUntil() is as long as the last scheduled one", () => {
  assert.deepEqual(periodUntil(scheduledBy("0 8 * * mon"), NOON_MS), {
    sinceMs: NOON_MS - 7 * DAY_MS,
    untilMs: NOON_MS,
  });
});
