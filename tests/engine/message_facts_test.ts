import assert from "node:assert/strict";
import type { CheckFacts } from "../../src/domain/delivery.ts";
import type { Notification } from "../../src/domain/outbox.ts";
import { withFacts } from "../../src/engine/configured_channels.ts";
import { queuedOf } from "../state/records.ts";

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
