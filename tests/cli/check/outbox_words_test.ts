import assert from "node:assert/strict";
import { describeOutboxEvent, describeUnfinished } from "../../../src/cli/check/service_log.ts";
import { newQueued } from "../../../src/engine/queued_notifications.ts";
import { makeNotification } from "../../support/channel_delivery.ts";

const CHANNEL = { channelKey: "k", channelName: "webhook a", sequence: 1, nowMs: 0 };
const queued = (check: string) => newQueued(makeNotification({ check }), CHANNEL);

Deno.test("describeOutboxEvent() warns that older problems are only counted", () => {
  assert.deepEqual(describeOutboxEvent({ event: "summarized", notifications: [queued("web")] }, "retrying"), {
    level: "warning",
    message: "too many recovered problems are pending for webhook a: the older ones are only counted",
  });
});

Deno.test("describeUnfinished() names the notifications and their channel", () => {
  assert.equal(
    describeUnfinished([queued("web"), queued("db")], "retrying"),
    '2 notifications of "web", "db" not delivered to webhook a before the run ended; retrying',
  );
});
