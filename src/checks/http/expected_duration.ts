import { exactDuration } from "../../domain/duration.ts";
import type { HttpExpectation } from "../../domain/generated/config.ts";

interface DurationViolation {
  /** Such as `took 2.3 s, warning above 1 s`. */
  readonly text: string;
  readonly isWarning: boolean;
}

/** Compares a duration with its limits; `null` if it is within. */
export function durationViolation(
  durationMs: number,
  { warningDurationMs, criticalDurationMs }: HttpExpectation,
): DurationViolation | null {
  if (criticalDurationMs !== undefined && durationMs > criticalDurationMs) {
    return { text: describe(durationMs, "critical", criticalDurationMs), isWarning: false };
  }
  if (warningDurationMs !== undefined && durationMs > warningDurationMs) {
    return { text: describe(durationMs, "warning", warningDurationMs), isWarning: true };
  }
  return null;
}

function describe(durationMs: number, name: string, limitMs: number): string {
  const limit = exactDuration(limitMs);
  const shownMs = shownPart(durationMs);
  // More digits prevent "took 1 s, warning above 1 s".
  return `took ${shownMs > limitMs ? exactDuration(shownMs) : `just over ${limit}`}, ${name} above ${limit}`;
}

/** Tenths of milliseconds below 10 ms, whole milliseconds below a second, tenths of seconds from there on. */
function shownPart(durationMs: number): number {
  if (durationMs < 10) return Math.floor(durationMs * 10) / 10;
  return durationMs < 1000 ? Math.floor(durationMs) : Math.floor(durationMs / 100) * 100;
}
