/**
 * Describes a duration by its two most significant units of days, hours, minutes and seconds, without zeros (`3 d`, `2
 * h 5 min`, `1 h 30 s`, `45 s`, `0 s`).
 *
 * Smaller units are truncated, never rounded up. A negative duration has a minus sign.
 */
export function describeDuration(durationMs: number): string {
  const terms = termsOf(Math.abs(durationMs), Math.floor);
  if (terms.length === 0) return "0 s";
  return `${durationMs < 0 ? "-" : ""}${terms.slice(0, 2).join(" ")}`;
}

const UNITS = [
  { seconds: 86_400, name: "d" },
  { seconds: 3600, name: "h" },
  { seconds: 60, name: "min" },
  { seconds: 1, name: "s" },
] as const;

/** Describes a configured duration in full, as the config accepts it: `1 d 2 h 3 min 4 s`, `1.25 s`, `0.1 ms`. */
export function exactDuration(durationMs: number): string {
  if (durationMs < 1000) return `${durationMs} ms`;
  return termsOf(durationMs, (seconds) => Number(seconds.toFixed(9))).join(" ");
}

/** `rounded` rounds the seconds, the last term. */
function termsOf(durationMs: number, rounded: (seconds: number) => number): readonly string[] {
  let rest = durationMs;
  return UNITS.flatMap(({ seconds, name }) => {
    const count = seconds === 1 ? rounded(rest / 1000) : Math.floor(rest / (seconds * 1000));
    rest -= count * seconds * 1000;
    return count > 0 ? [`${count} ${name}`] : [];
  });
}
