import type { Check } from "./check.ts";
import type { Condition } from "./condition.ts";

/** What one look at a target showed. */
export interface Observation {
  readonly condition: Condition;
  /** One line for people; may be empty. */
  readonly output: string;
  /** Further lines; often empty. */
  readonly detail: string;
  /** Plain numbers, such as `{ status: 500 }`; the unit is in the name unless it has none. */
  readonly metrics: Readonly<Record<string, number>>;
  /** A plugin's own text after `|` (Monitoring Plugins guidelines, "Performance data"); often empty. */
  readonly performanceData: string;
}

/** An observation of a check with its time. */
export interface Result extends Observation {
  readonly check: Check;
  /** Wall time, milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly durationMs: number;
}
