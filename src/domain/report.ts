import type { Condition } from "./condition.ts";
import type { ReportEvent } from "./condition_state.ts";

/** What the channels are told of a check. Times are wall time, milliseconds since 1970. */
export interface Report {
  readonly check: string;
  readonly title: string | null;
  readonly event: ReportEvent;
  /** The settled condition. */
  readonly condition: Condition;
  /** The condition reported before. */
  readonly previous: Condition;
  readonly output: string;
  readonly detail: string;
  /** The first observation that was not `ok` of the problem told of; in a recovery, of the one that is over. */
  readonly problemBeganAtMs: number;
  /** When the observation that decided it ended. */
  readonly decidedAtMs: number;
  /** Observations in a row at least as bad as the last one; for `ok`: in a row. */
  readonly occurrences: number;
  /** When the check runs next. */
  readonly nextRunAtMs: number;
}
