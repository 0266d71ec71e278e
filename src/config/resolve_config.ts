import type { Channel } from "../domain/channel.ts";
import { type Check, combinedChecks } from "../domain/check.ts";
import type { ConfigParts, Heartbeat, Listen, Metrics, Page, Report } from "../domain/generated/config.ts";
import type { SummarySettings } from "../domain/summary_settings.ts";
import type { System } from "../domain/system.ts";
import { hashHex } from "../shared/hash.ts";
import { findDependencyProblems } from "./dependencies.ts";
import type { ValidatedFile } from "./check_rules.ts";
import { checkNames } from "./config_file.ts";
import { findThresholdProblems } from "./threshold_rules.ts";
import { findSummaryProblems } from "./summary_rules.ts";
import { resolveNamedChannels } from "./named_channels.ts";
import type { ConfigPath, Problem } from "./problem.ts";
import { resolveChecks, type ResolveOptions, resolveSetting, resolveSummary } from "./resolve.ts";
import { absolutePath } from "./source.ts";
import type { ReadConfig } from "./read_config.ts";

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
