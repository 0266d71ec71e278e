import { counted, printable } from "../../shared/text.ts";
import { addEntries } from "../../config/add_entries.ts";
import { ConfigError, describePath } from "../../config/problem.ts";
import { isObject } from "../../config/schema_view.ts";
import type { JsonObject, JsonValue } from "../../config/syntax.ts";
import { combinedChecks } from "../../domain/check.ts";
import type { System } from "../../domain/system.ts";
import { EXIT, UsageError } from "../command_definition.ts";
import {
  type CommandContext,
  type OpenConfig,
  openConfigAt,
  readKinds,
  runSettings,
} from "../open_config.ts";
import { asUsageError, entryFor, type NewCheck, usageErrorOf } from "./read_operands.ts";
import { locateConfig, pathFromHere } from "../../config/source.ts";
import {
  joinPermissions,
  missingPermissions,
  type RequiredPermission,
  requiredPermissionsOf,
} from "../../permissions/required_permissions.ts";
import { permissionsOfReplacing } from "../../shared/regular_file.ts";
import { describeMissing, dropOtherPermissions, isMissing } from "../config_permissions.ts";
import { MissingPermissionsError, OutputError, writeError } from "../failure.ts";
import { EMPTY_CONFIG } from "../commands/init.ts";
import { abortOnStop, startProgress, wantsColor, warn } from "../terminal.ts";
import { highestSeverity } from "../../domain/condition.ts";
import { createLimiters, runPass } from "../../scheduler/run_checks.ts";
import { type RunRecord, traceOf } from "../formats/format.ts";
import { prettyFormat } from "../formats/pretty.ts";

export interface AddOptions extends CommandContext {
  readonly target: ConfigTarget;
  /** Whether everything that a run does is printed. @default false */
  readonly traces?: boolean;
}

/**
 * Tries checks, prints their results, and writes them into the config; returns the exit code. Nothing is written if
 * the new config has an error, or if a signal aborts the checks.
 *
 * @throws {UsageError} If a check has an error.
 */
export async function addChecks(checks: readonly NewCheck[], options: AddOptions): Promise<number> {
  const { system, target } = options;
  if (checks.length === 0) return EXIT.ok;
  const required = await permissionsOfWriting(target, system);
  const { printed, stopCode } = await tryChecks(checks, { ...options, required });
  if (stopCode !== null) {
    system.stderr.write("monitor: stopped, nothing was added\n");
    return stopCode;
  }
  system.stdout.write(printed);
  await writeTarget(target, textWith(checks, target), system);
  const names = checks.map(({ name }) => printable(name)).join(", ");
  system.stdout.write(`added ${counted(checks.length, "check")} to ${printable(target.label)}: ${names}\n`);
  system.stdout.write(checks.map((check) => describeCronLine(check, target, system)).join(""));
  return EXIT.ok;
}

interface Tried {
  readonly records: readonly RunRecord[];
  /** The exit code of a signal that ended it; `null`: it came to its end. */
  readonly stopCode: number | null;
  /** The records as `check --once` prints them; empty without any. */
  readonly printed: string;
}

/**
 * Runs checks once as a part of the config, without state and notifications. Drops the permissions that neither they
 * nor what follows needs, which is `required`.
 */
export async function tryChecks(
  checks: readonly NewCheck[],
  options: AddOptions & { readonly required?: readonly RequiredPermission[] },
): Promise<Tried> {
  const { invocation, system, traces = false, required = [] } = options;
  const config = await openWith(checks, options).catch((error) => {
    throw asUsageError(error, checks);
  });
  for (const { path, message } of config.placedWarnings) {
    if (checks.some((check) => isIn(check, path))) warn(`${path}: ${message}`, system);
  }
  const added = config.checks.filter(({ name }) => checks.some((check) => check.name === name));
  const kinds = await readKinds(added.map(({ kind }) => kind));
  // One run alone has no meaning for jobs, which check in, and for groups.
  const tried = added.filter((check) =>
    kinds.get(check.kind)?.hasCheckIns !== true && combinedChecks(check).length === 0
  );
  const own = await requiredPermissionsOf({ checks: tried, heartbeat: null, notifies: false }, system);
  for (const need of dropOtherPermissions([...own, ...required], { system, config })) {
    warn(describeMissing(need), system);
  }
  const startedMonotonicMs = system.clock.monotonicMs();
  const progress = startProgress(tried, system);
  const stop = abortOnStop(system);
  const records: RunRecord[] = [];
  await runPass(tried, {
    system,
    jobs: null,
    memoryOf: () => null,
    ...runSettings(config),
    limiters: createLimiters(),
    signal: stop.signal,
    traceOf: () => traces ? "full" : null,
    onResult: (result) => {
      progress.finished(result.check);
      progress.clear();
      records.push({ result, occurrences: 1, confirmed: result.condition });
      if (traces) system.stdout.write(traceOf(result.check, result.trace));
    },
  }).finally(() => {
    progress.end();
    stop.end();
  });
  const printed = prettyFormat.summary({
    condition: highestSeverity(records.map(({ result }) => result.condition)),
    reason: null,
    startedAtMs: system.clock.wallMs(),
    durationMs: system.clock.monotonicMs() - startedMonotonicMs,
    ...{ records, unfinished: [], inactiveCount: 0, hostName: system.hostName() },
  }, {
    color: wantsColor(invocation, system.stdout, system),
    columns: system.stdout.columns(),
    ...{ fails: () => false, locate: () => null },
  });
  return { records, stopCode: stop.code, printed: tried.length === 0 ? "" : `${printed}\n` };
}

/** Returns whether a place in the config is a check, or a part of it. */
function isIn({ name }: NewCheck, path: string): boolean {
  const start = describePath(["checks", name]);
  return path === start || path.startsWith(`${start}.`);
}

export function writtenChecks(config: OpenConfig | null): ReadonlyMap<string, JsonValue> {
  const files = config?.files ?? [];
  return new Map(files.flatMap(({ written: { checks } }) => isObject(checks) ? Object.entries(checks) : []));
}

/** New checks: those that can be added, and the others with the reason. */
interface PartedChecks {
  readonly free: readonly NewCheck[];
  /** The config, or an earlier one, has the same name, kind and parameters, or the same target. */
  readonly known: readonly string[];
  /** Another check has the name. */
  readonly taken: readonly UsageError[];
}

export function partChecks(checks: readonly NewCheck[], { config }: ConfigTarget): PartedChecks {
  const inConfig = writtenChecks(config);
  const written = new Map(inConfig);
  const known: string[] = [];
  const taken: UsageError[] = [];
  const describeKnown = (check: NewCheck, name: string): string => {
    const target = check.target ?? check.name;
    if (!inConfig.has(name)) return `${target} is specified more than once, as "${name}"`;
    const other = inConfig.get(name);
    const isInactive = isObject(other) && other.active === false;
    if (isInactive) return `${target} is in the config already, as "${name}", which is inactive`;
    return name === check.name
      ? `${name} is in the config already`
      : `${target} is checked already, by "${name}"`;
  };
  const free = checks.filter((check) => {
    const own = written.get(check.name);
    const isSame = own !== undefined &&
      JSON.stringify(parametersOf(own, check.kind)) === JSON.stringify(check.parameters);
    const name = isSame
      ? check.name
      : check.target === undefined || check.cronJob !== undefined
      ? undefined
      : [...written].find(([, other]) => covers(parametersOf(other, check.kind), check.parameters))?.[0];
    if (name !== undefined) known.push(describeKnown(check, name));
    else if (own !== undefined) {
      const fix = checks.length === 1 ? "choose another with" : "add that check alone, with";
      const problem = `the name "${check.name}" is taken by another check`;
      taken.push(new UsageError(problem, `${fix}: --name NAME`));
    } else written.set(check.name, entryFor(check));
    return name === undefined && own === undefined;
  });
  return { free, known, taken };
}

/** The parameters of a written check of that kind; `null`: it is of another one. */
function parametersOf(written: JsonValue, kind: string): JsonValue {
  return isObject(written) && written.kind === kind ? written.parameters ?? {} : null;
}

/** Returns whether a value has all that another one asks for; an empty object or list asks for nothing. */
function covers(value: JsonValue | undefined, asked: JsonValue): boolean {
  if (typeof asked !== "object" || asked === null) return value === asked;
  const parts = Object.entries(asked).filter(([, part]) => !isEmpty(part));
  if (typeof value !== "object" || value === null) return parts.length === 0 && value !== null;
  return parts.every(([key, part]) => covers((value as JsonObject)[key], part as JsonValue));
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every(isEmpty);
}

/** Parts checks from those that would make the config invalid. */
export async function partValid(
  checks: readonly NewCheck[],
  options: AddOptions,
): Promise<{ readonly valid: readonly NewCheck[]; readonly invalid: readonly UsageError[] }> {
  const error = await openWith(checks, options).then(() => null, (error) => error);
  if (!(error instanceof ConfigError)) {
    if (error !== null) throw error;
    return { valid: checks, invalid: [] };
  }
  const valid: NewCheck[] = [];
  const invalid: UsageError[] = [];
  for (const check of checks) {
    const problems = error.problems.filter(({ path }) => isIn(check, path));
    if (problems.length === 0) valid.push(check);
    else invalid.push(usageErrorOf(problems, [check]));
  }
  if (invalid.length === 0) throw asUsageError(error, checks);
  return { valid, invalid };
}

function openWith(checks: readonly NewCheck[], { invocation, system, target }: AddOptions) {
  const text = textWith(checks, target);
  return openConfigAt({ path: target.path, label: target.label, named: true, text }, { invocation, system });
}

function textWith(checks: readonly NewCheck[], { text }: ConfigTarget): string {
  return addEntries(text, checks.map((check) => [check.name, entryFor(check)]));
}

function describeCronLine({ name, cronJob }: NewCheck, target: ConfigTarget, system: System): string {
  if (cronJob === undefined) return "";
  const words = [programOf(system), "beat", "--config", target.path, name, "--"];
  const line = printable(cronJob.lineBehind(words));
  return `replace the line of ${printable(name)} in ${cronJob.place} by:\n${line}\n`;
}

/** Cron searches few directories for commands. */
function programOf(system: System): string {
  try {
    return /\/monitor$/.test(system.executable) ? system.executable : "monitor";
  } catch {
    return "monitor";
  }
}

export interface ConfigTarget {
  readonly label: string;
  /** Absolute. */
  readonly path: string;
  /** `null`: there is none yet. */
  readonly config: OpenConfig | null;
  /** Without a byte-order mark; for a new config, its beginning. */
  readonly text: string;
}

const EMPTY = '{ "defaults": {}, "checks": {} }\n';
export const NO_CONFIG: ConfigTarget = { label: "-", path: "-", config: null, text: EMPTY };

/**
 * Finds and opens the config that checks are added to. If there is none, makes one at the path of `--config`, else in
 * the working directory.
 *
 * @throws {ConfigError} If it has errors.
 */
export async function openTarget({ invocation, system }: CommandContext): Promise<ConfigTarget> {
  const named = invocation.text("config");
  if (named === "-") throw new UsageError("--config is -, expected a file to add checks to");
  const location = await locateConfig(named, system).catch((error) => {
    if (!(error instanceof ConfigError)) throw error;
    return { path: "monitor.jsonc", named: true };
  });
  const path = pathFromHere(location.path, system);
  const target = { label: location.path, path };
  if (await isMissing(path, system)) return { ...target, config: null, text: EMPTY_CONFIG };
  const config = await openConfigAt(location, { invocation, system });
  return { ...target, config, text: config.source.text };
}

/** @throws {MissingPermissionsError} If some of them are not granted. */
export async function permissionsOfWriting(
  { path, config }: ConfigTarget,
  system: System,
): Promise<readonly RequiredPermission[]> {
  const real = config === null ? path : await system.files.realPath(path);
  const requiredPermissions = config === null
    ? { read: [path], write: [path] }
    : { ...permissionsOfReplacing(real), read: [path, real, ...permissionsOfReplacing(real).read ?? []] };
  const required = joinPermissions([{ neededBy: "writing the config", requiredPermissions }]);
  const missing = missingPermissions(required, system.permissions);
  if (missing.length === 0) return required;
  throw new MissingPermissionsError(missing, system, {
    message: "missing permissions to write the config",
    hint: "grant them, or print the checks with: monitor add --dry-run TARGET",
  });
}

const BYTE_ORDER_MARK = "\uFEFF";

/** @throws {OutputError} If it cannot be written. */
async function writeTarget(target: ConfigTarget, text: string, system: System): Promise<void> {
  const { path, label, config } = target;
  if (config !== null) return await rewriteText(target, text, system);
  try {
    await system.files.write(path, text, { overwrite: false });
  } catch (error) {
    throw writeError(error, path, label);
  }
}

/** Replaces the text of a file, unless it is another one by now. */
export async function rewriteText(
  { path, label, text: before }: Omit<ConfigTarget, "config">,
  text: string,
  system: System,
): Promise<void> {
  try {
    await refuseOtherOwner(path, label, system);
    await system.files.rewrite(path, (bytes) => {
      const stored = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
      const mark = stored.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
      if (stored === mark + before) return mark + text;
      throw new OutputError(`cannot write "${label}": it was changed meanwhile`);
    });
  } catch (error) {
    throw writeError(error, path, label);
  }
}

/** Only root can make a file that belongs to another user. */
async function refuseOtherOwner(path: string, label: string, { files, userId }: System): Promise<void> {
  const { ownerId } = await files.stat(path);
  if (ownerId === null || userId === null || userId === 0 || ownerId === userId) return;
  throw new OutputError(`cannot write "${label}": it belongs to another user (id ${ownerId})`);
}
