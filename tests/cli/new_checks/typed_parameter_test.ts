import assert from "node:assert/strict";
import { isKeyValue, readKeyValue, withParameter } from "../../../src/cli/new_checks/read_operands.ts";
import { openSchema } from "../../../src/config/profile_schemas.ts";
import type { JsonValue } from "../../../src/config/syntax.ts";
import { testRows } from "../../support/rows.ts";

Deno.test("readKeyValue() converts a value to the type in the schema", async (t) => {
  const { reader } = await openSchema("monitor");
  const rows: Readonly<Record<string, readonly [kind: string, path: string, value: JsonValue]>> = {
    "port=25": ["tcp_connect", "port", 25],
    "port=x": ["tcp_connect", "port", "x"],
    "expect=a=b": ["tcp_connect", "expect", "a=b"],
    "response.status_code=404": ["http_request", "response.status_code", 404],
    "response.status_code=null": ["http_request", "response.status_code", null],
    "response.body_part=200": ["http_request", "response.body_part", "200"],
    "response.json.$.a.b=up": ["http_request", "response.json.$.a.b", "up"],
    "request.headers.X-Y=1": ["http_request", "request.headers.X-Y", "1"],
    'response={"certificate":{}}': ["http_request", "response", { certificate: {} }],
    "arguments=-w,5": ["script", "arguments", ["-w", "5"]],
    'arguments=["a,b"]': ["script", "arguments", ["a,b"]],
    "arguments=": ["script", "arguments", []],
    'server=["192.0.2.1"]': ["dns_lookup", "server", ["192.0.2.1"]],
  };
  await testRows(t, rows, ([kind, path, value], word) => {
    assert.ok(isKeyValue(word));
    const read = readKeyValue(word, kind, reader);
    assert.deepEqual([read.path.join("."), read.value], [path, value]);
  });
});

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
