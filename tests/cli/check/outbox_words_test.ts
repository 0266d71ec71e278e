import assert from "node:assert/strict";
import { describeOutboxEvent, describeUnfinished } from "../../../src/cli/check/outbox_words.ts";
import { newQueued } from "../../../src/alerting/queued_notifications.ts";
import { makeNotification } from "../../support/channel_delivery.ts";

Deno.test("describeOutboxEvent() warns that older problems are only counted", () => {
  const row = newQueued(makeNotification(), {
    channelKey: "k",
    channelName: "webhook a",
    sequence: 1,
    nowMs: 0,
  });
  assert.deepEqual(describeOutboxEvent({ event: "summarized", notifications: [row] }, "retrying"), {
    level: "warning",
    message: "too many recovered problems are pending for webhook a: the older ones are only counted",
  });
});

Deno.test("describeUnfinished() names the notifications and their channel", () => {
  const row = (check: string) =>
    newQueued(makeNotification({ check }), {
      channelKey: "k",
      channelName: "webhook a",
      sequence: 1,
      nowMs: 0,
    });
  const next = "retrying";
  assert.equal(
    describeUnfinished([row("web")], next),
    'the notification of "web" not delivered to webhook a before the run ended; retrying',
  );
  assert.equal(
    describeUnfinished([row("web"), row("db")], next),
    '2 notifications of "web", "db" not delivered to webhook a before the run ended; retrying',
  );
});
