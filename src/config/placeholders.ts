import { describeFileError } from "../shared/describe_error.ts";
import type { PermissionClass } from "../domain/runtime_permissions.ts";
import { readRegularFile } from "../shared/regular_file.ts";
import type { System } from "../domain/system.ts";
import { type ConfigPath, type Problem, PROBLEMS_MAX, quoteValue } from "./problem.ts";
import { childrenOf } from "./schema_view.ts";
import { absolutePath } from "./source.ts";
import { createObject, type JsonValue } from "./syntax.ts";

export interface Substitution {
  readonly path: ConfigPath;
  /** The resolved string; `null` if a placeholder in it has no value, or secrets were not read. */
  readonly resolved: string | null;
  /** The placeholders' values, with where in `resolved` each begins. */
  readonly parts: readonly { readonly value: string; readonly start: number }[];
}

/** `mayReadEnvironment` is asked first: a variable that may not be read is no error of the config. */
interface PlaceholderOptions extends Pick<System, "environment" | "mayReadEnvironment" | "files"> {
  readonly directory: string;
  /** Whether the placeholders stay as they are; `$${` becomes `${` all the same. */
  readonly withoutSecrets: boolean;
}

interface Substituted {
  /** A copy as far as it differs; the rest is shared with the config. Unresolved strings stay as written. */
  readonly value: JsonValue;
  /** Every string that contained a placeholder, in the config's order. */
  readonly substitutions: readonly Substitution[];
  /** The placeholders that have no value, and why: the machine lacks it, or it cannot be one. */
  readonly problems: readonly Problem[];
  /** Warnings about empty values, and about text that resembles a placeholder. */
  readonly warnings: readonly Problem[];
}

export const SECRET_BYTES_MAX = 1024 * 1024;

/** An escaped `${`, or the start of a placeholder with its kind. */
const PLACEHOLDER_START = /\$\$\{|\$\{(env|file):/g;

/** An escaped `${`, or a placeholder. */
interface Placeholder {
  readonly index: number;
  readonly whole: string;
  /** `env` or `file`; `undefined`: it is an escaped `${`. */
  readonly kind: string | undefined;
  readonly name: string;
}

/** One search for the end, however many starts there are: a regular expression would search from each of them again. */
function* placeholdersIn(text: string): Generator<Placeholder> {
  let end = 0;
  for (const { 0: start, 1: kind, index } of text.matchAll(PLACEHOLDER_START)) {
    if (index < end) continue;
    const nameStart = index + start.length;
    if (kind === undefined) {
      end = nameStart;
      yield { index, whole: start, kind, name: "" };
    } else {
      const brace = text.indexOf("}", nameStart);
      // Nothing that begins behind this ends either.
      if (brace < 0) return yield* escapesIn(text, index);
      end = brace + 1;
      yield { index, whole: text.slice(index, end), kind, name: text.slice(nameStart, brace) };
    }
  }
}

function* escapesIn(text: string, from: number): Generator<Placeholder> {
  for (let index = text.indexOf("$${", from); index >= 0; index = text.indexOf("$${", index + 3)) {
    yield { index, whole: "$${", kind: undefined, name: "" };
  }
}

export function namedInPlaceholders(config: JsonValue): Record<"variables" | "files", readonly string[]> {
  const named = findPlaceholders(config).found.flatMap(({ text }) => [...placeholdersIn(text)]);
  const ofKind = (wanted: string): readonly string[] => [
    ...new Set(named.flatMap(({ kind, name }) => kind === wanted ? [name] : [])),
  ];
  return { variables: ofKind("env"), files: ofKind("file") };
}

export function filesInPlaceholders(
  config: JsonValue,
): readonly { readonly path: ConfigPath; readonly file: string }[] {
  return findPlaceholders(config).found.flatMap(({ path, text }) =>
    [...placeholdersIn(text)].flatMap(({ kind, name }) => kind === "file" ? [{ path, file: name }] : [])
  );
}

/** Returns whether a string as written reads the environment or a file. */
export function holdsSecret(written: JsonValue | undefined): boolean {
  if (typeof written !== "string" || !written.includes("${")) return false;
  for (const { kind } of placeholdersIn(written)) if (kind !== undefined) return true;
  return false;
}

/** A text with a sign of no meaning in the place of each character of a placeholder, so that all else keeps its place. */
export function maskPlaceholders(written: string): string {
  let masked = "";
  let end = 0;
  for (const { index, whole, kind } of placeholdersIn(written)) {
    if (kind === undefined) continue;
    masked += written.slice(end, index) + "\ue000".repeat(whole.length);
    end = index + whole.length;
  }
  return masked + written.slice(end);
}

/** Returns whether a value as it is written is one placeholder, so that all of it comes from the machine. */
export function isPlaceholder(written: JsonValue | undefined): boolean {
  return typeof written === "string" && /^\$\{(env|file):[^}]*\}$/.test(written);
}

/** Replaces `${env:NAME}` and `${file:/path}` in every string of a config, and `$${` by `${`. Keys stay. */
export async function substitute(config: JsonValue, options: PlaceholderOptions): Promise<Substituted> {
  const { found, warnings } = findPlaceholders(config);
  const substitutions: Substitution[] = [];
  const problems: Problem[] = [];
  const values: { readonly path: ConfigPath; readonly value: string }[] = [];
  const resolver = createResolver(options);
  for (const { path, text } of found) {
    const { resolved, parts, reasons, textWarnings } = await resolveText(text, resolver);
    values.push({ path, value: resolved ?? text });
    substitutions.push({ path, resolved, parts });
    for (const reason of reasons) problems.push({ path, ...reason });
    for (const message of textWarnings) warnings.push({ path, message });
  }
  return { value: replaceValues(config, values), substitutions, problems, warnings };
}

type Answer =
  | { readonly value: string }
  | { readonly reason: Reason }
  /** Left as it is. */
  | null;

type Reason = Pick<Problem, "message" | "isLack" | "denied">;

type Resolver = (kind: string, name: string) => Answer | Promise<Answer>;

async function resolveText(text: string, resolve: Resolver) {
  const reasons: Reason[] = [];
  const textWarnings: string[] = [];
  const parts: { value: string; start: number }[] = [];
  let isWhole = true;
  let resolved = "";
  let end = 0;
  for (const { index, whole, kind, name } of placeholdersIn(text)) {
    resolved += text.slice(end, index);
    end = index + whole.length;
    if (kind === undefined) {
      resolved += "${";
      continue;
    }
    const answer = await resolve(kind, name);
    if (answer !== null && "value" in answer) {
      parts.push({ value: answer.value, start: resolved.length });
      resolved += answer.value;
      if (answer.value === "") {
        textWarnings.push(`the ${SOURCE_NAMES[kind] ?? kind} ${quoteValue(name)} is empty`);
      }
    } else {
      isWhole = false;
      if (answer !== null) reasons.push(answer.reason);
    }
  }
  resolved += text.slice(end);
  return { resolved: isWhole ? resolved : null, parts: isWhole ? parts : [], reasons, textWarnings };
}

function createResolver(options: PlaceholderOptions): Resolver {
  if (options.withoutSecrets) return () => null;
  // A file is read once, however often it is named.
  const files = new Map<string, Promise<Answer>>();
  let errorCount = 0;
  return async (kind, name) => {
    if (errorCount === PROBLEMS_MAX) return null;
    const answer = kind === "env"
      ? readVariable(name, options)
      : await files.getOrInsertComputed(name, () => readSecretFile(name, options));
    if (answer !== null && "reason" in answer && answer.reason.isLack !== true) errorCount++;
    return answer;
  };
}

/** Something that this machine does not have or grant, now. */
function lack(message: string, denied?: PermissionClass): Answer {
  return { reason: { message, isLack: true, ...(denied !== undefined && { denied }) } };
}

function readVariable(name: string, options: PlaceholderOptions): Answer {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    const message = `${quoteValue(`\${env:${name}}`)} names no variable, expected letters, digits and _`;
    return { reason: { message } };
  }
  const variable = `the environment variable ${quoteValue(name)}`;
  if (!options.mayReadEnvironment(name)) {
    return lack(`${variable} cannot be read: grant --allow-env=${name}`, "env");
  }
  const value = options.environment(name);
  return value === undefined ? lack(`${variable} is not set`) : { value };
}

async function readSecretFile(name: string, options: PlaceholderOptions): Promise<Answer> {
  if (name === "") return { reason: { message: '"${file:}" names no file, expected a path' } };
  const path = absolutePath(name, options.directory);
  try {
    const { bytes } = await readRegularFile(path, { files: options.files, bytesMax: SECRET_BYTES_MAX });
    return { value: new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r?\n$/, "") };
  } catch (error) {
    const reason = error instanceof TypeError ? "it is not UTF-8" : describeFileError(error, { path });
    const denied = error instanceof Deno.errors.NotCapable ? "read" : undefined;
    return lack(`the file ${quoteValue(name)} cannot be read: ${reason}`, denied);
  }
}

const SOURCE_NAMES: Readonly<Record<string, string>> = { env: "environment variable", file: "file" };

/**
 * A text that resembles a placeholder: `${ENV:X}`, `${environment:X}`, `${file /x}`. Not the syntax of a shell, such as
 * `${ENV:-x}`. An escaped one matches too, and is skipped. White space is bounded, so that no text makes the search
 * slow.
 */
const LOOK_ALIKE =
  /(\$?)\$\{\s{0,9}(env|environment|file)\s{0,9}[:.\s](?!\s{0,9}[-=?+\d])\s{0,9}([^{}\s][^{}]*)\}/gi;

function warnOfLookAlikes(path: ConfigPath, text: string): readonly Problem[] {
  const [each] = /(?<!\$)\$\{each:[^{}]*\}/.exec(text) ?? [];
  const others = each === undefined ? [] : [{
    path: [...path],
    message: `${quoteValue(each)} is not a placeholder here and stays unchanged`,
    hint: `give the check a for_each with this key, or write $${each} for the literal text`,
  }];
  const found = [...text.matchAll(LOOK_ALIKE)].flatMap(([whole, escape, word = "", rest = ""]) => {
    if (escape !== "" || /^\$\{(env|file):/.test(whole)) return [];
    const kind = word.toLowerCase() === "file" ? "file" : "env";
    return [{
      path: [...path],
      message: `${quoteValue(whole)} is not a placeholder and stays unchanged`,
      hint: `write \${${kind}:${rest.trim()}} for the value, or $${whole} for the literal text`,
    }];
  });
  return [...others, ...found];
}

function findPlaceholders(config: JsonValue) {
  const found: { readonly path: ConfigPath; readonly text: string }[] = [];
  const warnings: Problem[] = [];
  const path: (string | number)[] = [];
  const walk = (value: JsonValue): void => {
    if (typeof value === "string") {
      if (!value.includes("${")) return;
      if (placeholdersIn(value).next().done !== true) found.push({ path: [...path], text: value });
      for (const warning of warnOfLookAlikes(path, value)) warnings.push(warning);
    } else if (typeof value === "object" && value !== null) {
      for (const [segment, item] of childrenOf(value)) {
        path.push(segment);
        walk(item);
        path.pop();
      }
    }
  };
  walk(config);
  return { found, warnings };
}

/** Returns a config with other values at some paths: only the objects and lists on these paths are copied. */
export function replaceValues(
  config: JsonValue,
  values: readonly { readonly path: ConfigPath; readonly value: JsonValue }[],
): JsonValue {
  const copies = new Set<JsonValue>();
  const put = (here: JsonValue, [segment, ...rest]: ConfigPath, value: JsonValue): JsonValue => {
    if (segment === undefined || typeof here !== "object" || here === null) return value;
    const copy = copies.has(here)
      ? here
      : Array.isArray(here)
      ? [...here]
      : Object.assign(createObject(), here);
    copies.add(copy);
    if (Array.isArray(copy)) copy[Number(segment)] = put(copy[Number(segment)] ?? null, rest, value);
    else copy[segment] = put(copy[segment] ?? null, rest, value);
    return copy;
  };
  return values.reduce((changed, { path, value }) => put(changed, path, value), config);
}
