import type { StructureOptions } from "./explain_structure.ts";
import { type Problem, PROBLEMS_MAX } from "./problem.ts";
import { findStructureErrors, type SchemaValidator } from "./structure_errors.ts";
import type { JsonValue } from "./syntax.ts";

/** Validates a config against its schema, and describes every error with the accepted values. */
export async function findStructureProblems(
  value: JsonValue,
  { validator, ...options }: StructureOptions & { readonly validator: SchemaValidator },
): Promise<readonly Problem[]> {
  const errors = await findStructureErrors(value, validator, 10 * PROBLEMS_MAX);
  if (errors.length === 0) return [];
  const { explainErrors } = await import("./explain_structure.ts");
  return explainErrors(errors, value, options);
}
