import assert from "node:assert/strict";
import { createNotificationIds } from "../../src/state/record_writer.ts";

function make(versions: Readonly<Record<string, number>>) {
  let made = 0;
  return createNotificationIds({
    versionOf: (check) => versions[check] ?? null,
    randomId: () => `random ${++made}`,
  });
}

Deno.test("processes derive one id of a decision from one record, and another of each other decision", () => {
  const versions: Record<string, number> = { web: 7, mail: 7 };
  const newId = make(versions);
  const ids = [
    newId({ check: "web", condition: "critical" }),
    newId({ check: "mail", condition: "critical" }),
    newId({ check: "web", condition: "ok" }),
    newId({ check: "web", condition: "critical" }),
  ];
  assert.match(ids[0] ?? "", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.equal(make({ web: 7 })({ check: "web", condition: "critical" }), ids[0]);
  versions["web"] = 8;
  ids.push(newId({ check: "web", condition: "critical" }));
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(newId({ check: "new", condition: "ok" }), "random 1", "nothing of it is stored");
});
