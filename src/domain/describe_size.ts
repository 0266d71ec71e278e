const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** A number of bytes in words, with two significant digits at least: `0 B`, `999 B`, `1.5 kB`, `12 MB`, `3400 PB`. */
export function describeSize(bytes: number): string {
  const index = Math.min(Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)), UNITS.length - 1);
  const count = bytes / 1000 ** index;
  // Cut, not rounded, so that a file below its limit is not said to reach it.
  const shown = index === 0 || count >= 100 ? Math.floor(count) : Math.floor(count * 10) / 10;
  return `${shown} ${UNITS[index]}`;
}
