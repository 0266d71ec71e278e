/** The fields that a body template may name. */
export const TEMPLATE_FIELDS = [
  "id",
  "check",
  "title",
  "event",
  "condition",
  "previous",
  "output",
  "detail",
  "problem_began_at",
  "decided_at",
  "occurrences",
  "next_run_at",
  "host",
  "test",
  "summary",
  "action",
  "severity",
] as const;

/** One of {@linkcode TEMPLATE_FIELDS}. */
export type TemplateField = typeof TEMPLATE_FIELDS[number];

const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

/** The names between double braces that are no fields. */
export function unknownFields(template: string): readonly string[] {
  return [...template.matchAll(PLACEHOLDER)].map(([, name = ""]) => name.trim())
    .filter((name) => fieldOf(name) === undefined);
}

/** Fills a template; every value is escaped as it stands in a JSON string. */
export function fillTemplate(template: string, fields: Readonly<Record<TemplateField, string>>): string {
  return template.replace(PLACEHOLDER, (whole, name: string) => {
    const field = fieldOf(name.trim());
    return field === undefined ? whole : JSON.stringify(fields[field].toWellFormed()).slice(1, -1);
  });
}

function fieldOf(name: string): TemplateField | undefined {
  return TEMPLATE_FIELDS.find((field) => field === name);
}
