import assert from "node:assert/strict";
import { CHANNEL_KINDS } from "../../src/channels/registry.ts";
import { fillTemplate, TEMPLATE_FIELDS, type TemplateField } from "../../src/shared/template.ts";
import { load } from "../../testing/config_system.ts";

interface DocumentedChannel {
  readonly kind: string;
  readonly parameters: { readonly body?: string };
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

const VARIABLES = [
  "MAIL_PASSWORD",
  "HOOK_TOKEN",
  "SLACK_WEBHOOK",
  "DISCORD_WEBHOOK",
  "NTFY_TOKEN",
  "TELEGRAM_TOKEN",
];

const ENVIRONMENT: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...VARIABLES, "PAGERDUTY_KEY", "PAGER_TOKEN"].map((name) => [name, "value"])),
  TEAMS_WORKFLOW: "https://teams.example.org/workflows/1",
};

Deno.test("docs/reference/channels.md has an example of every kind of channel", () => {
  const kinds = new Set(documentedChannels().map(([, { kind }]) => kind));
  assert.deepEqual([...kinds].sort(), Object.keys(CHANNEL_KINDS).sort());
});

Deno.test("docs/reference/channels.md holds only channels that a config takes", async (t) => {
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

Deno.test("docs/reference/channels.md holds only bodies that are JSON whatever a notification says", async (t) => {
  const hostile = Object.fromEntries(TEMPLATE_FIELDS.map((field) => [field, '"\\\n\u0000}'])) as Record<
    TemplateField,
    string
  >;
  const templates = documentedChannels().filter(([, { parameters }]) => parameters.body !== undefined);
  assert.ok(templates.length >= 6);
  for (const [heading, { parameters: { body = "" } }] of templates) {
    await t.step(heading, () => void JSON.parse(fillTemplate(body, hostile)));
  }
});
