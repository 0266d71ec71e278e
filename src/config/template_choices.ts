import { ANY_VALUE, CHOOSING_FIELDS, hasFields, onlyFieldOf } from "../shared/template.ts";
import type { FormattedValue } from "./formatted_value.ts";
import { nearest } from "./nearest.ts";
import { type Problem, quoteValue } from "./problem.ts";
import { isObject } from "./schema_view.ts";

/** Validates a key of a JSON template: a field chooses one of the values below it, and is the only key. */
export function findChoiceProblem(
  { value, parent = {} }: Pick<FormattedValue, "value" | "parent">,
): Pick<Problem, "message" | "hint"> | null {
  const key = String(value);
  if (!hasFields(key)) return null;
  const shown = quoteValue(key);
  const field = onlyFieldOf(key);
  const accepted = field === undefined ? undefined : CHOOSING_FIELDS[field];
  if (accepted === undefined) {
    const expected = Object.keys(CHOOSING_FIELDS).map((name) => `{{${name}}}`).join(", ");
    return { message: `the key ${shown} cannot choose a value, expected one of ${expected}` };
  }
  if (Object.keys(parent).length > 1) {
    return { message: `the key ${shown} chooses a value, expected no other key in its object` };
  }
  const cases = parent[key];
  if (!isObject(cases)) {
    const example = JSON.stringify({ [accepted[0] ?? ""]: 1, [ANY_VALUE]: 2 });
    return {
      message: `the key ${shown} has no values to choose from, expected an object such as ${example}`,
    };
  }
  const unknown = Object.keys(cases).find((name) => name !== ANY_VALUE && !accepted.includes(name));
  if (unknown === undefined) return null;
  const meant = nearest(unknown, accepted);
  return {
    message: `${shown} is never ${quoteValue(unknown)}, expected one of ${accepted.join(", ")}, ${ANY_VALUE}`,
    ...meant !== undefined && { hint: `did you mean ${quoteValue(meant)}?` },
  };
}
