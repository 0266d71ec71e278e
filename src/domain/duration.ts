/**
 * Describes a duration by its two most significant units of days, hours, minutes and seconds, without zeros (`3 d`, `2
 * h 5 min`, `1 h 30 s`, `45 s`, `0 s`).
 *
 * Smaller units are truncated, never rounded up. A negative duration has a minus sign.
 */
export function describeDuration(durationMs: number): string {
  let rest = Math.trunc(Math.abs(durationMs) / 1000);
  const terms: string[] = [];
  for (const { seconds, name } of UNITS) {
    const count = Math.floor(rest / seconds);
    rest -= count * seconds;
    if (count > 0) terms.push(`${count} ${name}`);
  }
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
  let rest = durationMs;
  const terms: string[] = [];
  for (const { seconds, name } of UNITS) {
    const count = seconds === 1 ? Number((rest / 1000).toFixed(9)) : Math.floor(rest / (seconds * 1000));
    rest -= count * seconds * 1000;
    if (count > 0) terms.push(`${count} ${name}`);
  }
  return terms.join(" ");
}
