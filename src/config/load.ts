import type { Check } from "../domain/check.ts";
import type { ConfigParts, Page } from "../domain/generated/config.ts";
import type { System } from "../domain/system.ts";
import { FileUses, findFileClashes, readFiles, stateFiles, type UsedFile } from "./file_clashes.ts";
import { type ValidatedFile, validateFile } from "./check_rules.ts";
import { channelsIn } from "./channel_uses.ts";
import { type ConfigFile, namesIn, openConfigFile, readIncluded } from "./config_file.ts";
import { postgresIn, type PostgresSettings } from "./postgres_settings.ts";
import { createConfigPlacer, findRepeatedNames, inTextOrder } from "./source_location.ts";
import {
  ConfigError,
  type ConfigPath,
  countErrors,
  type PlacedProblem,
  type Problem,
  quoteValue,
  type Source,
  withoutRepeats,
} from "./problem.ts";
import { isObject, valueAt } from "./schema_view.ts";
import { createRedactor, type Redact } from "../shared/redact.ts";
import { findSecrets } from "./secrets.ts";
import { absolutePath, type ConfigLocation, readSource } from "./source.ts";
import type { JsonObject } from "./syntax.ts";
import { assignAgents, SHARED_REPORTS, warnOfReports, withAgentChecks } from "./agents.ts";
import {
  findDependencyProblems,
  resolveNamedChannels,
  warnOfUnusedChannels,
  withCombined,
  withSelected,
} from "./named_references.ts";
import {
  findListenProblems,
  findRehearsalProblems,
  findSummaryProblems,
  findThresholdProblems,
  warnOfLateNotifications,
  warnOfSummary,
  warnOfUnusedTags,
} from "./threshold_rules.ts";
import { defaultsOf, resolveAgents, resolveChecks, resolveSetting, resolveSummary } from "./resolve.ts";
import { timeZoneOf } from "./formats.ts";
import { openSchema, type Shape } from "./schemas.ts";
import { findWarnings, warnOfMetricsFile } from "./warnings.ts";

export interface ReadOptions {
  /** The schema that validates the config; its meaning is the same with any of them. @default "monitor" */
  readonly shape?: Shape;
  /**
   * Whether placeholders stay as they are and commands are not looked up: for reading a config on a machine that is
   * not its own. Its checks cannot be run then. @default false
   */
  readonly withoutSecrets?: boolean;
}

export interface LoadOptions extends ReadOptions {
  /** Finds the state that this config uses: outputs must not overwrite it. @default the one in the config */
  locateState?(config: {
    readonly source: Source;
    readonly statePath: string | null;
    readonly postgres: PostgresSettings | null;
  }): Promise<string | null>;
}

export type LoadedConfig = Readonly<Awaited<ReturnType<typeof readAndResolve>>>;

/** @throws {ConfigError} If it can't be read or has errors; the error has all of them with their locations. */
export async function loadConfig(
  location: ConfigLocation,
  system: System,
  options: LoadOptions = {},
): Promise<LoadedConfig> {
  return await readAndResolve(location, system, options);
}

async function readAndResolve(location: ConfigLocation, system: System, options: LoadOptions) {
  const read = await readConfig(location, system, options);
  const { source, sources, included, validated, main, reader, place, placed, refuse } = read;
  const resolved = resolveConfig(await withWebhooks(read), system);
  const { fileOf, isKindKnown, checks: resolvedChecks, listed: _listed, ...settings } = resolved;
  refuse(findListenProblems(settings.listen));
  if (read.postgres !== null && settings.reportTo !== null) refuse([SHARED_REPORTS]);
  const uses = createFileUses(read, settings, { system, options });
  await uses.refuseClashes();
  const found = validated.map(({ value, substitutions, source }) => ({
    ...findSecrets(value, substitutions, reader),
    source,
  }));
  const secrets: readonly string[] = [...new Set(found.flatMap(({ values }) => values))];
  const redact = createRedactor(secrets);
  const checks = inConfigOrder(resolvedChecks.filter(isKindKnown), sources, place);
  return {
    ...settings,
    source,
    /** Every file that was read: the config itself, then the included ones. */
    sources,
    /** The same files with their values as written. */
    files: validated.map(toWrittenFile),
    /** Absolute paths of the directories that the patterns of `include` searched, also missing ones. */
    listedDirectories: included.directories,
    /** In the config's order, inactive ones included; without those whose kind is in an unresolved placeholder. */
    checks: checks.map((check) => redacted(check, redact)),
    postgres: read.postgres,
    page: settings.page === null ? null : withoutSecretsInPage(settings.page, redact),
    /** The warnings, in no order, including those about this machine. */
    warnings: withoutRepeats([
      ...listWarnings(read, resolved),
      ...found.flatMap(({ warnings, source }) => warnings.map((warning) => ({ ...warning, source }))),
    ], read.templates),
    /** Things that the config names and this machine lacks; only the checks and channels that need them can't run. */
    lacks: read.lacks,
    /** The config's value as written, with expanded checks: no placeholder is resolved, and nothing is included. */
    written: main.written,
    /** Of the default schema, regardless of the profile. */
    reader,
    /** Absolute paths of commands found in `PATH`, by the name in the config. */
    commands: new Map(validated.flatMap((file) => [...file.commands])) as ReadonlyMap<string, string>,
    /** Values that must never be printed. */
    secrets,
    /** Returns the reason why the HTML report must not overwrite a file; `null`: it may. */
    clashOf: uses.clashOf,
    redact,
    placed,
    refuse,
    /** The file of a check, with the check as written. */
    fileOf: (name: string) => toWrittenFile(fileOf(name)),
  };
}

type ReadConfig = Awaited<ReturnType<typeof readConfig>>;

/** @throws {ConfigError} If it can't be read or has errors. */
async function readConfig(
  location: ConfigLocation,
  system: System,
  { withoutSecrets = false, shape = "monitor" }: ReadOptions,
) {
  const source = location.sources?.[0] ?? await readSource(location, system);
  const config = await openConfigFile(source, system, { withoutSecrets, keepsForEach: shape !== "monitor" });
  const included = await readIncluded(config, { ...location, system, withoutSecrets });
  const { files } = included;
  const sources: readonly Source[] = files.map((file) => file.source);
  const place = createConfigPlacer(files);
  const placed = (problems: readonly Problem[]): readonly PlacedProblem[] =>
    inTextOrder(problems.map(place), sources);
  const templates = new Map(files.flatMap((file) => [...file.templates]));
  const refuse = (found: readonly Problem[]): void => {
    if (found.length === 0) return;
    const problems = withoutRepeats(found, templates);
    throw new ConfigError(`cannot use config "${source.label}": ${countErrors(problems.length)}`, {
      source,
      problems: placed(problems),
    });
  };
  const schema = await openSchema(shape);
  // A name may be in a file that can't be read.
  const isReadable = included.problems.length === 0 && files.every(({ written }) => written !== undefined);
  const names = isReadable ? new Set(files.flatMap((file) => namesIn(file, "channels"))) : null;
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
  return {
    ...{ source, sources, included, validated, main, others, lacks, templates, reader },
    ...{ place, placed, refuse },
    postgres: postgresIn(main.written, main.source.directory),
  };
}

/** Replaces ready-made channels with webhooks. Their table is loaded only if a config has one. */
async function withWebhooks(read: ReadConfig): Promise<ReadConfig> {
  const { validated, reader } = read;
  const isNeeded = ({ value }: ValidatedFile): boolean => {
    const placesByKind = new Map(channelsIn(value).map(({ kind, path }) => [kind, path]));
    return [...placesByKind.values()].some((path) => reader.at(value, [...path, "parameters"])?.isReadyMade);
  };
  if (!validated.some(isNeeded)) return read;
  const { expandReadyMade } = await import("./ready_made_channels.ts");
  const expand = (file: ValidatedFile) => ({ ...file, value: expandReadyMade(file.value, reader) });
  const [main, others] = [expand(read.main), read.others.map(expand)];
  return { ...read, validated: [main, ...others], main, others };
}

type ResolvedConfig = ReturnType<typeof resolveConfig>;

/** @throws {ConfigError} If a check depends on itself, or on one that is not there. */
function resolveConfig({ validated, main, others, reader, refuse }: ReadConfig, system: System) {
  const [createCronTimes = () => null] = validated.flatMap((file) => file.createCronTimes ?? []);
  const [readWindow = null] = validated.flatMap((file) => file.readWindow ?? []);
  const timeZone = (): string => timeZoneOf(main.value, system);
  const machine = { reader, timeZone, createCronTimes, readWindow };
  const channels = new Map(
    validated.flatMap((file) => resolveNamedChannels(file.value, toResolveOptions(file, machine))),
  );
  const context = { ...machine, channels };
  const options = toResolveOptions(main, context);
  const agents = resolveAgents(main.value, options);
  const isCheck = (name: string): boolean => validated.some((file) => namesIn(file, "checks").includes(name));
  const complete = (config: JsonObject): JsonObject => withAgentChecks(config, agents, isCheck);
  const outer = { config: main.value, options };
  const checks = [
    ...resolveChecks(complete(main.value), { ...options, written: complete(main.written) }),
    ...others.flatMap((file) => resolveChecks(file.value, { ...toResolveOptions(file, context), outer })),
  ];
  const owners = others.flatMap((file) => namesIn(file, "checks").map((name) => [name, file] as const));
  const files = new Map(owners);
  const fileOf = (name: string): ValidatedFile => files.get(name) ?? main;
  const summary = resolveSummary(main.value, options);
  const keyOf = <Name extends keyof ConfigParts>(name: Name): ConfigParts[Name] | null =>
    resolveSetting(main.value, name, options) ?? null;
  const selected = withSelected(checks, { page: keyOf("page"), files: validated });
  const assigned = assignAgents(selected.checks, agents);
  const problems = [
    ...selected.problems,
    ...assigned.problems,
    ...findDependencyProblems(assigned.checks),
    ...findThresholdProblems(checks),
    ...findSummaryProblems(summary, checks),
    ...findRehearsalProblems(checks, main.written),
  ];
  refuse(problems.filter(({ path }) => !fileOf(String(path[1])).isUnresolved(path)));
  const state = main.value["state"];
  return {
    /** In no order; also those of an unknown kind. */
    checks: withCombined(assigned.checks),
    /** The same, with the entries of their lists as written. */
    listed: checks,
    /** Those that have a name, whether a check uses them or not. */
    channels,
    /** Absolute; `null`: the config names no file. */
    statePath: typeof state === "string" ? absolutePath(state, main.source.directory) : null,
    /** How long results are stored; `null`: as long as by default. */
    retentionMs: keyOf("retention"),
    /** Returns the time zone of messages, schedules and windows. */
    timeZone,
    heartbeat: keyOf("heartbeat"),
    reportTo: keyOf("report_to"),
    agents,
    connectivity: keyOf("connectivity"),
    commonCauses: keyOf("common_causes") ?? true,
    report: keyOf("report"),
    page: selected.page,
    metrics: keyOf("metrics"),
    opentelemetry: keyOf("opentelemetry"),
    summary,
    listen: keyOf("listen"),
    fileOf,
    isKindKnown: ({ name }: Check) => !fileOf(name).isUnresolved(kindPath(name)),
  };
}

function toResolveOptions<Context extends object>(
  { source: { directory }, written, commands, lacks }: ValidatedFile,
  context: Context,
) {
  return { ...context, written, directory, commands, lacksAt: createLackFinder(lacks) };
}

function createLackFinder(lacks: readonly Problem[]): (path: ConfigPath) => readonly string[] {
  const found = new Map<string, string[]>();
  for (const { path, message } of lacks) {
    for (let depth = 1; depth <= path.length; depth++) {
      found.getOrInsertComputed(JSON.stringify(path.slice(0, depth)), () => []).push(message);
    }
  }
  return (path) => found.size === 0 ? [] : found.get(JSON.stringify(path)) ?? [];
}

function kindPath(name: string): ConfigPath {
  return ["checks", name, "kind"];
}

type FileSettings = Pick<ResolvedConfig, "statePath" | "heartbeat" | "report" | "metrics">;

function createFileUses(
  read: ReadConfig,
  // Not all of the resolved config, with its checks, which would stay in memory with the functions below.
  { statePath, heartbeat, report, metrics }: FileSettings,
  { system: { files }, options }: { readonly system: System; readonly options: LoadOptions },
) {
  const { source, main, place, refuse, postgres } = read;
  const clashOptions = { files, label: source.label, place };
  const usedFiles = async (): Promise<readonly UsedFile[]> => {
    const usedState = await options.locateState?.({ source, statePath, postgres }) ?? statePath;
    return listUsedFiles(read, { statePath, heartbeat }, usedState);
  };
  return {
    /** @throws {ConfigError} If the HTML report or the metrics would overwrite a required file. */
    refuseClashes: async () => {
      if (report === null && metrics === null) return;
      const outputs = [
        { path: ["report", "path"], file: report?.path },
        { path: ["metrics", "path"], file: metrics?.path },
      ].filter(({ path }) => !main.isUnresolved(path));
      refuse(await findFileClashes(outputs, await usedFiles(), clashOptions));
    },
    clashOf: async (file: string) => {
      const uses = new FileUses(clashOptions);
      for (const used of await usedFiles()) await uses.add(used);
      if (metrics !== null) await uses.add({ file: metrics.path, of: ["metrics", "path"] });
      return await uses.clashOf(file);
    },
  };
}

/** Lists the files that a config needs. The state may be elsewhere than it names. */
function listUsedFiles(
  { included, validated, main, reader }: ReadConfig,
  { statePath, heartbeat }: Pick<FileSettings, "statePath" | "heartbeat">,
  usedState: string | null,
): readonly UsedFile[] {
  return [
    ...included.files.flatMap((file) => configFiles(file, main)),
    ...(statePath === null ? [] : stateFiles(statePath, ["state"])),
    ...(usedState === null || usedState === statePath ? [] : stateFiles(usedState, "the state")),
    ...(heartbeat?.path === undefined ? [] : [{ file: heartbeat.path, of: ["heartbeat", "path"] }]),
    ...validated.flatMap((file) => readFiles({ ...file, reader }, file)),
  ];
}

function toWrittenFile({ source, written }: ValidatedFile): Pick<ValidatedFile, "source" | "written"> {
  return { source, written };
}

function configFiles({ source: { path, label } }: ConfigFile, config: ValidatedFile): readonly UsedFile[] {
  if (path === null) return [];
  const isMain = path === config.source.path;
  return [{ file: path, role: isMain ? "this config itself" : `the included config ${quoteValue(label)}` }];
}

/** Redacts texts that messages and outputs print without a further check. */
function redacted<Item extends Pick<Check, "title" | "description" | "runbook">>(
  item: Item,
  redact: Redact,
): Item {
  const texts = (["title", "description", "runbook"] as const)
    .flatMap((key) => item[key] === undefined ? [] : [[key, redact(item[key])]]);
  return { ...item, ...Object.fromEntries(texts) };
}

function withoutSecretsInPage(page: Page, redact: Redact): Page {
  return {
    ...redacted(page, redact),
    announcements: page.announcements.map((note) => ({ ...note, text: redact(note.text) })),
    groups: page.groups.map((group) => redacted(group, redact)),
  };
}

/** JavaScript orders names such as "8080" before all others; the text has the real order. */
function inConfigOrder(
  checks: readonly Check[],
  sources: readonly Source[],
  place: (problem: Problem) => PlacedProblem,
): readonly Check[] {
  if (!checks.some(({ name }) => /^\d{1,10}$/.test(name))) return checks;
  const placed = checks.map((check) => ({ check, ...place({ path: ["checks", check.name], message: "" }) }));
  return inTextOrder(placed, sources).map(({ check }) => check);
}

function listWarnings(
  { included, validated, main, lacks }: ReadConfig,
  { checks, listed, summary, report, page, metrics, listen, fileOf, isKindKnown, agents, reportTo }:
    ResolvedConfig,
): readonly Problem[] {
  const unknownKinds = checks.filter((check) => !isKindKnown(check));
  return [
    ...included.warnings,
    ...validated.flatMap((file) => file.warnings),
    ...lacks.map((lack) => ({ ...lack, message: `${lack.message}; ${describeLoss(lack.path)}` })),
    ...warnOfUnusedChannels(included.files, { checks, summary }),
    ...findWarnings(checks, listed, (name, key) => locateSetting(name, key, { main, file: fileOf(name) })),
    ...(metrics === null || main.isUnresolved(["metrics", "path"]) ? [] : warnOfMetricsFile(metrics)),
    ...summary === null ? [] : warnOfSummary(summary),
    ...warnOfLateNotifications(checks),
    ...warnOfReports(reportTo, { agents, hasListen: main.written["listen"] !== undefined, checks }),
    ...warnOfUnusedTags([
      { path: ["report", "public"], tags: report?.public },
      { path: ["listen", "public"], tags: listen?.public },
      { path: ["summary", "tags"], tags: summary?.tags },
      ...(page?.groups ?? []).map(({ tags }, index) => ({ path: ["page", "groups", index, "tags"], tags })),
    ], checks),
    ...unknownKinds.map(({ name }) => ({ path: kindPath(name), message: UNKNOWN_KIND })),
  ];
}

const UNKNOWN_KIND = "is unknown without secrets, so the parameters are not validated";

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
  retention: "results are stored for 90 days",
  time_zone: "the time zone is that of the machine",
  heartbeat: "no heartbeat is sent",
  report_to: "no results are reported",
  agents: "the agent cannot report",
  report: "no HTML report is written",
  page: "the HTML report has no title, description and announcements",
  metrics: "no metrics are written",
  opentelemetry: "nothing is sent to OpenTelemetry",
  listen: "the HTTP endpoint does not start",
  summary: "no summary is sent",
  common_causes: "problems with a common cause are one message",
  maintenance_windows: "the window is ignored",
};

function locateSetting(name: string, key: string, { main, file }: Record<"main" | "file", ValidatedFile>) {
  const own = valueAt(file.written, ["checks", name]);
  const isOwn = isObject(own) && key in own;
  const isFromFile = isOwn || key in defaultsOf(file.written);
  return { isOwn, source: (isFromFile ? file : main).source };
}
