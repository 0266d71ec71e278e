import assert from "node:assert/strict";
import { describeUnfinished } from "../../../src/cli/check/outbox_words.ts";
import { freshRow } from "../../../src/outbox_rows.ts";
import { makeReport } from "../../support/channel_delivery.ts";

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
