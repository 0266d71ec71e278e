import { didYouMean } from "./nearest.ts";
import { type ConfigPath, type Problem, quoteValue } from "./problem.ts";
import { childrenOf, isObject } from "./schema_view.ts";
import { createObject, type JsonObject, type JsonValue } from "./syntax.ts";

interface ExpandedFile {
  readonly written: JsonObject;
  readonly problems: readonly Problem[];
  /** The name in the file of each check that was made, by its own name. */
  readonly templates: ReadonlyMap<string, string>;
  /** The length of all checks that were made, about as many characters as they would have in a file. */
  readonly length: number;
}

/** Of one file. */
const EXPANDED_CHECKS_MAX = 10_000;
/** Of one file, in characters: as much as large configs have that are written by hand. */
const EXPANDED_LENGTH_MAX = 16 * 1024 * 1024;

/**
 * Replaces each check with `for_each` by one check for each combination of its values. `${each:KEY}` becomes the value
 * in the name and in every text; a text that is nothing else becomes the value itself, with its type. Errors in the
 * structure of `for_each` are left to the schema.
 */
export function expandChecks(written: JsonObject): ExpandedFile {
  const checks = written["checks"];
  if (!isObject(checks)) return { written, problems: [], templates: new Map(), length: 0 };
  const problems: Problem[] = [];
  const templates = new Map<string, string>();
  const expanded = createObject();
  let length = 0;
  for (const [name, check] of Object.entries(checks)) {
    if (!isObject(check) || !("for_each" in check)) {
      expanded[name] = check;
      continue;
    }
    const { for_each: value, ...rest } = check;
    const forEach = readForEach(value);
    if (forEach === null) {
      // The rest is unknown, so the schema reports only this error.
      expanded[name] = Object.assign(createObject(), { kind: "test", parameters: {}, for_each: value });
      continue;
    }
    const made = expandCheck({ name, check: Object.assign(createObject(), rest), forEach }, {
      countLeft: EXPANDED_CHECKS_MAX - templates.size,
      lengthLeft: EXPANDED_LENGTH_MAX - length,
      isTaken: (own) => own in expanded || own !== name && own in checks,
    });
    problems.push(...made.problems);
    length += made.length;
    for (const [own, item] of made.checks) {
      expanded[own] = item;
      templates.set(own, name);
    }
  }
  const all = Object.assign(createObject(), written, { checks: expanded });
  return { written: all, problems, templates, length };
}

function expandCheck(
  { name, check, forEach }: { readonly name: string; readonly check: JsonObject; readonly forEach: ForEach },
  { countLeft, lengthLeft, isTaken }: {
    readonly countLeft: number;
    readonly lengthLeft: number;
    isTaken(name: string): boolean;
  },
) {
  const path = ["checks", name];
  const checks = new Map<string, JsonObject>();
  const uses = findUses(check, path);
  const named = eachIn(name);
  const problems: Problem[] = [...named.map((key) => ({ key, path, at: "name" as const })), ...uses]
    .filter(({ key }) => !forEach.keys.includes(key))
    .map(({ key, ...at }) => unknownKey(key, forEach.keys, at));
  let length = 0;
  const end = (...found: readonly Problem[]) => ({ problems: [...problems, ...found], checks, length });
  const stop = (message: string) => end({ path: [...path, "for_each"], message });
  if (forEach.count > countLeft) return stop(`expands to more than ${EXPANDED_CHECKS_MAX} checks`);
  if (problems.length > 0) return end();
  const used = new Set([...named, ...uses.map(({ key }) => key)]);
  const size = JSON.stringify(check).length;
  for (const [index, values] of forEach.combinations().entries()) {
    const missing = [...used].find((key) => !Object.hasOwn(values, key));
    if (missing !== undefined) {
      const message = `has no key ${quoteValue(missing)}, which ${quoteValue(`\${each:${missing}}`)} uses`;
      return end({ path: [...path, "for_each", index], message });
    }
    length += size + uses.reduce((sum, { key }) => sum + String(values[key]).length, 0);
    if (length > lengthLeft) return stop(`expands to more than ${EXPANDED_LENGTH_MAX} characters`);
    const own = replaceText(name, values);
    if (checks.has(own) || isTaken(own)) {
      const unused = forEach.keys.find((key) => !named.includes(key));
      return end(repeated(own, name, unused));
    }
    const made = replaceAll(check, values);
    if (isObject(made)) checks.set(own, made);
  }
  return end();
}

type Values = Readonly<Record<string, string | number | boolean>>;

interface ForEach {
  readonly keys: readonly string[];
  readonly count: number;
  /** The last key changes fastest. */
  combinations(): readonly Values[];
}

/** Returns `null` if the structure is not valid by the schema. */
function readForEach(value: JsonValue | undefined): ForEach | null {
  if (Array.isArray(value)) {
    const items = value.filter(isValues);
    if (items.length === 0 || items.length < value.length) return null;
    const keys = [...new Set(items.flatMap((item) => Object.keys(item)))];
    return { keys, count: items.length, combinations: () => items };
  }
  if (!isObject(value) || !areKeys(value)) return null;
  const lists = Object.entries(value).flatMap(([key, list]) => isPlainList(list) ? [{ key, list }] : []);
  if (lists.length < Object.keys(value).length) return null;
  return {
    keys: lists.map(({ key }) => key),
    count: lists.reduce((product, { list }) => product * list.length, 1),
    combinations: () =>
      lists.reduce<readonly Values[]>(
        (found, { key, list }) => found.flatMap((values) => list.map((item) => ({ ...values, [key]: item }))),
        [{}],
      ),
  };
}

function isPlain(value: JsonValue | undefined): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

function isPlainList(value: JsonValue | undefined): value is (string | number | boolean)[] {
  return Array.isArray(value) && value.length > 0 && value.every(isPlain);
}

function isValues(value: JsonValue): value is Record<string, string | number | boolean> {
  return isObject(value) && areKeys(value) && Object.values(value).every(isPlain);
}

function areKeys(object: JsonObject): boolean {
  const keys = Object.keys(object);
  return keys.length > 0 && keys.every((key) => /^\w+$/.test(key));
}

/** An escaped `${`, or a placeholder. */
const EACH = /\$\$\{|\$\{each:([^{}]*)\}/g;

function eachIn(text: string): readonly string[] {
  return [...text.matchAll(EACH)].flatMap(([, key]) => key === undefined ? [] : [key]);
}

function findUses(value: JsonValue, path: ConfigPath): readonly { readonly key: string; path: ConfigPath }[] {
  if (typeof value === "string") return eachIn(value).map((key) => ({ key, path }));
  if (typeof value !== "object" || value === null) return [];
  return [...childrenOf(value)].flatMap(([segment, item]) => findUses(item, [...path, segment]));
}

function replaceText(text: string, values: Values): string {
  return text.replace(EACH, (whole, key?: string) => key === undefined ? whole : String(values[key]));
}

function replaceAll(value: JsonValue, values: Values): JsonValue {
  if (typeof value === "string") {
    const [only] = /^\$\{each:(\w+)\}$/.exec(value)?.slice(1) ?? [];
    return only === undefined ? replaceText(value, values) : values[only] ?? null;
  }
  if (Array.isArray(value)) return value.map((item) => replaceAll(item, values));
  if (!isObject(value)) return value;
  const copy = createObject();
  for (const [name, item] of Object.entries(value)) copy[name] = replaceAll(item, values);
  return copy;
}

function unknownKey(key: string, keys: readonly string[], at: Pick<Problem, "path" | "at">): Problem {
  const expected = keys.length === 1 ? keys[0] : `one of ${keys.join(", ")}`;
  const message = `${quoteValue(`\${each:${key}}`)} is not a key of for_each, expected ${expected}`;
  return { ...at, message, hint: didYouMean(key, keys, (meant) => `\${each:${meant}}`) };
}

function repeated(name: string, template: string, unused?: string): Problem {
  return {
    path: ["checks", template],
    at: "name",
    message: `for_each makes two checks with the name ${quoteValue(name)}, expected each name once`,
    hint: unused === undefined ? "rename one of them" : `put \${each:${unused}} into the name`,
  };
}
