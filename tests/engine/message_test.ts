import assert from "node:assert/strict";
import { messageIdOf, toMessage } from "../../src/engine/batching.ts";
import { notificationOf, queuedOf } from "../state/records.ts";
import type { CheckFacts, Message, MessageItem } from "../../src/domain/delivery.ts";
import type { Notification } from "../../src/domain/outbox.ts";
import { withFacts } from "../../src/engine/configured_channels.ts";
import { digestOf } from "../../src/engine/batching.ts";
import type { Condition } from "../../src/domain/condition.ts";
import { describeItem } from "../../src/channels/describe_item.ts";

Deno.test("toMessage() lists a check that others depend on before those of higher severity", () => {
  const of = (check: string, condition: "warning" | "critical", dependents: number) =>
    queuedOf(check, 1, { notification: notificationOf(check, { id: check, condition, dependents }) });
  const queued = [
    of("web", "warning", 0),
    of("mail", "critical", 0),
    of("switch", "critical", 1),
    of("router", "warning", 2),
  ];
  const { items } = toMessage("m", queued, { markers: new Map(), group: null });
  assert.deepEqual(items.map(({ notification }) => notification.check), ["router", "switch", "mail", "web"]);
});

Deno.test("messageIdOf() returns the id of a single notification, and a unique one for several", () => {
  assert.equal(messageIdOf(["a"], { hasCause: true }), "a");
  assert.match(messageIdOf(["a", "b"], { hasCause: true }), /^[\da-f-]+-cause$/);
  assert.equal(messageIdOf(["a"]), "a");
  const lists = [["a", "b"], ["b", "a"], ["a", "b", "c"], ["ab", "c"], ["a", "bc"], ["a,b"], ['a","b']];
  const ids = lists.map((ids) => messageIdOf(ids));
  assert.equal(new Set(ids).size, lists.length);
  assert.deepEqual(lists.map((ids) => messageIdOf(ids)), ids);
  for (const [index, id] of ids.entries()) {
    if (lists[index]?.length !== 1) assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  }
});

const USERS = ["web", "a/b", "off"].map((name) => ({
  name,
  notifications: [],
  active: name !== "off",
  ...name === "web" &&
    { kind: "test", target: "a:1", tags: ["shop"], description: "The shop", runbook: "call 555" } as const,
}));

function factsOf(
  check: string,
  pageUrl: string | null,
  { hasActions = false, ...fields }: Partial<Notification> & { readonly hasActions?: boolean } = {},
): CheckFacts | undefined {
  const { notification } = queuedOf("one", 1);
  const item = {
    notification: { ...notification, check, ...fields },
    missedProblem: null,
    summarized: 0,
    threadId: null,
  };
  const message = { id: "m", items: [item], isTest: false, decidedAtMs: 0 };
  return withFacts(message, { pageUrl, hasActions, users: USERS, timeZone: () => "UTC" }).items[0]?.facts;
}

Deno.test("a message has a link to the page of its check, or to that of all checks", () => {
  const cases: readonly (readonly [check: string, url: string | null, link: string | undefined])[] = [
    ["web", "https://example.org", "https://example.org/checks/web"],
    ["web", "https://example.org/m/", "https://example.org/m/checks/web"],
    ["a/b", "https://example.org/m", "https://example.org/m/checks/a%2Fb"],
    ["off", "https://example.org/m", "https://example.org/m/"],
    ["14 notifications", "https://example.org", "https://example.org/"],
    ["web", null, undefined],
  ];
  for (const [check, url, link] of cases) assert.equal(factsOf(check, url)?.url, link, `${check} at ${url}`);
});

Deno.test("a rehearsal has the link that confirms it, and no other", () => {
  const rehearsal = { event: "rehearsal", condition: "ok", token: "0a1b" } as const;
  const facts = factsOf("channel ops", "https://example.org/m", { hasActions: true, ...rehearsal });
  assert.deepEqual(facts, { url: "https://example.org/m/confirm/0a1b" });
});

Deno.test("a message of a problem has a link to the form that acknowledges it, if the page has one", () => {
  const linkOf = (check: string, fields = {}, url: string | null = "https://example.org/m") =>
    factsOf(check, url, { hasActions: true, ...fields })?.acknowledge_url;
  assert.equal(linkOf("a/b"), "https://example.org/m/checks/a%2Fb#acknowledge");
  assert.equal(linkOf("web", { event: "reminder" }), "https://example.org/m/checks/web#acknowledge");
  assert.equal(linkOf("web", { event: "recovery", condition: "ok" }), undefined);
  assert.equal(linkOf("14 notifications"), undefined);
  assert.equal(linkOf("web", {}, null), undefined);
  assert.equal(linkOf("web", { hasActions: false }), undefined);
});

Deno.test("a message has the kind, target, tags, description and runbook of its check", () => {
  const facts = { kind: "test", target: "a:1", tags: ["shop"], description: "The shop", runbook: "call 555" };
  assert.deepEqual(factsOf("web", null), facts);
  assert.deepEqual(factsOf("off", null), {});
});

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
