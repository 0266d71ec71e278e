import type { Limit } from "../domain/thresholds.ts";
import { parseSize, SIZE_FORMS } from "./parse_size.ts";

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
