import assert from "node:assert/strict";
import { messageIdOf } from "../../src/engine/message_id.ts";

Deno.test("messageIdOf() returns the id of a single notification, and a unique one for several", () => {
  assert.equal(messageIdOf(["a"]), "a");
  const lists = [["a", "b"], ["b", "a"], ["a", "b", "c"], ["ab", "c"], ["a", "bc"], ["a,b"], ['a","b']];
  const ids = lists.map(messageIdOf);
  assert.equal(new Set(ids).size, lists.length);
  assert.deepEqual(lists.map(messageIdOf), ids);
  for (const [index, id] of ids.entries()) {
    if (lists[index]?.length !== 1) assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  }
});
