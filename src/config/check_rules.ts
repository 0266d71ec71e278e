import type { Files, System } from "../domain/system.ts";
import { findExpressionProblems } from "./expressions.ts";
import { findFormatProblem, type FormattedConfig, timeZoneOf, visitFormattedValues } from "./formats.ts";
import type { ConfigFile } from "./config_file.ts";
import { findUseProblems } from "./channel_uses.ts";
import { findChannelNameProblems } from "./named_references.ts";
import { isPlaceholder } from "./placeholders.ts";
import { joinProblems, type Problem, PROBLEMS_MAX, quoteValue } from "./problem.ts";
import {
  type CreateCronTimes,
  findCronProblems,
  findDoubleNames,
  findScheduleProblems,
  hasWindows,
} from "./schedules.ts";
import type { ReadWindow } from "./resolve.ts";
import { type FormattedValue, isObject, type SchemaReader } from "./schema_view.ts";
import { createObject, type JsonObject, type JsonValue } from "./syntax.ts";
import { findStructureErrors, type JudgingSchema, type SchemaValidator } from "./schemas.ts";
import { warnOfExposure, warnOfFile, warnOfPaths, warnOfVariable } from "./warnings.ts";
import type { StructureOptions } from "./explain_structure.ts";
import { describeFileError, systemCodeOf } from "../shared/describe_error.ts";
import { absolutePath } from "./source.ts";
import { findCommand, type FoundCommand, isCommand } from "../shared/find_command.ts";
import { didYouMean } from "./nearest.ts";

/** A file whose value has no placeholders and is completed to a config; it means nothing where there are problems. */
export interface ValidatedFile extends Omit<ConfigFile, "value" | "written" | "problems"> {
  readonly value: JsonObject;
  readonly written: JsonObject;
  readonly problems: readonly Problem[];
  readonly lacks: readonly Problem[];
  readonly commands: ReadonlyMap<string, string>;
  /** Reads cron expressions; `null`: the file has none. */
  readonly createCronTimes: CreateCronTimes | null;
  /** Reads windows; `null`: the file has none. */
  readonly readWindow: ReadWindow | null;
}

interface ValidateOptions {
  readonly schema: JudgingSchema;
  readonly system: System;
  readonly withoutSecrets: boolean;
  readonly config: ConfigFile;
  /** The names of all channels of the config; `null`: unknown, since some file cannot be read. */
  readonly channelNames: ReadonlySet<string> | null;
}

/** Validates a file against the schema: the config itself as it is, an included file as a part of one. */
export async function validateFile(file: ConfigFile, options: ValidateOptions): Promise<ValidatedFile> {
  const { schema, system, withoutSecrets, config, channelNames } = options;
  const { source, isUnresolved } = file;
  const reader = schema.wider ?? schema.reader;
  const { written, value, problems: includedProblems, warnings: includedWarnings } = file === config
    ? { ...file, problems: [], warnings: [] }
    : completeIncludedFile(file, { reader, configLabel: config.source.label });
  const located = (problems: readonly Problem[]): readonly Problem[] =>
    problems.map((problem) => ({ ...problem, source }));
  const structureProblems = written === undefined || value === undefined
    ? []
    : await findStructureProblems(value, { ...schema, written, isUnresolved });
  if (!isObject(written) || !isObject(value)) {
    const nothing = { value: createObject(), written: createObject(), lacks: [], commands: new Map() };
    const problems = joinProblems([...file.problems, structureProblems]).filter((problem) =>
      !isUsableWithout(problem)
    );
    return { ...file, ...nothing, problems: located(problems), createCronTimes: null, readWindow: null };
  }
  const values = examineValues({ value, written, reader }, file);
  const { directory } = source;
  const ofMachine = withoutSecrets ? () => [] : values.ofFormats;
  const found = await findCommands(ofMachine("command"), directory, system);
  const crons = values.ofFormats("cron");
  const createCronTimes = crons.length === 0 ? null : (await import("./cron_times.ts")).createCronReader();
  const cronProblems = createCronTimes === null ? [] : findCronProblems(crons, createCronTimes);
  const expressionProblems = await findExpressionProblems(values.ofFormats("pattern", "json_path"));
  // Only a config with windows requires their rules, and their parsers.
  const rules = hasWindows(written) ? await import("./window_rules.ts") : null;
  const windows = rules?.validateWindows({ value, written, isUnresolved }, {
    timeZone: timeZoneOf(config.value, system),
    nowMs: system.clock.wallMs(),
    createCronTimes,
  }) ?? { problems: [], warnings: [] };
  // A profile has errors of its own for these.
  const isOwnSchema = schema.wider === null;
  const all = joinProblems([
    ...file.problems,
    includedProblems,
    structureProblems,
    [...values.problems, ...found.problems, ...cronProblems, ...expressionProblems],
    isOwnSchema ? [...findDoubleNames(written, reader), ...findScheduleProblems(written)] : [],
    isOwnSchema ? windows.problems : [],
    // The error of an unknown key may name the missing one.
    (isOwnSchema ? findUseProblems(written) : []).filter(({ path }) =>
      !structureProblems.some((problem) => path.every((segment, index) => problem.path[index] === segment))
    ),
    channelNames === null
      ? []
      : findChannelNameProblems(values.ofFormats("channel_name"), { known: channelNames, value, reader }),
  ]);
  return {
    ...file,
    value,
    written,
    problems: located(all.filter((problem) => !isUsableWithout(problem))),
    lacks: located(all.filter(isUsableWithout)),
    warnings: located([
      ...warnOfFile(source),
      ...file.warnings,
      ...includedWarnings,
      ...values.warnings,
      ...windows.warnings,
      ...await warnOfInputFiles(ofMachine("input_file"), directory, system.files),
      ...await warnOfPaths(values.ofFormats(...PATH_FORMATS), {
        ...{ directory, commands: found.commands, files: withoutSecrets ? null : system.files },
      }),
    ]),
    commands: found.commands,
    createCronTimes,
    readWindow: rules?.readWindow ?? null,
  };
}

function examineValues(config: FormattedConfig, { source, isUnresolved }: ConfigFile) {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const kept: FormattedValue[] = [];
  visitFormattedValues(config, (item) => {
    const variable = warnOfVariable(item);
    const warning = variable ?? warnOfExposure(item, source);
    if (warning !== null) warnings.push(warning);
    if (isUnresolved(item.path) && !KNOWN_FORMATS.includes(item.format)) return;
    // Values of the machine are never skipped: they would be used.
    const isLack = isPlaceholder(item.written) && item.at !== "name" && !KNOWN_FORMATS.includes(item.format);
    const problem = isLack || problems.length < PROBLEMS_MAX ? findFormatProblem(item) : null;
    // Of a config with errors, no warning is printed.
    const hint = variable?.hint ?? problem?.hint;
    if (problem !== null) problems.push({ ...problem, hint, isLack });
    if (KEPT_FORMATS.has(item.format)) kept.push(item);
  });
  return {
    problems,
    warnings,
    /** The values of some formats that have rules of their own, in the order of the file. */
    ofFormats: (...formats: readonly string[]): readonly FormattedValue[] =>
      kept.filter(({ format }) => formats.includes(format)),
  };
}

/** Formats that are validated even if a placeholder has no value: these accept no placeholder. */
const KNOWN_FORMATS: readonly string[] = ["include", "tag", "channel_name"];

const PATH_FORMATS: readonly string[] = ["path", "input_file", "command"];

/** Formats with rules that need more than the value. */
const KEPT_FORMATS = new Set([...PATH_FORMATS, "cron", "channel_name", "pattern", "json_path"]);

/** Returns whether the rest of the config can be used all the same: not without a kind, or a place for the state. */
function isUsableWithout({ isLack = false, path }: Problem): boolean {
  const isOfEntry = path.length === 3 && (path[0] === "checks" || path[0] === "channels");
  const isKind = path.at(-1) === "kind" && (isOfEntry || path.at(-3) === "notifications");
  return isLack && !isKind && path[0] !== "state";
}

async function findStructureProblems(
  value: JsonValue,
  { validator, ...options }: StructureOptions & { readonly validator: SchemaValidator },
): Promise<readonly Problem[]> {
  const errors = await findStructureErrors(value, validator, 10 * PROBLEMS_MAX);
  if (errors.length === 0) return [];
  const { explainErrors } = await import("./explain_structure.ts");
  return explainErrors(errors, value, options);
}

/** Warns of files that checks read and this machine lacks; one that appears later is used at once. */
async function warnOfInputFiles(
  values: readonly FormattedValue[],
  directory: string,
  files: Pick<Files, "stat">,
): Promise<readonly Problem[]> {
  return (await Array.fromAsync(values, async ({ path, value, written }) => {
    const reason = await missingReason(absolutePath(String(value), directory), files);
    const message = `the file ${quoteValue(written)} cannot be read: ${reason}`;
    return reason === null ? [] : [{ path, message }];
  })).flat();
}

async function missingReason(path: string, files: Pick<Files, "stat">): Promise<string | null> {
  try {
    return (await files.stat(path)).kind === "file" ? null : "it is not a file";
  } catch (error) {
    // Any other failure may be transient, and the check reports it.
    return ["ENOENT", "EACCES"].includes(systemCodeOf(error)) ? describeFileError(error, { path }) : null;
  }
}

interface FoundCommands {
  readonly commands: ReadonlyMap<string, string>;
  /** One for each position in the config that names a missing command. */
  readonly problems: readonly Problem[];
}

/** Looks up in `PATH` every command that the config names without a slash, each name once. */
export async function findCommands(
  values: readonly FormattedValue[],
  directory: string,
  system: Pick<System, "files" | "environment" | "mayReadEnvironment" | "platform">,
): Promise<FoundCommands> {
  const commands = new Map<string, string>();
  const missing = new Map<string, Pick<FoundCommand, "denied"> & { readonly isAlongside: boolean }>();
  const problems: Problem[] = [];
  for (const { path, value, written } of values) {
    const name = String(value);
    if (!isLookedUp(name, system.platform) || commands.has(name)) continue;
    let lack = missing.get(name);
    if (lack === undefined) {
      const { path: command, denied } = system.mayReadEnvironment("PATH")
        ? await findCommand(name, system)
        : { path: null, denied: { permission: "env", value: "PATH" } as const };
      if (command !== null) {
        commands.set(name, command);
        continue;
      }
      const isAlongside = denied === null &&
        await isCommand(`${directory}/${name}`, system.files).catch(() => false);
      missing.set(name, lack = { denied, isAlongside });
    }
    const fault = lack.denied === null
      ? "is not in PATH, expected its full path or one in PATH"
      : `cannot be looked up: grant --allow-${lack.denied.permission}=${lack.denied.value}`;
    const here = `write ${quoteValue(`./${written}`)} for the one in the directory of the config`;
    problems.push({
      path,
      message: `the command ${quoteValue(written)} ${fault}`,
      isLack: true,
      ...(lack.denied !== null && { denied: lack.denied.permission }),
      hint: lack.isAlongside ? here : undefined,
    });
  }
  return { commands, problems };
}

function isLookedUp(name: string, platform: System["platform"]): boolean {
  return name !== "" && !name.includes("\0") && !name.includes("/") &&
    !(platform === "windows" && name.includes("\\"));
}

const INCLUDED_KEYS: readonly string[] = ["$schema", "include", "defaults", "channels", "checks"];

/** Completes an included file to a config; settings of the whole config are rejected. */
function completeIncludedFile(
  { value, written }: ConfigFile,
  { reader, configLabel }: { readonly reader: SchemaReader; readonly configLabel: string },
) {
  if (!isObject(value) || !isObject(written)) return { value, written, problems: [], warnings: [] };
  const known = reader.view(reader.root, value).keys;
  const expected = `expected one of ${INCLUDED_KEYS.join(", ")} in an included file`;
  const problems = Object.keys(written).filter((name) => !INCLUDED_KEYS.includes(name)).map(
    (name): Problem => {
      const at = { path: [name], at: "name" } as const;
      if (known.has(name)) {
        const message = `applies to the whole config, ${expected}`;
        return { ...at, message, hint: `put it into ${configLabel}` };
      }
      const hint = didYouMean(name, INCLUDED_KEYS.filter((key) => !(key in written)));
      return { ...at, message: `unknown key ${quoteValue(name)}, ${expected}`, hint };
    },
  );
  const isEmpty = problems.length === 0 && !["checks", "channels", "include"].some((key) => key in written);
  const message = "has no checks and no channels, and includes nothing";
  const warnings = isEmpty ? [{ path: [], message }] : [];
  return { value: complete(value), written: complete(written), problems, warnings };
}

function complete(includedFile: JsonObject): JsonObject {
  const config = createObject();
  config["defaults"] = createObject();
  for (const name of INCLUDED_KEYS) {
    const value = includedFile[name];
    if (value !== undefined) config[name] = value;
  }
  return config;
}
