import type { Limit } from "../domain/thresholds.ts";

/** The accepted form, for messages. */
export const SIZE_FORMS: string = 'whole bytes, or text such as "10 MB" or "1.5 GiB"';

const UNITS_BYTES: ReadonlyMap<string, number> = new Map(
  ["", "k", "m", "g", "t", "p"].flatMap((prefix, index) => [
    [`${prefix}b`, 1000 ** index] as const,
    [`${prefix}ib`, 1024 ** index] as const,
  ]).filter(([name]) => name !== "ib"),
);

const SIZE = /^(\d{1,15}(?:\.\d{1,9})?)\s*([a-z]{1,3})$/i;

/** Parses a size of the config. Returns whole bytes, or the error with the accepted form. */
export function parseSize(
  value: number | string,
): { readonly bytes: number } | { readonly problem: string } {
  const bytes = typeof value === "number" ? value : bytesOf(value.trim());
  if (bytes === null) return refuse("is not a size");
  if (!Number.isSafeInteger(bytes)) return refuse(bytes < 1e15 ? "is not a whole number" : "is too large");
  return bytes < 0 ? refuse("is negative") : { bytes };
}

function bytesOf(text: string): number | null {
  const [, count, unit = ""] = SIZE.exec(text) ?? [];
  const unitBytes = UNITS_BYTES.get(unit.toLowerCase());
  return count === undefined || unitBytes === undefined ? null : Math.round(Number(count) * unitBytes);
}

function refuse(problem: string): { readonly problem: string } {
  return { problem: `${problem}, expected ${SIZE_FORMS}` };
}

/** The accepted form of each limit's format, for messages. */
export const LIMIT_FORMS = {
  size_or_percentage: `${SIZE_FORMS}, or a percentage such as "5%"`,
  count_or_percentage: 'a whole number, or a percentage such as "5%"',
} as const;

export type LimitFormat = keyof typeof LIMIT_FORMS;

/**
 * Parses a limit of the config: a number, a size or a percentage. Returns the error with the accepted form if it is
 * none.
 */
export function parseLimit(
  value: number | string,
  format: LimitFormat,
): { readonly limit: Limit } | { readonly problem: string } {
  if (typeof value === "number") return { limit: value };
  const refuse = (problem: string) => ({ problem: `${problem}, expected ${LIMIT_FORMS[format]}` });
  const percent = /^(\d{1,9}(?:\.\d{1,9})?)\s*%$/.exec(value.trim())?.[1];
  if (percent !== undefined) {
    return Number(percent) <= 100 ? { limit: { percent: Number(percent) } } : refuse("is more than 100%");
  }
  const size = format === "size_or_percentage" ? parseSize(value) : null;
  return size !== null && "bytes" in size ? { limit: size.bytes } : refuse("is not a limit");
}
