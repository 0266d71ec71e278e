/** Escapes a text for a regular expression (RE2). */
export function escapePattern(text: string): string {
  return text.replaceAll(/[\\.+*?()|[\]{}^$]/g, "\\$&");
}

/** A pattern with `*` and `?` as a regular expression (RE2) for the whole text, newlines included. */
export function globPattern(glob: string): string {
  const inner = [...glob.replaceAll(/\*+/g, "*")].map((sign) =>
    sign === "*" ? ".*" : sign === "?" ? "." : escapePattern(sign)
  ).join(
    "",
  );
  return `(?s)^${inner}$`;
}

/** The text between the `*` of a pattern such as `*text*`; `null` if the pattern means anything else. */
export function partOfGlob(glob: string): string | null {
  const [, part] = /^\*+([^*?[\]]+)\*+$/.exec(glob) ?? [];
  return part ?? null;
}
