import monitorSchema from "./generated/monitor.schema.json" with { type: "json" };
import validateMonitor from "./generated/validate_monitor.js";
import * as kinds from "./generated/validators_by_kind.js";
import type { JudgingSchema } from "./check_rules.ts";
import { createSchemaReader } from "./schema_view.ts";
import type { Validator } from "./structure_errors.ts";

/** The schema that validates a config: the default one, or that of a specification profile. */
export type Shape = "monitor" | "a" | "b";

export async function openSchema(shape: Shape): Promise<JudgingSchema> {
  const defaultReader = createSchemaReader(monitorSchema);
  if (shape === "monitor") {
    return {
      reader: defaultReader,
      validator: { validate: validateMonitor as Validator, kinds },
      wider: null,
      shapeName: "the schema",
    };
  }
  const { schema, validator } = await SHAPES[shape]();
  return {
    reader: createSchemaReader(schema),
    validator: { validate: validator.default as Validator, kinds: validator },
    wider: defaultReader,
    shapeName: `profile ${shape}`,
  };
}

/** The shapes of the specification, read only when asked for. */
const SHAPES = {
  a: async () => ({
    schema: (await import("../../schemas/shape_a.schema.json", { with: { type: "json" } })).default,
    validator: await import("./generated/validate_shape_a.js"),
  }),
  b: async () => ({
    schema: (await import("../../schemas/shape_b.schema.json", { with: { type: "json" } })).default,
    validator: await import("./generated/validate_shape_b.js"),
  }),
} as const;

/** The text of a schema, as `monitor schema` prints it. */
export async function schemaText(shape: Shape): Promise<string> {
  // The default one with its texts for people, which loading a config doesn't need.
  const schema: unknown = shape === "monitor"
    ? (await import("../../schemas/monitor.schema.json", { with: { type: "json" } })).default
    : (await SHAPES[shape]()).schema;
  return `${JSON.stringify(schema, null, 2)}\n`;
}
