/** The text for a check without a result, because the run was interrupted. */
export const NO_RESULT = "no result (interrupted)";
