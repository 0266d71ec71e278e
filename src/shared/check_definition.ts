import { hashHex } from "./hash.ts";

/** What a check observes: its kind and parameters. */
export interface Defined {
  /** `null` if unknown. */
  readonly kind: string | null;
  /** Absent if unknown. */
  readonly parameters?: object;
}

const known = new WeakMap<object, string>();

/** Returns a hash of what a check observes, 16 hexadecimal digits; `null` if that is unknown. */
export function definitionOf({ kind, parameters }: Defined): string | null {
  if (parameters === undefined) return null;
  const definition = known.get(parameters) ?? hashHex(JSON.stringify([kind, parameters]), 16);
  known.set(parameters, definition);
  return definition;
}
