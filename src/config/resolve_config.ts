import { type Channel, SUMMARY_NAME, type SummarySettings } from "../domain/channel.ts";
import { type Check, combinedChecks, dependencyNames } from "../domain/check.ts";
import type { ConfigParts, Heartbeat, Listen, Metrics, Page, Report } from "../domain/generated/config.ts";
import type { System } from "../domain/system.ts";
import { hashHex } from "../shared/hash.ts";
import { type ValidatedFile, validateFile } from "./check_rules.ts";
import { channelNames, checkNames, openConfigFile } from "./config_file.ts";
import { findThresholdProblems } from "./threshold_rules.ts";
import { resolveNamedChannels } from "./named_channels.ts";
import {
  ConfigError,
  type ConfigPath,
  countErrors,
  type PlacedProblem,
  type Problem,
  PROBLEMS_MAX,
  quoteValue,
  type Source,
  withoutRepeats,
} from "./problem.ts";
import { resolveChecks, type ResolveOptions, resolveSetting, resolveSummary } from "./resolve.ts";
import { absolutePath, type ConfigLocation, readSource } from "./source.ts";
import { didYouMean } from "./nearest.ts";
import { exactDuration } from "../domain/duration.ts";
import { DAY_MS } from "../shared/time_units.ts";
import { type Included, readIncluded } from "./include.ts";
import { openSchema, type Shape } from "./profile_schemas.ts";
import { createConfigPlacer, findRepeatedNames, inTextOrder } from "./source_location.ts";
import type { SchemaReader } from "./schema_view.ts";

export interface ResolvedConfig {
  /** The channels that have a name, by it; whether a check uses them or not. */
  readonly channels: ReadonlyMap<string, Channel>;
  /** Absolute path of the state file, if the config names one. */
  readonly statePath: string | null;
  readonly heartbeat: Heartbeat | null;
  /** The file of the HTML report; `null`: none. */
  readonly report: Report | null;
  /** The config's texts on every page; `null`: none. */
  readonly page: Page | null;
  /** The metrics file; `null`: none. */
  readonly metrics: Metrics | null;
  /** The summary that is sent on a schedule; `null`: none. */
  readonly summary: SummarySettings | null;
  /** The HTTP endpoint; `null`: none. */
  readonly listen: Listen | null;
  /** In no order; also those of an unknown kind. */
  readonly checks: readonly Check[];
  fileOf(name: string): ValidatedFile;
  isKindKnown(check: Check): boolean;
}

/** @throws {ConfigError} If a check depends on itself, or on one that is not there. */
export function resolveConfig(
  { validated, main, others, reader, refuse }: ReadConfig,
  system: System,
): ResolvedConfig {
  const createCronTimes = validated.find((file) => file.createCronTimes !== null)?.createCronTimes ??
    (() => null);
  const readWindow = validated.find((file) => file.readWindow !== null)?.readWindow ?? null;
  const machine = { reader, timeZone: () => system.timeZone(), createCronTimes, readWindow };
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
  const summary = resolveSummary(main.value, options);
  refuse(
    [
      ...findDependencyProblems(checks),
      ...findThresholdProblems(checks),
      ...findSummaryProblems(summary, checks),
    ]
      .filter(({ path }) => !fileOf(String(path[1])).file.isUnresolved(path)),
  );
  const state = main.value["state"];
  const keyOf = <Name extends keyof ConfigParts>(name: Name): ConfigParts[Name] | null =>
    resolveSetting(main.value, name, options) ?? null;
  return {
    checks: withCombined(checks),
    channels,
    statePath: typeof state === "string" ? absolutePath(state, main.file.source.directory) : null,
    heartbeat: keyOf("heartbeat"),
    report: keyOf("report"),
    page: keyOf("page"),
    metrics: keyOf("metrics"),
    summary,
    listen: keyOf("listen"),
    fileOf,
    isKindKnown: ({ name }) => !fileOf(name).file.isUnresolved(kindPath(name)),
  };
}

/** Adds the definitions of the checks that a group combines to that of the group: it is edited with them. */
function withCombined(checks: readonly Check[]): readonly Check[] {
  const byName = new Map(checks.map((check) => [check.name, check]));
  const groups = checks.filter((check) => combinedChecks(check).length > 0);
  const defined = new Map<string, Check>();
  // Without recursion: groups of groups may be deep.
  const left = [...groups];
  for (let group = left.at(-1); group !== undefined; group = left.at(-1)) {
    const combined = combinedChecks(group).flatMap((name) => byName.get(name) ?? []);
    const undefinedYet = combined.filter((one) => combinedChecks(one).length > 0 && !defined.has(one.name));
    left.push(...undefinedYet);
    if (undefinedYet.length > 0) continue;
    left.pop();
    const parts = combined.map((one) => [(defined.get(one.name) ?? one).definition, one.locations?.from]);
    const definition = hashHex(JSON.stringify([group.definition, parts]), 16);
    defined.set(group.name, { ...group, definition });
  }
  return checks.map((check) => defined.get(check.name) ?? check);
}

function toResolveOptions<
  Context extends Pick<ResolveOptions, "reader" | "timeZone" | "createCronTimes" | "readWindow">,
>(
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

/** Finds the file of a check; without any, the config itself. */
function fileFinder(main: ValidatedFile, others: readonly ValidatedFile[]): (name: string) => ValidatedFile {
  const files = new Map(others.flatMap((file) => checkNames(file.file).map((name) => [name, file] as const)));
  return (name) => files.get(name) ?? main;
}

export function kindPath(name: string): ConfigPath {
  return ["checks", name, "kind"];
}

/** Names in `depends_on` and of groups that are no checks, and checks that need themselves by way of others. */
export function findDependencyProblems(checks: readonly Check[]): readonly Problem[] {
  const byName = new Map(checks.map((check) => [check.name, check]));
  const problems: Problem[] = [];
  for (const check of checks) {
    for (const { name, path } of namedChecks(check)) {
      if (byName.has(name)) continue;
      if (problems.length === PROBLEMS_MAX) return problems;
      const hint = problems.length * byName.size < LOOKS_MAX
        ? didYouMean(name, [...byName.keys()].filter((other) => other !== check.name), quoteValue)
        : undefined;
      problems.push({ path, message: `is ${quoteValue(name)}, expected the name of a check`, hint });
    }
  }
  return [...problems, ...findCycles(checks, byName)];
}

/** The checks that another one names, with their locations. */
function namedChecks(check: Check): readonly { readonly name: string; readonly path: ConfigPath }[] {
  const at = (names: readonly string[], ...path: ConfigPath) =>
    names.map((name, index) => ({ name, path: ["checks", check.name, ...path, index] }));
  return [
    ...check.dependsOn.flatMap((dependency, index) =>
      typeof dependency === "string"
        ? [{ name: dependency, path: ["checks", check.name, "depends_on", index] }]
        : at(dependency.any, "depends_on", index, "any")
    ),
    ...at(combinedChecks(check), "parameters", "checks"),
  ];
}

/** A check on the way, with the names that it depends on: dependencies first, then those that it combines. */
interface Frame {
  readonly name: string;
  readonly parents: readonly string[];
  readonly dependencyCount: number;
  /** The index of the next name. */
  next: number;
}

function frameOf(name: string, byName: ReadonlyMap<string, Check>): Frame {
  const check = byName.get(name);
  const dependencies = check === undefined ? [] : dependencyNames(check);
  const combined = check === undefined ? [] : combinedChecks(check);
  return { name, parents: [...dependencies, ...combined], dependencyCount: dependencies.length, next: 0 };
}

/** The maximum number of compared pairs of names; later errors have no suggestion. */
const LOOKS_MAX = 200_000;

/** Walks the dependencies depth-first, without recursion; each circle is reported once, at its first check. */
function findCycles(checks: readonly Check[], byName: ReadonlyMap<string, Check>): readonly Problem[] {
  const problems: Problem[] = [];
  const done = new Set<string>();
  for (const { name: start } of checks) {
    if (done.has(start)) continue;
    const path: string[] = [start];
    /** The position of each name in the path. */
    const places = new Map([[start, 0]]);
    const stack: Frame[] = [frameOf(start, byName)];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const name = top.parents[top.next];
      top.next++;
      const place = name === undefined ? undefined : places.get(name);
      if (name === undefined) {
        done.add(top.name);
        stack.pop();
        path.pop();
        places.delete(top.name);
      } else if (place !== undefined) {
        if (problems.length === PROBLEMS_MAX) return problems;
        const message = `is a cycle: ${describeCircle(path, place)}`;
        // The frame of the name at which the cycle begins has just taken the edge to the next one.
        const { next, dependencyCount } = stack[place] ?? top;
        const isDependency = next <= dependencyCount;
        const key = isDependency ? ["depends_on"] : ["parameters", "checks"];
        problems.push({ path: ["checks", name, ...key], message });
      } else if (!done.has(name) && byName.has(name)) {
        stack.push(frameOf(name, byName));
        places.set(name, path.length);
        path.push(name);
      }
    }
  }
  return problems;
}

const SHOWN_MAX = 8;

/** From a place of the path on, each name needs the next one, and the last needs the first; those at both ends are shown. */
function describeCircle(path: readonly string[], place: number): string {
  const first = path[place] ?? "";
  const left = path.length - place + 1 - SHOWN_MAX;
  const shown = left > 1
    ? [
      ...path.slice(place, place + SHOWN_MAX - 2).map(quoteValue),
      `… (${left} more) …`,
      quoteValue(path.at(-1) ?? ""),
    ]
    : path.slice(place).map(quoteValue);
  return [...shown, quoteValue(first)].join(" depends on ");
}

// The errors and warnings of a summary whose keys are valid one by one.

/** Daily sums are kept for 100 days. */
const KEPT_MS = 100 * DAY_MS;

/** Finds a check with the name under which a summary is queued. */
function findSummaryProblems(
  summary: SummarySettings | null,
  checks: readonly Check[],
): readonly Problem[] {
  if (summary === null || checks.every(({ name }) => name !== SUMMARY_NAME)) return [];
  return [{
    path: ["checks", SUMMARY_NAME],
    at: "name",
    message: `${quoteValue(SUMMARY_NAME)} is the name of the summary, expected another name for this check`,
  }];
}

/** Warns of a period without history, and of tags that no check has. */
export function warnOfSummary(
  { periodMs = 0, tags = [] }: SummarySettings,
  checks: readonly Check[],
): readonly Problem[] {
  const known = new Set(checks.flatMap((check) => check.tags));
  return [
    ...periodMs <= KEPT_MS ? [] : [{
      path: ["summary", "period"],
      message: `is ${exactDuration(periodMs)}, and history is kept for ${exactDuration(KEPT_MS)} only`,
    }],
    ...tags.flatMap((tag, index) =>
      known.has(tag)
        ? []
        : [{ path: ["summary", "tags", index], message: `no check has the tag ${quoteValue(tag)}` }]
    ),
  ];
}

export interface ReadOptions {
  /** The schema that validates the config; its meaning is the same with any of them. @default "monitor" */
  readonly shape?: Shape;
  /**
   * Whether placeholders stay as they are and commands are not looked up: for reading a config on a machine that is
   * not its own. Its checks cannot be run then. @default false
   */
  readonly withoutSecrets?: boolean;
}

export interface ReadConfig {
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

/** @throws {ConfigError} If it can't be read or has errors. / */
export async function readConfig(
  location: ConfigLocation,
  system: System,
  { withoutSecrets = false, shape = "monitor" }: ReadOptions,
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
