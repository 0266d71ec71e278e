import { INTERVAL_FORMS } from "./quantities.ts";
import { nearest } from "./nearest.ts";
import { holdsSecret, isPlaceholder } from "./placeholders.ts";
import { type ConfigPath, type Problem, PROBLEMS_MAX, quoteValue } from "./problem.ts";
import { isObject, type SchemaReader, type SchemaView, valueAt } from "./schema_view.ts";
import type { StructureError } from "./schemas.ts";
import type { JsonValue } from "./syntax.ts";

export interface StructureOptions {
  /** The value as written in the config, for messages: it contains no secret. */
  readonly written: JsonValue;
  readonly reader: SchemaReader;
  /** The default schema, to recognize keys that only the chosen profile lacks; `null` if it is the chosen one. */
  readonly wider: SchemaReader | null;
  /** The name of the chosen profile in messages, such as `Shape B`. */
  readonly shapeName: string;
  isUnresolved(path: ConfigPath): boolean;
}

export function explainErrors(
  errors: readonly StructureError[],
  value: JsonValue,
  options: StructureOptions,
): readonly Problem[] {
  const problems: Problem[] = [];
  const refused = new Set<string>();
  const misspelt = findMisspelt(errors, { ...options, value });
  for (const error of errors) {
    if (problems.length === PROBLEMS_MAX) break;
    const explain = EXPLANATIONS[error.keyword];
    if (explain === undefined || misspelt.has(error)) continue;
    const { path } = error;
    if (VALUE_KEYWORDS.includes(error.keyword)) {
      // A value of the wrong type is often out of range too; the first error suffices.
      const place = JSON.stringify(path);
      if (refused.has(place)) continue;
      refused.add(place);
    }
    if (error.keyword === "enum" && options.isUnresolved(path)) continue;
    const isLack = MACHINE_KEYWORDS.includes(error.keyword) && isPlaceholder(valueAt(options.written, path));
    problems.push({ ...explain(error, { ...options, path, value }), ...(isLack && { isLack }) });
  }
  // A skipped value would be used.
  return problems.length < PROBLEMS_MAX
    ? problems
    : problems.map((problem) => ({ ...problem, isLack: false }));
}

/** The type of a placeholder's value is known only on this machine; a text has no other type. */
const MACHINE_KEYWORDS: readonly string[] = ["enum", "minLength"];

/** Missing keys that are present under a wrong name: the hint at that name suffices. */
function findMisspelt(
  errors: readonly StructureError[],
  options: Omit<Place, "path">,
): ReadonlySet<StructureError> {
  const meant = new Set<string>();
  for (const { keyword, path, name = "" } of errors) {
    if (keyword !== "additionalProperties") continue;
    const place = { ...options, path };
    const known = [...viewOf(place)?.keys.keys() ?? []];
    const key = keyMeant(name, known, place);
    if (key !== undefined) meant.add(JSON.stringify([...path, key]));
  }
  return new Set(
    errors.filter(({ keyword, path, name = "" }) =>
      keyword === "required" && meant.has(JSON.stringify([...path, name]))
    ),
  );
}

const VALUE_KEYWORDS = ["type", "enum", "minimum", "maximum", "minLength", "minItems", "minProperties"];

interface Place extends StructureOptions {
  readonly path: ConfigPath;
  readonly value: JsonValue;
}

type Explain = (error: StructureError, place: Place) => Problem;

const EXPLANATIONS: Readonly<Record<string, Explain>> = {
  additionalProperties: explainUnknownKey,
  required: explainMissingKey,
  type: explainType,
  enum: explainEnumeration,
  minimum: explainRange,
  maximum: explainRange,
  propertyNames: explainName,
  minLength: explainEmptyText,
  minItems: (_error, { path }) => ({ path, message: "is an empty list, expected at least one entry" }),
  minProperties: explainEmptyObject,
};

function viewOf(place: Place): SchemaView | undefined {
  return place.reader.at(place.value, place.path);
}

function explainUnknownKey({ name = "" }: StructureError, place: Place): Problem {
  const view = viewOf(place);
  const at: Pick<Problem, "path" | "at"> = { path: [...place.path, name], at: "name" };
  const note = noteOf(view, name);
  if (note !== undefined) return { ...at, message: `is not a key: ${note}`, hint: "remove it" };
  const known = [...view?.keys.keys() ?? []];
  const accepted = `expected ${describeKeys([...view?.plainKeys.keys() ?? []])}`;
  if (place.wider?.at(place.value, place.path)?.keys.has(name)) {
    return { ...at, message: `is not in ${place.shapeName}, ${accepted}`, hint: "the default schema has it" };
  }
  const hint = hintForKey(name, known, place);
  return { ...at, message: `unknown key ${quoteValue(name)}, ${accepted}`, hint };
}

function describeKeys(names: readonly string[]): string {
  if (names.length === 0) return "no keys here";
  return names.length === 1 ? `only ${names[0]}` : `one of ${names.join(", ")}`;
}

/** The object that has the key, or the key that was probably intended. */
function hintForKey(name: string, known: readonly string[], place: Place): string | undefined {
  const home = homeOfKey(name, known, place);
  if (home !== undefined) return home;
  const foreign = meantKey(name, known);
  if (foreign !== undefined) {
    const isThere = foreign.key !== null && hasKey(place.value, place.path, foreign.key);
    return isThere ? `remove it: "${foreign.key}" is there already` : foreign.hint;
  }
  const meant = keyMeant(name, known, place);
  return meant === undefined ? undefined : `did you mean "${meant}"?`;
}

function homeOfKey(name: string, known: readonly string[], place: Place): string | undefined {
  const { reader, value, path } = place;
  const owners = known.filter((key) => reader.at(value, [...path, key])?.keys.has(name));
  if (owners.length > 0) return `move it into ${owners.map(quoteValue).join(" or ")}`;
  const parent = path.at(-1);
  if (typeof parent === "string" && reader.at(value, path.slice(0, -1))?.keys.has(name)) {
    return `move it one level up, next to ${quoteValue(parent)}`;
  }
  return undefined;
}

/** The key of the same object that a misspelled name is close to. */
function keyMeant(name: string, known: readonly string[], place: Place): string | undefined {
  if ((noteOf(viewOf(place), name) ?? homeOfKey(name, known, place)) !== undefined) return undefined;
  const { value, path } = place;
  const foreign = meantKey(name, known);
  if (foreign !== undefined) return foreign.key ?? undefined;
  return nearest(name, known.filter((key) => !hasKey(value, path, key)));
}

function hasKey(config: JsonValue, path: ConfigPath, name: string): boolean {
  const value = valueAt(config, path);
  return isObject(value) && name in value;
}

function explainMissingKey({ name = "" }: StructureError, { path, reader, value }: Place): Problem {
  const key = reader.at(value, [...path, name]);
  const choices = key?.enum === undefined ? "" : `, expected one of ${key.enum.map(quoteValue).join(", ")}`;
  const empty = path.length === 0 && key?.types.includes("object") ? `, "${name}": {} is enough` : "";
  return { path, message: `missing key "${name}"${choices}${empty}` };
}

function explainName({ name = "" }: StructureError, place: Place): Problem {
  const accepted = viewOf(place)?.names ?? "another one";
  const message = `${quoteValue(name)} cannot be a name here, expected ${accepted}`;
  return { path: [...place.path, name], at: "name", message };
}

function explainEmptyText({ limit: least = 1 }: StructureError, { path, written }: Place): Problem {
  const shown = valueAt(written, path);
  // Only secrets have such a length, so nothing of it is shown.
  if (least > 1) return { path, message: `is too short, expected at least ${least} characters` };
  const subject = shown === "" || shown === undefined ? "" : `${quoteValue(shown)} `;
  return { path, message: `${subject}is empty, expected some text` };
}

function explainEmptyObject(_error: StructureError, place: Place): Problem {
  const known = [...viewOf(place)?.keys.keys() ?? []];
  const least = known.length === 0 ? "one key" : describeKeys(known);
  return { path: place.path, message: `is empty, expected at least ${least}` };
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  object: "an object",
  array: "a list",
  string: "a string",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  null: "null",
};

function explainType({ types }: StructureError, place: Place): Problem {
  const { path, written } = place;
  const shown = valueAt(written, path);
  const value = typeof shown === "string" ? `the string ${quoteValue(shown)}` : quoteValue(shown);
  const subject = path.length === 0 ? "the config is" : "is";
  const message = `${subject} ${value}, expected ${describeTypes(types, viewOf(place))}`;
  return { path, message, hint: hintForType(shown, types, place) };
}

function describeTypes(types: readonly string[], view: SchemaView | undefined): string {
  if (view?.format !== "interval") return types.map((name) => TYPE_NAMES[name] ?? name).join(" or ");
  return types.includes("boolean") ? `true, false, or ${INTERVAL_FORMS}` : INTERVAL_FORMS;
}

function hintForType(shown: Shown, types: readonly string[], place: Place): string | undefined {
  if (holdsSecret(shown)) return "a placeholder is always a string";
  const isString = typeof shown === "string";
  if (isString && isWordOf(types, shown)) return `write ${shown} without quotes`;
  const view = viewOf(place);
  if (types.includes("array") && view?.items !== undefined) {
    const items = place.reader.view(view.items, shown).types;
    if (items.includes(typeOf(shown))) {
      return `put it in brackets: [${isObject(shown) ? " … " : quoteValue(shown)}]`;
    }
  }
  const object = objectMeant(shown, types, place);
  if (object !== undefined) return `write ${object}`;
  if (!place.wider?.at(place.value, place.path)?.types.includes(typeOf(shown))) return undefined;
  return `${isString ? "a string" : "this"} is not in ${place.shapeName} here; the default schema has it`;
}

/** An object in short form: `{ "target": … }` for the text alone, `{ "regular_interval": … }` for the interval alone. */
function objectMeant(shown: Shown, types: readonly string[], place: Place): string | undefined {
  const view = viewOf(place);
  if (!types.includes("object") || isObject(shown) || Array.isArray(shown)) return undefined;
  const [only = "", ...others] = view?.required ?? [];
  const key = view?.keys.has(INTERVAL_KEY) ? INTERVAL_KEY : others.length === 0 ? only : "";
  const schema = view?.keys.get(key);
  if (schema === undefined) return undefined;
  const accepts = place.reader.view(schema, shown).types.includes(typeOf(shown));
  return accepts ? `{ ${quoteValue(key)}: ${quoteValue(shown)} }` : undefined;
}

type Shown = JsonValue | undefined;
const INTERVAL_KEY = "regular_interval";

function isWordOf(types: readonly string[], text: string): boolean {
  return types.includes("integer") && /^\d{1,15}$/.test(text) ||
    types.includes("boolean") && /^(true|false)$/.test(text) ||
    types.includes("null") && text === "null";
}

function typeOf(value: JsonValue | undefined): string {
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return isObject(value) || typeof value !== "object" ? typeof value : "array";
}

function explainEnumeration(_error: StructureError, place: Place): Problem {
  const { path, written } = place;
  const shown = valueAt(written, path);
  const view = viewOf(place);
  const accepted = view?.enum ?? [];
  const note = typeof shown === "string" ? noteOf(view, shown) : undefined;
  if (note !== undefined) return { path, message: `is ${quoteValue(shown)}: ${note}` };
  const message = `is ${quoteValue(shown)}, expected one of ${accepted.map(quoteValue).join(", ")}`;
  if (typeof shown !== "string" || holdsSecret(shown)) return { path, message };
  if (place.wider?.at(place.value, path)?.enum?.includes(shown)) {
    const hint = `${quoteValue(shown)} is not in ${place.shapeName}; the default schema has it`;
    return { path, message, hint };
  }
  const meant = view === undefined ? null : meantWord(shown, view);
  const hint = meant === null ? undefined : "hint" in meant ? meant.hint : `did you mean "${meant.word}"?`;
  return { path, message, hint };
}

function explainRange(_error: StructureError, place: Place): Problem {
  const { path, written } = place;
  const view = viewOf(place);
  const { minimum = 0, maximum } = view ?? {};
  const range = maximum === undefined ? `${minimum} or more` : `${minimum} to ${maximum}`;
  const expected = view?.format === "interval" ? describeTypes(view.types, view) : range;
  return { path, message: `is ${quoteValue(valueAt(written, path))}, expected ${expected}` };
}

function noteOf(view: SchemaView | undefined, name: string): string | undefined {
  const notes = view?.notes;
  return notes !== undefined && Object.hasOwn(notes, name) ? notes[name] : undefined;
}

// Keys of other tools, with the equivalents here. Kinds are in the schema, as `x-hints`.

const URLS = "url uri endpoint href";
const EVERY_5_MINUTES = '{ "regular_interval": "5 minutes" }';
const TARGET = '"request": { "target": "https://example.org/" }';

const MOVE = 'move it into "parameters"; the kind decides its name there';
const INSECURE = "insecure insecureskipverify skiptlsverify tlsskipverify verify ignoretls";
const TRUST = 'trust the certificate by "ca_file" or "fingerprint"; "verify": false accepts any server';

/**
 * Names in lower case, without `_` and `-`; the key that an object must accept for this entry to be meant; and the hint,
 * if it is not that key. The first one that fits counts.
 */
const FOREIGN_KEYS: readonly (readonly [names: string, instead: string, hint?: string])[] = [
  ["type checktype plugin", "kind"],
  ["enabled enable", "active"],
  ["disabled paused muted", "active", 'write "active": false'],
  ["retries retry maxattempts maxcheckattempts failurethreshold", "threshold"],
  ["alerts alert alerting notify contacts channels", "notifications"],
  ["description label displayname", "title"],
  ["labels groups group", "tags"],
  ["dependencies parents requires", "depends_on"],
  ["env", "environment"],
  [URLS, "target"],
  ["from", "sender"],
  ["to recipients", "receivers"],
  ["cmd command exec", "path", 'write "path" and "arguments"'],
  ["interval every frequency checkinterval period", "schedule", `write "schedule": ${EVERY_5_MINUTES}`],
  [URLS, "request", `write ${TARGET}`],
  [URLS, "parameters", `write "parameters": { ${TARGET} }`],
  ["host hostname port cmd command exec", "parameters", MOVE],
  ...["verify", "tls", "request", "parameters"].map((instead) => [INSECURE, instead, TRUST] as const),
];

/**
 * Finds the equivalent of another tool's key in an object with these keys, `null` if it is not a single one, and the hint
 * without a final period; `undefined` if it is unknown.
 */
function meantKey(
  name: string,
  known: readonly string[],
): { readonly key: string | null; readonly hint: string } | undefined {
  const plain = plainName(name);
  const found = FOREIGN_KEYS.find(([names, key]) => names.split(" ").includes(plain) && known.includes(key));
  if (found === undefined) return undefined;
  const [, instead, hint] = found;
  return hint === undefined ? { key: instead, hint: `did you mean "${instead}"?` } : { key: null, hint };
}

/** Finds the accepted word that another one means, by the hints of the schema or as the nearest; `null`: none. */
export function meantWord(
  word: string,
  { enum: accepted = [], hints }: Pick<SchemaView, "enum" | "hints">,
): { readonly word: string } | { readonly hint: string } | null {
  const words = accepted.filter((item) => typeof item === "string");
  const plain = plainName(word);
  const known = hints !== undefined && Object.hasOwn(hints, plain) ? hints[plain] : undefined;
  // A single word is the accepted one; a profile may lack it.
  if (known?.includes(" ")) return { hint: known };
  const meant = words.find((one) => one === known) ?? nearest(word, words);
  return meant === undefined ? null : { word: meant };
}

export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, "");
}
