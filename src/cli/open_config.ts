import { didYouMean } from "../config/nearest.ts";
import { hintForFile, type Invocation, UsageError } from "./command_definition.ts";
import { entriesOf } from "../checks/registry.ts";
import { loadConfig, type LoadedConfig, type LoadOptions } from "../config/load.ts";
import { channelsIn } from "../config/channel_uses.ts";
import type { LocatedChecks } from "../config/locations.ts";
import { type ConfigLocation, locateConfig } from "../config/source.ts";
import { ConfigError, type PlacedProblem, type Problem } from "../config/problem.ts";
import type { Check, CheckKind } from "../domain/check.ts";
import type { CheckKindEntry, ParameterProblem } from "../domain/check_kind.ts";
import type { System } from "../domain/system.ts";
import { isLoopback } from "../shared/ip_address.ts";
import { firstItems } from "../shared/text.ts";
import type { Redact } from "../shared/redact.ts";
import { rememberSecrets } from "./failure.ts";
import { locateState } from "./open_state.ts";

type EntryOf = Awaited<ReturnType<typeof entriesOf>>;

/** Loads the modules that vary by kind, for commands that create checks. */
export async function readKinds(
  kinds: readonly CheckKind[],
): Promise<ReadonlyMap<CheckKind, CheckKindEntry<CheckKind>>> {
  const checks = kinds.map((kind) => ({ kind }) as Check);
  const entryOf = await entriesOf(checks);
  return new Map(checks.map((check) => [check.kind, entryOf(check)]));
}

/** A call of a command; it may name the config and the state. */
export interface CommandContext {
  readonly invocation: Invocation;
  readonly system: System;
}

export interface OpenConfig extends LoadedConfig {
  /** In the text's order, file by file. */
  readonly placedWarnings: readonly PlacedProblem[];
}

/** @throws {ConfigError} If there is none or it has errors. */
export async function openConfig(
  invocation: Invocation,
  system: System,
  options: LoadOptions = {},
): Promise<OpenConfig> {
  return await openConfigAt(await locate(invocation, system), { invocation, system, ...options });
}

/** @throws {ConfigError} If it has errors. */
export async function openConfigAt(
  location: ConfigLocation,
  { invocation, system, ...options }: LoadOptions & CommandContext,
): Promise<OpenConfig> {
  const loaded = await loadConfig(location, system, {
    ...options,
    locateState: async (facts) => {
      const { path, postgres } = await locateState(invocation, facts, system);
      return postgres === undefined ? path : null;
    },
  });
  rememberSecrets(loaded.secrets);
  const entryOf = await entriesOf(loaded.checks);
  const { checks, problems } = await withLocations(loaded, entryOf);
  // `locateState` stays in memory, and with it what functions here use.
  const { redact } = loaded;
  const shown = checks.map((check) => withTarget(check, entryOf(check), redact));
  const config = {
    ...loaded,
    checks: loaded.connectivity === null
      ? shown
      : await Promise.all(shown.map((check) => withConnectivity(check, entryOf(check), system))),
  };
  config.refuse([
    ...problems,
    // Errors in parameters that are valid by themselves.
    ...checks.flatMap((check) => placesOf(check, entryOf(check).errors?.(check))),
    ...findSharedKeys(checks, entryOf),
    ...await findTextless(checks),
  ]);
  const inverted = loaded.connectivity !== null ? [] : await Promise.all(
    shown.filter((check) => check.invert && entryOf(check).limit === "network")
      .map((check) => withConnectivity(check, entryOf(check), system)),
  );
  const warnings = [
    ...checks.flatMap((check) => placesOf(check, entryOf(check).warnings?.(check))),
    ...inverted.filter(({ connectivity }) => connectivity)
      .map(({ name }) => ({ path: ["checks", name, "invert"], message: OWN_FAILURE })),
  ];
  const lacks = options.withoutSecrets === true ? [] : await findChannelLacks(config, system);
  return { ...config, placedWarnings: config.placed([...config.warnings, ...warnings, ...lacks]) };
}

export function withTarget(check: Check, { target }: CheckKindEntry<CheckKind>, redact: Redact): Check {
  const text = check.lack === undefined ? target.textOf?.(check) : undefined;
  return {
    ...check,
    ...text !== undefined && { target: redact(text) },
    ...target.goesDown === true && { goesDown: true },
  };
}

/** Returns a check with whether it needs the network: by the config, else if its target is another machine. */
async function withConnectivity(check: Check, entry: CheckKindEntry<CheckKind>, system: System) {
  if (check.connectivity !== undefined || check.lack !== undefined) return check;
  const { net = [], isOfMachine = false } = await entry.requiredPermissions(check, system);
  const hosts = [
    ...net.map((host) => host.replace(/:\d+$/, "")),
    ...entry.reachedBy === undefined ? [] : [entry.reachedBy(check)],
  ];
  // A resolver on this machine asks others.
  const isOther = (host: string): boolean => !isLoopback(host) && !OWN_ADDRESSES.includes(host);
  return { ...check, connectivity: isOfMachine || hosts.some(isOther) };
}

/** Those that datagrams are sent from. */
const OWN_ADDRESSES: readonly string[] = ["0.0.0.0", "[::]"];

async function locate(invocation: Invocation, system: System): Promise<ConfigLocation> {
  try {
    return await locateConfig(invocation.text("config"), system);
  } catch (error) {
    const [hint] = invocation.operands.flatMap((word) => hintForFile(word) ?? []);
    if (!(error instanceof ConfigError) || hint === undefined) throw error;
    throw new ConfigError(error.message, { hint, cause: error });
  }
}

/**
 * Rejects a config with missing requirements, for commands that need all of it, such as an exact list of permissions.
 *
 * @throws {ConfigError} If the machine lacks some of it.
 */
export function refuseLacks({ lacks, placed, source }: LoadedConfig): void {
  if (lacks.length === 0) return;
  const message = `cannot use config "${source.label}": a variable, file or command is missing`;
  throw new ConfigError(message, { source, problems: placed(lacks) });
}

async function withLocations({ checks, fileOf }: LoadedConfig, entryOf: EntryOf): Promise<LocatedChecks> {
  if (checks.every(({ locations }) => locations === undefined)) return { checks, problems: [] };
  const { locateChecks } = await import("../config/locations.ts");
  return locateChecks(checks, { fileOf, refusalOf: (check) => entryOf(check).withoutLocations ?? null });
}

/** @throws {ConfigError} If one of them runs at several locations. */
export async function rejectUnsharedLocations(config: OpenConfig, checks: readonly Check[]): Promise<void> {
  if (checks.every(({ locations }) => locations === undefined)) return;
  const { findUnshared } = await import("../config/locations.ts");
  config.refuse(findUnshared(checks, config));
}

/** A check-in over HTTP has nothing but its key to be recognized by. */
function findSharedKeys(checks: readonly Check[], entryOf: EntryOf): readonly Problem[] {
  const names = new Map<string, string>();
  return checks.flatMap((check) => {
    const key = check.lack === undefined ? entryOf(check).pingKey?.(check) : undefined;
    // Without secrets, a placeholder stays as it is.
    if (key === undefined || key.includes("${")) return [];
    const other = names.get(key);
    names.set(key, other ?? check.name);
    if (other === undefined) return [];
    return placesOf(check, [{ path: ["ping_key"], message: `is the key of the check "${other}" too` }]);
  });
}

const OWN_FAILURE =
  "a failure of this machine's own network is ok too; set `connectivity` to servers that always respond";

/** A rehearsal through a channel that sends no text has no link. */
async function findTextless(checks: readonly Check[]): Promise<readonly Problem[]> {
  const rehearsing = checks.filter(({ rehearsed }) => rehearsed !== undefined);
  if (rehearsing.length === 0) return [];
  const { channelEntryOf } = await import("../channels/registry.ts");
  return rehearsing.flatMap((check) => {
    if (check.rehearsed === undefined || channelEntryOf(check.rehearsed).textMax.output > 0) return [];
    return placesOf(check, [{ path: ["channel"], message: "sends no text, and so no link to confirm" }]);
  });
}

function placesOf(check: Check, problems: Iterable<ParameterProblem> = []): readonly Problem[] {
  const before = ["checks", check.name, "parameters"];
  return [...problems].map(({ path, message }) => ({ path: [...before, ...path], message }));
}

/** Things that this machine lacks for whole kinds of channels, at each channel of the kind. */
async function findChannelLacks({ files }: LoadedConfig, system: System): Promise<readonly Problem[]> {
  const channels = files.flatMap(({ source, written }) =>
    channelsIn(written).map((channel) => ({ ...channel, source }))
  );
  if (channels.length === 0) return [];
  const { findLacks } = await import("../channels/registry.ts");
  const lacks = await findLacks(new Set(channels.map(({ kind }) => kind)), system);
  return channels.flatMap(({ kind, path, source }) => {
    const message = lacks.get(kind);
    return message === undefined ? [] : [{ path: [...path, "kind"], message, source }];
  });
}

/** The settings of a config that all its runs have. */
export function runSettings(
  { source: { directory }, timeZone, redact }: Pick<LoadedConfig, "source" | "timeZone" | "redact">,
): { readonly directory: string; timeZone(): string; readonly redact: Redact } {
  return { directory, timeZone, redact };
}

export interface Selection {
  /** Names of checks; empty: whatever their name. */
  readonly names: readonly string[];
  /** A check must have one of them; empty: whatever its tags. */
  readonly tags: readonly string[];
}

type Choosable = Pick<Check, "name" | "tags" | "active">;

export function readSelection(invocation: Invocation): Selection {
  return { names: invocation.operands, tags: invocation.texts("tag") };
}

/** Returns whether a selection leaves nothing out. */
export function isEverything({ names, tags }: Selection): boolean {
  return names.length === 0 && tags.length === 0;
}

/**
 * The checks that were named and that have one of the tags, in the config's order; all of them when neither was
 * given.
 *
 * @throws {UsageError} If a name or a tag is not in the config, or no check is left.
 */
export function selectChecks<C extends Choosable>(
  checks: readonly C[],
  { names, tags }: Selection,
): readonly C[] {
  for (const name of names) {
    if (checks.some((check) => check.name === name)) continue;
    const known = checks.map((check) => check.name);
    throw unknownName("check", name, { known, otherwise: "list them with: monitor status" });
  }
  const known = new Set(checks.flatMap((check) => check.tags));
  for (const tag of tags) {
    if (known.has(tag)) continue;
    throw new UsageError(`no check has the tag "${tag}"`, didYouMean(tag, [...known]) ?? hintForTag(known));
  }
  const chosen = checks
    .filter((check) => names.length === 0 || names.includes(check.name))
    .filter((check) => tags.length === 0 || check.tags.some((tag) => tags.includes(tag)));
  if (chosen.length > 0 || isEverything({ names, tags })) return chosen;
  const listed = tags.map((tag) => `"${tag}"`).join(" or ");
  throw new UsageError(`none of the named checks has the tag ${listed}`);
}

/**
 * The same without inactive checks.
 *
 * @throws {UsageError} As above, and if a named check is inactive, or every one with the tag.
 */
export function selectActiveChecks<C extends Choosable>(
  checks: readonly C[],
  selection: Selection,
): readonly C[] {
  const chosen = selectChecks(checks, selection);
  if (selection.names.length === 0) {
    const active = chosen.filter((check) => check.active);
    if (active.length > 0 || selection.tags.length === 0) return active;
    throw new UsageError("every check with this tag is inactive", 'remove "active": false to run one');
  }
  const inactive = chosen.find((check) => !check.active);
  if (inactive !== undefined) {
    throw new UsageError(`the check "${inactive.name}" is inactive`, 'remove "active": false to run it');
  }
  return chosen;
}

/** Returns the error of a name that nothing of the config has. */
export function unknownName(
  what: string,
  name: string,
  { known, otherwise }: { readonly known: readonly string[]; readonly otherwise: string },
): UsageError {
  const hint = hintForFile(name) ?? didYouMean(name, known) ?? otherwise;
  return new UsageError(`unknown ${what} "${name}"`, hint);
}

function hintForTag(known: ReadonlySet<string>): string {
  if (known.size === 0) return 'give checks tags: "tags": ["web"]';
  return `choose one of: ${firstItems([...known], 10).join(", ")}`;
}
