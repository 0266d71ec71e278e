/** The required permissions of checks, channels and the heartbeat, and which of them are granted. */
import { entriesOf } from "../checks/registry.ts";
import { permissionsOfAction } from "../engine/run_action.ts";
import type { Channel } from "../domain/channel.ts";
import type { Check } from "../domain/check.ts";
import type { Heartbeat, ReportTo } from "../domain/generated/config.ts";
import {
  NET_ALL,
  PERMISSION_CLASSES,
  type PermissionClass,
  permissionsOfUrl,
  type RequiredPermissions,
} from "../domain/runtime_permissions.ts";
import type { Permissions, System } from "../domain/system.ts";

export interface RequiredPermission {
  readonly permission: PermissionClass;
  /** The value within the class: a path, a host with its port, a name. */
  readonly value: string;
  /** The first that requires it, such as `check "web"`. */
  readonly neededBy: string;
  /** Whether nothing can run without it; otherwise only the parts that require it cannot. @default false */
  readonly isVital?: boolean;
  readonly caution?: string;
  /** Whether it is valid for this machine only. @default false */
  readonly isOfMachine?: boolean;
}

interface Requirement {
  readonly neededBy: string;
  readonly requiredPermissions: RequiredPermissions;
}

interface PermittedConfig {
  readonly checks: readonly Check[];
  /** `null`: none. */
  readonly heartbeat: Heartbeat | null;
  /** Where results are reported. @default nowhere */
  readonly reportTo?: ReportTo | null;
  readonly notifies: boolean;
  /** Named channels that are called in addition. @default none */
  readonly channels?: readonly Channel[];
}

/** Each once, in the config's order. A check or a channel that lacks something does nothing, so it needs none. */
export async function requiredPermissionsOf(
  config: PermittedConfig,
  system: System,
): Promise<readonly RequiredPermission[]> {
  const parts: Requirement[] = [];
  const channels = new Set<string>();
  const entryOf = await entriesOf(config.checks);
  for (const check of config.checks) {
    if (check.lack === undefined) {
      parts.push({
        neededBy: `check "${check.name}"`,
        requiredPermissions: await entryOf(check).requiredPermissions(check, system),
      });
    }
    if (config.notifies && check.action !== undefined) {
      parts.push({
        neededBy: `action of check "${check.name}"`,
        requiredPermissions: permissionsOfAction(check.action),
      });
    }
    for (const channel of config.notifies ? check.notifications : []) {
      if (channel.lack !== undefined || channels.has(channel.key)) continue;
      channels.add(channel.key);
      parts.push(await partOfChannel(channel, `${channel.kind} of check "${check.name}"`, system));
    }
  }
  for (const channel of config.channels ?? []) {
    if (channel.lack === undefined) parts.push(await partOfChannel(channel, channel.kind, system));
  }
  if (config.heartbeat !== null) {
    parts.push({ neededBy: "heartbeat", requiredPermissions: permissionsOfHeartbeat(config.heartbeat) });
  }
  if ((config.reportTo ?? null) !== null) {
    parts.push({ neededBy: "reports", requiredPermissions: permissionsOfUrl(config.reportTo?.target ?? "") });
  }
  const { killPath } = system.permissions;
  const starter = parts.find(({ requiredPermissions }) => (requiredPermissions.run?.length ?? 0) > 0);
  if (starter !== undefined && killPath !== null) {
    const neededBy = `ending what ${starter.neededBy} starts`;
    parts.push({ neededBy, requiredPermissions: { run: [killPath] } });
  }
  return joinPermissions(parts);
}

export function joinPermissions(parts: readonly Requirement[]): readonly RequiredPermission[] {
  const found = new Map<string, RequiredPermission>();
  for (const { neededBy, requiredPermissions } of parts) {
    for (const permission of PERMISSION_CLASSES) {
      for (const value of requiredPermissions[permission] ?? []) {
        const key = `${permission} ${value}`;
        if (found.has(key)) continue;
        const details = permission === "net" ? aboutNet(requiredPermissions) : {};
        found.set(key, { permission, value, neededBy, ...details });
      }
    }
  }
  return [...found.values()];
}

function aboutNet(
  { netCaution, isOfMachine }: RequiredPermissions,
): Pick<RequiredPermission, "caution" | "isOfMachine"> {
  return {
    ...netCaution !== undefined && { caution: netCaution },
    ...isOfMachine !== undefined && { isOfMachine },
  };
}

export function missingPermissions(
  requiredPermissions: readonly RequiredPermission[],
  permissions: Permissions,
): readonly RequiredPermission[] {
  const whole = new Set(PERMISSION_CLASSES.filter((permission) => permissions.isGranted(permission)));
  return requiredPermissions.filter(({ permission, value }) =>
    !whole.has(permission) && (value === NET_ALL || !permissions.isGranted(permission, value))
  );
}

async function partOfChannel(channel: Channel, inlineName: string, system: System): Promise<Requirement> {
  const { channelEntryOf } = await import("../channels/registry.ts");
  return {
    neededBy: channel.name === undefined ? inlineName : `channel "${channel.name}"`,
    requiredPermissions: await channelEntryOf(channel).requiredPermissions(channel, system),
  };
}

function permissionsOfHeartbeat({ path, target }: Heartbeat): RequiredPermissions {
  return {
    ...(path !== undefined && { write: [path] }),
    ...(target !== undefined && permissionsOfUrl(target)),
  };
}

/** The required values of each class, sorted, without duplicates. */
export type PermissionsByClass = Readonly<Record<PermissionClass, readonly string[]>>;

export function groupPermissions(requiredPermissions: readonly RequiredPermission[]): PermissionsByClass {
  const groups = Map.groupBy(requiredPermissions, ({ permission }) => permission);
  const valuesOf = (permission: PermissionClass): readonly string[] =>
    [...new Set(groups.get(permission)?.map(({ value }) => value))].sort();
  return Object.fromEntries(
    PERMISSION_CLASSES.map((permission) => [permission, valuesOf(permission)]),
  ) as PermissionsByClass;
}

/** The runtime's flags for needs, in a fixed order; not quoted for any shell. */
export function permissionFlags(groups: PermissionsByClass): readonly string[] {
  return PERMISSION_CLASSES.flatMap((permission) =>
    groups[permission].length === 0 ? [] : [permissionFlag(permission, groups[permission])]
  );
}

/** Returns one flag. In a value, the runtime reads a doubled comma as a comma. */
export function permissionFlag(permission: PermissionClass, values: readonly string[]): string {
  if (values.includes(NET_ALL)) return `--allow-${permission}`;
  return `--allow-${permission}=${values.map((value) => value.replaceAll(",", ",,")).join(",")}`;
}
