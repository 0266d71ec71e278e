const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** A number of bytes in words, with two significant digits at least: `0 B`, `999 B`, `1.5 kB`, `12 MB`, `3400 PB`. */
export function describeSize(bytes: number): string {
  const { count, unit } = inUnit(bytes);
  // Truncated, not rounded, so that a file below its limit never seems to reach it.
  const shown = unit === "B" || count >= 100 ? Math.floor(count) : Math.floor(count * 10) / 10;
  return `${shown} ${unit}`;
}

/** The same, rounded to some significant digits: `83.2 GB`. */
export function roundedSize(bytes: number, digits: number): string {
  const { count, unit } = inUnit(bytes);
  return `${Number(count.toPrecision(digits))} ${unit}`;
}

function inUnit(bytes: number): { readonly count: number; readonly unit: string } {
  const index = Math.min(Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)), UNITS.length - 1);
  return { count: bytes / 1000 ** index, unit: UNITS[index] ?? "B" };
}

/** Units of limits, the largest first. */
const EXACT_UNITS = UNITS.flatMap((name, index) =>
  index === 0
    ? [{ name, bytes: 1 }]
    : [{ name, bytes: 1000 ** index }, { name: `${name[0]?.toUpperCase()}iB`, bytes: 1024 ** index }]
).sort((one, other) => other.bytes - one.bytes);

/** A number of bytes in full, as the config accepts it: `10 GB`, `1.5 GiB`, `1234567 B`. For limits. */
export function exactSize(bytes: number): string {
  const unit = EXACT_UNITS.find((one) => bytes >= one.bytes && Number.isInteger(bytes / one.bytes * 1000));
  return unit === undefined ? `${bytes} B` : `${bytes / unit.bytes} ${unit.name}`;
}
