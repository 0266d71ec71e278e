import assert from "node:assert/strict";
import { createCronReader } from "../../../src/config/cron_times.ts";
import type { Notification, QueuedNotification } from "../../../src/domain/outbox.ts";
import type { Store } from "../../../src/domain/store.ts";
import type { SummarySettings } from "../../../src/domain/channel.ts";
import { queueDueSummary } from "../../../src/outputs/summary/gather_summary.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/shared/time_units.ts";
import { openStateRepository } from "../../../src/state/state_repository.ts";
import { openInMemoryStore } from "../../../src/state/sqlite/sqlite_store.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { queuedOf } from "../../state/records.ts";

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
