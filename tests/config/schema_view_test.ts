import assert from "node:assert/strict";
import monitorSchema from "../../schemas/monitor.schema.json" with { type: "json" };
import shapeASchema from "../../schemas/shape_a.schema.json" with { type: "json" };
import shapeBSchema from "../../schemas/shape_b.schema.json" with { type: "json" };
import { createSchemaReader, type Schema, type SchemaView } from "../../src/config/schema_view.ts";
import type { JsonValue } from "../../src/config/syntax.ts";
import { testRows } from "../support/rows.ts";

const SCHEMAS = {
  monitor: monitorSchema,
  "shape a": shapeASchema,
  "shape b": shapeBSchema,
} as unknown as Readonly<Record<string, Schema>>;

/** Every keyword of {@linkcode Schema}: one that is missing here does not compile. */
const KEYWORDS: Readonly<Record<keyof Schema, true>> = {
  $schema: true,
  $ref: true,
  $defs: true,
  title: true,
  description: true,
  type: true,
  format: true,
  default: true,
  examples: true,
  enum: true,
  const: true,
  minimum: true,
  maximum: true,
  properties: true,
  required: true,
  additionalProperties: true,
  propertyNames: true,
  pattern: true,
  minLength: true,
  minItems: true,
  minProperties: true,
  items: true,
  allOf: true,
  if: true,
  then: true,
  "x-notes": true,
  "x-hints": true,
  "x-fields": true,
};

Deno.test("the schemas use only keywords that SchemaReader supports", async (t) => {
  await testRows(t, SCHEMAS, (schema) => {
    for (const { path, part } of partsOf(schema)) {
      for (const keyword of Object.keys(part)) {
        assert.ok(Object.hasOwn(KEYWORDS, keyword), `${path}/${keyword}`);
      }
    }
  });
});

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

const BRANCHES: Schema = {
  type: "object",
  description: "the object",
  required: ["kind"],
  properties: {
    kind: { enum: ["a", "b"] },
    parameters: { description: "parameters", type: "object" },
    limit: { $ref: "#/$defs/limit", description: "a limit" },
    free: { type: "object", additionalProperties: { type: "string", format: "path" } },
    list: { type: "array", items: { $ref: "#/$defs/limit" } },
  },
  allOf: [
    {
      if: { properties: { kind: { const: "a" } }, required: ["kind"] },
      then: { properties: { parameters: { $ref: "#/$defs/a" }, limit: { default: 7 } } },
    },
    {
      if: { properties: { kind: { const: "b" } }, required: ["kind"] },
      then: { properties: { parameters: { $ref: "#/$defs/b" } }, required: ["parameters"] },
    },
  ],
  $defs: {
    limit: { description: "any limit", type: "integer", minimum: 1, maximum: 9 },
    a: { type: "object", properties: { one: { type: "string", format: "url" } } },
    b: { type: "object", properties: { two: { $ref: "#/$defs/limit" } }, "x-notes": { three: "is no more" } },
  },
};

Deno.test("createSchemaReader() follows the branch of the value's kind", () => {
  const { view, root, at } = createSchemaReader(BRANCHES);
  const names = (value: JsonValue | undefined) => {
    const parameters = view(root, value).keys.get("parameters");
    return parameters && [...view(parameters, undefined).keys.keys()];
  };
  assert.deepEqual(names({ kind: "a" }), ["one"]);
  assert.deepEqual(names({ kind: "b" }), ["two"]);
  assert.deepEqual(names({ kind: "c" }), []);
  assert.deepEqual([{}, { kind: 1 }, [], "a", null, undefined].map(names), [[], [], [], [], [], []]);
  assert.deepEqual(view(root, { kind: "b" }).required, ["kind", "parameters"]);
  assert.equal(at({ kind: "b" }, ["parameters"])?.notes?.["three"], "is no more");
});

Deno.test("createSchemaReader() prefers the more specific keyword", () => {
  const { at } = createSchemaReader(BRANCHES);
  const summary = (
    view: SchemaView | undefined,
  ) => [view?.description, view?.default, view?.minimum, view?.maximum];
  assert.deepEqual(summary(at({ kind: "a" }, ["limit"])), ["a limit", 7, 1, 9]);
  assert.deepEqual(summary(at({ kind: "b" }, ["limit"])), ["a limit", undefined, 1, 9]);
  assert.deepEqual(summary(at({ kind: "b" }, ["parameters", "two"])), ["any limit", undefined, 1, 9]);
});

Deno.test("createSchemaReader() finds the schema of free names and of elements", () => {
  const { at } = createSchemaReader(BRANCHES);
  assert.equal(at({}, ["free", "any name"])?.format, "path");
  assert.equal(at({}, ["free", "__proto__"])?.format, "path");
  assert.equal(at({}, ["list", 3])?.maximum, 9);
  assert.deepEqual([at({}, ["none"]), at({}, ["list", "x"]), at({}, ["kind", "x"]), at({}, [0])], [
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
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
