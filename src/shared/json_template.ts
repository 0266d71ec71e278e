/**
 * Templates that are a JSON value: its texts are templates. An object whose only key is a field, such as
 * `{ "{{condition}}": { "critical": 5, "*": 3 } }`, chooses one of its values.
 */
import type { JsonTemplate } from "../domain/generated/config.ts";
import { CONDITIONS, SHOWN_CONDITIONS } from "../domain/condition.ts";
import type { Notification } from "../domain/notification.ts";
import { fillTemplate, onlyFieldOf, type TemplateField } from "./template.ts";

export const CHOOSING_FIELDS: Readonly<Partial<Record<TemplateField, readonly string[]>>> = {
  event: ["problem", "change", "recovery", "reminder", "summary"] satisfies readonly Notification["event"][],
  condition: CONDITIONS,
  previous: SHOWN_CONDITIONS,
  action: ["trigger", "resolve"],
  severity: ["info", "error", "warning", "critical"],
  flapping: ["true", "false"],
  test: ["true", "false"],
};

/** The key of the value that is chosen if no other is. */
export const ANY_VALUE = "*";

type Fields = Readonly<Record<TemplateField, string>>;

/** Fills a template. A choice without a value leaves out its key or element; at the top it is `undefined`. */
export function fillJsonTemplate(template: JsonTemplate, fields: Fields): JsonTemplate | undefined {
  if (typeof template === "string") return fillTemplate(template, fields, (value) => value);
  if (typeof template !== "object" || template === null) return template;
  if (isList(template)) {
    return template.map((item) => fillJsonTemplate(item, fields)).filter((item) => item !== undefined);
  }
  const entries = Object.entries(template);
  const [key = "", cases = null] = entries[0] ?? [];
  const field = entries.length === 1 ? onlyFieldOf(key) : undefined;
  if (field !== undefined) {
    const chosen = chooseFrom(cases, fields[field]);
    return chosen === undefined ? undefined : fillJsonTemplate(chosen, fields);
  }
  const filled = entries.map(([name, item]) => [name, fillJsonTemplate(item, fields)] as const);
  return Object.fromEntries(
    filled.filter((entry): entry is [string, JsonTemplate] => entry[1] !== undefined),
  );
}

function chooseFrom(cases: JsonTemplate, value: string): JsonTemplate | undefined {
  if (typeof cases !== "object" || cases === null || isList(cases)) return undefined;
  return Object.hasOwn(cases, value) ? cases[value] : cases[ANY_VALUE];
}

function isList(value: JsonTemplate): value is readonly JsonTemplate[] {
  return Array.isArray(value);
}
