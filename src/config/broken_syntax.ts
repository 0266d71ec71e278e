/** Descriptions of text that is not JSON. */
import { truncate } from "../shared/text.ts";

/** A piece of a text as messages quote it; invisible characters as their code point. */
export function describeToken(token: string): string {
  const first = token.codePointAt(0) ?? 0;
  if (/^[\p{C}\p{Z}]/u.test(token)) {
    return `character U+${first.toString(16).toUpperCase().padStart(4, "0")}`;
  }
  const short = truncate(token, 40);
  return /^["']/.test(short) ? short : `"${short}"`;
}

/** The hint for a word in the place of a value; `undefined` if the message suffices. */
export function hintForValue(word: string): string | undefined {
  if (/^(True|False|None|TRUE|FALSE|NULL|yes|no|on|off)$/.test(word)) return "write true, false or null";
  if (word.length <= 40 && /^\d.*[a-z]/i.test(word)) return `a text needs double quotes: "${word}"`;
  return hintForQuotes(word);
}

export function hintForName(word: string): string | undefined {
  return word.length <= 40 && /^[\w$-]+$/.test(word) ? `write "${word}"` : hintForQuotes(word);
}

/** Comments and blank lines, then the start of a config, a directive, or a key of a mapping in block style. */
const YAML_START =
  /^\ufeff?(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?:---\s|%YAML\s|[A-Za-z_$][\w$-]*[ \t]*:(?:[ \t]*(?:#[^\n]*)?\r?\n|[ \t]+[^\s{["]))/;

/** Whether a text that is no JSON begins like YAML. An object whose braces are missing does not. */
export function looksLikeYaml(text: string): boolean {
  return YAML_START.test(text);
}

/** Finds the first error in a string that ends but is not right; `raw` is with its quotes. */
export function explainString(
  raw: string,
): { readonly index: number; readonly message: string; readonly hint?: string } {
  const pieces = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|(\\u[^"\\]{0,4}|\\.|\p{Cc})/gu;
  for (const { 1: fault, index } of raw.matchAll(pieces)) {
    if (fault === undefined) continue;
    if (fault.startsWith("\\u")) {
      return { index, message: `${fault} is not an escape, expected \\u and four hexadecimal digits` };
    }
    if (fault.startsWith("\\")) {
      return {
        index,
        message: `${fault} is not an escape, expected one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX`,
        hint: "write \\\\ for a backslash",
      };
    }
    if (fault > "\u001f") continue;
    const escape = fault === "\t" ? "\\t" : JSON.stringify(fault).slice(1, -1);
    const name = fault === "\t" ? "a tab" : describeToken(fault);
    return { index, message: `${name} is not allowed in a string, expected the escape ${escape}` };
  }
  return { index: 0, message: `${describeToken(raw)} is not a JSON string` };
}

function hintForQuotes(word: string): string | undefined {
  if (/^['`\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb]/.test(word)) {
    return 'JSON knows only the straight double quote: "';
  }
  if (/^#/.test(word)) return "a comment begins with //";
  return /^[\p{Cf}\p{Z}]/u.test(word) ? "replace it with a space" : undefined;
}
