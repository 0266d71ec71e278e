import assert from "node:assert/strict";
import { CHANNEL_KINDS } from "../../src/channels/registry.ts";

Deno.test("docs/reference/channels.md has an example of every kind of channel", () => {
  const page = Deno.readTextFileSync(new URL("../../docs/reference/channels.md", import.meta.url));
  const examples = [...page.matchAll(/^```json channel\n(.*?)^```$/gms)].map(([, json = ""]) =>
    JSON.parse(json)
  );
  assert.deepEqual([...new Set(examples.map(({ kind }) => kind))].sort(), Object.keys(CHANNEL_KINDS).sort());
});
