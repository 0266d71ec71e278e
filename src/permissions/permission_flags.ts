import { NET_ALL, PERMISSION_CLASSES, type PermissionClass } from "../domain/runtime_permissions.ts";
import type { RequiredPermission } from "./required_permissions.ts";

/** The required values of each class, sorted, without duplicates. */
export type PermissionsByClass = Readonly<Record<PermissionClass, readonly string[]>>;

export function groupPermissions(requiredPermissions: readonly RequiredPermission[]): PermissionsByClass {
  const values = (wanted: PermissionClass): readonly string[] =>
    [...new Set(requiredPermissions.flatMap(({ permission, value }) => permission === wanted ? [value] : []))]
      .sort();
  return {
    read: values("read"),
    write: values("write"),
    net: values("net"),
    run: values("run"),
    env: values("env"),
    sys: values("sys"),
  };
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
