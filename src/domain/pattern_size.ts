/** How large the program of a regular expression may be, in steps: what is larger is refused in a document. */
export const PATTERN_STEPS_MAX = 500;
