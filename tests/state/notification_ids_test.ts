import assert from "node:assert/strict";
import { createNotificationIds } from "../../src/state/notification_ids.ts";

function make(versions: Readonly<Record<string, number>>) {
  let made = 0;
  return createNotificationIds({
    versionOf: (check) => versions[check] ?? null,
    randomId: () => `random ${++made}`,
  });
}

Deno.test("processes that make the same decision from the same record derive the same id", () => {
  const [one, other] = [make({ web: 7 }), make({ web: 7 })];
  const facts = { check: "web", condition: "critical" } as const;
  const id = one(facts);
  assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.equal(other(facts), id);
});

Deno.test("another check, version, condition or later notification has another id", () => {
  const versions: Record<string, number> = { web: 7, mail: 7 };
  const newId = make(versions);
  const ids = [
    newId({ check: "web", condition: "critical" }),
    newId({ check: "mail", condition: "critical" }),
    newId({ check: "web", condition: "ok" }),
    newId({ check: "web", condition: "critical" }),
  ];
  versions["web"] = 8;
  ids.push(newId({ check: "web", condition: "critical" }));
  assert.equal(new Set(ids).size, ids.length);
});

Deno.test("a check of which nothing is stored has a random id", () => {
  const newId = make({});
  assert.deepEqual(
    [newId({ check: "web", condition: "ok" }), newId({ check: "web", condition: "ok" })],
    ["random 1", "random 2"],
  );
});
