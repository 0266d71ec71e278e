import assert from "node:assert/strict";
import { statusOf } from "../../src/alerting/check_status.ts";
import { initialState } from "../../src/condition/transition.ts";
import { checkJson } from "../../src/outputs/json/status_json.ts";
import { recordOf } from "../state/records.ts";
import { testCheck } from "../support/checks.ts";

Deno.test("checkJson() has no notified condition while neither a notification nor ok was known", () => {
  const status = statusOf({ ...testCheck("ok"), kind: "test" }, {
    recordOf: (name) => ({ ...recordOf(name), condition: initialState() }),
    nowMs: 1,
  });
  const fields: unknown = JSON.parse(checkJson(status));
  assert.ok(typeof fields === "object" && fields !== null && "notified" in fields);
  assert.equal(fields.notified, null);
});
