import type { Channel } from "../domain/channel.ts";
import type { Check } from "../domain/check.ts";
import type { Heartbeat } from "../domain/heartbeat.ts";
import type { ListenSettings } from "../domain/listen_settings.ts";
import type { ReportFile } from "../domain/report_file.ts";
import type { PageText } from "../domain/page_text.ts";
import type { MetricsFile } from "../domain/metrics_file.ts";
import type { System } from "../domain/system.ts";
import { FileUses, findFileClashes, readFiles, stateFiles, type UsedFile } from "./file_clashes.ts";
import { findDependencyProblems } from "./dependencies.ts";
import { type Included, readIncluded } from "./include.ts";
import { type ValidatedFile, validateFile } from "./check_rules.ts";
import { channelNames, checkNames, type ConfigFile, openConfigFile } from "./config_file.ts";
import { postgresIn, type PostgresSettings } from "./postgres_settings.ts";
import { findThresholdProblems } from "./threshold_rules.ts";
import { resolveNamedChannels, warnOfUnusedChannels } from "./named_channels.ts";
import { openSchema, type Shape } from "./profile_schemas.ts";
import { createConfigPlacer, findRepeatedNames, inTextOrder } from "./source_location.ts";
import {
  ConfigError,
  type ConfigPath,
  countErrors,
  type PlacedProblem,
  type Problem,
  quoteValue,
} from "./problem.ts";
import { defaultsOf, resolveChecks, type ResolveOptions, resolveSetting } from "./resolve.ts";
import { isObject, type SchemaReader, valueAt } from "./schema_view.ts";
import { createRedactor, type Redact } from "../shared/redact.ts";
import { findSecrets } from "./secrets.ts";
import { absolutePath, type ConfigLocation, readSource } from "./source.ts";
import type { Source } from "./source_text.ts";
import type { JsonObject } from "./syntax.ts";
import { findListenProblems, warnOfPublicTags } from "./listen_rules.ts";
import { withoutRepeats } from "./templates.ts";
import { findWarnings, type SettingPlace, warnOfMetricsFile } from "./warnings.ts";

export interface LoadOptions {
  /** The schema that validates the config; its meaning is the same with any of them. @default "monitor" */
  readonly shape?: Shape;
  /**
   * Whether placeholders stay as they are and programs are not looked up: for looking at a config on a machine
   * that is not its own. Its checks cannot be run then. @default false
   */
  readonly withoutSecrets?: boolean;
  /** Finds the state that this config uses: outputs must not overwrite it. @default the one in the config */
  locateState?(config: Pick<LoadedConfig, "source" | "statePath" | "postgres">): Promise<string | null>;
}

/** A valid config. */
export interface LoadedConfig {
  /** The text and its source, without the included files. */
  readonly source: Source;
  /** Every file that was read: the config itself, then the included ones. */
  readonly sources: readonly Source[];
  /** The same files with their values as written. */
  readonly files: readonly WrittenFile[];
  /** The directories whose names were asked for, there or not, for the patterns of `include`; absolute. */
  readonly listedDirectories: readonly string[];
  /** In the config's order, inactive ones included; without those whose kind is in an unresolved placeholder. */
  readonly checks: readonly Check[];
  /** The channels that have a name, by it; whether a check uses them or not. */
  readonly channels: ReadonlyMap<string, Channel>;
  /** Absolute path of the state file, if the config names one. */
  readonly statePath: string | null;
  /** The database that stores the state, if the config names one. */
  readonly postgres: PostgresSettings | null;
  /** The heartbeat that the config asks for; `null`: none. */
  readonly heartbeat: Heartbeat | null;
  /** The file of the HTML report; `null`: none. */
  readonly report: ReportFile | null;
  /** The words of the config on every page; `null`: none. */
  readonly page: PageText | null;
  /** The file of metrics that the config asks for; `null`: none. */
  readonly metrics: MetricsFile | null;
  /** The HTTP endpoint that the config asks for; `null`: none. */
  readonly listen: ListenSettings | null;
  /** The warnings, in no order, including those about this machine. */
  readonly warnings: readonly Problem[];
  /** Things that the config names and this machine lacks; only the checks and channels that need them can't run. */
  readonly lacks: readonly Problem[];
  /** The config's value as it is written, its checks expanded: no placeholder is resolved, and nothing is included. */
  readonly written: JsonObject;
  /** Of the default schema, whatever shape the config was held to. */
  readonly reader: SchemaReader;
  /** Absolute paths of commands found in `PATH`, by the name in the config. */
  readonly commands: ReadonlyMap<string, string>;
  /** Values that must never be shown. */
  readonly secrets: readonly string[];
  /** Returns why a file can't be overwritten as the report is; `null`: it can. */
  clashOf(file: string): Promise<string | null>;
  readonly redact: Redact;
  place(problem: Problem): PlacedProblem;
  /** The file of a check, with the check as written. */
  fileOf(name: string): WrittenFile;
}

interface WrittenFile {
  /** The text and its source. */
  readonly source: Source;
  readonly written: JsonObject;
}

/**
 * Reads a config with all that it includes, and turns it into checks.
 *
 * @throws {ConfigError} If it cannot be read or has errors; the error carries all of them with their places.
 */
export async function loadConfig(
  location: ConfigLocation,
  system: System,
  options: LoadOptions = {},
): Promise<LoadedConfig> {
  const read = await readConfig(location, system, options);
  const { source, included, validated, main, reader, place } = read;
  const resolved = resolveConfig(read, system);
  const { metrics, listen } = resolved;
  read.refuse(findListenProblems(listen));
  const clashOptions = { files: system.files, label: source.label, place };
  const usedFiles = async (): Promise<readonly UsedFile[]> => {
    const { statePath } = resolved;
    const postgres = postgresIn(main.written, main.file.source.directory);
    return listUsedFiles(
      read,
      resolved,
      await options.locateState?.({ source, statePath, postgres }) ?? statePath,
    );
  };
  await refuseClashes(read, resolved, { usedFiles, clashOptions });
  const found = validated.map(({ value, file }) => ({
    ...findSecrets(value, file.substitutions, reader),
    source: file.source,
  }));
  const secrets = [...new Set(found.flatMap(({ values }) => values))];
  const redact = createRedactor(secrets);
  const checks = inConfigOrder(resolved.checks.filter(resolved.isKindKnown), included.files, place);
  return {
    source,
    sources: included.files.map((file) => file.source),
    files: validated.map(toWrittenFile),
    listedDirectories: included.directories,
    checks: withoutSecretsInTitles(checks, redact),
    channels: resolved.channels,
    statePath: resolved.statePath,
    postgres: postgresIn(main.written, main.file.source.directory),
    heartbeat: resolved.heartbeat,
    report: resolved.report,
    page: resolved.page === null ? null : withoutSecretsInPage(resolved.page, redact),
    metrics,
    listen,
    warnings: withoutRepeats([
      ...listWarnings(read, resolved),
      ...found.flatMap(({ warnings, source }) => warnings.map((warning) => ({ ...warning, source }))),
    ], read.templates),
    lacks: read.lacks,
    written: main.written,
    reader,
    commands: new Map(validated.flatMap((file) => [...file.commands])),
    secrets,
    clashOf: async (file) => {
      const uses = new FileUses(clashOptions);
      for (const used of await usedFiles()) await uses.add(used);
      if (metrics !== null) await uses.add({ file: metrics.path, of: ["metrics", "path"] });
      return await uses.clashOf(file);
    },
    redact,
    place,
    fileOf: (name) => toWrittenFile(resolved.fileOf(name)),
  };
}

/** A config that was read with all its files, and that the schema accepts. */
interface ReadConfig {
  readonly source: Source;
  readonly included: Included;
  /** In the order of `included`. */
  readonly validated: readonly ValidatedFile[];
  /** The first of them: the config itself. */
  readonly main: ValidatedFile;
  readonly others: readonly ValidatedFile[];
  readonly lacks: readonly Problem[];
  /** The names in the files of the checks that `for_each` made, by their own. */
  readonly templates: ReadonlyMap<string, string>;
  /** Of the default schema: it defines the meaning of every profile. */
  readonly reader: SchemaReader;
  place(problem: Problem): PlacedProblem;
  /** Throws a {@linkcode ConfigError} if there are problems. */
  refuse(problems: readonly Problem[]): void;
}

async function readConfig(
  location: ConfigLocation,
  system: System,
  { withoutSecrets = false, shape = "monitor" }: LoadOptions,
): Promise<ReadConfig> {
  const source = await readSource(location, system);
  const config = await openConfigFile(source, system, { withoutSecrets, keepsForEach: shape !== "monitor" });
  const included = await readIncluded(config, { system, named: location.named, withoutSecrets });
  const { files } = included;
  const place = createConfigPlacer(files);
  const templates = new Map(files.flatMap((file) => [...file.templates]));
  const refuse = (found: readonly Problem[]): void => {
    if (found.length === 0) return;
    const problems = withoutRepeats(found, templates);
    throw new ConfigError(`cannot use config "${source.label}": ${countErrors(problems.length)}`, {
      source,
      problems: inTextOrder(problems.map(place), files.map((file) => file.source)),
    });
  };
  const schema = await openSchema(shape);
  // A name may be in a file that can't be read.
  const isReadable = included.problems.length === 0 && files.every(({ written }) => written !== undefined);
  const names = isReadable ? new Set(files.flatMap(channelNames)) : null;
  const judging = { schema, system, withoutSecrets, config, channelNames: names };
  const main = await validateFile(config, judging);
  const others: ValidatedFile[] = [];
  for (const file of files.slice(1)) others.push(await validateFile(file, judging));
  const validated = [main, ...others];
  refuse([
    ...included.problems,
    ...validated.flatMap((file) => file.problems),
    ...findRepeatedNames(files, place),
  ]);
  const lacks = validated.flatMap((file) => file.lacks);
  const reader = schema.wider ?? schema.reader;
  return { source, included, validated, main, others, lacks, templates, reader, place, refuse };
}

/** The resolved config. */
interface ResolvedConfig
  extends
    Pick<LoadedConfig, "channels" | "statePath" | "heartbeat" | "report" | "page" | "metrics" | "listen"> {
  /** In no order; also those of an unknown kind. */
  readonly checks: readonly Check[];
  fileOf(name: string): ValidatedFile;
  /** Whether the kind of a check is known, and not an unresolved placeholder. */
  isKindKnown(check: Check): boolean;
}

/** @throws {ConfigError} If a check depends on itself, or on one that is not there. */
function resolveConfig(
  { validated, main, others, reader, refuse }: ReadConfig,
  system: System,
): ResolvedConfig {
  const createCronTimes = validated.find((file) => file.createCronTimes !== null)?.createCronTimes ??
    (() => null);
  const machine = { reader, timeZone: system.timeZone(), createCronTimes };
  const channels = new Map(
    validated.flatMap((file) => resolveNamedChannels(file.value, toResolveOptions(file, machine))),
  );
  const context = { ...machine, channels };
  const options = toResolveOptions(main, context);
  const outer = { config: main.value, options };
  const checks = [
    ...resolveChecks(main.value, options),
    ...others.flatMap((file) => resolveChecks(file.value, { ...toResolveOptions(file, context), outer })),
  ];
  const fileOf = fileFinder(main, others);
  refuse(
    [...findDependencyProblems(checks), ...findThresholdProblems(checks)]
      .filter(({ path }) => !fileOf(String(path[1])).file.isUnresolved(path)),
  );
  const state = main.value["state"];
  const keyOf = (name: string): unknown => resolveSetting(main.value, name, options) ?? null;
  return {
    checks,
    channels,
    statePath: typeof state === "string" ? absolutePath(state, main.file.source.directory) : null,
    heartbeat: keyOf("heartbeat") as Heartbeat | null,
    report: keyOf("report") as ReportFile | null,
    page: keyOf("page") as PageText | null,
    metrics: keyOf("metrics") as MetricsFile | null,
    listen: keyOf("listen") as ListenSettings | null,
    fileOf,
    isKindKnown: ({ name }) => !fileOf(name).file.isUnresolved(kindPath(name)),
  };
}

/** Lists the files that a config needs. The state may be elsewhere than it names. */
function listUsedFiles(
  { included, validated, main, reader }: ReadConfig,
  { statePath, heartbeat }: ResolvedConfig,
  usedState: string | null,
): readonly UsedFile[] {
  return [
    ...included.files.flatMap((file) => configFiles(file, main.file)),
    ...(statePath === null ? [] : stateFiles(statePath, ["state"])),
    ...(usedState === null || usedState === statePath ? [] : stateFiles(usedState, "the state")),
    ...(heartbeat?.path === undefined ? [] : [{ file: heartbeat.path, of: ["heartbeat", "path"] }]),
    ...validated.flatMap(({ file, commands, ...texts }) =>
      readFiles({ ...texts, reader }, { source: file.source, commands })
    ),
  ];
}

/** @throws {ConfigError} If the report or the metrics would overwrite a file that is needed. */
async function refuseClashes(
  { main, refuse }: ReadConfig,
  { report, metrics }: ResolvedConfig,
  { usedFiles, clashOptions }: {
    usedFiles(): Promise<readonly UsedFile[]>;
    readonly clashOptions: Parameters<typeof findFileClashes>[2];
  },
): Promise<void> {
  if (report === null && metrics === null) return;
  const outputs = [
    { path: ["report", "path"], file: report?.path },
    { path: ["metrics", "path"], file: metrics?.path },
  ].filter(({ path }) => !main.file.isUnresolved(path));
  refuse(await findFileClashes(outputs, await usedFiles(), clashOptions));
}

/** Lists what deserves a warning, other than secrets. */
function listWarnings(
  { included, validated, main, lacks }: ReadConfig,
  { checks, report, metrics, listen, fileOf, isKindKnown }: ResolvedConfig,
): readonly Problem[] {
  const unknownKinds = checks.filter((check) => !isKindKnown(check));
  return [
    ...included.warnings,
    ...validated.flatMap((file) => file.warnings),
    ...lacks.map((lack) => ({ ...lack, message: `${lack.message}; ${describeLoss(lack.path)}` })),
    ...warnOfUnusedChannels(included.files, checks),
    ...findWarnings(checks, (name, key) => locateSetting(name, key, { main, file: fileOf(name) })),
    ...(metrics === null || main.file.isUnresolved(["metrics", "path"]) ? [] : warnOfMetricsFile(metrics)),
    ...warnOfPublicTags({ report: report?.public, listen: listen?.public }, checks),
    ...unknownKinds.map(({ name }) => ({ path: kindPath(name), message: UNKNOWN_KIND })),
  ];
}

function toWrittenFile({ file, written }: ValidatedFile): WrittenFile {
  return { source: file.source, written };
}

function configFiles({ source: { path, label } }: ConfigFile, config: ConfigFile): readonly UsedFile[] {
  if (path === null) return [];
  const isMain = path === config.source.path;
  return [{ file: path, role: isMain ? "this config itself" : `the included config ${quoteValue(label)}` }];
}

function toResolveOptions<Context extends Pick<ResolveOptions, "reader" | "timeZone" | "createCronTimes">>(
  { file, written, commands, lacks }: ValidatedFile,
  context: Context,
): Context & Omit<ResolveOptions, "channels"> {
  const lacksAt = createLackFinder(lacks);
  return { ...context, written, directory: file.source.directory, commands, lacksAt };
}

/** Finds missing things in a value of a file, or anywhere below it. */
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

/** Describes the effect of something missing at a location. */
function describeLoss(path: ConfigPath): string {
  const [section, , key] = path;
  if (section === "channels" || (section === "checks" ? key : path[1]) === "notifications") {
    return "the channel cannot deliver";
  }
  if (section === "checks") return "the check is unknown";
  return LOSSES[String(section)] ?? "it is ignored";
}

const LOSSES: Readonly<Record<string, string>> = {
  defaults: "the checks that use it are unknown",
  heartbeat: "no heartbeat is sent",
  report: "no HTML report is written",
  page: "the HTML report has no title, description and announcements",
  metrics: "no metrics are written",
  listen: "the HTTP endpoint does not start",
  maintenance_windows: "the window is ignored",
};

/** Finds the file of a check; without any, the config itself. */
function fileFinder(main: ValidatedFile, others: readonly ValidatedFile[]): (name: string) => ValidatedFile {
  const files = new Map(others.flatMap((file) => checkNames(file.file).map((name) => [name, file] as const)));
  return (name) => files.get(name) ?? main;
}

function locateSetting(
  name: string,
  key: string,
  { main, file }: { readonly main: ValidatedFile; readonly file: ValidatedFile },
): SettingPlace {
  const own = valueAt(file.written, ["checks", name]);
  const isOwn = isObject(own) && key in own;
  const isFromFile = isOwn || key in defaultsOf(file.written);
  return { isOwn, source: (isFromFile ? file : main).file.source };
}

/** A title is shown and kept wherever its check is. */
function withoutSecretsInTitles(checks: readonly Check[], redact: Redact): readonly Check[] {
  return checks.map((check) => check.title === undefined ? check : { ...check, title: redact(check.title) });
}

function withoutSecretsInPage({ title, description, announcements }: PageText, redact: Redact): PageText {
  return {
    ...title !== undefined && { title: redact(title) },
    ...description !== undefined && { description: redact(description) },
    announcements: announcements.map((note) => ({ ...note, text: redact(note.text) })),
  };
}

function kindPath(name: string): ConfigPath {
  return ["checks", name, "kind"];
}

const UNKNOWN_KIND = "is unknown without secrets, so the parameters are not validated";

/** JavaScript orders names such as "8080" before all others; the text has the real order. */
function inConfigOrder(
  checks: readonly Check[],
  files: readonly ConfigFile[],
  place: (problem: Problem) => PlacedProblem,
): readonly Check[] {
  if (!checks.some(({ name }) => /^\d{1,10}$/.test(name))) return checks;
  const placed = checks.map((check) => ({ check, ...place({ path: ["checks", check.name], message: "" }) }));
  return inTextOrder(placed, files.map((file) => file.source)).map(({ check }) => check);
}
