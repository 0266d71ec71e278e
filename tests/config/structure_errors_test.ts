import assert from "node:assert/strict";
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import fc from "../support/property.ts";
import shapeA from "../../schemas/shape_a.schema.json" with { type: "json" };
import shapeB from "../../schemas/shape_b.schema.json" with { type: "json" };
import { findStructureErrors, type JudgingSchema, openSchema } from "../../src/config/schemas.ts";
import { MONITOR_SCHEMA } from "../../src/config/schema_view.ts";
import { parseText } from "../../src/config/syntax.ts";
import { shortOrFull } from "../../testing/full_form.ts";
import { CONFIG_EXAMPLES, configOf } from "../docs/examples.ts";
import { type Json, valueDamages } from "./damages.ts";
import { MESSAGE_CASES } from "./message_cases.ts";
import { campaign } from "../../testing/seed.ts";

const SCHEMAS = {
  "the schema": { shape: "monitor", published: MONITOR_SCHEMA },
  "profile a": { shape: "a", published: shapeA },
  "profile b": { shape: "b", published: shapeB },
} as const;

/** An error as both name it: JSON pointer, keyword, and the key if it is about one. */
type Found = readonly [pointer: string, keyword: string, name?: string];

/** Returns the errors of ajv, less those that only repeat another one. */
function createReference(schema: object): (value: Json) => readonly Found[] {
  const ajv = new Ajv2020({
    allErrors: true,
    strict: true,
    strictRequired: false,
    allowUnionTypes: true,
    validateFormats: false,
    // Other tests validate the schemas, and optimizing takes longer than these validations.
    validateSchema: false,
    code: { optimize: false },
  });
  ajv.addVocabulary(["x-same-as", "x-notes", "x-hints", "x-fields", "x-ready-made"]);
  const validate = ajv.compile(schema);
  return (value) => {
    validate(value);
    return (validate.errors ?? []).filter(({ keyword }) => !["if", "pattern"].includes(keyword)).map(toFound);
  };
}

function toFound({ instancePath, keyword, params }: ErrorObject): Found {
  const name = params["missingProperty"] ?? params["additionalProperty"] ?? params["propertyName"];
  return name === undefined ? [instancePath, keyword] : [instancePath, keyword, name];
}

async function findOwn({ validator }: JudgingSchema, value: Json): Promise<readonly Found[]> {
  return (await findStructureErrors(value, validator, Infinity)).map(({ path, keyword, name }) => {
    const pointer = path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`);
    return name === undefined ? [pointer.join(""), keyword] : [pointer.join(""), keyword, name];
  });
}

/** Several schemas of one value may each report a wrong type. */
function inOrder(found: readonly Found[]): readonly string[] {
  return [...new Set(found.map((error) => JSON.stringify(error)))].toSorted();
}

/** The examples of the pages, and configs with errors. */
const SEEDS: readonly Json[] = [
  ...CONFIG_EXAMPLES.map(({ block }) => configOf(block)),
  ...MESSAGE_CASES.map(({ config }) => config),
].map((text) => parseText(text).value).filter((value) => value !== undefined);

for (const [name, { shape, published }] of Object.entries(SCHEMAS)) {
  const reference = createReference(published);

  Deno.test(`findStructureErrors() returns the errors that ajv finds in ${name}`, async (t) => {
    const schema = await openSchema(shape);
    await t.step("of real configs", async () => {
      let refused = 0;
      for (const seed of SEEDS) {
        const expected = inOrder(reference(seed));
        assert.deepEqual(inOrder(await findOwn(schema, seed)), expected);
        if (expected.length > 0) refused++;
      }
      assert.ok(refused > 10 && SEEDS.length > 120, `${refused} of ${SEEDS.length}`);
    });
    await t.step("of configs with wrong values, names and positions", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...SEEDS),
          fc.array(valueDamages(), { minLength: 1, maxLength: 5 }),
          async (seed, damages) => {
            const value = damages.reduce((whole, damage) => damage(whole), seed);
            assert.deepEqual(inOrder(await findOwn(schema, value)), inOrder(reference(value)));
          },
        ),
        { numRuns: shortOrFull(campaign(500), 50_000) },
      );
    });
  });
}

Deno.test("findStructureErrors() stops collecting at the maximum", async () => {
  const checks = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`c${index}`, 1]));
  const { validator } = await openSchema("monitor");
  const find = async (max: number): Promise<number> =>
    (await findStructureErrors({ defaults: {}, checks }, validator, max)).length;
  assert.deepEqual([await find(10), await find(1_000)], [10, 100]);
});
