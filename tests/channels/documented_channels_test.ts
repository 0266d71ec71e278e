import assert from "node:assert/strict";
import { CHANNEL_KINDS } from "../../src/channels/registry.ts";
import { load } from "../../testing/config_system.ts";

interface DocumentedChannel {
  readonly kind: string;
}

/** The examples of docs/reference/channels.md, each with the heading that it stands under. */
function documentedChannels(): readonly (readonly [heading: string, channel: DocumentedChannel])[] {
  const page = Deno.readTextFileSync(new URL("../../docs/reference/channels.md", import.meta.url));
  const found: (readonly [string, DocumentedChannel])[] = [];
  let heading = "";
  for (const [, title, example] of page.matchAll(/^#+ ([^\n]+)$|^```json channel\n(.*?)^```$/gms)) {
    if (title !== undefined) heading = title;
    if (example !== undefined) found.push([heading, JSON.parse(example)]);
  }
  return found;
}

const ENVIRONMENT = { MAIL_PASSWORD: "value", HOOK_TOKEN: "value", PAGER_TOKEN: "value" };

Deno.test("docs/reference/channels.md has an example of every kind of channel", () => {
  const kinds = new Set(documentedChannels().map(([, { kind }]) => kind));
  assert.deepEqual([...kinds].sort(), Object.keys(CHANNEL_KINDS).sort());
});

Deno.test("docs/reference/channels.md has only channels that a config accepts", async (t) => {
  for (const [heading, channel] of documentedChannels()) {
    await t.step(heading, async () => {
      const config = {
        defaults: { notifications: [channel] },
        checks: { a: { kind: "test", parameters: {} } },
      };
      const { checks } = await load(config, { environment: ENVIRONMENT });
      assert.equal(checks[0]?.notifications[0]?.kind, channel.kind);
    });
  }
});
