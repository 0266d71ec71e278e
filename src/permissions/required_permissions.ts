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

export type PermissionList = readonly RequiredPermission[];

interface Requirement extends Pick<RequiredPermission, "neededBy" | "isVital"> {
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
export async function requiredPermissionsOf(given: PermittedConfig, system: System): Promise<PermissionList> {
  const { checks, heartbeat, reportTo = null, notifies, channels: named = [] } = given;
  const parts: Requirement[] = [];
  const add = (neededBy: string, requiredPermissions: RequiredPermissions): void =>
    void parts.push({ neededBy, requiredPermissions });
  const addChannel = async (channel: Channel, inlineName: string): Promise<void> => {
    if (channel.lack !== undefined) return;
    const { channelEntryOf } = await import("../channels/registry.ts");
    const neededBy = channel.name === undefined ? inlineName : `channel "${channel.name}"`;
    add(neededBy, await channelEntryOf(channel).requiredPermissions(channel, system));
  };
  const added = new Set<string>();
  const entryOf = await entriesOf(checks);
  for (const check of checks) {
    const name = `check "${check.name}"`;
    if (check.lack === undefined) add(name, await entryOf(check).requiredPermissions(check, system));
    if (notifies && check.action !== undefined) add(`action of ${name}`, permissionsOfAction(check.action));
    for (const channel of notifies ? check.notifications : []) {
      if (added.has(channel.key)) continue;
      added.add(channel.key);
      await addChannel(channel, `${channel.kind} of ${name}`);
    }
  }
  for (const channel of named) await addChannel(channel, channel.kind);
  const { path, target } = heartbeat ?? {};
  if (path !== undefined) add("heartbeat", { write: [path] });
  if (target !== undefined) add("heartbeat", permissionsOfUrl(target));
  if (reportTo !== null) add("reports", permissionsOfUrl(reportTo.target));
  const { killPath } = system.permissions;
  const starter = parts.find(({ requiredPermissions }) => (requiredPermissions.run?.length ?? 0) > 0);
  if (starter !== undefined && killPath !== null) {
    add(`ending what ${starter.neededBy} starts`, { run: [killPath] });
  }
  return joinPermissions(parts);
}

/** Joins requirements with permissions that are known; each permission once, with the first that requires it. */
export function joinPermissions(parts: readonly Requirement[], known: PermissionList = []): PermissionList {
  const found = new Map(known.map((one) => [`${one.permission} ${one.value}`, one]));
  for (const { neededBy, requiredPermissions, isVital = false } of parts) {
    for (const permission of PERMISSION_CLASSES) {
      const { netCaution: caution, isOfMachine } = permission === "net" ? requiredPermissions : {};
      const ofMachine = isOfMachine !== undefined && { isOfMachine };
      const details = { ...caution !== undefined && { caution }, ...ofMachine };
      for (const value of requiredPermissions[permission] ?? []) {
        const key = `${permission} ${value}`;
        const first = found.get(key) ?? { permission, value, neededBy, ...details };
        found.set(key, isVital ? { ...first, isVital } : first);
      }
    }
  }
  return [...found.values()];
}

export function missingPermissions(required: PermissionList, permissions: Permissions): PermissionList {
  const whole = new Set(PERMISSION_CLASSES.filter((permission) => permissions.isGranted(permission)));
  return required.filter(({ permission, value }) =>
    !whole.has(permission) && (value === NET_ALL || !permissions.isGranted(permission, value))
  );
}

/** The required values of each class, sorted, without duplicates. */
export type PermissionsByClass = Readonly<Record<PermissionClass, readonly string[]>>;

export function groupPermissions(requiredPermissions: PermissionList): PermissionsByClass {
  const groups = Map.groupBy(requiredPermissions, ({ permission }) => permission);
  const valuesOf = (permission: PermissionClass): readonly string[] =>
    [...new Set(groups.get(permission)?.map(({ value }) => value))].sort();
  const values = PERMISSION_CLASSES.map((permission) => [permission, valuesOf(permission)]);
  return Object.fromEntries(values) as PermissionsByClass;
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
