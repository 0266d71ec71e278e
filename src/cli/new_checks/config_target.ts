import { locateConfig } from "../../config/locate.ts";
import { ConfigError } from "../../config/problem.ts";
import { pathFromHere } from "../../config/source.ts";
import type { System } from "../../domain/system.ts";
import {
  joinPermissions,
  missingPermissions,
  type RequiredPermission,
} from "../../permissions/required_permissions.ts";
import { permissionsOfReplacing } from "../../shared/temporary_path.ts";
import { optionValue, UsageError } from "../command_definition.ts";
import { MissingPermissionsError } from "../config_permissions.ts";
import { OutputError } from "../failure.ts";
import { writeError } from "../write_output.ts";
import { type CommandContext, type OpenConfig, openConfigAt } from "../open_config.ts";
import { EMPTY_CONFIG } from "../starter_config.ts";

export interface ConfigTarget {
  /** As messages name it. */
  readonly label: string;
  /** Absolute. */
  readonly path: string;
  /** `null`: there is none yet. */
  readonly config: OpenConfig | null;
  /** Without a byte-order mark; for a new config, its beginning. */
  readonly text: string;
}

/**
 * Finds and opens the config that checks are added to. If there is none, makes one at the path of `--config`, else in
 * the working directory.
 *
 * @throws {ConfigError} If it has errors.
 */
export async function openTarget({ invocation, system }: CommandContext): Promise<ConfigTarget> {
  const named = optionValue(invocation, "config");
  if (named === "-") throw new UsageError("--config is -, expected a file to add checks to");
  const location = await locateConfig(named, system).catch((error) => {
    if (!(error instanceof ConfigError)) throw error;
    return { path: "monitor.jsonc", named: true };
  });
  const path = pathFromHere(location.path, system);
  const target = { label: location.path, path };
  const isMissing = await system.files.stat(path).then(
    () => false,
    (error) => error instanceof Deno.errors.NotFound,
  );
  if (isMissing) return { ...target, config: null, text: EMPTY_CONFIG };
  const config = await openConfigAt(location, { invocation, system });
  return { ...target, config, text: config.source.text };
}

/**
 * Lists the permissions that writing a config requires.
 *
 * @throws {MissingPermissionsError} If some of them are not granted.
 */
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
    hint: "grant them, or print the checks with: --dry-run",
  });
}

const BYTE_ORDER_MARK = "\uFEFF";

/**
 * Writes the new text of a config, if nothing else changed it meanwhile.
 *
 * @throws {OutputError} If it cannot be written.
 */
export async function writeTarget(target: ConfigTarget, text: string, system: System): Promise<void> {
  const { path, label, config } = target;
  try {
    if (config === null) return await system.files.write(path, text, { overwrite: false });
    await refuseOtherOwner(target, system);
    await system.files.rewrite(path, (bytes) => {
      const stored = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
      const mark = stored.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
      if (stored === mark + target.text) return mark + text;
      throw new OutputError(`cannot write "${label}": it was changed meanwhile`);
    });
  } catch (error) {
    throw writeError(error, path, label);
  }
}

/** Only root can make a file that belongs to another user. */
async function refuseOtherOwner({ path, label }: ConfigTarget, { files, userId }: System): Promise<void> {
  const { ownerId } = await files.stat(path);
  if (ownerId === null || userId === null || userId === 0 || ownerId === userId) return;
  throw new OutputError(`cannot write "${label}": it belongs to another user (id ${ownerId})`);
}
