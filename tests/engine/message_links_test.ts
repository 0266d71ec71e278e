import assert from "node:assert/strict";
import { withLinks } from "../../src/engine/message_links.ts";
import { queuedOf } from "../state/records.ts";

const USERS = ["web", "a/b", "off"].map((name) => ({ name, notifications: [], active: name !== "off" }));

function linkTo(check: string, pageUrl: string | null): string | undefined {
  const { notification } = queuedOf("one", 1);
  const item = {
    notification: { ...notification, check },
    missedProblem: null,
    summarized: 0,
    threadId: null,
  };
  const message = { id: "m", items: [item], isTest: false, decidedAtMs: 0 };
  return withLinks(message, { pageUrl, users: USERS }).items[0]?.link;
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
  for (const [check, url, link] of cases) assert.equal(linkTo(check, url), link, `${check} at ${url}`);
});
