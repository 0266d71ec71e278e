import assert from "node:assert/strict";
import { describeOutboxEvent, describeUnfinished } from "../../../src/cli/check/outbox_words.ts";
import { freshRow } from "../../../src/outbox_rows.ts";
import { makeReport } from "../../support/channel_delivery.ts";

Deno.test("describeOutboxEvent() warns that older problems are only counted", () => {
  const row = freshRow(makeReport(), { channelKey: "k", channelName: "webhook a", sequence: 1, nowMs: 0 });
  assert.deepEqual(describeOutboxEvent({ event: "summarized", rows: [row] }, "it is tried again"), {
    level: "warning",
    message: "too many recovered problems are pending for webhook a: the older ones are only counted",
  });
});

Deno.test("describeUnfinished() names the reports and their channel", () => {
  const row = (check: string) =>
    freshRow(makeReport({ check }), { channelKey: "k", channelName: "webhook a", sequence: 1, nowMs: 0 });
  const next = "it is tried again";
  assert.equal(
    describeUnfinished([row("web")], next),
    'the report of "web" not taken by webhook a before the run had to end; it is tried again',
  );
  assert.equal(
    describeUnfinished([row("web"), row("db")], next),
    '2 reports of "web", "db" not taken by webhook a before the run had to end; it is tried again',
  );
});
