import { escapeUTF8 } from "entities/escape";
import { truncate } from "../../shared/truncate.ts";
import { printable, printableBlock } from "../../shared/printable.ts";

/** Any text as one line of HTML, in an element or in an attribute with double quotes; cut where it is long. */
export function htmlLine(text: string, lengthMax: number): string {
  return escapeUTF8(printable(truncate(text, lengthMax)));
}

/** Any text as lines of HTML, in an element; cut where it is long. */
export function htmlBlock(text: string, lengthMax: number): string {
  return escapeUTF8(printableBlock(truncate(text, lengthMax)));
}
