import assert from "node:assert/strict";
import { decodeChannelLists, encodeChannelLists, listChannels } from "../src/channel_lists.ts";
import type { Channel } from "../src/domain/channel.ts";
import { testCheck } from "./support/checks.ts";

const CONSOLE: Channel = { kind: "console", key: "a", parameters: {} };
const FILE: Channel = { kind: "file_touch", key: "b", parameters: { path: "/b" } };
const HOSTILE_NAMES = ["__proto__", "\ud800", "\0", '"', ""];

Deno.test("encodeChannelLists() keeps the lists of all checks, whatever their names, each list once", () => {
  const shared = [CONSOLE, FILE, CONSOLE];
  const checks = HOSTILE_NAMES.map((name) => ({ ...testCheck("ok", { name }), notifications: shared }));
  const other = { ...testCheck("ok", { name: "other" }), notifications: [] };
  const lists = listChannels([...checks, other], new Map(), () => false);
  const text = encodeChannelLists(lists);
  assert.ok(text.isWellFormed() && !text.includes("\0"));
  assert.equal(text.match(/file_touch/g)?.length, 1);
  const read = decodeChannelLists(text);
  assert.deepEqual(read, lists);
  assert.deepEqual(read.get("\ud800"), [{ key: "a", kind: "console" }, { key: "b", kind: "file_touch" }]);
  assert.equal(encodeChannelLists(read), text);
});

Deno.test("listChannels() goes on with what is of use of checks that the document has no more", () => {
  const former = new Map([["gone", [{ key: "a", kind: "console" }]], ["over", []]]);
  const lists = listChannels([testCheck("ok", { name: "web" })], former, (name) => name === "gone");
  assert.deepEqual([...lists.keys()], ["web", "gone"]);
});

Deno.test("decodeChannelLists() reads nothing out of what is no such text", () => {
  for (const text of [null, "", "{", "{}", "null", '{"lists":5,"checks":[]}']) {
    assert.deepEqual(decodeChannelLists(text), new Map());
  }
});
