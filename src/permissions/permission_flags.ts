import { NET_ALL, PERMISSION_CLASSES, type PermissionClass } from "../domain/runtime_permissions.ts";
import type { RequiredPermission } from "./required_permissions.ts";

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
