import { counted } from "../shared/counted.ts";

const UNITS: readonly (readonly [name: string, lengthMs: number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
];

/** Writes a time span for a config, such as `90 seconds`; below a second in milliseconds. */
export function spanText(spanMs: number): string {
  if (spanMs < 1000) return `${Math.max(1, Math.round(spanMs))} ms`;
  const seconds = Math.round(spanMs / 1000) * 1000;
  const [name, lengthMs] = UNITS.find(([, length]) => seconds % length === 0) ?? ["second", 1000];
  return counted(seconds / lengthMs, name);
}

/** Writes the interval of a schedule, at least a second. */
export function intervalText(spanMs: number): string {
  return spanText(Math.max(1000, spanMs));
}

const GO_UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  "\u00b5s": 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Reads a duration of Go, such as `1h45m30s`; `null` for anything else. */
export function parseGoDuration(text: string): number | null {
  if (!/^(?:\d+(?:\.\d+)?(?:ns|us|\u00b5s|ms|s|m|h))+$/.test(text)) return null;
  let totalMs = 0;
  for (const [, count = "", unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|\u00b5s|ms|s|m|h)/g)) {
    totalMs += Number(count) * (GO_UNITS[unit] ?? 0);
  }
  return totalMs;
}
