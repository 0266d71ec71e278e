import type { Channel } from "../domain/channel.ts";
import type { Check } from "../domain/check.ts";
import type { ConfigParts, Heartbeat, Listen, Metrics, Page, Report } from "../domain/generated/config.ts";
import type { SummarySettings } from "../domain/summary_settings.ts";
import type { System } from "../domain/system.ts";
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
    checks,
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
