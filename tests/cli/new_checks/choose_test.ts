import assert from "node:assert/strict";
import { choose, readChoice } from "../../../src/cli/commands/discover.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { isKeyValue, withParameter } from "../../../src/cli/new_checks/read_operands.ts";

Deno.test("readChoice() parses numbers, ranges, all and none", () => {
  const rows: Readonly<Record<string, readonly number[] | null>> = {
    "1 3-5": [0, 2, 3, 4],
    "5,1, 1": [0, 4],
    "ALL": [0, 1, 2, 3, 4],
    " none ": [],
    "": [],
    "0": null,
    "6": null,
    "4-6": null,
    "3-1": null,
    "x": null,
    "1 x": null,
  };
  for (const [line, expected] of Object.entries(rows)) assert.deepEqual(readChoice(line, 5), expected, line);
});

Deno.test("choose() repeats the prompt after invalid input, and ends with the input", async () => {
  const system = createMemorySystem({ typed: ["nine", "2"] });
  assert.deepEqual(await choose(2, system), [1]);
  assert.match(system.stdout.text(), /^add .*: expected numbers from 1 to 2, all, or none\nadd .*: $/);
  assert.equal(await choose(2, createMemorySystem({ typed: ["7"] })), null);
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
