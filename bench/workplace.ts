import type { Effort } from "./effort.ts";
import type { AllPrograms } from "./programs.ts";

/** The common parameters of benchmarks. */
export interface Workplace {
  /** For temporary files; it is removed in the end. */
  readonly directory: string;
  /** The measured programs. */
  readonly programs: AllPrograms;
  /** How long they measure. */
  readonly effort: Effort;
  /** An executable of `monitor` to compare starts with; `null`: none. */
  readonly against: string | null;
}
