import { timeText } from "./local_time.ts";
import { truncate } from "./text.ts";
import type { JsonTemplate } from "../domain/generated/config.ts";
import { CONDITIONS, SHOWN_CONDITIONS } from "../domain/condition.ts";
import { EVENTS } from "../domain/outbox.ts";

/** A value for each field, of the form that real ones have. */
export const SAMPLE_FIELDS = {
  id: "sample",
  check: "sample",
  title: "sample",
  event: "sample",
  condition: "sample",
  previous: "sample",
  output: "sample",
  detail: "sample",
  problem_began_at: "2026-01-31T09:58:00.000Z",
  decided_at: "2026-01-31T10:00:00.000Z",
  occurrences: "3",
  next_run_at: "2026-01-31T10:01:00.000Z",
  host: "sample",
  acknowledged: "sample",
  flapping: "sample",
  dependents: "sample",
  test: "false",
  summarized: "0",
  summary: "sample",
  headline: "sample",
  text: "sample",
  action: "sample",
  severity: "sample",
  url: "sample",
  acknowledge_url: "sample",
  kind: "sample",
  target: "sample",
  tags: "sample",
  description: "sample",
  runbook: "sample",
  duration: "sample",
  time_zone: "UTC",
};

export type TemplateField = keyof typeof SAMPLE_FIELDS;

export const TEMPLATE_FIELDS = Object.keys(SAMPLE_FIELDS) as readonly TemplateField[];

const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

export function unknownFields(template: string): readonly string[] {
  return [...template.matchAll(PLACEHOLDER)].map(([, text = ""]) => partsOf(text).name)
    .filter((name) => templateFieldOf(name) === undefined);
}

export function unknownFilters(template: string): readonly string[] {
  return [...template.matchAll(PLACEHOLDER)].flatMap(([, text = ""]) => partsOf(text).filters)
    .filter((filter) => filterOf(filter) === undefined);
}

export function hasFields(template: string): boolean {
  return template.search(PLACEHOLDER) >= 0;
}

/** The texts between, before and behind the fields. */
export function literalsOf(template: string): readonly string[] {
  return template.replaceAll(PLACEHOLDER, "\0").split("\0");
}

/** Fills a template; every value is filtered, and then escaped for the place where it goes. */
export function fillTemplate(
  template: string,
  fields: Readonly<Record<TemplateField, string>>,
  escape: Escape = escapeJson,
): string {
  return template.replace(PLACEHOLDER, (whole, text: string) => {
    const { name, filters } = partsOf(text);
    const field = templateFieldOf(name);
    if (field === undefined) return whole;
    const filtered = filters.reduce(
      (value, filter) => filterOf(filter)?.(value, fields) ?? value,
      fields[field].toWellFormed(),
    );
    return escape(filtered);
  });
}

/** The field that a text consists of; `undefined` if it is anything else. */
export function onlyFieldOf(template: string): TemplateField | undefined {
  const [, name = ""] = /^\{\{([^{}]*)\}\}$/.exec(template) ?? [];
  return templateFieldOf(name.trim());
}

function partsOf(text: string): { readonly name: string; readonly filters: readonly string[] } {
  const [name = "", ...filters] = text.split("|").map((part) => part.trim());
  return { name, filters };
}

function templateFieldOf(name: string): TemplateField | undefined {
  return TEMPLATE_FIELDS.find((field) => field === name);
}

export const FILTER_FORMS = "truncate: LENGTH, html, no_mentions, url or local";

type Filter = (value: string, fields: Pick<Fields, "time_zone">) => string;

const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  // As text of HTML, and of the markup languages of chats that have the same three entities.
  ["html", (value) => value.replaceAll(/[&<>]/g, (character) => MARKUP[character] ?? "")],
  // With a zero-width space, so that `@channel` and `<!channel>` look the same but mention no one, and `[words](url)` is no
  // link with other words than its URL.
  ["no_mentions", (value) => value.replaceAll(/[@<]|\](?=\()/g, "$&\u200b")],
  ["url", escapeUrl],
  // In the time zone of the config. A value that is no time stays.
  ["local", (value, { time_zone }) => ISO_TIME.test(value) ? timeText(Date.parse(value), time_zone) : value],
]);

const MARKUP: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function filterOf(filter: string): Filter | undefined {
  const [, length] = /^truncate: *([1-9]\d{0,4})$/.exec(filter) ?? [];
  return length === undefined ? FILTERS.get(filter) : (value) => truncate(value, Number(length));
}

/** Makes a value of well-formed text safe for the place where it goes. */
export type Escape = (value: string) => string;

/** As in a JSON string, without its quotes. */
function escapeJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/** As `application/x-www-form-urlencoded` has it. */
function escapeForm(value: string): string {
  return new URLSearchParams([["", value]]).toString().slice(1);
}

/** For the path or the query of a URL. A value of one or two dots would leave the path out of which it is a part. */
export function escapeUrl(value: string): string {
  return encodeURIComponent(/^\.{1,2}$/.test(value) ? value.replaceAll(".", "_") : value);
}

/** For a header: characters that would end it become a space (RFC 9110, section 5.5). */
export function escapeHeader(value: string): string {
  // deno-lint-ignore no-control-regex
  return value.replaceAll(/[\u0000-\u001f\u007f]+/g, " ");
}

interface BodyRule {
  readonly escape: Escape;
  readonly isJson: boolean;
  readonly isForm: boolean;
}

const JSON_TYPE = /^(?:application\/json|[\w.+-]+\/[\w.+-]+\+json)$/;

/** Finds the rule for a body by its `Content-Type`; without one it is JSON. Unknown types are escaped like JSON. */
export function bodyRuleOf(headers: Readonly<Record<string, unknown>>): BodyRule {
  const [, given = "application/json"] = Object.entries(headers)
    .findLast(([name]) => name.toLowerCase() === "content-type") ?? [];
  // A value other than a string is an error of the config that is found elsewhere.
  const type = typeof given === "string" ? given.split(";")[0]?.trim().toLowerCase() ?? "" : "";
  if (type === "application/x-www-form-urlencoded") {
    return { escape: escapeForm, isJson: false, isForm: true };
  }
  if (type === "text/plain") return { escape: (value) => value, isJson: false, isForm: false };
  return { escape: escapeJson, isJson: JSON_TYPE.test(type), isForm: false };
}

// Templates that are a JSON value: its texts are templates. An object whose only key is a field, such as
// `{ "{{condition}}": { "critical": 5, "*": 3 } }`, chooses one of its values.

export const CHOOSING_FIELDS: Readonly<Partial<Record<TemplateField, readonly string[]>>> = {
  event: EVENTS,
  condition: CONDITIONS,
  previous: SHOWN_CONDITIONS,
  action: ["trigger", "resolve"],
  severity: ["info", "error", "warning", "critical"],
  flapping: ["true", "false"],
  test: ["true", "false"],
};

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
