import { createRedactor, type Redact } from "../shared/redact.ts";

/** Kept for the whole process: an unexpected error can come from anywhere, and the runtime's messages quote values. */
const known = new Set<string>();
let redact: Redact | null = null;

/** Registers values that must never be printed, whatever happens to the process. */
export function rememberSecrets(secrets: readonly string[]): void {
  for (const secret of secrets) known.add(secret);
  redact = null;
}

export function hideKnownSecrets(text: string): string {
  redact ??= createRedactor(known);
  return redact(text);
}
