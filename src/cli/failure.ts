import { ConfigError } from "../config/problem.ts";
import { StoreError } from "../domain/store.ts";
import { ListenError } from "../domain/http_servers.ts";
import { PERMISSION_CLASSES } from "../domain/runtime_permissions.ts";
import { UsageError } from "./command_definition.ts";
import { renderProblems } from "./diagnostics.ts";
import { MissingPermissionsError } from "./config_permissions.ts";
import { EXIT } from "./exit_code.ts";
import { permissionFlag } from "../permissions/permission_flags.ts";
import { runnableHint, type TypedPlaces } from "./runnable_hint.ts";
import { hideKnownSecrets } from "./known_secrets.ts";
import { printable, printableBlock } from "../shared/printable.ts";
import { missingPermissionIn, StateHeldError } from "./state_errors.ts";

interface Failure {
  /** Whole lines for stderr, each with its line feed. */
  readonly text: string;
  /** One of {@linkcode EXIT}. */
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

function describeMissingPermissions({ message: text, missing, hint }: MissingPermissionsError): Failure {
  const lines = missing.map(({ permission, value, neededBy }) =>
    printable(`  ${permissionFlag(permission, [value])} (${neededBy})`)
  );
  return {
    text: `monitor: error: ${text}\n${lines.join("\n")}\nmonitor: hint: ${printable(hint)}\n`,
    exitCode: EXIT.permission,
  };
}

function describeMissingPermission(error: Error): Failure {
  const [need = error.message, flag] = error.message.split(
    /, (?:run again with the|specify the required permissions) /,
  );
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
