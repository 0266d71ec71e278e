/** The limits of everything on a page. A page of a thousand checks is to stay below a megabyte. */
export interface PageScale {
  /** How many days make one point of the line of durations; a divisor of the days shown. */
  readonly daysPerPoint: number;
  /** How many stretches of time a tooltip lists, the latest ones. */
  readonly stretchesMax: number;
  /** How many changes each of {@linkcode CHECKS_WITH_CHANGES_MAX} checks has. */
  readonly changesEach: number;
  /** How many problems have their last output in full. */
  readonly outputsMax: number;
  /** How many problems have the trace of the run that confirmed them. */
  readonly tracesMax: number;
}

export const CHECKS_WITH_CHANGES_MAX = 100;

const MANY_CHECKS = 250;

const FEW: PageScale = {
  daysPerPoint: 1,
  stretchesMax: 6,
  changesEach: 5,
  outputsMax: 50,
  tracesMax: 20,
};

const MANY: PageScale = {
  daysPerPoint: 5,
  stretchesMax: 3,
  changesEach: 3,
  outputsMax: 10,
  tracesMax: 5,
};

/** Returns the scale of a page of so many checks; one that is about one check has everything. */
export function pageScale(checks: number, isOfOneCheck: boolean): PageScale {
  if (isOfOneCheck) return { ...FEW, changesEach: Infinity };
  return checks > MANY_CHECKS ? MANY : FEW;
}
