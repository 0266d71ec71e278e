import assert from "node:assert/strict";
import { renderFeed } from "../../../src/outputs/http_endpoint/feed.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { testCheck } from "../../support/checks.ts";
import { createMemoryStore } from "../../support/memory_store.ts";

async function headOf(title: string | null, hostName: string): Promise<string> {
  const feed = await renderFeed({
    store: createMemoryStore(),
    checks: [testCheck("ok")],
    title,
    hostName,
    hasOutputs: true,
    clock: createFakeClock(),
  });
  return feed.slice(0, feed.indexOf("<updated>"));
}

Deno.test("renderFeed() has the title of the config, else names the host", async () => {
  assert.match(await headOf("Status of <example>", "host"), /<title>Status of &lt;example&gt;<\/title>/);
  assert.match(await headOf(null, "host"), /<title>monitor on host<\/title>/);
  assert.match(await headOf(null, ""), /<title>monitor<\/title>/);
});

Deno.test("renderFeed() has the same id for every title", async () => {
  const idOf = (head: string): string => head.slice(head.indexOf("<id>"), head.indexOf("<title>"));
  assert.equal(idOf(await headOf("Status", "host")), idOf(await headOf(null, "host")));
});
