/** Shorter values hide nothing and would tear up every text they happen to stand in. */
const SECRET_LENGTH_MIN = 4;

/** So much of a secret gives it away, where a text was cut behind it. */
const CUT_LENGTH_MIN = 16;

/** What stands in a text where a secret was. */
export const REDACTED = "[secret]";

/**
 * Makes a function that takes secrets out of texts that targets wrote: as they are, and as they stand in an
 * address. Values of fewer than 4 characters are left, since they stand everywhere by chance.
 */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const variants = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < SECRET_LENGTH_MIN) continue;
    variants.add(secret);
    variants.add(encodeURIComponent(secret.toWellFormed()));
    variants.add(encodeURI(secret.toWellFormed()));
    // A secret of several lines would otherwise show line by line.
    for (const line of secret.split(/\r?\n/)) if (line.length >= SECRET_LENGTH_MIN) variants.add(line);
  }
  if (variants.size === 0) return (text) => text;
  // A quotation may have been cut in the middle of a long secret.
  const cut = [...variants].filter((variant) => variant.length > CUT_LENGTH_MIN).map((variant) =>
    `${escapePattern(variant.slice(0, CUT_LENGTH_MIN))}[^"…]*…`
  );
  // The longest first, so that a secret that begins with another one goes whole.
  const ordered = [...variants].sort((one, other) => other.length - one.length);
  const pattern = new RegExp([...ordered.map(escapePattern), ...cut].join("|"), "g");
  return (text) => text.replace(pattern, REDACTED);
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
