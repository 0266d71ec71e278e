import assert from "node:assert/strict";
import type { Channel } from "../../src/domain/channel.ts";
import type { Notification } from "../../src/domain/outbox.ts";
import { type LastNotified, lastNotified, queueFor } from "../../src/engine/queued_notifications.ts";
import { markerOf, notificationOf, queuedOf } from "../state/records.ts";
import { testRows } from "../support/rows.ts";

const CHANNEL: Channel = { kind: "file_touch", key: "one", parameters: { path: "/run/one" } };

/** Queues for two channels, which get short and long texts, and were last notified of critical. */
function queueForBoth(
  notification: Notification,
  channel = CHANNEL,
): readonly (readonly [string, Notification])[] {
  return queueFor(notification, {
    channels: [channel, { ...channel, key: "two" }, channel],
    nameOf: ({ key }) => key,
    before: "ok",
    lastNotifiedOf: () => ({ conditions: ["critical"], isPending: false }),
    isLeftOut: () => false,
    textMaxOf: ({ key }) => key === "one" ? { output: 3, detail: 0 } : { output: 2000, detail: 10 },
    sequence: 7,
    nowMs: 1_800_000_000_000,
  }).map((row) => [`${row.channelName} ${row.sequence}`, row.notification]);
}

Deno.test("queueFor() keeps no more of texts than a channel sends, once for identical channels", () => {
  const long = { output: "o".repeat(1000), detail: "d".repeat(1000) };
  const rows = queueForBoth(notificationOf("web", { event: "change", condition: "warning", ...long }));
  assert.deepEqual(rows.map(([name, { output, detail }]) => [name, output, detail]), [
    ["one 7", "oo…", ""],
    ["two 8", long.output, "ddddddddd…"],
  ]);
});

Deno.test("queueFor() names no dependents in a recovery, even if the check is not ok", () => {
  const change = notificationOf("web", { event: "change", condition: "warning", dependents: 14 });
  const [[, recovery] = []] = queueForBoth(change, { ...CHANNEL, conditions: ["critical"] });
  assert.deepEqual([recovery?.event, recovery?.dependents], ["recovery", 0]);
});

Deno.test("lastNotified() returns the pending notification, else the delivered one, else ok", async (t) => {
  const pending = queuedOf("a", 1, { notification: notificationOf("web", { condition: "warning" }) });
  const critical = markerOf("web", { condition: "critical" });
  type Row = readonly [...Parameters<typeof lastNotified>, LastNotified["conditions"]];
  const table: Readonly<Record<string, Row>> = {
    "nothing": [null, null, ["ok"]],
    "a delivered notification": [null, critical, ["critical"]],
    "one that may have arrived": [null, { ...critical, certain: false }, ["critical", "ok"]],
    "a pending one after a delivered one": [pending, critical, ["warning"]],
  };
  await testRows(t, table, ([queued, marker, conditions]) => {
    assert.deepEqual(lastNotified(queued, marker), { conditions, isPending: queued !== null });
  });
});
