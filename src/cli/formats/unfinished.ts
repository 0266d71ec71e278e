/** What stands in the place of a result for a check that had none when the run was interrupted. */
export const NO_RESULT = "no result (interrupted)";
