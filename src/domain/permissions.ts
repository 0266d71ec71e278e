import type { PermissionClass } from "./runtime_permissions.ts";

export interface Permissions {
  /**
   * Returns whether one thing is granted, such as `net` with `example.org:443`, or without a value the whole class.
   */
  isGranted(permission: PermissionClass, value?: string): boolean;
  /**
   * Drops a permission class permanently, including granted permissions. Variables that were read before can be read
   * again.
   */
  drop(permission: PermissionClass): void;
  /** Returns whether a class was dropped, so that only a restart can restore it. */
  isDropped(permission: PermissionClass): boolean;
  /**
   * The command that must be granted in addition to those that are started: it ends their process groups, which the
   * runtime can't do with a list of commands. `null` on systems without groups.
   */
  readonly killPath: string | null;
}
