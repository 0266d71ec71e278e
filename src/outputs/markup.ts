/**
 * The only way in which HTML, feeds and pictures (SVG) are made: a template that escapes what is inserted. Foreign
 * text belongs into elements and into attributes with double quotes, not into scripts, styles or bare attributes.
 *
 * The template is not called `html`, since `deno fmt` changes the content of those.
 */
import { escapeUTF8 } from "entities/escape";
import { printable, printableBlock } from "../shared/text.ts";

/** What may be inserted as it is. */
class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get isEmpty(): boolean {
    return this.#text === "";
  }

  toString(): string {
    return this.#text;
  }
}

export type { Markup };

/** Text becomes one line, a list is joined. */
type Value = Markup | string | number | readonly Value[];

export function markup(parts: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return new Markup(parts.map((part, index) => part + toText(values[index] ?? "")).join(""));
}

export function markupLines(text: string): Markup {
  return new Markup(escapeUTF8(printableBlock(text)));
}

export function joinMarkup(items: readonly Markup[], separator: Markup): Markup {
  return new Markup(items.join(separator.toString()));
}

/** Returns a style sheet or a script of ours as it is. Only constants of modules are made with it: a test checks that. */
export function unescapedConstant(text: string): Markup {
  return new Markup(text);
}

function toText(value: Value): string {
  if (typeof value === "string") return PLAIN.test(value) ? value : escapeUTF8(printable(value));
  return value instanceof Markup || typeof value === "number" ? value.toString() : value.map(toText).join("");
}

const PLAIN = /^[ !#-%(-;=?-~]*$/;

export type TimeText = (timeMs: number) => Markup;

/** A time in the page's zone, such as `2026-01-31 10:00`. */
export type PlainTime = (timeMs: number) => string;

export const createPlainTime: (timeZone: string) => PlainTime = madeOnce((timeZone) => {
  // Swedish dates are written as ISO 8601 has them: 2026-01-31 10:00.
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
  });
  return (timeMs) => format.format(timeMs);
});

/** Returns a function that formats the same as HTML. */
export function toTimeText(plainTime: PlainTime): TimeText {
  return (timeMs) => markup`<time>${plainTime(timeMs)}</time>`;
}

/** The zone's distance from UTC at a time, such as `UTC+1` or `UTC`. */
export function zoneOffset(timeZone: string, timeMs: number): string {
  const parts = offsetFormat(timeZone).formatToParts(timeMs);
  return (parts.find(({ type }) => type === "timeZoneName")?.value ?? "GMT").replace("GMT", "UTC");
}

const offsetFormat = madeOnce((timeZone) =>
  new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "shortOffset" })
);

/** One formatter of a zone serves all pages: creating one costs more than a thousand uses. */
function madeOnce<T>(make: (timeZone: string) => T): (timeZone: string) => T {
  const made = new Map<string, T>();
  return (timeZone) => made.getOrInsertComputed(timeZone, make);
}
