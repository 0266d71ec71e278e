/** Words with their inner punctuation: `web1`, `3.5`, `12ms`, `2026-01-31T10:00:00Z`, `10.0.0.5:443`. */
const WORD = /[\p{L}\p{N}_%]+(?:[.,:+-]+[\p{L}\p{N}_%]+)*/gu;

const IP_ADDRESS = /^\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?$/;
/** As the status of HTTP, SMTP and FTP. */
const STATUS = /^[1-5]\d\d$/;
const UNIT =
  /^ ?(?:[num\u00b5]?s|sec|seconds?|min|minutes?|h|hours?|d|days?|[kMGT]?i?B|bytes?|%)(?![\p{L}\p{N}_])/u;
const ID = /^(?=.*\d)[\da-f]{8,}(?:-[\da-f]{4,})*$/i;

/**
 * Returns a text in which numbers that change from run to run are `#`, so that two texts with the same reason are equal.
 * Numbers with or without unit, times and hexadecimal ids change. IP addresses, names with digits, and three digits from
 * 100 to 599 without a unit, such as a status, do not.
 */
export function stableText(text: string): string {
  return text.replace(WORD, (word, offset: number) => {
    if (IP_ADDRESS.test(word)) return word;
    const rest = text.slice(offset + word.length, offset + word.length + 12);
    if (STATUS.test(word) && !UNIT.test(rest)) return word;
    return /^\d/.test(word) || ID.test(word) ? "#" : word;
  });
}
