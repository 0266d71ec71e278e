/** Texts that a database may end early, take for one another, take for something else, or choke on. */
export const HOSTILE_TEXTS: readonly string[] = [
  "",
  " ",
  "a",
  "A",
  "a\0",
  "a\0b",
  "\0",
  "\u00e9",
  "e\u0301",
  "\ufffd",
  "\ud800",
  "\ud801",
  "\udc00\ud800",
  "a\ud800",
  '"\\ud800"',
  '"',
  '"a"',
  "'; DROP TABLE checks; --",
  "null",
  "1",
  "1.0",
  "__proto__",
  "constructor",
  "line\nbreak\r\n",
  "\u{1f600}\u{10ffff}",
  "\ufeffmark",
  "x".repeat(100_000),
];

/** Overwrites every property of everything below a value. */
export function scribble(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    scribble(member);
    if (typeof member !== "object" || member === null) (value as Record<string, unknown>)[key] = "scribble";
  }
}
