/** All faults. A text that is no longer there once is a failure: the list is kept up to date with the source. */
import { ENGINE } from "./engine.ts";
import { CHECKS, SUMMARY } from "./checks.ts";
import { CONDITION } from "./condition.ts";
import { CONFIG, PERMISSIONS, READY_MADE } from "./config.ts";
import { type Mutant, mutantsOf } from "./fault.ts";
import { HTTP, REDACTION, SIGN_IN } from "./http.ts";
import { MEMBERS } from "./members.ts";
import { REHEARSAL } from "./rehearsal.ts";
import { SCHEDULER } from "./scheduler.ts";
import { POSTGRES, STATE } from "./state.ts";

const LAYERS = [
  CONDITION,
  ENGINE,
  SCHEDULER,
  STATE,
  POSTGRES,
  MEMBERS,
  CONFIG,
  PERMISSIONS,
  READY_MADE,
  REDACTION,
  HTTP,
  SIGN_IN,
  CHECKS,
  SUMMARY,
  REHEARSAL,
] as const;

export const MUTANTS: readonly Mutant[] = LAYERS.flatMap(mutantsOf);
