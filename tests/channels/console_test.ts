import assert from "node:assert/strict";
import { consoleKind, describeItem } from "../../src/channels/console.ts";
import type { MessageItem } from "../../src/domain/delivery.ts";
import { deliverOver, makeItem, makeMessage, makeNotification } from "../support/channel_delivery.ts";

const CONSOLE = { kind: "console", key: "k", parameters: {} } as const;

const LINES: readonly (readonly [name: string, item: MessageItem, line: string])[] = [
  [
    "a problem",
    makeItem(),
    "2026-01-31 10:00:00 UTC CRITICAL: Website (web): status is 500, expected 200 (was ok, 3 results in a row since 2026-01-31 09:58:00 UTC)",
  ],
  [
    "one that was seen once, without title and output",
    makeItem({ title: null, output: "", occurrences: 1 }),
    "2026-01-31 10:00:00 UTC CRITICAL: web: no output (was ok, 1 result since 2026-01-31 09:58:00 UTC)",
  ],
  [
    "a change",
    makeItem({ event: "change", condition: "warning", previous: "critical", title: "web" }),
    "2026-01-31 10:00:00 UTC WARNING, changed: web: status is 500, expected 200 (was critical, 3 results in a row since 2026-01-31 09:58:00 UTC)",
  ],
  [
    "a reminder",
    makeItem({ event: "reminder", previous: "critical" }),
    "2026-01-31 10:00:00 UTC CRITICAL, still: Website (web): status is 500, expected 200 (since 2026-01-31 09:58:00 UTC)",
  ],
  [
    "a recovery",
    makeItem({ event: "recovery", condition: "ok", previous: "critical", output: "status is 200" }),
    "2026-01-31 10:00:00 UTC OK, recovered: Website (web): status is 200 (was critical since 2026-01-31 09:58:00 UTC)",
  ],
  [
    "a recovery for a channel that the present problem is not for",
    makeItem({ event: "recovery", condition: "warning", previous: "critical", output: "slow" }),
    "2026-01-31 10:00:00 UTC WARNING, no longer CRITICAL: Website (web): slow (was critical since 2026-01-31 09:58:00 UTC)",
  ],
  [
    "a problem that was over before it was told",
    makeItem(
      { event: "recovery", condition: "ok", previous: "critical", output: "fine" },
      makeNotification(),
    ),
    "2026-01-31 10:00:00 UTC OK, recovered: Website (web): fine (was critical from 2026-01-31 09:58:00 UTC to 2026-01-31 10:00:00 UTC)",
  ],
  [
    "one in which older ones are counted",
    {
      ...makeItem(
        { event: "recovery", condition: "ok", previous: "critical", output: "fine" },
        makeNotification(),
      ),
      summarized: 17,
    },
    "2026-01-31 10:00:00 UTC OK, recovered: Website (web): fine (was critical from 2026-01-31 09:58:00 UTC to 2026-01-31 10:00:00 UTC; 17 older problems recovered before they could be sent)",
  ],
];

Deno.test("describeItem() describes an item in one line", async (t) => {
  for (const [name, item, line] of LINES) {
    await t.step(name, () => assert.equal(describeItem(item), line));
  }
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
