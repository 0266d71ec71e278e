import assert from "node:assert/strict";
import type { CheckFacts } from "../../src/domain/delivery.ts";
import { withFacts } from "../../src/engine/message_facts.ts";
import { queuedOf } from "../state/records.ts";

const USERS = ["web", "a/b", "off"].map((name) => ({
  name,
  notifications: [],
  active: name !== "off",
  ...name === "web" &&
    { kind: "test", tags: ["shop"], description: "The shop", runbook: "call 555" } as const,
}));

function factsOf(check: string, pageUrl: string | null): CheckFacts | undefined {
  const { notification } = queuedOf("one", 1);
  const item = {
    notification: { ...notification, check },
    missedProblem: null,
    summarized: 0,
    threadId: null,
  };
  const message = { id: "m", items: [item], isTest: false, decidedAtMs: 0 };
  return withFacts(message, { pageUrl, users: USERS }).items[0]?.facts;
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

Deno.test("a message has the kind, tags, description and runbook of its check", () => {
  const facts = { kind: "test", tags: ["shop"], description: "The shop", runbook: "call 555" };
  assert.deepEqual(factsOf("web", null), facts);
  assert.deepEqual(factsOf("off", null), {});
});
