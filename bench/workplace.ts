import type { Effort } from "./effort.ts";
import type { AllPrograms } from "./programs.ts";

/** What benchmarks have in common. */
export interface Workplace {
  /** For what they write; it is removed in the end. */
  readonly directory: string;
  /** What they measure. */
  readonly programs: AllPrograms;
  /** How long they measure. */
  readonly effort: Effort;
}
