import type { ConfigPath } from "./problem.ts";
import type { JsonObject } from "./syntax.ts";

/** A value whose schema names a format. */
export interface FormattedValue {
  readonly path: ConfigPath;
  /** The schema's word for what the value is, such as `interval`. */
  readonly format: string;
  /** With its placeholders replaced, so it may hold a secret and is not to be shown. */
  readonly value: string | number;
  /** As it stands in the config, with its placeholders; messages show this. */
  readonly written: string | number;
  /** Given where it is a member's name that has the format, not the member's value. */
  readonly at?: "name";
  /** Whether it may hold fields of a notification. @default false */
  readonly mayHoldFields?: boolean;
  /** The object in which the value stands, with its placeholders replaced. @default an empty one */
  readonly parent?: JsonObject;
}
