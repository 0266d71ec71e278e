import type { PermissionClass } from "./runtime_permissions.ts";

/** What the runtime lets this process do. */
export interface Permissions {
  /** Whether one thing is granted, such as `net` with `example.org:443`, or without a value the whole class. */
  isGranted(permission: PermissionClass, value?: string): boolean;
  /** Gives up a class for good, whatever was granted of it. Variables that were read before can be read again. */
  drop(permission: PermissionClass): void;
  /** Whether a class was given up, so that only a restart can bring it back. */
  isDropped(permission: PermissionClass): boolean;
  /**
   * The program that must be granted besides those that are started: it ends their process groups, which the runtime
   * may not do where it may start listed programs only. `null` on systems without groups.
   */
  readonly killPath: string | null;
}
