/** The permissions that a whole config needs: its checks, its text, its secrets and its state. */
import { type Invocation, option, type OptionSpec, UsageError } from "./command_definition.ts";
import { dirname, normalize } from "node:path";
import { namedInPlaceholders } from "../config/placeholders.ts";
import { absolutePath } from "../config/source.ts";
import type { Channel } from "../domain/channel.ts";
import type { Check } from "../domain/check.ts";
import {
  PERMISSION_CLASSES,
  type PermissionClass,
  permissionsOfUrl,
  type RequiredPermissions,
} from "../domain/runtime_permissions.ts";
import { COMPANIONS } from "../domain/stores.ts";
import type { System } from "../domain/system.ts";
import { permissionsOfReplacing } from "../shared/regular_file.ts";
import {
  joinPermissions,
  missingPermissions,
  permissionFlag,
  type PermissionList,
  type RequiredPermission,
  requiredPermissionsOf,
} from "../permissions/required_permissions.ts";
import { MissingPermissionsError } from "./failure.ts";
import type { CommandContext, OpenConfig } from "./open_config.ts";
import { locateState, type StateLocation } from "./open_state.ts";
import { describeExposure } from "../config/threshold_rules.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { Listen } from "../domain/generated/config.ts";
import { parseListenAddress } from "../shared/ip_address.ts";

interface CallOptions extends CommandContext {
  readonly checks: readonly Check[];
  /** Whether their channels are called. @default true */
  readonly notifies?: boolean;
  /** Named channels that are called in addition. @default none */
  readonly channels?: readonly Channel[];
  /** Whether the HTTP endpoint starts. @default true */
  readonly listens?: boolean;
  /** Absolute paths of files for the results. @default none */
  readonly outputs?: readonly string[];
}

export async function permissionsOfConfig(config: OpenConfig, call: CallOptions): Promise<PermissionList> {
  const { invocation, system, checks, notifies = true, channels = [], listens = true, outputs = [] } = call;
  const { heartbeat, reportTo } = config;
  const ofConfig = notifies ? [...config.summary?.notifications ?? [], ...config.channels.values()] : [];
  const requiredPermissions = await requiredPermissionsOf({
    ...{ checks, heartbeat, reportTo, notifies },
    channels: [...channels, ...ofConfig],
  }, system);
  // The missing part may be a host.
  const isOnNetwork = config.lacks.length > 0 ||
    requiredPermissions.some(({ permission }) => permission === "net");
  const place = await locateState(invocation, config, system);
  const named = invocation.text("config") ?? system.ownConfig ?? undefined;
  const listen = listens ? listenOf(invocation, config) : null;
  const { report, metrics, connectivity, opentelemetry, commands } = config;
  const vital = [
    need("the HTTP endpoint", listen && { net: [listen.address] }),
    need("the config", {
      read: configPaths(config),
      env: named === undefined ? ["MONITOR_CONFIG", "XDG_CONFIG_HOME", "HOME"] : [],
    }),
    need("the state", await permissionsOfState(place, system)),
    ...outputs.map((path) => need("--output", permissionsOfReplacing(path))),
    need("the HTML report", report && permissionsOfReplacing(report.path)),
    need("metrics", metrics && permissionsOfReplacing(metrics.path)),
  ];
  return joinPermissions([
    ...vital.map((one) => ({ ...one, isVital: true })),
    need("commands of the config", commands.size > 0 && { read: [...commands.values()], env: ["PATH"] }),
    need("placeholders of the config", permissionsOfSecrets(config)),
    need("connectivity", { net: connectivity ?? [] }),
    need("opentelemetry", opentelemetry && permissionsOfUrl(opentelemetry.target)),
    need("notifications", { sys: ["hostname"] }),
    need("ownership of files", { sys: ["uid"] }),
    need("color", { env: ["NO_COLOR", "TERM"] }),
    need("the proxy warning", isOnNetwork && { env: PROXY_VARIABLES }),
  ], requiredPermissions);
}

function need(neededBy: string, requiredPermissions: RequiredPermissions | null | false) {
  return { neededBy, requiredPermissions: requiredPermissions || {} };
}

/** If these are set, the runtime connects to their hosts, whatever hosts are granted. */
export const PROXY_VARIABLES: readonly string[] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
  .flatMap((name) => [name, name.toLowerCase()]);

/**
 * Drops the classes of which a config needs nothing, and returns the permissions that it needs and lacks: a check that
 * needs one is `unknown`. While the machine lacks something that the config names, its permissions are unknown, so no
 * class is dropped that a reload might use. Permissions for the environment, and for the system at the start, are
 * optional: their values were read before.
 *
 * @throws {MissingPermissionsError} If nothing can run without a missing permission.
 */
export function dropOtherPermissions(
  requiredPermissions: PermissionList,
  { system, config }: { readonly system: System; readonly config: Pick<OpenConfig, "lacks"> },
): PermissionList {
  const missing = requireGranted(requiredPermissions, system);
  for (const { permission, value } of requiredPermissions) {
    if (permission === "env") system.environment(value);
  }
  const required = requiredPermissions.filter((need) => !isReadAtStart(need));
  const used = new Set(required.map(({ permission }) => permission));
  const isComplete = config.lacks.length === 0;
  // A redirect may lead to TLS, whatever the config has.
  if (used.has("net") || !isComplete) system.trustMachine();
  for (const permission of PERMISSION_CLASSES) {
    const mayBeUsed = used.has(permission) || !isComplete && !READ_AT_START.has(permission);
    if (!mayBeUsed) system.permissions.drop(permission);
  }
  return missing;
}

/**
 * Returns the permissions that a config needs and lacks, without optional ones.
 *
 * @throws {MissingPermissionsError} If nothing can run without one of them, or it was dropped and needs a restart.
 */
export function requireGranted(all: PermissionList, system: System): PermissionList {
  const required = all.filter((need) => !isReadAtStart(need));
  const missing = missingPermissions(required, system.permissions);
  const vital = missing.filter(({ isVital = false, permission }) =>
    isVital || system.permissions.isDropped(permission)
  );
  if (vital.length > 0) throw new MissingPermissionsError(vital, system);
  return missing;
}

/** Puts into words that something is not granted, where that is no reason to end. */
export function describeMissing({ permission, value, neededBy }: RequiredPermission): string {
  return `missing permission: ${permissionFlag(permission, [value])} (${neededBy})`;
}

const READ_AT_START: ReadonlySet<PermissionClass> = new Set(["env", "sys"]);

/** Facts of the system that are read only at the start; checks read the others at each run. */
const START_FACTS: ReadonlySet<string> = new Set(["hostname", "uid"]);

function isReadAtStart({ permission, value }: RequiredPermission): boolean {
  return READ_AT_START.has(permission) && (permission !== "sys" || START_FACTS.has(value));
}

/** The files of a config and the directories that its patterns search, without the files of such a directory. */
function configPaths({ sources, listedDirectories }: OpenConfig): readonly string[] {
  // The runtime compares paths without looking at links, so ".." may be left out as a text.
  const directories = listedDirectories.map((directory) => normalize(directory));
  const isCovered = (path: string) => directories.some((directory) => path.startsWith(`${directory}/`));
  const paths = sources.flatMap(({ path }) => path === null ? [] : [normalize(path)]);
  return [...paths, ...directories].filter((path) => !isCovered(path));
}

function permissionsOfSecrets({ files }: OpenConfig): RequiredPermissions {
  const named = files.map(({ written, source }) => ({ ...namedInPlaceholders(written), source }));
  return {
    env: named.flatMap(({ variables }) => variables),
    read: named.flatMap(({ files, source }) => files.map((file) => absolutePath(file, source.directory))),
  };
}

/**
 * The directory of a state without a configured path is the monitor's own. For a configured path only the files
 * themselves are needed, unless the state is damaged and has to be quarantined under another name.
 */
async function permissionsOfState({ path, named, postgres }: StateLocation, system: System) {
  if (path === null) return {};
  if (postgres !== undefined) {
    return (await import("../config/open_postgres.ts")).permissionsOfPostgres(postgres, system);
  }
  if (!named) return { read: [dirname(path)], write: [dirname(path)], env: STATE_VARIABLES };
  const paths = ["", ...COMPANIONS, ".lock"].map((ending) => path + ending);
  // A missing directory is created, which requires its own permission.
  return { read: paths, write: await isMissing(dirname(path), system) ? [...paths, dirname(path)] : paths };
}

export async function isMissing(path: string, { files }: Pick<System, "files">): Promise<boolean> {
  return await files.stat(path).then(() => false, (error) => error instanceof Deno.errors.NotFound);
}

const STATE_VARIABLES: readonly string[] = ["STATE_DIRECTORY", "XDG_STATE_HOME", "HOME"];

export const LISTEN_OPTION: OptionSpec = option(
  "--listen ADDRESS",
  'address of the HTTP endpoint, such as 127.0.0.1:9797 (default: "listen" of the config, else none)',
);

const INTERVAL_MS = 10_000;

/**
 * Returns the HTTP endpoint of a command line and a config; `null`: none.
 *
 * @throws {UsageError} If the address is invalid, or others could connect to it without a token.
 */
export function listenOf(
  invocation: Invocation,
  { listen, written }: Pick<LoadedConfig, "listen" | "written">,
): Listen | null {
  const address = invocation.text("listen");
  if (address === undefined) return listen;
  // The missing part may be the token.
  if (listen === null && "listen" in written) return null;
  if (parseListenAddress(address) === null) {
    const example = "an IP address with a port, such as 127.0.0.1:9797";
    throw new UsageError(`--listen is "${address}", expected ${example}`);
  }
  const settings = { intervalMs: INTERVAL_MS, actions: false, ...listen, address };
  const exposure = describeExposure(settings);
  if (exposure !== null) {
    throw new UsageError(`--listen: ${exposure}`, 'set "listen" with a "token" in the config');
  }
  return settings;
}
