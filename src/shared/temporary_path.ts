import type { RequiredPermissions } from "../domain/runtime_permissions.ts";

/** Returns the name of a file's new text until it replaces the file. */
export function temporaryPathOf(path: string): string {
  return `${path}.tmp`;
}

export function permissionsOfReplacing(path: string): RequiredPermissions {
  // The runtime treats a rename as reading the renamed file.
  return { read: [temporaryPathOf(path)], write: [path, temporaryPathOf(path)] };
}
