import assert from "node:assert/strict";
import { describeOutboxEvent } from "../../../src/cli/check/service_log.ts";
import { newQueued } from "../../../src/engine/queued_notifications.ts";
import { makeNotification } from "../../support/channel_delivery.ts";

const CHANNEL = { channelKey: "k", channelName: "webhook a", sequence: 1, nowMs: 0 };

Deno.test("describeOutboxEvent() warns that older problems are only counted", () => {
  assert.deepEqual(
    describeOutboxEvent({
      event: "summarized",
      notifications: [newQueued(makeNotification({ check: "web" }), CHANNEL)],
    }, "retrying"),
    {
      level: "warning",
      message: "too many recovered problems are pending for webhook a: the older ones are only counted",
    },
  );
});
