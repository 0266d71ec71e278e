import type { Check } from "../domain/check.ts";
import type { Heartbeat } from "../domain/heartbeat.ts";
import type { System } from "../domain/system.ts";
import monitorSchema from "../../schemas/monitor.schema.json" with { type: "json" };
import validateMonitor from "./generated/validate_monitor.js";
import { findFormatProblem, type FormattedValue, visitFormattedValues } from "./formats.ts";
import { substitute, type Substitution } from "./placeholders.ts";
import { createPlacer } from "./positions.ts";
import { ConfigError, type DocumentPath, joinProblems, type PlacedProblem, type Problem } from "./problem.ts";
import { findPrograms, type FoundPrograms } from "./programs.ts";
import { findDependencyProblems } from "./dependencies.ts";
import { resolveChecks, resolveMember } from "./resolve.ts";
import { createSchemaReader, isObject, type Schema, type SchemaReader } from "./schema_view.ts";
import { secretValues } from "./secrets.ts";
import { absolutePath, type DocumentLocation, readSource, type Source } from "./source.ts";
import { type JsonObject, parseText } from "./syntax.ts";
import { findStructureProblems, type Validator } from "./validate.ts";
import { findWarnings, warnOfExposure, warnOfFile } from "./warnings.ts";

/** Which schema a document is held to: the default one, or a shape of the specification. */
export type Shape = "monitor" | "a" | "b";

/** How a document is loaded. */
export interface LoadOptions {
  /** What the document is held to; it means the same whichever it is. @default "monitor" */
  readonly shape?: Shape;
  /**
   * Whether placeholders stay as they are and programs are not looked up: for looking at a document on a machine
   * that is not its own. Its checks cannot be run then. @default false
   */
  readonly withoutSecrets?: boolean;
}

/** A valid document. */
export interface LoadedDocument {
  /** The text that was read, and where it came from. */
  readonly source: Source;
  /** In the document's order, inactive ones included; without those whose kind is in an unresolved placeholder. */
  readonly checks: readonly Check[];
  /** Absolute path of the file that keeps the state, where the document names one. */
  readonly statePath: string | null;
  /** The sign of life that the document asks for; `null`: none. */
  readonly heartbeat: Heartbeat | null;
  /** What is valid and yet doubtful, in no order. */
  readonly warnings: readonly Problem[];
  /** The document's value as it is written: no placeholder is resolved. */
  readonly written: JsonObject;
  /** Of the default schema, whatever shape the document was held to. */
  readonly reader: SchemaReader;
  /** What was found in `PATH`: absolute paths by the name that the document uses. */
  readonly programs: ReadonlyMap<string, string>;
  /** Values that must never be shown. */
  readonly secrets: readonly string[];
  /** Finds the place of a problem in the text. */
  place(problem: Problem): PlacedProblem;
}

/**
 * Reads a document and turns it into checks.
 *
 * @throws {ConfigError} If it cannot be read or has mistakes; the error carries all of them with their places.
 */
export async function loadDocument(
  location: DocumentLocation,
  system: System,
  options: LoadOptions = {},
): Promise<LoadedDocument> {
  const withoutSecrets = options.withoutSecrets ?? false;
  const source = await readSource(location, system);
  const place = createPlacer(source.text);
  const fail = (problems: readonly Problem[]): never => {
    throw new ConfigError(`Cannot use config "${source.label}": ${countMistakes(problems.length)}`, {
      source,
      problems: problems.map(place).sort((one, other) => one.offset - other.offset),
    });
  };
  const { value: written, problems: syntaxProblems } = parseText(source.text);
  if (written === undefined) return fail(syntaxProblems);

  const { environment, mayReadEnvironment, files } = system;
  const { folder } = source;
  const secrets = { environment, mayReadEnvironment, files, folder, withoutSecrets };
  const { value, substitutions, problems: secretProblems } = await substitute(written, secrets);
  const isUnresolved = createUnresolvedTest(substitutions);

  const { validate, ...schema } = await openSchema(options.shape ?? "monitor");
  const structureProblems = findStructureProblems(value, validate, { ...schema, written, isUnresolved });
  // Whatever a document is held to, it means what the default schema says.
  const reader = schema.wider ?? schema.reader;
  const formatProblems: Problem[] = [];
  const exposures: Problem[] = [];
  const programs: FormattedValue[] = [];
  visitFormattedValues({ value, written, reader }, (item) => {
    const exposure = warnOfExposure(item, source);
    if (exposure !== null) exposures.push(exposure);
    if (isUnresolved(item.path)) return;
    const problem = findFormatProblem(item);
    if (problem !== null) formatProblems.push(problem);
    if (item.format === "program") programs.push(item);
  });
  const found = withoutSecrets ? NO_PROGRAMS : await findPrograms(programs, folder, system);
  const problems = joinProblems([
    syntaxProblems,
    secretProblems,
    structureProblems,
    [...formatProblems, ...found.problems],
  ]);
  if (problems.length > 0 || !isObject(value) || !isObject(written)) return fail(problems);

  const resolveOptions = { reader, written, folder, programs: found.programs };
  const resolved = resolveChecks(value, resolveOptions);
  const dependencyProblems = findDependencyProblems(resolved).filter(({ path }) => !isUnresolved(path));
  if (dependencyProblems.length > 0) return fail(dependencyProblems);
  const kindPath = ({ name }: Check): DocumentPath => ["checks", name, "kind"];
  const checks = inDocumentOrder(resolved.filter((check) => !isUnresolved(kindPath(check))), place);
  const unknownKinds = resolved.filter((check) => isUnresolved(kindPath(check)));
  return {
    source,
    checks,
    statePath: typeof value["state"] === "string" ? absolutePath(value["state"], folder) : null,
    heartbeat: (resolveMember(value, "heartbeat", resolveOptions) ?? null) as Heartbeat | null,
    warnings: [
      ...warnOfFile(source),
      ...findWarnings(written, resolved),
      ...exposures,
      ...unknownKinds.map((check) => ({ path: kindPath(check), message: UNKNOWN_KIND })),
    ],
    written,
    reader,
    programs: found.programs,
    secrets: secretValues(value, substitutions, reader),
    place,
  };
}

const UNKNOWN_KIND = "is not known without its secrets, so the check's parameters are not looked at";

function countMistakes(count: number): string {
  return count === 1 ? "it has a mistake" : `it has ${count} mistakes`;
}

interface OpenSchema {
  readonly reader: SchemaReader;
  readonly validate: Validator;
  readonly wider: SchemaReader | null;
  readonly shapeName: string;
}

async function openSchema(shape: Shape): Promise<OpenSchema> {
  const defaultReader = createSchemaReader(monitorSchema as unknown as Schema);
  if (shape === "monitor") {
    return {
      reader: defaultReader,
      validate: validateMonitor as Validator,
      wider: null,
      shapeName: "the schema",
    };
  }
  const { schema, validate } = await SHAPES[shape]();
  return {
    reader: createSchemaReader(schema as unknown as Schema),
    validate: validate as Validator,
    wider: defaultReader,
    shapeName: `Shape ${shape.toUpperCase()}`,
  };
}

/** The shapes of the specification, read only when asked for. */
const SHAPES = {
  a: async () => ({
    schema: (await import("../../schemas/shape_a.schema.json", { with: { type: "json" } })).default,
    validate: (await import("./generated/validate_shape_a.js")).default,
  }),
  b: async () => ({
    schema: (await import("../../schemas/shape_b.schema.json", { with: { type: "json" } })).default,
    validate: (await import("./generated/validate_shape_b.js")).default,
  }),
} as const;

/** The text of a schema, as `monitor schema` prints it. */
export async function schemaText(shape: Shape): Promise<string> {
  const schema = shape === "monitor" ? monitorSchema : (await SHAPES[shape]()).schema;
  return `${JSON.stringify(schema, null, 2)}\n`;
}

const NO_PROGRAMS: FoundPrograms = { programs: new Map(), problems: [] };

/** Tells the places whose placeholders have no value. */
function createUnresolvedTest(substitutions: readonly Substitution[]): (path: DocumentPath) => boolean {
  const unresolved = new Set<string>();
  for (const { path, resolved } of substitutions) if (resolved === null) unresolved.add(JSON.stringify(path));
  return (path) => unresolved.size > 0 && unresolved.has(JSON.stringify(path));
}

/** An object of JavaScript tells names such as "8080" before all others; the text knows better. */
function inDocumentOrder(
  checks: readonly Check[],
  place: (problem: Problem) => PlacedProblem,
): readonly Check[] {
  if (!checks.some(({ name }) => /^\d{1,10}$/.test(name))) return checks;
  return checks
    .map((check) => ({ check, ...place({ path: ["checks", check.name], message: "" }) }))
    .sort((one, other) => one.offset - other.offset)
    .map(({ check }) => check);
}
