import { createRedactor } from "../shared/redact.ts";

/**
 * Kept for the whole process: an error that nobody expected can come from anywhere, and the runtime's own words quote
 * what they are about.
 */
const known = new Set<string>();

/** Remembers values that must never be shown, whatever becomes of the program. */
export function rememberSecrets(secrets: readonly string[]): void {
  for (const secret of secrets) known.add(secret);
}

/** Takes every value that was remembered out of a text. */
export function hideKnownSecrets(text: string): string {
  return createRedactor([...known])(text);
}
