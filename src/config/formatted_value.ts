import type { ConfigPath } from "./problem.ts";
import type { JsonObject } from "./syntax.ts";

/** A value whose schema names a format. */
export interface FormattedValue {
  readonly path: ConfigPath;
  /** The schema's word for the meaning of the value, such as `interval`. */
  readonly format: string;
  /** With its placeholders replaced, so it may contain a secret and must not be shown. */
  readonly value: string | number;
  /** As written, with its placeholders; messages quote this. */
  readonly written: string | number;
  /** Set if a key has the format, not its value. */
  readonly at?: "name";
  /** Whether it may contain fields of a notification. @default false */
  readonly mayHoldFields?: boolean;
  /** The object of the value, with its placeholders replaced. @default an empty one */
  readonly parent?: JsonObject;
}
