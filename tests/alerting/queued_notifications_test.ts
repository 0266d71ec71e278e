import assert from "node:assert/strict";
import type { Channel } from "../../src/domain/channel.ts";
import type { Condition, NotificationEvent } from "../../src/domain/condition.ts";
import type { Notification } from "../../src/domain/outbox.ts";
import {
  type LastNotified,
  lastNotified,
  newQueued,
  queueFor,
  type QueueOptions,
} from "../../src/alerting/queued_notifications.ts";
import { markerOf, notificationOf, queuedOf } from "../state/records.ts";
import { testRows } from "../support/rows.ts";

const NOW = 1_800_000_000_000;

function notification(event: NotificationEvent = "problem"): Notification {
  return notificationOf("web", {
    event,
    condition: event === "recovery" ? "ok" : "critical",
    previous: "ok",
  });
}

function channel(key: string): Channel {
  return { kind: "file_touch", key, parameters: { path: `/run/${key}` } };
}

function last(condition: Condition, isPending = false): LastNotified {
  return { conditions: [condition], isPending };
}

const OPTIONS: QueueOptions = {
  channels: [channel("one"), channel("two")],
  nameOf: (channel) => `${channel.kind} ${channel.key}`,
  before: "ok",
  lastNotifiedOf: () => last("ok"),
  isLeftOut: () => false,
  textMaxOf: () => ({ output: 100, detail: 100 }),
  sequence: 7,
  nowMs: NOW,
};

Deno.test("queueFor() queues for each channel, in the config's order, once for identical ones", () => {
  const queued = (key: string, sequence: number) =>
    newQueued(notification(), { channelKey: key, channelName: `file_touch ${key}`, sequence, nowMs: NOW });
  assert.deepEqual(queueFor(notification(), { ...OPTIONS, channels: ["one", "two", "one"].map(channel) }), [
    queued("one", 7),
    queued("two", 8),
  ]);
});

Deno.test("queueFor() keeps no more of texts than a channel sends", () => {
  const long = { ...notification(), output: "o".repeat(1000), detail: "d".repeat(1000) };
  const rows = queueFor(long, {
    ...OPTIONS,
    textMaxOf: ({ key }) => key === "one" ? { output: 3, detail: 0 } : { output: 2000, detail: 10 },
  });
  assert.deepEqual(rows.map((row) => [row.notification.output, row.notification.detail]), [
    ["oo…", ""],
    [long.output, "ddddddddd…"],
  ]);
});

Deno.test("queueFor() queues only for channels that were last notified of another condition", async (t) => {
  // No number is skipped for a channel that is not notified.
  const rows: Readonly<Record<string, readonly [NotificationEvent, Condition, row: string | null]>> = {
    "a problem, after ok": ["problem", "ok", "two 7 problem ok"],
    "a problem, after another condition": ["problem", "warning", "two 7 change warning"],
    "a problem, known": ["problem", "critical", null],
    "a change, after ok": ["change", "ok", "two 7 problem ok"],
    "a change": ["change", "unknown", "two 7 change unknown"],
    "a recovery, known": ["recovery", "ok", null],
    "a recovery": ["recovery", "warning", "two 7 recovery warning"],
  };
  await testRows(t, rows, ([event, known, expected]) => {
    const made = queueFor(notification(event), {
      ...OPTIONS,
      lastNotifiedOf: ({ key }) => last(key === "two" ? known : event === "recovery" ? "ok" : "critical"),
    }).map(({ channelKey, sequence, notification: { event, previous } }) =>
      [channelKey, sequence, event, previous].join(" ")
    );
    assert.deepEqual(made, expected === null ? [] : [expected]);
  });
});

Deno.test("queueFor() names pending before the problem of a check that never was ok", () => {
  const made = queueFor(notification("change"), {
    ...OPTIONS,
    before: "pending",
    lastNotifiedOf: ({ key }) => last(key === "one" ? "ok" : "warning"),
  });
  assert.deepEqual(made.map((row) => [row.notification.event, row.notification.previous]), [
    ["problem", "pending"],
    ["change", "warning"],
  ]);
});

Deno.test("queueFor() names no dependents in a recovery, even if the check is not ok", () => {
  const filtered: Channel = { ...channel("one"), conditions: ["critical"] };
  const [queued] = queueFor({ ...notification("change"), condition: "warning", dependents: 14 }, {
    ...OPTIONS,
    channels: [filtered],
    lastNotifiedOf: () => last("critical"),
  });
  assert.deepEqual([queued?.notification.event, queued?.notification.dependents], ["recovery", 0]);
});

Deno.test("queueFor() sends a reminder only after its problem was sent and if nothing is pending", async (t) => {
  const table: Readonly<Record<string, readonly [known: Condition, isPending: boolean, count: number]>> = {
    "known, nothing pending": ["critical", false, 2],
    "known, something pending": ["critical", true, 1],
    "another condition known": ["warning", false, 1],
  };
  await testRows(t, table, ([known, isPending, count]) => {
    const made = queueFor(notification("reminder"), {
      ...OPTIONS,
      lastNotifiedOf: ({ key }) => key === "one" ? last(known, isPending) : last("critical"),
    });
    assert.deepEqual(made.map((row) => row.channelKey), ["one", "two"].slice(-count));
    assert.deepEqual(made.at(-1)?.notification, notification("reminder"));
  });
});

Deno.test("lastNotified() returns the pending notification, else the delivered one, else ok", async (t) => {
  const pending = queuedOf("a", 1, { notification: notificationOf("web", { condition: "warning" }) });
  const table: Readonly<Record<string, readonly [...Parameters<typeof lastNotified>, LastNotified]>> = {
    "nothing": [null, null, last("ok")],
    "a delivered notification": [null, markerOf("web", { condition: "critical" }), last("critical")],
    "one that may have arrived": [
      null,
      markerOf("web", { condition: "critical", certain: false }),
      { conditions: ["critical", "ok"], isPending: false },
    ],
    "a pending one after a delivered one": [pending, markerOf("web"), last("warning", true)],
  };
  await testRows(
    t,
    table,
    ([queued, marker, expected]) => assert.deepEqual(lastNotified(queued, marker), expected),
  );
});
