import assert from "node:assert/strict";
import { consoleKind, describeItem } from "../../src/channels/console.ts";
import { fieldsOf, testTable } from "../support/rows.ts";
import { deliverOver, makeItem, makeMessage, makeNotification } from "../support/channel_delivery.ts";

const CONSOLE = { kind: "console", key: "k", parameters: {} } as const;

Deno.test("describeItem() describes an item in one line", async (t) => {
  const table = `
    a problem   | | CRITICAL: Website (web): status is 500, expected 200 (was ok, 3 results in a row SINCE)
    one that was seen once, without title and output | title=null output="" occurrences=1 | \
      CRITICAL: web: no output (was ok, 1 result SINCE)
    a change    | event=change condition=warning previous=critical title=web | \
      WARNING, changed: web: status is 500, expected 200 (was critical, 3 results in a row SINCE)
    a reminder  | event=reminder previous=critical | CRITICAL, still: Website (web): status is 500, expected 200 (SINCE)
    a recovery  | RECOVERY | OK, recovered: Website (web): fine (was critical SINCE)
    a recovery for a channel that the present problem is not for | RECOVERY condition=warning | \
      WARNING, no longer CRITICAL: Website (web): fine (was critical SINCE)
    a problem that was over before it was sent | RECOVERY | OK, recovered: Website (web): fine PERIOD)
    one in which older ones are counted | RECOVERY | \
      OK, recovered: Website (web): fine PERIOD; 17 older problems recovered before they could be sent)`;
  const began = "2026-01-31 09:58:00 UTC";
  await testTable(t, table, (_, fields, expected) => {
    const recovery = "event=recovery condition=ok previous=critical output=fine";
    const missed = expected.includes("PERIOD") ? makeNotification() : null;
    const item = makeItem(fieldsOf(fields.replace("RECOVERY", recovery)), missed);
    const line = expected.replace("SINCE", `since ${began}`)
      .replace("PERIOD", `(was critical from ${began} to 2026-01-31 10:00:00 UTC`);
    const summarized = line.includes("17 older") ? 17 : 0;
    assert.equal(describeItem({ ...item, summarized }), `2026-01-31 10:00:00 UTC ${line}`);
  });
});

Deno.test("describeItem() truncates long titles and outputs", () => {
  const line = describeItem(makeItem({ title: "T".repeat(5000), output: "😀".repeat(500_000) }));
  assert.ok(line.length < 1000, `${line.length}`);
  assert.ok(line.isWellFormed());
  assert.match(line, /T…: 😀+… \(was ok/u);
});

Deno.test("consoleKind writes a line for each item, in order", async () => {
  const message = makeMessage([makeItem(), makeItem({ check: "other", title: null })]);
  const { delivery, lines, steps } = await deliverOver(consoleKind, CONSOLE, { message });
  assert.deepEqual(delivery, { delivered: true, note: null });
  assert.deepEqual(lines, message.items.map(describeItem));
  assert.deepEqual(steps, ["written"]);
});

Deno.test("consoleKind marks a test", async () => {
  const { lines } = await deliverOver(consoleKind, CONSOLE, {
    message: makeMessage(undefined, { isTest: true }),
  });
  assert.match(lines[0] ?? "", /^TEST 2026-/);
});
