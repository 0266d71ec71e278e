/** How a soak is judged: what must hold, whether it does, and the number that says so. */

/** One judgement. */
export interface Judgement {
  /** What must hold. */
  readonly what: string;
  /** Whether it does; `null` where the time was too short to tell. */
  readonly holds: boolean | null;
  /** What says so. */
  readonly found: string;
}

/** The value that a share of the numbers does not exceed; not a number where there are none. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** The value in the middle. */
export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5);
}

/** Some of a list, in words. */
export function some(items: readonly string[], countMax = 3): string {
  const rest = items.length - countMax;
  return items.slice(0, countMax).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
