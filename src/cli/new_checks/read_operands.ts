import { nameFor } from "../../checks/targets.ts";
import { meantWord } from "../../config/explain_structure.ts";
import { openSchema } from "../../config/schemas.ts";
import { pathFromHere } from "../../config/source.ts";
import { isObject, type SchemaReader, type SchemaView } from "../../config/schema_view.ts";
import type { JsonObject, JsonValue } from "../../config/syntax.ts";
import type { CheckKind } from "../../domain/check.ts";
import type { CheckTarget, TargetWord } from "../../domain/check_kind.ts";
import type { System } from "../../domain/system.ts";
import { UsageError } from "../command_definition.ts";
import { type CommandContext, type OpenConfig, openConfigAt, readKinds } from "../open_config.ts";
import type { CronJob } from "../../discover/discovery.ts";
import { parseJson } from "../../shared/json_values.ts";
import { nearest } from "../../config/nearest.ts";
import { ConfigError, describePath, type PlacedProblem, quoteValue } from "../../config/problem.ts";
import { layOutJson } from "../../shared/text.ts";

export interface NewCheck {
  readonly name: string;
  readonly kind: CheckKind;
  /** Absent: that of the config. */
  readonly threshold?: number | undefined;
  /** As in the config. */
  readonly parameters: JsonObject;
  readonly cronJob?: CronJob;
  /** The target, if nothing but it was typed. */
  readonly target?: string | undefined;
}

export const CHECK_OPERANDS = "[KIND] TARGET [KEY=VALUE…]";

interface ReadOperands {
  readonly checks: readonly NewCheck[];
  readonly rejected: readonly UsageError[];
}

interface Reading {
  readonly system: System;
  readonly reader: SchemaReader;
  readonly targets: ReadonlyMap<CheckKind, CheckTarget<CheckKind>>;
}

/**
 * Reads checks from operands: targets, each of which is of the kind that claims it, or a kind with its target; and
 * `KEY=VALUE` for the check before it. The error of one check does not reject the others.
 *
 * @throws {UsageError} If a word is nearly a kind: the next word may be its target, or one of its own.
 */
export async function readOperands(operands: readonly string[], system: System): Promise<ReadOperands> {
  const { reader } = await openSchema("monitor");
  const kinds = await readKinds((kindsOf(reader)?.enum ?? []) as CheckKind[]);
  const targets = new Map([...kinds].map(([kind, { target }]) => [kind, target]));
  const reading = { system, reader, targets };
  const checks: NewCheck[] = [];
  const rejected: UsageError[] = [];
  for (let index = 0; index < operands.length;) {
    const word = operands[index++] ?? "";
    const target = targets.get(word as CheckKind);
    const isNamed = target !== undefined && target.form !== null && !isKeyValue(operands[index] ?? "=");
    const named = isNamed ? operands[index++] ?? null : null;
    const settings: string[] = [];
    while (isKeyValue(operands[index] ?? "")) settings.push(operands[index++] ?? "");
    try {
      const check = target === undefined
        ? await ofWord(word, reading)
        : await ofKind(word as CheckKind, named, reading);
      checks.push({
        ...check,
        threshold: targets.get(check.kind)?.threshold,
        parameters: withSettings(check, settings, reader),
        ...settings.length === 0 && { target: named ?? word },
      });
    } catch (error) {
      if (!(error instanceof UsageError) || error instanceof NearlyKind) throw error;
      rejected.push(error);
    }
  }
  return { checks, rejected };
}

/** Returns the checks of operands; throws the error of the first one that is rejected. */
export async function readAllOperands(
  operands: readonly string[],
  system: System,
): Promise<readonly NewCheck[]> {
  const { checks, rejected: [first] } = await readOperands(operands, system);
  if (first !== undefined) throw first;
  return checks;
}

class NearlyKind extends UsageError {}

function kindsOf(reader: SchemaReader): SchemaView | undefined {
  return reader.at({ checks: { check: {} } }, ["checks", "check", "kind"]);
}

async function ofKind(kind: CheckKind, text: string | null, { system, targets }: Reading): Promise<NewCheck> {
  const target = targets.get(kind);
  if (text === null || target === undefined) return { name: nameFor(kind), kind, parameters: {} };
  const { word } = await lookUp(text, system);
  const check = checkOf(kind, target, word);
  if (check === null) throw new UsageError(`${kind} is "${text}", expected ${target.form}`);
  return check;
}

/** Makes a check of a word; `null`: it is no target of the kind. */
function checkOf(kind: CheckKind, target: CheckTarget<CheckKind>, word: TargetWord): NewCheck | null {
  const parameters = target.parametersOf(word) as JsonObject | null;
  return parameters && { name: nameFor(target.nameOf?.(word) ?? word.text), kind, parameters };
}

async function ofWord(text: string, reading: Reading): Promise<NewCheck> {
  if (isKeyValue(text)) throw new UsageError(`"${text}" comes before the check that it is for`);
  const cronJob = await cronJobOf(text);
  if (cronJob !== null) {
    const [job] = await readAllOperands(cronJob.words, reading.system);
    if (job !== undefined) return { ...job, name: cronJob.name, cronJob };
  }
  const { word, denied } = await lookUp(text, reading.system);
  for (const [kind, target] of reading.targets) {
    const check = target.claims?.(word) === true ? checkOf(kind, target, word) : null;
    if (check !== null) return check;
  }
  throw denied !== null && PATH.test(text) ? denied : unknownTarget(word, reading.reader);
}

async function cronJobOf(text: string): Promise<CronJob | null> {
  if (!/\s/.test(text)) return null;
  const { CronLineError, readCronLine } = await import("../../discover/discovery.ts");
  try {
    return readCronLine(text);
  } catch (error) {
    throw error instanceof CronLineError ? new UsageError(error.message) : error;
  }
}

const PATH = /^[./~]/;

function unknownTarget({ text, path }: TargetWord, reader: SchemaReader): UsageError {
  if (PATH.test(text)) return new UsageError(`cannot find "${path}"`, "write file_timestamp before a path");
  const kindHint = hintForKind(text, reader);
  if (kindHint !== null) return new NearlyKind(`unknown target "${text}"`, kindHint);
  const hint = HOST.test(text)
    ? `expected https://${text}/, ${text}:PORT, or a kind such as ping ${text}`
    : PLAIN_WORD.test(text)
    ? `expected ${text}.service, or a kind such as process ${text}`
    : "expected a URL, HOST:PORT, a port, a unit, a path, a cron line, or KIND TARGET";
  return new UsageError(`unknown target "${text}"`, hint);
}

/** For a word that is nearly a kind. It may be a unit, too. */
function hintForKind(text: string, reader: SchemaReader): string | null {
  const kinds = kindsOf(reader);
  const meant = kinds === undefined || !PLAIN_WORD.test(text) ? null : meantWord(text, kinds);
  if (meant === null) return null;
  return "hint" in meant ? meant.hint : `did you mean "${meant.word}", or ${text}.service?`;
}

const PLAIN_WORD = /^[\w-]+$/;
const HOST = /^[\w-]+(?:\.[\w-]+)+$/;

async function lookUp(text: string, system: System) {
  const path = pathFromHere(text, system).replace(/(?<=.)\/+$/, "");
  let denied = null as Error | null;
  const pathKind = await system.files.stat(path).then(({ kind }) => kind, (error) => {
    if (error instanceof Deno.errors.NotCapable) denied = error;
    return null;
  });
  return { word: { text, path, pathKind }, denied };
}

function withSettings({ kind, parameters }: NewCheck, words: readonly string[], reader: SchemaReader) {
  const settings = words.map((word) => readKeyValue(word, kind, reader));
  const keyOf = ({ path }: TypedParameter): string => path.join(".");
  const repeated = settings.find((one, index) =>
    settings.findIndex((other) => keyOf(other) === keyOf(one)) < index
  );
  if (repeated !== undefined) throw new UsageError(`${keyOf(repeated)} is specified more than once`);
  return settings.reduce(withParameter, parameters);
}

interface TypedParameter {
  /** The keys from `parameters` on. */
  readonly path: readonly string[];
  readonly value: JsonValue;
}

export function isKeyValue(word: string): boolean {
  return /^[a-z_]\w*(?:\.[^=]*)?=/i.test(word);
}

/**
 * Reads `KEY=VALUE`. Dots lead into objects, such as `response.status_code=200`. The schema decides whether the value
 * is text, a number, `true`, a list or other JSON.
 *
 * @throws {UsageError} If the kind has no such key.
 */
function readKeyValue(word: string, kind: string, reader: SchemaReader): TypedParameter {
  const config: JsonValue = { checks: { check: { kind } } };
  const at = (path: readonly string[]): SchemaView | undefined =>
    reader.at(config, ["checks", "check", "parameters", ...path]);
  const path: string[] = [];
  for (let rest = word;;) {
    const here = at(path);
    const [, key = "", sign, tail = ""] = /^([^.=]*)([.=])(.*)$/s.exec(rest) ?? [];
    if (here?.keys.has(key)) {
      path.push(key);
      if (sign === "=") return { path, value: typedValue(tail, at(path), reader) };
      rest = tail;
      continue;
    }
    if (here?.otherKeys === undefined) {
      const known = [...here?.keys.keys() ?? []];
      const inner = known.filter((outer) => at([...path, outer])?.keys.has(key));
      throw unknownKey([...path, key], { kind, known, inner });
    }
    // A free name may have dots, such as a path in JSON.
    const end = rest.indexOf("=");
    path.push(rest.slice(0, end));
    return { path, value: typedValue(rest.slice(end + 1), at(path), reader) };
  }
}

/** `known` are the keys of the object that lacks the key, and `inner` those whose objects have it. */
function unknownKey(
  path: readonly string[],
  { kind, known, inner }: { readonly kind: string } & Readonly<Record<"known" | "inner", readonly string[]>>,
): UsageError {
  const name = path.at(-1) ?? "";
  const before = path.slice(0, -1).map((key) => `${key}.`).join("");
  const meant = inner.length > 0
    ? inner.map((outer) => `${outer}.${name}`)
    : [nearest(name, known) ?? []].flat();
  const accepted = known.length === 0
    ? before === "" ? "no keys" : `no keys in "${before.slice(0, -1)}"`
    : `one of ${known.map((key) => before + key).join(", ")}`;
  return new UsageError(
    `unknown key ${quoteValue(path.join("."))} of ${kind}, expected ${accepted}`,
    meant.length === 0 ? undefined : `did you mean ${meant.map((key) => `"${before}${key}"`).join(" or ")}?`,
  );
}

function typedValue(text: string, view: SchemaView | undefined, reader: SchemaReader): JsonValue {
  const types = view?.types ?? [];
  if (types.length === 1 && types[0] === "string") return text;
  const json = parseJson(text) as JsonValue | undefined;
  if (json !== undefined && (types.length === 0 || typesOf(json).some((type) => types.includes(type)))) {
    return json;
  }
  if (!types.includes("array") || types.includes("string") || view?.items === undefined) return text;
  const items = reader.view(view.items, undefined);
  return text === "" ? [] : text.split(",").map((item) => typedValue(item, items, reader));
}

function typesOf(value: JsonValue): readonly string[] {
  if (value === null) return ["null"];
  if (Array.isArray(value)) return ["array"];
  if (typeof value === "number") return Number.isInteger(value) ? ["integer", "number"] : ["number"];
  return [typeof value];
}

/** Puts a value at a path into parameters, next to the others. */
export function withParameter(parameters: JsonObject, { path, value }: TypedParameter): JsonObject {
  const [key = "", ...rest] = path;
  if (rest.length === 0) return { ...parameters, [key]: value };
  const inner = parameters[key];
  return { ...parameters, [key]: withParameter(isObject(inner) ? inner : {}, { path: rest, value }) };
}

/** Returns a check as the config has it, without its name. */
export function entryFor({ kind, threshold, parameters }: NewCheck): JsonObject {
  return { kind, ...threshold !== undefined && { threshold }, parameters };
}

/** Returns a check with its name as a part of a config, for people. */
export function renderEntry(check: NewCheck): string {
  const name = `${JSON.stringify(check.name)}: `;
  return name + layOutJson(entryFor(check), { indent: "  ", margin: "", column: name.length, newline: "\n" });
}

/** @throws {UsageError} If one has an error. */
export async function openNewChecks(
  checks: readonly NewCheck[],
  { invocation, system }: CommandContext,
): Promise<OpenConfig> {
  const text = JSON.stringify({
    defaults: {},
    checks: Object.fromEntries(checks.map((check) => [check.name, entryFor(check)])),
  });
  return await openConfigAt({ path: "-", named: true, text }, { invocation, system }).catch((error) => {
    throw asUsageError(error, checks);
  });
}

/** Returns errors of new checks in a config as an error of the command line; other errors as they are. */
export function asUsageError(error: unknown, checks: readonly NewCheck[]): unknown {
  if (!(error instanceof ConfigError) || error.problems.length === 0) return error;
  return usageErrorOf(error.problems, checks);
}

/** Returns at least one problem of new checks as an error of the command line. */
export function usageErrorOf(problems: readonly PlacedProblem[], checks: readonly NewCheck[]): UsageError {
  const [{ hint } = { hint: null }] = problems;
  const texts = problems.map((problem) => describe(problem, checks));
  return new UsageError(texts.join("; "), texts.length === 1 && hint !== null ? hint : undefined);
}

/** The error, at the key that was typed. */
function describe({ path, message }: PlacedProblem, checks: readonly NewCheck[]): string {
  const startOf = ({ name }: NewCheck): string => describePath(["checks", name, "parameters"]);
  const check = checks.find((one) => path.startsWith(startOf(one)));
  if (check === undefined) return `${path}: ${message}`;
  return `${check.kind} ${path.slice(startOf(check).length + 1)}`.trimEnd() + `: ${message}`;
}
