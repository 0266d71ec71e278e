import type { RequiredPermissions } from "../domain/runtime_permissions.ts";

/** The name that a new text of a file has until it takes the file's place. */
export function temporaryPathOf(path: string): string {
  return `${path}.tmp`;
}

/** What replacing a file needs. */
export function permissionsOfReplacing(path: string): RequiredPermissions {
  // The runtime takes a rename for a reading of what is renamed.
  return { read: [temporaryPathOf(path)], write: [path, temporaryPathOf(path)] };
}
