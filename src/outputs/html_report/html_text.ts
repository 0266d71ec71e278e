import { escapeUTF8 } from "entities/escape";
import { shorten } from "../../shared/shorten.ts";
import { printable, printableBlock } from "../../shared/printable.ts";

/** Any text as one line of HTML, in an element or in an attribute with double quotes; cut where it is long. */
export function htmlLine(text: string, lengthMax: number): string {
  return escapeUTF8(printable(shorten(text, lengthMax)));
}

/** Any text as lines of HTML, in an element; cut where it is long. */
export function htmlBlock(text: string, lengthMax: number): string {
  return escapeUTF8(printableBlock(shorten(text, lengthMax)));
}
