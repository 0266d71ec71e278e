/**
 * Generates all files that derive from `schemas/source.json`: the published schemas, the one that the program
 * reads, validators (so that it compiles no schema when it starts), the types of a config as it is written and resolved,
 * and the page that lists every key. Generates the page of commands and the help of the program from their table, and the
 * page of messages from what the program sends.
 *
 *     deno task generate           writes them
 *     deno task generate --check   fails when one is out of date
 */
import { loadCommands } from "../src/cli/command_loaders.ts";
import type { Schema } from "../src/config/schema_view.ts";
import { programHelp } from "../src/cli/help.ts";
import { commandPage } from "./command_page.ts";
import { configPage } from "./config_page.ts";
import { makeTypes, makeWrittenTypes } from "./make_types.ts";
import { makeValidators } from "./make_validators.ts";

const COMMANDS = await loadCommands();

type Json = null | boolean | number | string | Json[] | JsonObject;
interface JsonObject {
  [name: string]: Json;
}

/** Keywords of the two shapes of the specification. */
const MARKERS = ["x-shape-a", "x-shape-b"];
const PROJECT = new URL("..", import.meta.url);

/** All generated files: path from the project's directory, and text. */
export async function generate(): Promise<ReadonlyMap<string, string>> {
  const source = JSON.parse(await Deno.readTextFile(new URL("schemas/source.json", PROJECT))) as JsonObject;
  const monitor = deriveSchema(source, null, "monitor config");
  const shapeA = deriveSchema(source, "x-shape-a", "monitor config, specification profile a");
  const shapeB = deriveSchema(source, "x-shape-b", "monitor config, specification profile b");
  const scenario = JSON.parse(
    await Deno.readTextFile(new URL("schemas/scenario.schema.json", PROJECT)),
  ) as JsonObject;
  const report = JSON.parse(
    await Deno.readTextFile(new URL("schemas/report.schema.json", PROJECT)),
  ) as JsonObject;
  const validators = makeValidators(monitor, { shape_a: shapeA, shape_b: shapeB, scenario, report });
  return new Map([
    ["schemas/monitor.schema.json", layOut(withEachPlaceholders(monitor))],
    ["schemas/scenario.schema.json", layOut(scenario)],
    ["schemas/report.schema.json", layOut(report)],
    ["schemas/shape_a.schema.json", layOut(shapeA)],
    ["schemas/shape_b.schema.json", layOut(shapeB)],
    ["src/config/generated/monitor.schema.txt", layOutInLines(withoutTexts(monitor) as JsonObject)],
    ["src/config/generated/scenario.schema.json", `${JSON.stringify(withoutTexts(scenario))}\n`],
    ["src/domain/generated/config.ts", makeTypes(monitor as Schema)],
    ["src/domain/generated/written_config.ts", makeWrittenTypes(monitor as Schema)],
    ...[...validators].map(([file, code]) => [`src/config/generated/${file}`, code] as const),
    ["docs/reference/config.md", configPage(monitor)],
    ["docs/reference/command_line.md", commandPage(COMMANDS)],
    ["src/cli/generated/program_help.json", `${JSON.stringify(programHelp(COMMANDS))}\n`],
  ]);
}

function layOut(schema: JsonObject): string {
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** The schema without its definitions as JSON, then a line for each of those: its name, a space, and its JSON. */
function layOutInLines({ $defs = {}, ...top }: JsonObject): string {
  const definitions = Object.entries($defs as JsonObject).map(([name, definition]) =>
    `${name} ${JSON.stringify(definition)}`
  );
  return [JSON.stringify(top), ...definitions].join("\n");
}

/**
 * Returns the schema of one profile: keys that are not in it are dropped, others use the profile's own keywords
 * (`null`: none).
 */
function deriveSchema(source: JsonObject, marker: string | null, title: string): JsonObject {
  const { $defs, ...top } = source;
  const derive = (node: Json): Json | undefined => {
    if (Array.isArray(node)) return node.map(derive).filter((item) => item !== undefined);
    if (!isObject(node)) return node;
    const change = marker === null ? null : node[marker] ?? null;
    if (change === false) return undefined;
    const result: JsonObject = {};
    for (const [name, value] of Object.entries({ ...node, ...(isObject(change) ? change : {}) })) {
      if (MARKERS.includes(name) || isObject(change) && change[name] === null) continue;
      const derived = derive(value);
      if (derived !== undefined) result[name] = derived;
    }
    if (!hasText(result)) delete result["format"];
    return result;
  };
  const schema: JsonObject = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    ...derive(top) as JsonObject,
    title,
    $defs: derive($defs ?? {}) as JsonObject,
  };
  return dropUnusedDefinitions(schema);
}

/**
 * For editors: a value other than a text may be a placeholder of `for_each`, which becomes a number, `true` or
 * `false`.
 */
function withEachPlaceholders(schema: JsonObject): JsonObject {
  const change = (node: Json, where: string): Json => {
    if (Array.isArray(node)) return node.map((item) => change(item, ""));
    if (!isObject(node) || where === "default" || where === "examples") return node;
    const isOfNames = where === "properties" || where === "$defs";
    const changed = Object.fromEntries(
      Object.entries(node).map(([key, value]) => [key, change(value, isOfNames ? "" : key)]),
    );
    const types = [changed["type"] ?? []].flat();
    const isPlain = types.some((type) => type === "integer" || type === "number" || type === "boolean");
    if (isOfNames || !isPlain || types.includes("string")) return changed;
    return { ...changed, type: [...types, "string"], pattern: "^\\$\\{each:\\w+\\}$" };
  };
  const { $defs = {}, ...top } = schema;
  return { ...top, $defs: change($defs, "$defs") };
}

/** Returns whether a profile accepts texts: a format does not apply if it accepts only numbers. */
function hasText(schema: JsonObject): boolean {
  if (schema["format"] !== "interval") return true;
  return schema["type"] === undefined || (schema["type"] as Json[]).includes("string");
}

function dropUnusedDefinitions(schema: JsonObject): JsonObject {
  const definitions = schema["$defs"] as JsonObject;
  for (;;) {
    const isUsed = (name: string): boolean =>
      // One that names itself is not used by that.
      JSON.stringify({ ...schema, $defs: { ...definitions, [name]: {} } }).includes(`"#/$defs/${name}"`);
    const unused = Object.keys(definitions).filter((name) => !isUsed(name));
    if (unused.length === 0) return schema;
    for (const name of unused) delete definitions[name];
  }
}

/** Keywords for people that the program never reads; descriptions of free names are read. */
const TEXTS: readonly string[] = ["$comment", "title", "description", "examples"];

/** Returns the schema that the program reads at every start: without texts for people. */
function withoutTexts(schema: JsonObject): JsonObject {
  const stripObject = (object: JsonObject, where: string): JsonObject => {
    const isOfNames = where === "properties" || where === "$defs" || where.startsWith("x-");
    const isKept = (name: string): boolean => isOfNames || where === "propertyNames" || !TEXTS.includes(name);
    return Object.fromEntries(
      Object.entries(object).filter(([name]) => isKept(name))
        .map(([name, value]) => [name, isOfNames ? strip(value, "") : strip(value, name)]),
    );
  };
  const strip = (value: Json, where: string): Json => {
    if (where === "default" || where === "enum" || where === "const") return value;
    if (Array.isArray(value)) return value.map((item) => strip(item, ""));
    return isObject(value) ? stripObject(value, where) : value;
  };
  return stripObject(schema, "");
}

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

if (import.meta.main) {
  const isCheck = Deno.args.includes("--check");
  let outdated = 0;
  const keep = async (path: string, text: string): Promise<void> => {
    const url = new URL(path, PROJECT);
    const present = await Deno.readTextFile(url).catch(() => null);
    if (present === text) return;
    outdated++;
    if (isCheck) console.error(`${path} is out of date: run "deno task generate"`);
    else {
      await Deno.mkdir(new URL(".", url), { recursive: true });
      await Deno.writeTextFile(url, text);
      console.log(`wrote ${path}`);
    }
  };
  for (const [path, text] of await generate()) await keep(path, text);
  // The program generates it, with the validators above.
  const { messagePage } = await import("./message_page.ts");
  await keep("docs/reference/messages.md", await messagePage());
  if (isCheck && outdated > 0) Deno.exit(1);
}
