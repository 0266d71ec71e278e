import assert from "node:assert/strict";
import { isKeyValue, withParameter } from "../../../src/cli/new_checks/read_operands.ts";

Deno.test("isKeyValue() is false for targets", () => {
  const targets = ["https://example.org/?a=b", "/etc/a=b", "./a=b", "host:1", "* * * * * A=b x", "=x", ""];
  assert.deepEqual(targets.filter(isKeyValue), []);
});

Deno.test("withParameter() keeps the neighbors of the value", () => {
  const parameters = { response: { certificate: {} }, request: "x" };
  assert.deepEqual(withParameter(parameters, { path: ["response", "status_code"], value: 200 }), {
    response: { certificate: {}, status_code: 200 },
    request: "x",
  });
  assert.deepEqual(withParameter({ a: 1 }, { path: ["a", "b"], value: 2 }), { a: { b: 2 } });
});
