import { ConfigError, type PlacedProblem, type Source } from "../config/problem.ts";
import { StoreError } from "../domain/store.ts";
import { ListenError } from "../domain/http_servers.ts";
import { PERMISSION_CLASSES } from "../domain/runtime_permissions.ts";
import { EXIT, type Invocation, UsageError } from "./command_definition.ts";
import { permissionFlag, type RequiredPermission } from "../permissions/required_permissions.ts";
import type { System } from "../domain/system.ts";
import { describeFileError } from "../shared/describe_error.ts";
import { printable, printableBlock, shellWord } from "../shared/text.ts";
import { hideInAddress, isCredentialName } from "../config/credentials.ts";
import { createColors } from "./terminal.ts";
import { textWidth } from "../shared/wrap.ts";
import { createRedactor, type Redact } from "../shared/redact.ts";

interface Failure {
  /** Whole lines for stderr, each with its line feed. */
  readonly text: string;
  readonly exitCode: number;
}

/** The one place that describes an error which ends a command, and chooses the exit code. */
export function describeFailure(
  error: unknown,
  { color, places }: { readonly color: boolean; readonly places?: TypedPlaces },
): Failure {
  const message = (text: string, hint: string | null): string => render(text, hint, places);
  if (error instanceof UsageError) return { text: message(error.message, error.hint), exitCode: EXIT.usage };
  if (error instanceof ConfigError) {
    const problems = error.source === null
      ? ""
      : renderProblems(error.source, error.problems, { color, severity: "error" });
    return { text: problems + message(error.message, error.hint), exitCode: EXIT.config };
  }
  if (error instanceof MissingPermissionsError) return describeMissingPermissions(error);
  const denied = error instanceof Deno.errors.NotCapable ? error : missingPermissionIn(error);
  if (denied !== null) return describeMissingPermission(denied);
  if (error instanceof StateHeldError) {
    return { text: message(error.message, error.hint), exitCode: EXIT.held };
  }
  const isKnown = error instanceof StoreError || error instanceof OutputError || error instanceof ListenError;
  if (!isKnown && !isFullDevice(error)) return describeBug(error);
  const text = isKnown ? error.message : `cannot write: ${error.message}`;
  return { text: message(text, null), exitCode: EXIT.input_output };
}

/** The system's codes for a device that cannot be written: full, a quota, a limit, broken. */
const FULL_DEVICE_CODES: readonly unknown[] = ["ENOSPC", "EDQUOT", "EFBIG", "EIO"];

function isFullDevice(error: unknown): error is Error {
  return error instanceof Error && "code" in error && FULL_DEVICE_CODES.includes(error.code);
}

export class OutputError extends Error {
  override readonly name = "OutputError";
}

/** Thrown before anything runs, when something is not granted without which nothing can run. */
export class MissingPermissionsError extends Error {
  override readonly name = "MissingPermissionsError";
  readonly missing: readonly RequiredPermission[];
  readonly hint: string;

  /** The message doesn't contain the permissions; they are printed as a list. */
  constructor(
    missing: readonly RequiredPermission[],
    { ownConfig }: Pick<System, "ownConfig">,
    { message = "missing permissions of the config", hint }: Partial<Record<"message" | "hint", string>> = {},
  ) {
    super(message);
    this.missing = missing;
    this.hint = hint ??
      (ownConfig === null
        ? "print all flags with: monitor permissions"
        : `this executable is locked to "${ownConfig}" at build time; rebuild it with: deno task compile --config`);
  }
}

function describeMissingPermissions({ message: text, missing, hint }: MissingPermissionsError): Failure {
  const lines = missing.map(({ permission, value, neededBy }) =>
    printable(`  ${permissionFlag(permission, [value])} (${neededBy})`)
  );
  return {
    text: `monitor: error: ${text}\n${lines.join("\n")}\nmonitor: hint: ${printable(hint)}\n`,
    exitCode: EXIT.permission,
  };
}

const BEFORE_FLAG = /, (?:run again with the|specify the required permissions) /;

function describeMissingPermission(error: Error): Failure {
  const [need = error.message, flag] = error.message.split(BEFORE_FLAG);
  const hint = flag === undefined ? null : `grant it with ${exactFlag(need, flag)}`;
  return { text: render(`missing permission: ${need}`, hint), exitCode: EXIT.permission };
}

/** The flag that the runtime names grants the whole class. */
function exactFlag(need: string, words: string): string {
  const flag = words.replace(/^during compilation using `?deno compile /, "").replace(/`? flag$|`$/, "");
  const value = /^Requires \w+ access to "([^"]+)"/.exec(need)?.[1];
  const permission = PERMISSION_CLASSES.find((permission) => flag === `--allow-${permission}`);
  return value === undefined || permission === undefined ? flag : permissionFlag(permission, [value]);
}

function describeBug(error: unknown): Failure {
  const text = error instanceof Error ? error.stack ?? error.message : String(error);
  const shown = printableBlock(hideKnownSecrets(text));
  return {
    text: `${render("bug in monitor", "report it with the lines below")}${shown}\n`,
    exitCode: EXIT.bug,
  };
}

/** `places` are for the commands in hints. */
function render(text: string, hint: string | null, places: TypedPlaces = {}): string {
  const shown = (line: string): string => printable(runnableHint(line, places));
  return `monitor: error: ${shown(text)}\n${hint === null ? "" : `monitor: hint: ${shown(hint)}\n`}`;
}

/**
 * Writes a new file.
 *
 * @throws {UsageError} If it exists, unless `--force` is given.
 * @throws {OutputError} If it can't be written.
 */
export async function writeNew(
  path: string,
  text: string,
  { files, overwrite }: Pick<System, "files"> & { readonly overwrite: boolean },
): Promise<void> {
  try {
    await files.write(path, text, { overwrite });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw writeError(error, path);
    throw new UsageError(`cannot write "${path}": the file exists`, "overwrite it with --force");
  }
}

/** Returns the error of a file that can't be written; a missing permission stays one. */
export function writeError(error: unknown, path: string, label = path): unknown {
  if (error instanceof Deno.errors.NotCapable || error instanceof OutputError) return error;
  return new OutputError(`cannot write "${label}": ${describeFileError(error, { path, access: "write" })}`);
}

/** The commands that read no config. A test compares them with the table of commands. */
const WITHOUT_CONFIG: readonly string[] = "demo init import state schema completions licenses".split(" ");
/** The commands that read a config and no state. */
const WITHOUT_STATE: readonly string[] = ["add", "discover", "explain", "notify", "rehearse", "validate"];
const COMMAND = /\bmonitor ([a-z]+)(?![a-z])(?! (?:-c|--config)\b)/g;
/** What stands before a command line in a hint; elsewhere `monitor` is the subject of a sentence. */
const BEFORE = /(?:(?:^|: |with |or |and |\()|run )$/;

/** Where this call has its config and its state, as typed. */
interface TypedPlaces {
  readonly config?: string | undefined;
  readonly state?: string | undefined;
}

/** Adds the `--config` and the `--state` of this call to the command lines in a hint, so that they can be run as printed. */
export function runnableHint(text: string, { config, state }: TypedPlaces): string {
  const ofConfig = config === undefined || config === "-" ? "" : ` -c ${shellWord(config)}`;
  // A URL may have a password in it.
  const isFile = state !== undefined && state !== "none" && !state.includes("://");
  const ofState = isFile ? ` --state ${shellWord(state)}` : "";
  return text.replace(COMMAND, (whole, name: string, index: number) => {
    if (WITHOUT_CONFIG.includes(name) || !BEFORE.test(text.slice(0, index))) return whole;
    return whole + ofConfig + (WITHOUT_STATE.includes(name) ? "" : ofState);
  });
}

/** The same for a command that has parsed its options. */
export function hintOf(invocation: Invocation, text: string): string {
  const [config, state] = [invocation.text("config"), invocation.text("state")];
  return runnableHint(text, { config, state });
}

/** The places in arguments that may be invalid. */
export function typedPlaces(args: readonly string[]): TypedPlaces {
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  return { config: valueIn(own, "--config", "-c"), state: valueIn(own, "--state") };
}

function valueIn(args: readonly string[], ...names: readonly string[]): string | undefined {
  for (const [index, word] of args.entries()) {
    if (names.includes(word)) return args[index + 1];
    const name = names.find((one) => word.startsWith(`${one}=`));
    if (name !== undefined) return word.slice(name.length + 1);
  }
  return undefined;
}

/** Thrown if another monitor has the lock of the state, or may have it because the lock was lost. */
export class StateHeldError extends Error {
  override readonly name = "StateHeldError";
  readonly hint: string;

  constructor(message: string, hint = "run monitor status, or add --state none") {
    super(message);
    this.hint = hint;
  }
}

/** Returns the runtime's error if the state can't be used for lack of a permission; `null` for other errors. */
export function missingPermissionIn(error: unknown): Error | null {
  return error instanceof StoreError && error.cause instanceof Deno.errors.NotCapable ? error.cause : null;
}

interface Style {
  readonly color: boolean;
  /** A warning is called one; an error goes without a word for it. */
  readonly severity: "error" | "warning";
}

/** More errors of one config are only counted. */
const SHOWN_MAX = 100;
const EXCERPT_WIDTH = 100;
/** Around a problem, so much text is searched for secrets. */
const MASKED_WIDTH = 8 * 1024;

/** A key with a text as value. The key is compared separately: in one pattern a long one would take minutes. */
const TEXT_KEY = /"([\w-]*)"\s*:\s*"((?:[^"\\\r\n]|\\.)*)/g;

/** The URL of a chat grants permission to post there. */
const SECRET_PATH = /^(https?:\/\/[^/?#]*[/?#])([^$]+)$/i;

/** Hides literal secrets of a config, sign by sign so that all else stays in its place; placeholders are none. */
function maskSecrets(text: string): string {
  return text.replace(TEXT_KEY, (whole: string, name: string, value: string) => {
    const isSecret = isCredentialName(name) && !/^\$\{(env|file):[^}]*\}$/.test(value);
    const address = name === "url" ? value.replace(SECRET_PATH, (_, host, path) => host + mask(path)) : value;
    const shown = isSecret ? mask(value) : address.includes("//") ? hideInAddress(address, mask) : address;
    return whole.slice(0, whole.length - value.length) + shown;
  });
}

function mask(text: string): string {
  return "*".repeat(text.length);
}

/** Prints each error with its place, its line, and a caret below it; one of an included file has its own source. */
export function renderProblems(source: Source, problems: readonly PlacedProblem[], style: Style): string {
  const shown = problems.slice(0, SHOWN_MAX).map((problem) => renderProblem(source, problem, style));
  const rest = problems.length - shown.length;
  return shown.join("") + (rest > 0 ? `… and ${rest} more\n` : "");
}

function renderProblem(config: Source, problem: PlacedProblem, { color, severity }: Style): string {
  const { source = config } = problem;
  const colors = createColors(color);
  const path = problem.path === "" ? "" : `${printable(problem.path)}: `;
  const kind = severity === "warning" ? `${colors.yellow("warning:")} ` : "";
  const place = colors.bold(`${printable(source.label)}:${problem.line}:${problem.column}:`);
  const { line, caretColumn } = excerpt(source.text, problem);
  const number = String(problem.line);
  const margin = " ".repeat(number.length);
  const lines = [
    `${place} ${kind}${path}${printable(problem.message)}`,
    `  ${colors.dim(`${number} |`)} ${line}`,
    `  ${colors.dim(`${margin} |`)} ${" ".repeat(caretColumn)}${colors.red("^")}`,
    ...(problem.hint === null ? [] : [`  ${margin}   ${printable(problem.hint)}`]),
  ];
  return `${lines.join("\n")}\n`;
}

/** Returns the line of a problem, truncated around it, and the column of the caret on a terminal. */
function excerpt(text: string, problem: PlacedProblem) {
  const start = problem.offset - (problem.column - 1);
  // A config on one line can have megabytes, so only the surroundings are searched.
  const from = Math.max(start, problem.offset - MASKED_WIDTH);
  const masked = maskSecrets(text.slice(from, problem.offset + MASKED_WIDTH));
  const position = problem.offset - from;
  const ahead = masked.slice(position, position + EXCERPT_WIDTH).split(/[\r\n]/)[0] ?? "";
  const behind = masked.slice(Math.max(0, position - EXCERPT_WIDTH), position).trimStart();
  const isWhole = start >= problem.offset - EXCERPT_WIDTH && behind.length + ahead.length <= EXCERPT_WIDTH;
  const before = isWhole ? behind : behind.slice(-EXCERPT_WIDTH / 2);
  const after = isWhole ? ahead : ahead.slice(0, EXCERPT_WIDTH - before.length);
  const left = (before.length < behind.length ? "…" : "") + printable(before.replaceAll("\t", " "));
  const right = printable(after.replaceAll("\t", " ")) + (after.length < ahead.length ? "…" : "");
  return { line: left + right, caretColumn: textWidth(left) };
}

/** Kept for the whole process: an unexpected error can come from anywhere, and the runtime's messages quote values. */
const known = new Set<string>();
let redact: Redact | null = null;

/** Registers values that must never be printed, whatever happens to the process. */
export function rememberSecrets(secrets: readonly string[]): void {
  for (const secret of secrets) known.add(secret);
  redact = null;
}

export function hideKnownSecrets(text: string): string {
  redact ??= createRedactor(known);
  return redact(text);
}
