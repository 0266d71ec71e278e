import assert from "node:assert/strict";
import { digestOf } from "../../src/engine/sending_limit.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { Message, MessageItem } from "../../src/domain/delivery.ts";
import { describeItem } from "../../src/channels/describe_item.ts";
import { notificationOf } from "../state/records.ts";

function itemOf(check: string, condition: Condition, summarized = 0): MessageItem {
  const event = condition === "ok" ? "recovery" : "problem";
  const notification = notificationOf(check, { title: null, event, condition, output: `it is ${condition}` });
  return { notification, missedProblem: null, summarized, threadId: null };
}

function digest(...items: readonly MessageItem[]): Message {
  return digestOf({ id: "m", items, isTest: false, decidedAtMs: 1_800_000_000_000 });
}

Deno.test("digestOf() makes one item that counts and names the others", () => {
  const items = [itemOf("shop", "critical"), itemOf("mail", "warning", 2), itemOf("disk", "ok", 3)];
  const [item, ...others] = digest(...items).items;
  assert.ok(item !== undefined);
  assert.deepEqual(others, []);
  const { check, output, condition, event, detail } = item.notification;
  assert.deepEqual({ check, output, condition, event, summarized: item.summarized }, {
    check: "3 notifications",
    output: "2 checks have a problem (1 CRITICAL, 1 WARNING), 1 check is ok again: shop, mail, disk",
    condition: "critical",
    event: "problem",
    summarized: 5,
  });
  assert.deepEqual(detail.split("\n"), items.map(describeItem));
  assert.equal(
    describeItem(item),
    "2 checks have a problem (1 CRITICAL, 1 WARNING), 1 check is ok again: shop, mail, disk",
  );
});

Deno.test("digestOf() is a recovery if all are, and leaves one item as it is", () => {
  assert.equal(digest(itemOf("a", "ok"), itemOf("b", "ok")).items[0]?.notification.event, "recovery");
  assert.deepEqual(digest(itemOf("a", "ok")).items, [itemOf("a", "ok")]);
});

Deno.test("digestOf() names the condition that ended if it ended in another problem", () => {
  const { notification, ...others } = itemOf("b", "warning");
  const ended = { ...notification, event: "recovery", previous: "critical" } as const;
  const [item] = digest(itemOf("a", "ok"), { ...others, notification: ended }).items;
  assert.ok(item !== undefined);
  assert.match(describeItem(item), /^1 check is ok again, 1 check is better: a, b$/);
});

Deno.test("digestOf() counts the checks of a cause that the message is not about, sent before or not", () => {
  const cause = { text: "all connect to 192.0.2.7", checks: 5, sinceMs: 1_800_000_000_000 };
  const items = ["a", "b"].map((check) => {
    const { notification, ...others } = itemOf(check, "critical");
    return { ...others, notification: { ...notification, cause } };
  });
  assert.equal(
    digest(...items).items[0]?.notification.output,
    "2 checks are critical, 5 in all since 2027-01-15 08:00:00 UTC: all connect to 192.0.2.7: a, b",
  );
});

Deno.test("digestOf() stays short, and counts the checks and lines that it leaves out", () => {
  const items = Array.from({ length: 2_000 }, (_, index) => itemOf(`check-${index}`, "critical"));
  const notification = digest(...items).items[0]?.notification;
  assert.match(
    notification?.output ?? "",
    /^2000 checks are critical: check-0, check-1, .*, and 19\d\d more$/,
  );
  assert.ok((notification?.output.length ?? 0) < 160);
  assert.ok((notification?.detail.length ?? 0) < 32 * 1024);
  const lines = notification?.detail.split("\n") ?? [];
  assert.equal(lines.at(-1), `and ${2_000 - lines.length + 1} more`);
});
