/** The lines of a trace, and the values that they never show. */
import { isCredentialName } from "../../config/credentials.ts";
import { HIDDEN } from "./hidden_values.ts";

/** The length of the excerpt of a body or an output, in UTF-16 units. */
export const EXCERPT_LENGTH_MAX = 1024;
/** The length that is kept of a body or an output until it is redacted. */
export const KEPT_LENGTH_MAX = 8 * EXCERPT_LENGTH_MAX;

export interface Tracer {
  /** Adds a line, with the time since the begin of the run. */
  add(text: string): void;
  /** Adds lines of sent or received data; `mark` is before each. */
  addBlock(mark: string, text: string): void;
  /**
   * Reads something for the trace alone once the check has its result, so that a server that responds only to the
   * check changes neither result nor duration. Work of the same key is done once.
   */
  addLater(key: string, work: (signal: AbortSignal) => Promise<void>): void;
}

export function headerLine(name: string, value: string): string {
  return `${name}: ${isCredentialName(name) ? HIDDEN : value}`;
}

/** Names are as good as the whole query. */
export function hideQuery({ searchParams }: URL): string {
  const shown = [...searchParams].map(([name, value]) =>
    `${name}=${isCredentialName(name) ? HIDDEN : value}`
  );
  return shown.length === 0 ? "" : `?${shown.join("&")}`;
}
