/** Checks that run at several locations, and the contribution of each location to a result. */
import type { Condition } from "./condition.ts";

export interface Locations {
  /** Their names, in the order of the config; not empty. */
  readonly from: readonly string[];
  /** How many locations must reach a severity; 1 or more, and not more than there are locations. */
  readonly agree: number;
  /** The check whose failure at a location means that the location itself is at fault; absent: there is none. */
  readonly control?: string;
}

export interface LocationVote {
  readonly location: string;
  /** `null`: it does not count. */
  readonly condition: Condition | null;
  /** One line without secrets: the output there, or why it does not count. */
  readonly output: string;
  /** How long the run took; `null` without one. */
  readonly durationMs: number | null;
  /** Which run of the location is its last one, counted or not; absent at the location, and before the first. */
  readonly run?: number;
}
