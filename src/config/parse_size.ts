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
