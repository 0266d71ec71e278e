export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A duration for people: `0.4 ms`, `12 ms`, `1.2 s`, `2 min 5 s`. */
export function durationText(durationMs: number): string {
  if (durationMs < 0.95) return `${durationMs.toFixed(1)} ms`;
  if (durationMs < 999.5) return `${Math.round(durationMs)} ms`;
  if (durationMs < 59_950) return `${(durationMs / 1000).toFixed(1)} s`;
  const seconds = Math.round(durationMs / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
