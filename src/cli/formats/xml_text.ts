import { escapeUTF8 } from "entities/escape";
import { replaceUnsafe } from "../../shared/printable.ts";

/**
 * Characters that XML 1.0 does not allow, not even as a reference (https://www.w3.org/TR/xml/#charsets): most control
 * characters, lone surrogates, U+FFFE and U+FFFF.
 */
const NOT_ALLOWED = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** Returns any text as the content of an XML element. Characters that XML does not allow become U+FFFD. */
export function xmlText(text: string): string {
  return escapeXml(
    text,
    (character) => character === "\n" || character === "\t" ? character : reference(character),
  );
}

/**
 * Any text as the value of an XML attribute in double quotes. Line breaks and tabs are written as references,
 * since a reader would turn them into spaces.
 */
export function xmlAttribute(text: string): string {
  return escapeXml(text, reference);
}

function escapeXml(text: string, escapeUnsafe: (character: string) => string): string {
  return replaceUnsafe(escapeUTF8(text.replace(NOT_ALLOWED, "\ufffd")), escapeUnsafe);
}

function reference(character: string): string {
  return `&#x${(character.codePointAt(0) ?? 0).toString(16)};`;
}
