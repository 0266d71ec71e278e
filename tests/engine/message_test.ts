import assert from "node:assert/strict";
import { messageIdOf, toMessage } from "../../src/engine/message.ts";
import { notificationOf, queuedOf } from "../state/records.ts";

Deno.test("toMessage() lists a check that others depend on before those of higher severity", () => {
  const of = (check: string, condition: "warning" | "critical", dependents: number) =>
    queuedOf(check, 1, { notification: notificationOf(check, { id: check, condition, dependents }) });
  const queued = [
    of("web", "warning", 0),
    of("mail", "critical", 0),
    of("switch", "critical", 1),
    of("router", "warning", 2),
  ];
  const { items } = toMessage("m", queued, { markers: new Map(), group: null });
  assert.deepEqual(items.map(({ notification }) => notification.check), ["router", "switch", "mail", "web"]);
});

Deno.test("messageIdOf() returns the id of a single notification, and a unique one for several", () => {
  assert.equal(messageIdOf(["a"], { hasCause: true }), "a");
  assert.match(messageIdOf(["a", "b"], { hasCause: true }), /^[\da-f-]+-cause$/);
  assert.equal(messageIdOf(["a"]), "a");
  const lists = [["a", "b"], ["b", "a"], ["a", "b", "c"], ["ab", "c"], ["a", "bc"], ["a,b"], ['a","b']];
  const ids = lists.map((ids) => messageIdOf(ids));
  assert.equal(new Set(ids).size, lists.length);
  assert.deepEqual(lists.map((ids) => messageIdOf(ids)), ids);
  for (const [index, id] of ids.entries()) {
    if (lists[index]?.length !== 1) assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  }
});
