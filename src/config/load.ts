import type { Channel } from "../domain/channel.ts";
import type { Check } from "../domain/check.ts";
import type { Heartbeat } from "../domain/heartbeat.ts";
import type { PageFile } from "../domain/page_file.ts";
import type { MetricsFile } from "../domain/metrics_file.ts";
import type { System } from "../domain/system.ts";
import monitorSchema from "./generated/monitor.schema.json" with { type: "json" };
import validateMonitor from "./generated/validate_monitor.js";
import { FileUses, findFileClashes, readFiles, stateFiles, type UsedFile } from "./file_clashes.ts";
import { findDependencyProblems } from "./dependencies.ts";
import { readIncluded } from "./include.ts";
import { type JudgedPart, judgePart, type JudgingSchema } from "./check_rules.ts";
import { channelNames, checkNames, openPart, type Part } from "./config_file.ts";
import { resolveNamedChannels, warnOfUnusedChannels } from "./named_channels.ts";
import { createConfigPlacer, findRepeatedNames, inTextOrder } from "./source_location.ts";
import {
  ConfigError,
  type ConfigPath,
  countErrors,
  type PlacedProblem,
  type Problem,
  quote,
} from "./problem.ts";
import { defaultsOf, resolveChecks, resolveMember, type ResolveOptions } from "./resolve.ts";
import { createSchemaReader, isObject, type Schema, type SchemaReader, valueAt } from "./schema_view.ts";
import { createRedactor, type Redact } from "../shared/redact.ts";
import { findSecrets } from "./secrets.ts";
import { absolutePath, type ConfigLocation, readSource } from "./source.ts";
import type { Source } from "./source_text.ts";
import type { JsonObject } from "./syntax.ts";
import type { Validator } from "./validate_schema.ts";
import { findWarnings, type SettingPlace, warnOfMetricsFile } from "./warnings.ts";

/** Which schema a config is held to: the default one, or a shape of the specification. */
export type Shape = "monitor" | "a" | "b";

/** How a config is loaded. */
export interface LoadOptions {
  /** What the config is held to; it means the same whichever it is. @default "monitor" */
  readonly shape?: Shape;
  /**
   * Whether placeholders stay as they are and programs are not looked up: for looking at a config on a machine
   * that is not its own. Its checks cannot be run then. @default false
   */
  readonly withoutSecrets?: boolean;
  /**
   * Finds where the state of this config really is: nothing may be written over it.
   *
   * @default where the config says
   */
  locateState?(config: Pick<LoadedConfig, "source" | "statePath">): Promise<string | null>;
}

/** A valid config. */
export interface LoadedConfig {
  /** The text that was read, and where it came from; not those of the files that it includes. */
  readonly source: Source;
  /** Every file that was read: the config itself, then what it includes. */
  readonly sources: readonly Source[];
  /** The same files with what is written in them. */
  readonly files: readonly WrittenFile[];
  /** The folders whose names were asked for, there or not, for the patterns of `include`; absolute. */
  readonly listedFolders: readonly string[];
  /** In the config's order, inactive ones included; without those whose kind is in an unresolved placeholder. */
  readonly checks: readonly Check[];
  /** The channels that have a name, by it; whether a check uses them or not. */
  readonly channels: ReadonlyMap<string, Channel>;
  /** Absolute path of the file that keeps the state, where the config names one. */
  readonly statePath: string | null;
  /** The sign of life that the config asks for; `null`: none. */
  readonly heartbeat: Heartbeat | null;
  /** The page that the config wants to be kept fresh; `null`: none. */
  readonly page: PageFile | null;
  /** The file of metrics that the config asks for; `null`: none. */
  readonly metrics: MetricsFile | null;
  /** What is valid and yet doubtful, in no order; what the machine lacks included. */
  readonly warnings: readonly Problem[];
  /** What the config names and this machine lacks; only what needs it cannot run. */
  readonly lacks: readonly Problem[];
  /** The config's value as it is written: no placeholder is resolved, and nothing is included. */
  readonly written: JsonObject;
  /** Of the default schema, whatever shape the config was held to. */
  readonly reader: SchemaReader;
  /** What was found in `PATH`: absolute paths by the name that the config uses. */
  readonly programs: ReadonlyMap<string, string>;
  /** Values that must never be shown. */
  readonly secrets: readonly string[];
  /** What is wrong if a file is written as the page is; `null`: nothing is. */
  clashOf(file: string): Promise<string | null>;
  readonly redact: Redact;
  /** Finds the place of a problem in the text. */
  place(problem: Problem): PlacedProblem;
  /** The file in which a check stands, with its value as it is written. */
  fileOf(name: string): WrittenFile;
}

interface WrittenFile {
  /** The text that was read, and where it came from. */
  readonly source: Source;
  readonly written: JsonObject;
}

/**
 * Reads a config with all that it includes, and turns it into checks.
 *
 * @throws {ConfigError} If it cannot be read or has mistakes; the error carries all of them with their places.
 */
export async function loadConfig(
  location: ConfigLocation,
  system: System,
  options: LoadOptions = {},
): Promise<LoadedConfig> {
  const { withoutSecrets = false, shape = "monitor" } = options;
  const source = await readSource(location, system);
  const config = await openPart(source, system, { withoutSecrets });
  const included = await readIncluded(config, { system, named: location.named, withoutSecrets });
  const { parts } = included;
  const place = createConfigPlacer(parts);
  const fail = (problems: readonly Problem[]): never => {
    throw new ConfigError(`Cannot use config "${source.label}": ${countErrors(problems.length)}`, {
      source,
      problems: inTextOrder(problems.map(place), parts.map((part) => part.source)),
    });
  };

  const schema = await openSchema(shape);
  const judged: JudgedPart[] = [];
  const isReadable = included.problems.length === 0 && parts.every(({ written }) => written !== undefined);
  const judging = {
    schema,
    system,
    withoutSecrets,
    config,
    // A name may stand in what cannot be read.
    channelNames: isReadable ? new Set(parts.flatMap(channelNames)) : null,
  };
  for (const part of parts) judged.push(await judgePart(part, judging));
  const problems = [
    ...included.problems,
    ...judged.flatMap((part) => part.problems),
    ...findRepeatedNames(parts, place),
  ];
  const [main, ...others] = judged;
  if (problems.length > 0 || main === undefined) return fail(problems);

  // Whatever a config is held to, it means what the default schema says.
  const reader = schema.wider ?? schema.reader;
  const createCronTimes = judged.find((part) => part.createCronTimes !== null)?.createCronTimes ??
    (() => null);
  const lacks = judged.flatMap((part) => part.lacks);
  const machine = { reader, timeZone: system.timeZone(), createCronTimes };
  const channels = new Map(
    judged.flatMap((part) => resolveNamedChannels(part.value, toResolveOptions(part, machine))),
  );
  const context = { ...machine, channels };
  const resolveOptions = toResolveOptions(main, context);
  const outer = { config: main.value, options: resolveOptions };
  const resolved = [
    ...resolveChecks(main.value, resolveOptions),
    ...others.flatMap((part) => resolveChecks(part.value, { ...toResolveOptions(part, context), outer })),
  ];
  const files = fileFinder(judged);
  const isKindKnown = ({ name }: Check): boolean => !files(name).part.isUnresolved(kindPath(name));
  const dependencyProblems = findDependencyProblems(resolved)
    .filter(({ path }) => !files(String(path[1])).part.isUnresolved(path));
  if (dependencyProblems.length > 0) return fail(dependencyProblems);
  const statePath = typeof main.value["state"] === "string"
    ? absolutePath(main.value["state"], source.folder)
    : null;
  const heartbeat = (resolveMember(main.value, "heartbeat", resolveOptions) ?? null) as Heartbeat | null;
  const page = (resolveMember(main.value, "report", resolveOptions) ?? null) as PageFile | null;
  const metrics = (resolveMember(main.value, "metrics", resolveOptions) ?? null) as MetricsFile | null;
  const clashOptions = { files: system.files, label: source.label, place };
  const usedFiles = async (): Promise<readonly UsedFile[]> => {
    const usedState = await options.locateState?.({ source, statePath }) ?? statePath;
    return [
      ...parts.flatMap((part) => configFiles(part, config)),
      ...(statePath === null ? [] : stateFiles(statePath, ["state"])),
      ...(usedState === null || usedState === statePath ? [] : stateFiles(usedState, "the state")),
      ...(heartbeat?.path === undefined ? [] : [{ file: heartbeat.path, of: ["heartbeat", "path"] }]),
      ...judged.flatMap(({ part, programs, ...texts }) =>
        readFiles({ ...texts, reader }, { source: part.source, programs })
      ),
    ];
  };
  if (page !== null || metrics !== null) {
    const clashes = await findFileClashes(
      [
        { path: ["report", "path"], file: page?.path },
        { path: ["metrics", "path"], file: metrics?.path },
      ].filter(({ path }) => !main.part.isUnresolved(path)),
      await usedFiles(),
      clashOptions,
    );
    if (clashes.length > 0) return fail(clashes);
  }
  const found = judged.map(({ value, part }) => ({
    part,
    ...findSecrets(value, part.substitutions, reader),
  }));
  const secrets = [...new Set(found.flatMap(({ values }) => values))];
  const redact = createRedactor(secrets);
  const checks = withoutSecretsInTitles(inConfigOrder(resolved.filter(isKindKnown), parts, place), redact);
  const unknownKinds = resolved.filter((check) => !isKindKnown(check));
  return {
    source,
    sources: parts.map((part) => part.source),
    files: judged.map(({ part, written }) => ({ source: part.source, written })),
    listedFolders: included.folders,
    checks,
    channels,
    statePath,
    heartbeat,
    page,
    metrics,
    warnings: [
      ...included.warnings,
      ...judged.flatMap((part) => part.warnings),
      ...found.flatMap(({ part, warnings }) =>
        warnings.map((warning) => ({ ...warning, source: part.source }))
      ),
      ...lacks.map((lack) => ({ ...lack, message: `${lack.message}; ${describeLoss(lack.path)}` })),
      ...warnOfUnusedChannels(parts, resolved),
      ...findWarnings(resolved, (name, member) => locateSetting(name, member, { main, file: files(name) })),
      ...(metrics === null || main.part.isUnresolved(["metrics", "path"]) ? [] : warnOfMetricsFile(metrics)),
      ...unknownKinds.map(({ name }) => ({ path: kindPath(name), message: UNKNOWN_KIND })),
    ],
    lacks,
    written: main.written,
    reader,
    programs: new Map(judged.flatMap((part) => [...part.programs])),
    secrets,
    clashOf: async (file) => {
      const uses = new FileUses(clashOptions);
      for (const used of await usedFiles()) await uses.add(used);
      if (metrics !== null) await uses.add({ file: metrics.path, of: ["metrics", "path"] });
      return await uses.clashOf(file);
    },
    redact,
    place,
    fileOf: (name) => ({ source: files(name).part.source, written: files(name).written }),
  };
}

function configFiles({ source: { path, label } }: Part, config: Part): readonly UsedFile[] {
  if (path === null) return [];
  const isMain = path === config.source.path;
  return [{ file: path, role: isMain ? "this config itself" : `the included config ${quote(label)}` }];
}

function toResolveOptions<Context extends Pick<ResolveOptions, "reader" | "timeZone" | "createCronTimes">>(
  { part, written, programs, lacks }: JudgedPart,
  context: Context,
): Context & Omit<ResolveOptions, "channels"> {
  const lacksAt = createLackFinder(lacks);
  return { ...context, written, folder: part.source.folder, programs, lacksAt };
}

/** Finds what is lacking in a value of a file, or anywhere below it. */
function createLackFinder(lacks: readonly Problem[]): (path: ConfigPath) => readonly string[] {
  const found = new Map<string, string[]>();
  for (const { path, message } of lacks) {
    for (let depth = 1; depth <= path.length; depth++) {
      const key = JSON.stringify(path.slice(0, depth));
      const messages = found.get(key);
      if (messages === undefined) found.set(key, [message]);
      else messages.push(message);
    }
  }
  return (path) => found.size === 0 ? [] : found.get(JSON.stringify(path)) ?? [];
}

/** What does not work as long as something is lacking at a place. */
function describeLoss(path: ConfigPath): string {
  const [part, , member] = path;
  if (part === "channels" || (part === "checks" ? member : path[1]) === "notifications") {
    return "the channel cannot deliver";
  }
  if (part === "checks") return "the check is unknown";
  return LOSSES[String(part)] ?? "it is ignored";
}

const LOSSES: Readonly<Record<string, string>> = {
  defaults: "the checks that use it are unknown",
  heartbeat: "no heartbeat is sent",
  report: "no page is written",
  metrics: "no metrics are written",
  maintenance_windows: "the window is ignored",
};

/** Finds the file of a check; what stands nowhere belongs to the config itself. */
function fileFinder(judged: readonly JudgedPart[]): (name: string) => JudgedPart {
  const [main, ...others] = judged;
  if (main === undefined) throw new Error("A config has at least one file");
  const files = new Map(others.flatMap((part) => checkNames(part.part).map((name) => [name, part] as const)));
  return (name) => files.get(name) ?? main;
}

function locateSetting(
  name: string,
  member: string,
  { main, file }: { readonly main: JudgedPart; readonly file: JudgedPart },
): SettingPlace {
  const own = valueAt(file.written, ["checks", name]);
  const isOwn = isObject(own) && member in own;
  const isFromFile = isOwn || member in defaultsOf(file.written);
  return { isOwn, source: (isFromFile ? file : main).part.source };
}

/** A title is shown and kept wherever its check is. */
function withoutSecretsInTitles(checks: readonly Check[], redact: Redact): readonly Check[] {
  return checks.map((check) => check.title === undefined ? check : { ...check, title: redact(check.title) });
}

function kindPath(name: string): ConfigPath {
  return ["checks", name, "kind"];
}

const UNKNOWN_KIND = "is not known without its secrets, so the check's parameters are not looked at";

async function openSchema(shape: Shape): Promise<JudgingSchema> {
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
  const schema = shape === "monitor" ? await describedSchema() : (await SHAPES[shape]()).schema;
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** The default schema with all that it says to people, which loading a config does without. */
async function describedSchema(): Promise<unknown> {
  return (await import("../../schemas/monitor.schema.json", { with: { type: "json" } })).default;
}

/** An object of JavaScript tells names such as "8080" before all others; the text knows better. */
function inConfigOrder(
  checks: readonly Check[],
  parts: readonly Part[],
  place: (problem: Problem) => PlacedProblem,
): readonly Check[] {
  if (!checks.some(({ name }) => /^\d{1,10}$/.test(name))) return checks;
  const placed = checks.map((check) => ({ check, ...place({ path: ["checks", check.name], message: "" }) }));
  return inTextOrder(placed, parts.map((part) => part.source)).map(({ check }) => check);
}
