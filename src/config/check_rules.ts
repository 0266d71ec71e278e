import type { System } from "../domain/system.ts";
import { findExpressionProblems } from "./expressions.ts";
import { findFormatProblem, type FormattedConfig, visitFormattedValues } from "./formats.ts";
import type { FormattedValue } from "./formatted_value.ts";
import { completeIncludedFile } from "./included_file.ts";
import { warnOfInputFiles } from "./input_files.ts";
import type { ConfigFile } from "./config_file.ts";
import { findUseProblems } from "./channel_uses.ts";
import { findChannelNameProblems } from "./named_channels.ts";
import { isPlaceholder } from "./placeholders.ts";
import { type ConfigPath, joinProblems, type Problem, PROBLEMS_MAX } from "./problem.ts";
import { findCommands, type FoundCommands } from "./check_commands.ts";
import {
  type CreateCronTimes,
  findCronProblems,
  findDoubleNames,
  findScheduleProblems,
  hasWindows,
} from "./schedules.ts";
import type { ReadWindow } from "./resolve.ts";
import { isObject, type SchemaReader } from "./schema_view.ts";
import { createObject, type JsonObject } from "./syntax.ts";
import type { SchemaValidator } from "./structure_errors.ts";
import { findStructureProblems } from "./validate_schema.ts";
import { warnOfExposure, warnOfFile, warnOfPaths, warnOfVariable } from "./warnings.ts";

export interface ValidatedFile {
  readonly file: ConfigFile;
  readonly problems: readonly Problem[];
  readonly lacks: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Its value without placeholders, completed to a config; means nothing where there are problems. */
  readonly value: JsonObject;
  readonly written: JsonObject;
  /** Absolute paths by the names that the file uses. */
  readonly commands: ReadonlyMap<string, string>;
  /** Reads cron expressions; `null`: the file has none. */
  readonly createCronTimes: CreateCronTimes | null;
  /** Reads windows; `null`: the file has none. */
  readonly readWindow: ReadWindow | null;
}

export interface JudgingSchema {
  readonly reader: SchemaReader;
  readonly validator: SchemaValidator;
  /** The default schema; `null` when it is the one itself. */
  readonly wider: SchemaReader | null;
  readonly shapeName: string;
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
  const isIncluded = file !== config;
  const reader = schema.wider ?? schema.reader;
  const { written, value, problems: includedProblems, warnings: includedWarnings } = isIncluded
    ? completeIncludedFile(file, { reader, configLabel: config.source.label })
    : { ...file, problems: [], warnings: [] };
  const located = (problems: readonly Problem[]): readonly Problem[] =>
    problems.map((problem) => ({ ...problem, source }));
  if (written === undefined || value === undefined) {
    return { ...emptyFile(file), problems: located(file.problems.flat()) };
  }
  const structureProblems = await findStructureProblems(value, { ...schema, written, isUnresolved });
  const values = examineValues({ value, written, reader }, file);
  const found = withoutSecrets
    ? NO_COMMANDS
    : await findCommands(values.ofFormats("command"), source.directory, system);
  const cronExpressions = values.ofFormats("cron");
  const createCronTimes = cronExpressions.length === 0
    ? null
    : (await import("./cron_times.ts")).createCronReader();
  const cronProblems = createCronTimes === null ? [] : findCronProblems(cronExpressions, createCronTimes);
  const expressionProblems = await findExpressionProblems(values.ofFormats("pattern", "json_path"));
  const settingProblems = schema.wider === null && isObject(written)
    ? [...findDoubleNames(written, reader), ...findScheduleProblems(written)]
    : [];
  const hasOwnWindows = isObject(written) && isObject(value) && hasWindows(written);
  const windows = hasOwnWindows
    ? await validateWindowsOf({ value, written, isUnresolved }, { system, createCronTimes })
    : NO_WINDOWS;
  const useProblems = schema.wider === null && isObject(written) ? findUseProblems(written) : [];
  const all = joinProblems([
    ...file.problems,
    includedProblems,
    structureProblems,
    [...values.problems, ...found.problems, ...cronProblems, ...expressionProblems],
    settingProblems,
    schema.wider === null ? windows.problems : [],
    // The error of an unknown key may name the missing one.
    useProblems.filter(({ path }) => !structureProblems.some((problem) => isBelow(problem.path, path))),
    channelNames === null
      ? []
      : findChannelNameProblems(values.ofFormats("channel_name"), { known: channelNames, value, reader }),
  ]);
  return {
    file,
    problems: located(all.filter((problem) => !isUsableWithout(problem))),
    lacks: located(all.filter(isUsableWithout)),
    warnings: located([
      ...warnOfFile(source),
      ...file.warnings,
      ...includedWarnings,
      ...values.warnings,
      ...windows.warnings,
      ...withoutSecrets
        ? []
        : await warnOfInputFiles(values.ofFormats("input_file"), source.directory, system.files),
      ...await warnOfPaths(values.ofFormats(...PATH_FORMATS), {
        directory: source.directory,
        files: withoutSecrets ? null : system.files,
        commands: found.commands,
      }),
    ]),
    value: isObject(value) ? value : createObject(),
    written: isObject(written) ? written : createObject(),
    commands: found.commands,
    createCronTimes,
    readWindow: windows.readWindow,
  };
}

/** Loads the rules of windows, and their parsers: only a config with windows requires both. */
async function validateWindowsOf(
  file: Parameters<typeof import("./window_rules.ts").validateWindows>[0],
  { system, createCronTimes }: { readonly system: System; readonly createCronTimes: CreateCronTimes | null },
): Promise<ValidatedWindows> {
  const [{ validateWindows }, { readWindow }] = await Promise.all([
    import("./window_rules.ts"),
    import("./read_window.ts"),
  ]);
  const options = { timeZone: system.timeZone(), nowMs: system.clock.wallMs(), createCronTimes };
  return { ...validateWindows(file, options), readWindow };
}

interface ValidatedWindows extends Pick<ValidatedFile, "problems" | "warnings"> {
  readonly readWindow: ReadWindow | null;
}

const NO_WINDOWS: ValidatedWindows = { problems: [], warnings: [], readWindow: null };

function isBelow(path: ConfigPath, top: ConfigPath): boolean {
  return path.length >= top.length && top.every((segment, index) => path[index] === segment);
}

/** A file whose syntax is broken. */
function emptyFile(file: ConfigFile): ValidatedFile {
  return {
    file,
    problems: [],
    lacks: [],
    warnings: [],
    value: createObject(),
    written: createObject(),
    commands: new Map(),
    createCronTimes: null,
    readWindow: null,
  };
}

interface ExaminedValues {
  /** A value that doesn't match its format. */
  readonly problems: readonly Problem[];
  /** Warnings of secrets that others may see, and of variables that nothing expands. */
  readonly warnings: readonly Problem[];
  /** Returns the values of some formats that have rules of their own, in the order of the file. */
  ofFormats(...formats: readonly string[]): readonly FormattedValue[];
}

function examineValues(config: FormattedConfig, { source, isUnresolved }: ConfigFile): ExaminedValues {
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
    if (problem !== null) {
      problems.push({ ...problem, ...hint !== undefined && { hint }, ...(isLack && { isLack }) });
    }
    if (KEPT_FORMATS.has(item.format)) kept.push(item);
  });
  return {
    problems,
    warnings,
    ofFormats: (...formats) => kept.filter(({ format }) => formats.includes(format)),
  };
}

/** Formats that are validated even if a placeholder has no value: these accept no placeholder. */
const KNOWN_FORMATS: readonly string[] = ["include", "tag", "channel_name"];

const PATH_FORMATS: readonly string[] = ["path", "input_file", "command"];

/** Formats with rules that need more than the value. */
const KEPT_FORMATS = new Set([...PATH_FORMATS, "cron", "channel_name", "pattern", "json_path"]);

/** Returns whether the rest of the config can be used all the same: not without a kind, or a place for the state. */
function isUsableWithout({ isLack = false, path }: Problem): boolean {
  const isKind = path.at(-1) === "kind" &&
    (path.length === 3 && (path[0] === "checks" || path[0] === "channels") ||
      path.at(-3) === "notifications");
  return isLack && !isKind && path[0] !== "state";
}

const NO_COMMANDS: FoundCommands = { commands: new Map(), problems: [] };
