import assert from "node:assert/strict";
import { toMessage } from "../../src/engine/message.ts";
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
  const { items } = toMessage("m", queued, new Map());
  assert.deepEqual(items.map(({ notification }) => notification.check), ["router", "switch", "mail", "web"]);
});
