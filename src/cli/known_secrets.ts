import { createRedactor } from "../shared/redact.ts";

/** Kept for the whole process: an unexpected error can come from anywhere, and the runtime's messages quote values. */
const known = new Set<string>();

/** Registers values that must never be printed, whatever happens to the process. */
export function rememberSecrets(secrets: readonly string[]): void {
  for (const secret of secrets) known.add(secret);
}

export function hideKnownSecrets(text: string): string {
  return createRedactor([...known])(text);
}
