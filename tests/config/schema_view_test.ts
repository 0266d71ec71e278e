import assert from "node:assert/strict";
import monitorSchema from "../../schemas/monitor.schema.json" with { type: "json" };
import shapeASchema from "../../schemas/shape_a.schema.json" with { type: "json" };
import shapeBSchema from "../../schemas/shape_b.schema.json" with { type: "json" };
import { type Schema } from "../../src/config/schema_view.ts";
import { testRows } from "../support/rows.ts";

const SCHEMAS = {
  monitor: monitorSchema,
  "shape a": shapeASchema,
  "shape b": shapeBSchema,
} as unknown as Readonly<Record<string, Schema>>;

Deno.test("the schemas use allOf only for the branches of a kind, and $ref only for definitions", async (t) => {
  await testRows(t, SCHEMAS, (schema) => {
    for (const { path, part } of partsOf(schema)) {
      for (const branch of part.allOf ?? []) {
        assert.equal(typeof branch.if?.properties?.["kind"]?.const, "string", path);
        assert.deepEqual(branch.if?.required, ["kind"], path);
        assert.ok(branch.then !== undefined, path);
      }
      if (part.$ref !== undefined) {
        const target = part.$ref.replace("#/$defs/", "");
        assert.ok(schema.$defs?.[target] !== undefined, `${path}: ${part.$ref}`);
      }
    }
  });
});

Deno.test("the schemas have a branch for each kind that they list, and no other", async (t) => {
  await testRows(t, SCHEMAS, (schema) => {
    for (const { path, part } of partsOf(schema)) {
      const branches = (part.allOf ?? []).map((branch) => branch.if?.properties?.["kind"]?.const);
      if (branches.length > 0) assert.deepEqual(branches, part.properties?.["kind"]?.enum, path);
    }
  });
});

Deno.test("the schemas close every object that has no free names", async (t) => {
  await testRows(t, SCHEMAS, (schema) => {
    const parts = [...partsOf(schema)];
    // The keys under "parameters" are closed by the branch of its kind.
    const open = new Set(
      parts.filter(({ part }) => part.allOf).map(({ part }) => part.properties?.["parameters"]),
    );
    for (const { path, part } of parts) {
      // The target of a reference is a part by itself.
      const isObject = [part.type].flat().includes("object") && part.$ref === undefined;
      if (!isObject || open.has(part)) continue;
      assert.ok(part.additionalProperties !== undefined && part.additionalProperties !== true, path);
    }
  });
});

/** Every schema within a schema. */
function* partsOf(part: Schema, path = "#"): Generator<{ readonly path: string; readonly part: Schema }> {
  yield { path, part };
  const named = { ...part.properties, ...part.$defs };
  for (const [name, child] of Object.entries(named)) yield* partsOf(child, `${path}/${name}`);
  const { additionalProperties: free } = part;
  const single = [part.items, part.propertyNames, part.if, part.then, ...(part.allOf ?? [])];
  for (const child of [...single, typeof free === "object" ? free : undefined]) {
    if (child !== undefined) yield* partsOf(child, `${path}/?`);
  }
}
