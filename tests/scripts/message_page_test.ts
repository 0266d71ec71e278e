import assert from "node:assert/strict";
import { messagePage } from "../../scripts/message_page.ts";

Deno.test("docs/reference/messages.md has the requests that the program sends", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/reference/messages.md", import.meta.url));
  assert.ok(page === await messagePage(), "it is out of date: deno task generate");
});
