import assert from "node:assert/strict";
import { consoleKind, describeItem } from "../../src/channels/console.ts";
import type { MessageItem } from "../../src/domain/delivery.ts";
import { type Rows, testRows } from "../support/rows.ts";
import { deliverOver, makeItem, makeMessage, makeNotification } from "../support/channel_delivery.ts";

const CONSOLE = { kind: "console", key: "k", parameters: {} } as const;

Deno.test("describeItem() describes an item in one line", async (t) => {
  const recovery = { event: "recovery", condition: "ok", previous: "critical", output: "fine" } as const;
  const since = "since 2026-01-31 09:58:00 UTC";
  const period = "(was critical from 2026-01-31 09:58:00 UTC to 2026-01-31 10:00:00 UTC";
  const rows: Rows<[item: MessageItem, line: string]> = {
    "a problem": [
      makeItem(),
      `CRITICAL: Website (web): status is 500, expected 200 (was ok, 3 results in a row ${since})`,
    ],
    "one that was seen once, without title and output": [
      makeItem({ title: null, output: "", occurrences: 1 }),
      `CRITICAL: web: no output (was ok, 1 result ${since})`,
    ],
    "a change": [
      makeItem({ event: "change", condition: "warning", previous: "critical", title: "web" }),
      `WARNING, changed: web: status is 500, expected 200 (was critical, 3 results in a row ${since})`,
    ],
    "a reminder": [
      makeItem({ event: "reminder", previous: "critical" }),
      `CRITICAL, still: Website (web): status is 500, expected 200 (${since})`,
    ],
    "a recovery": [makeItem(recovery), `OK, recovered: Website (web): fine (was critical ${since})`],
    "a recovery for a channel that the present problem is not for": [
      makeItem({ ...recovery, condition: "warning" }),
      `WARNING, no longer CRITICAL: Website (web): fine (was critical ${since})`,
    ],
    "a problem that was over before it was sent": [
      makeItem(recovery, makeNotification()),
      `OK, recovered: Website (web): fine ${period})`,
    ],
    "one in which older ones are counted": [
      { ...makeItem(recovery, makeNotification()), summarized: 17 },
      `OK, recovered: Website (web): fine ${period}; 17 older problems recovered before they could be sent)`,
    ],
  };
  await testRows(
    t,
    rows,
    ([item, line]) => assert.equal(describeItem(item), `2026-01-31 10:00:00 UTC ${line}`),
  );
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
