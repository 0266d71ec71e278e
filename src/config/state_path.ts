import { createTokenReader, TOKEN } from "./positions.ts";

/**
 * Finds the path of the config's `state`, even in a text with errors; `null` if there is none. With unbalanced braces,
 * the key may be deeper: the first of those counts if there is none at the top.
 */
export function findStatePath(text: string): string | null {
  const reader = createTokenReader(text);
  let deeper: string | null = null;
  let depth = 0;
  for (let token = reader.next(); token !== TOKEN.end;) {
    if (token === TOKEN.openBrace) depth++;
    if (token === TOKEN.closeBrace) depth--;
    const isKey = token === TOKEN.string && reader.value() === "state";
    token = reader.next();
    if (!isKey || token !== TOKEN.colon) continue;
    token = reader.next();
    if (token !== TOKEN.string || reader.fault() !== 0 || reader.value() === "") continue;
    if (depth === 1) return reader.value();
    deeper ??= reader.value();
  }
  return deeper;
}
