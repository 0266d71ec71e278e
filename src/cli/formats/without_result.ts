/** The text for a check without a result, because the run was interrupted. */
export const NO_RESULT = "no result (interrupted)";

/** Why nothing ran. Without an active check nothing is known, otherwise the stored conditions are. */
export const NO_ACTIVE_CHECK = "no check is active";
export const NO_CHECK_DUE = "no check is due";

/** The name of the test that fails if nothing ran and not everything is known to be ok. */
export const NO_CHECKS = "checks";
