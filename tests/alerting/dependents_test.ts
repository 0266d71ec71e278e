import assert from "node:assert/strict";
import { Dependents } from "../../src/alerting/dependents.ts";
import { toMessage } from "../../src/alerting/message.ts";
import { notificationOf, queuedOf } from "../state/records.ts";

Deno.test("Dependents counts checks that depend on another, also by way of others, each once", () => {
  const dependents = new Dependents([
    { name: "router", dependsOn: [] },
    { name: "switch", dependsOn: ["router"] },
    { name: "web", dependsOn: ["switch", "router"] },
    { name: "mail", dependsOn: ["switch", { any: ["dns-a", "dns-b"] }] },
    { name: "dns-a", dependsOn: [] },
  ]);
  const counts = ["router", "switch", "web", "dns-a", "none"].map((name) => dependents.countOf(name));
  assert.deepEqual(counts, [3, 2, 0, 0, 0]);
});

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
