/** Reads a text as the units of secrets, in all the ways in which programs and protocols write them. */

import { lazily } from "./lazily.ts";

/** A run of white space: programs and protocols fold it. Other units are code points. */
export const BLANK = 0x110000;

/** Characters that are no unit: those that programs drop, or put into the text. */
export const SKIPPED = -1;

/** A unit that may begin at a position, and where it ends. */
export interface ReadUnit {
  readonly unit: number;
  readonly end: number;
}

/** Reads the units that may begin at a position. Positions must grow from call to call. */
export type ReadUnits = (position: number) => readonly ReadUnit[];

/** Returns a reader of characters, each as it is or escaped as in URLs, JSON, programs and HTML. */
export function createTextReader(text: string): ReadUnits {
  const blankEnds = new Map<number, number>();
  const blankEnd = (from: number): number => {
    const visited: number[] = [];
    let at = from;
    for (let known = blankEnds.get(at);; known = blankEnds.get(at)) {
      const end = known ?? endOfBlank(text, at);
      if (end === at || known !== undefined) {
        for (const start of visited) blankEnds.set(start, end);
        return end;
      }
      visited.push(at);
      at = end;
    }
  };
  return (position) => {
    const code = text.charCodeAt(position);
    if (isLetterOrDigit(code)) return [{ unit: code, end: position + 1 }];
    const units: ReadUnit[] = [];
    const plain = plainAt(text, position);
    const escaped = readEscape(text, position);
    for (const read of escaped === null ? [plain] : [plain, escaped]) {
      if (isInvisible(read.unit)) units.push({ ...read, unit: SKIPPED });
      else if (!isSpace(read.unit)) units.push(read);
    }
    const end = blankEnd(position);
    if (end > position) units.push({ unit: BLANK, end });
    return units;
  };
}

/** Returns a reader of base64: both alphabets (RFC 4648, sections 4 and 5), in lines or not, and escaped. */
export function createBase64Reader(text: string): ReadUnits {
  return (position) => {
    const code = text.charCodeAt(position);
    if (isLetterOrDigit(code)) return [{ unit: code, end: position + 1 }];
    const lineBreak = matchAt(LINE_BREAK, text, position);
    if (lineBreak !== null) return [{ unit: SKIPPED, end: position + lineBreak[0].length }];
    const escaped = readEscape(text, position);
    const units = [plainAt(text, position), ...escaped === null ? [] : [escaped]];
    return units.map(({ unit, end }) => ({ unit: BASE64_UNITS.get(unit) ?? unit, end }));
  };
}

/** Also with the indentation of the next line. */
const LINE_BREAK = /(?:(?:\r?\n|\\r\\n|\\n|%0D%0A|%0A|&#13;&#10;|&#10;)[ \t]*)+/iy;

const BASE64_UNITS: ReadonlyMap<number, number> = new Map([[0x2d, 0x2b], [0x5f, 0x2f], [0x0d, SKIPPED], [
  0x0a,
  SKIPPED,
]]);

/** Returns the units of a secret, without those that programs drop, or with blanks instead of them. */
export function unitsOf(secret: string, { withBlanks }: { readonly withBlanks: boolean }): readonly number[] {
  const units: number[] = [];
  for (const character of secret) {
    const point = character.codePointAt(0) ?? 0;
    if (!isSpace(point) && !isInvisible(point)) units.push(point);
    else if ((withBlanks || isSpace(point)) && units.length > 0 && units.at(-1) !== BLANK) units.push(BLANK);
  }
  if (units.at(-1) === BLANK) units.pop();
  return units;
}

/** Returns whether a text is the beginning of an escape sequence that it cuts, or empty. */
export function isCutEscape(text: string): boolean {
  return CUT_ESCAPE.test(text);
}

/** The longest escape sequences: `%F0%9F%94%91`, `\ud83d\udd11`, `&#x0001f511;`. */
export const ESCAPE_LENGTH_MAX = 13;

const CUT_ESCAPE =
  /^(?:(?:%[\da-f]{2}){0,3}(?:%[\da-f]?)?|(?:\\u[\da-f]{4})?\\(?:u\{?[\da-f]{0,6}|x[\da-f]?)?|\\u[\da-f]{4}|&(?:#x?)?[\da-z]{0,10}|[\xc2-\xf4][\x80-\xbf]{0,2})$/i;

function isLetterOrDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39 || code >= 0x41 && code <= 0x5a || code >= 0x61 && code <= 0x7a;
}

export function isInvisible(point: number): boolean {
  if (point < 0xa0) return (point < 0x20 || point >= 0x7f) && !isSpace(point);
  return /\p{Cf}/u.test(String.fromCodePoint(point)) && !isSpace(point);
}

function isSpace(point: number): boolean {
  if (point < 0xa0) return point === 0x20 || point >= 0x09 && point <= 0x0d;
  return /\s/.test(String.fromCodePoint(point));
}

function plainAt(text: string, position: number): ReadUnit {
  const unit = text.codePointAt(position) ?? 0;
  return { unit, end: position + (unit > 0xffff ? 2 : 1) };
}

function endOfBlank(text: string, position: number): number {
  const plain = plainAt(text, position);
  if (position < text.length && (isSpace(plain.unit) || plain.unit === PLUS)) return plain.end;
  const escaped = readEscape(text, position);
  return escaped !== null && isSpace(escaped.unit) ? escaped.end : position;
}

const PLUS = 0x2b;

function readEscape(text: string, position: number): ReadUnit | null {
  const code = text.charCodeAt(position);
  if (code === 0x25) return readPercent(text, position);
  if (code === 0x5c) return readBackslash(text, position);
  if (code === 0x26) return readEntity(text, position);
  return code >= 0xc2 && code <= 0xf4 ? readBytes(text, position) : null;
}

function matchAt(sticky: RegExp, text: string, position: number): RegExpExecArray | null {
  sticky.lastIndex = position;
  return sticky.exec(text);
}

/** UTF-8 in a URL. */
function readPercent(text: string, position: number): ReadUnit | null {
  // A percentage, as most of these signs are.
  if (!/[\da-f]/i.test(text.charAt(position + 1))) return null;
  const [found = ""] = matchAt(PERCENT, text, position) ?? [];
  return readUtf8([...found.matchAll(/[\da-f]{2}/gi)].map(([digits]) => parseInt(digits, 16)), position, 3);
}

const PERCENT = /%[\da-f]{2}(?:%[89ab][\da-f]){0,3}/iy;

/** UTF-8 as headers carry it: a byte a character. */
function readBytes(text: string, position: number): ReadUnit | null {
  const [found = ""] = matchAt(BYTES, text, position) ?? [];
  return readUtf8(Array.from(found, (byte) => byte.charCodeAt(0)), position, 1);
}

const BYTES = /[\xc2-\xf4][\x80-\xbf]{1,3}/y;

/** Reads the first character of some bytes, each of which has so many characters of the text. */
function readUtf8(bytes: readonly number[], position: number, width: number): ReadUnit | null {
  const [first] = bytes;
  if (first === undefined) return null;
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (bytes.length < length || first >= 0x80 && first < 0xc2) return null;
  let unit = length === 1 ? first : first & (0x7f >> length);
  for (const byte of bytes.slice(1, length)) unit = unit * 64 + (byte & 0x3f);
  return unit > 0x10ffff ? null : { unit, end: position + length * width };
}

/** JSON, and the literals of most programming languages and shells. */
function readBackslash(text: string, position: number): ReadUnit | null {
  const found = matchAt(backslash(), text, position);
  if (found === null) return null;
  const [whole, high, low, braced, four, two, letter = ""] = found;
  const end = position + whole.length;
  const digits = braced ?? four ?? two;
  if (digits !== undefined) {
    const unit = parseInt(digits, 16);
    return unit > 0x10ffff ? null : { unit, end };
  }
  if (high === undefined || low === undefined) {
    return { unit: LETTERS[letter] ?? letter.codePointAt(0) ?? 0, end };
  }
  return { unit: 0x10000 + (parseInt(high, 16) - 0xd800) * 1024 + (parseInt(low, 16) - 0xdc00), end };
}

const backslash = lazily(() =>
  /\\(?:u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})|u\{([\da-f]{1,6})\}|(?:u([\da-f]{4})|x([\da-f]{2}))|([nrtbfv]|[^\w\s]))/iuy
);

const LETTERS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, b: 8, f: 12, v: 11 };

/** A character reference of HTML and XML. */
function readEntity(text: string, position: number): ReadUnit | null {
  const found = matchAt(ENTITY, text, position);
  if (found === null) return null;
  const [whole, decimal, hex, name = ""] = found;
  const unit = decimal !== undefined
    ? Number(decimal)
    : hex !== undefined
    ? parseInt(hex, 16)
    : entities().get(name);
  return unit === undefined || unit > 0x10ffff ? null : { unit, end: position + whole.length };
}

const ENTITY = /&(?:#(\d{1,9})|#x([\da-f]{1,8})|([a-z]{2,8}\d{0,2}));/iy;

/** The names of HTML for ASCII and common punctuation, and those of HTML 4 for letters. */
const entities = lazily((): ReadonlyMap<string, number> =>
  new Map(([
    [0x21, "excl quot num dollar percnt amp apos lpar rpar ast plus comma - period sol"],
    [0x3a, "colon semi lt equals gt quest commat"],
    [0x5b, "lsqb bsol rsqb Hat lowbar grave"],
    [0x7b, "lcub verbar rcub"],
    [0x9, "Tab NewLine"],
    [
      0xa0,
      "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para " +
      "middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave " +
      "Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc " +
      "Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc " +
      "iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml",
    ],
    [0x152, "OElig oelig"],
    [0x160, "Scaron scaron"],
    [0x178, "Yuml"],
    [0x192, "fnof"],
    [
      0x391,
      "Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho - Sigma Tau Upsilon Phi Chi Psi " +
      "Omega",
    ],
    [
      0x3b1,
      "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigmaf sigma tau upsilon phi chi " +
      "psi omega",
    ],
    [0x2013, "ndash mdash"],
    [0x2018, "lsquo rsquo sbquo - ldquo rdquo bdquo"],
    [0x2026, "hellip"],
    [0x20ac, "euro"],
  ] as const).flatMap(([first, names]) =>
    names.split(" ").map((name, index): readonly [string, number] => [name, first + index])
  ))
);
