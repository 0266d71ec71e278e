/**
 * Removes secrets from texts that came from outside: as they are, and in each form in which they may have been sent
 * there and echoed.
 */
import type { CapturedText, Processes } from "../domain/processes.ts";

const REDACTED = "[secret]";

/** Shorter values are common words and parts of numbers: to hide them would tear up most texts. */
export const SECRET_LENGTH_MIN = 4;

interface RedactOptions {
  /** Whether its end was truncated, so that the beginning of a secret may be there. @default {false} */
  readonly isCut?: boolean;
}

interface RedactorOptions {
  /**
   * The number of characters to compare, in all texts together. A text that needs more is hidden from there on: secrets
   * that a target chooses may agree with a text in very many ways. @default any number
   */
  readonly workMax?: number;
}

/** The limit for secrets of a target: less than a second of work. */
export const FOREIGN_WORK_MAX = 5_000_000;

/**
 * Removes secrets from a text. Call it with the text as it was received: splitting, trimming, truncating or escaping
 * may hide a part of a secret from it. Redacting twice is safe.
 */
export type Redact = (text: string, options?: RedactOptions) => string;

/** Redacts the output of processes before it is parsed. */
export function redactProcesses(processes: Processes, redact: Redact): Processes {
  return {
    run: async (command, signal) => {
      const end = await processes.run(command, signal);
      if (end.ended === "not_started") return end;
      // A terminated process may have been writing.
      const isEnded = end.ended !== "exited";
      const without = ({ text, truncated }: CapturedText): CapturedText => ({
        text: redact(text, { isCut: truncated || isEnded }),
        truncated,
      });
      return { ...end, stdout: without(end.stdout), stderr: without(end.stderr) };
    },
  };
}

/**
 * Returns whether a value is long enough to be taken out of texts: 4 visible characters, blanks at its ends apart.
 */
export function isRedactable(secret: string): boolean {
  return [...secret.trim().replace(INVISIBLE, "")].length >= SECRET_LENGTH_MIN;
}

/**
 * Returns a function that removes secrets from texts. Each is found as it is, by the line if it has several, with
 * other white space, without its invisible characters, with all or some characters escaped as in URLs, JSON and HTML,
 * and in base64. The first four characters or more of one are removed in front of an ellipsis and at the truncated
 * end of the text.
 */
export function createRedactor(
  secrets: Iterable<string>,
  { workMax = Infinity }: RedactorOptions = {},
): Redact {
  const work = { left: workMax };
  const forms = new Set<string>();
  const encoded = new Set<string>();
  for (const secret of secrets) {
    for (const text of [secret, ...secret.split(/\r?\n/)]) if (isRedactable(text)) forms.add(text.trim());
    if (!isRedactable(secret)) continue;
    for (const text of [secret, secret.trim()]) encoded.add(new TextEncoder().encode(text).toBase64());
  }
  if (forms.size === 0) return (text) => text;
  const spell = createSpelling();
  const patterns = [
    ...[...forms].map((form) => createPattern(form, spell)),
    ...[...encoded].map((form) => createPattern(form, spellBase64)),
  ];
  const heads = new Set(patterns.map(headOf));
  const heading = new RegExp([escapePattern(REDACTED), ...heads].join("|"), "g");
  return (text, { isCut = false } = {}) => {
    const whole: Whole = { text, isCut, work };
    let redacted = "";
    /** Up to here the text is in `redacted`. */
    let done = 0;
    /** A secret from here to there waits for another one that begins in it. */
    let from = 0;
    let to = 0;
    const flush = (): void => {
      if (to > from) redacted += text.slice(done, from) + REDACTED;
      done = Math.max(done, to);
    };
    heading.lastIndex = 0;
    for (let found = heading.exec(text); found !== null; found = heading.exec(text)) {
      const { 0: head, index } = found;
      if (head === REDACTED) continue;
      const end = patterns.reduce(
        (furthest, pattern) => Math.max(furthest, endOf(pattern, whole, index)),
        index,
      );
      // Another one may begin in it; of a long one only the end is searched again.
      heading.lastIndex = Math.max(index + 1, end - STEPS_MAX);
      const isHiddenOn = work.left < 0;
      if (end === index && !isHiddenOn) continue;
      if (index >= to) {
        flush();
        from = index;
      }
      if (isHiddenOn) return redacted + text.slice(done, from) + REDACTED;
      to = Math.max(to, end);
    }
    flush();
    return redacted + text.slice(done);
  };
}

/** The ways in which a character may be written; `null`: a run of white space. */
type Step = readonly string[] | null;

type Spell = (character: string) => readonly string[];

interface Pattern {
  readonly steps: readonly Step[];
  readonly rest: string;
  readonly spell: Spell;
}

/** A text that agrees with a secret so far has the secret in it; so nothing is compared for longer in vain. */
const STEPS_MAX = 256;

function createPattern(characters: string, spell: Spell): Pattern {
  const steps: Step[] = [];
  let length = 0;
  for (const unit of unitsOf(characters)) {
    if (steps.length === STEPS_MAX) break;
    steps.push(stepOf(unit, spell));
    length += unit.length;
  }
  return { steps, rest: characters.slice(length), spell };
}

function stepOf(unit: string, spell: Spell): Step {
  return /^\s/.test(unit) ? null : spell(unit);
}

interface Whole {
  readonly text: string;
  readonly isCut: boolean;
  /** The number of characters that the redactor may still compare. */
  readonly work: { left: number };
}

/** White space matches any other white space: programs and protocols fold it. */
const BLANK =
  /(?:\s|%20|%0[9a-d]|%C2%A0|%E1%9A%80|%E2%80%(?:8[0-9A]|A[89F])|%E2%81%9F|%E3%80%80|%EF%BB%BF|\+|\\[tnrfv]|\\u00(?:20|0[9a-d])|&nbsp;|&#(?:32|9|10|13);)+/iy;

const INVISIBLE = /(?!\s)[\p{Cc}\p{Cf}]/gu;

/** Characters of a pattern that are searched for first, all patterns in one pass. */
function headOf({ steps }: Pattern): string {
  return steps.slice(0, SECRET_LENGTH_MIN).map((step) =>
    step === null ? BLANK.source : `(?:${step.map(escapePattern).join("|")})`
  ).join("");
}

/** The characters one by one, a run of white space as one. */
function* unitsOf(characters: string): Generator<string> {
  for (const [unit] of characters.matchAll(/\s+|[^]/gu)) yield unit;
}

/** Where a pattern ends that begins at `start`; `start` where it does not, or less than four of its characters do. */
function endOf({ steps, rest, spell }: Pattern, whole: Whole, start: number): number {
  // The ways to read the same characters differ: "%25" may be a percent sign, or three characters.
  let places: readonly number[] = [start];
  for (const [index, step] of steps.entries()) {
    const next = advance(places, step, whole);
    if (next.length === 0) {
      return index < SECRET_LENGTH_MIN ? start : Math.max(start, ...cutAfter(places, step, whole));
    }
    places = next;
  }
  for (const unit of unitsOf(rest)) {
    if (whole.work.left < 0) break;
    const next = advance(places, stepOf(unit, spell), whole);
    if (next.length === 0) break;
    places = next;
  }
  return Math.max(...places);
}

function advance(places: readonly number[], step: Step, { text, work }: Whole): readonly number[] {
  work.left -= places.length;
  const next: number[] = [];
  for (const place of places) {
    if (step === null) {
      BLANK.lastIndex = place;
      if (BLANK.test(text)) next.push(BLANK.lastIndex);
      continue;
    }
    for (const spelling of step) if (text.startsWith(spelling, place)) next.push(place + spelling.length);
  }
  return next.length <= 1 ? next : [...new Set(next)];
}

/** Where a text ends that was cut at one of some places, or within a spelling there. */
function* cutAfter(places: readonly number[], step: Step, { text, isCut }: Whole): Generator<number> {
  for (const place of places) {
    const near = text.slice(place, place + SPELLING_LENGTH_MAX);
    const ellipsis = near.indexOf("…");
    const isLast = ellipsis < 0 && isCut && place + near.length === text.length;
    if (ellipsis < 0 && !isLast) continue;
    const rest = isLast ? near : near.slice(0, ellipsis);
    if (rest === "" || step?.some((spelling) => spelling.startsWith(rest))) yield place + rest.length;
  }
}

/** `%F0%9F%94%91` and `\ud83d\udd11`, the longest ones. */
const SPELLING_LENGTH_MAX = 13;

/** Returns a function that lists the spellings of a character; each is computed once. */
function createSpelling(): Spell {
  const known = new Map<string, readonly string[]>();
  return (character) => {
    let spellings = known.get(character);
    if (spellings === undefined) known.set(character, spellings = [...new Set(spellingsOf(character))]);
    return spellings;
  };
}

function* spellingsOf(character: string): Generator<string> {
  yield character;
  // These are never escaped.
  if (/^[A-Za-z0-9]$/.test(character)) return;
  const bytes = new TextEncoder().encode(character);
  // As headers carry it: a byte a character.
  yield String.fromCharCode(...bytes);
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  const code = character.codePointAt(0) ?? 0;
  for (
    const digits of [
      (number: number) => number.toString(16),
      (number: number) => number.toString(16).toUpperCase(),
    ]
  ) {
    yield Array.from(bytes, (byte) => `%${digits(byte).padStart(2, "0")}`).join("");
    yield units.map((unit) => `\\u${digits(unit).padStart(4, "0")}`).join("");
    yield `\\u{${digits(code)}}`;
    yield `\\x${digits(code).padStart(2, "0")}`;
    yield `&#x${digits(code)};`;
  }
  yield JSON.stringify(character).slice(1, -1);
  if (/[\\/'"]/.test(character)) yield `\\${character}`;
  yield `&#${code};`;
  yield ENTITIES[character] ?? character;
  // Invisible characters are dropped or replaced by many programs.
  if (character.replace(INVISIBLE, "") === "") yield* ["", " "];
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Both alphabets (RFC 4648, sections 4 and 5), as they are and in a URL; without its padding too. */
function spellBase64(character: string): readonly string[] {
  return BASE64_SPELLINGS[character] ?? [character];
}

const BASE64_SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  "+": ["+", "-", "%2B", "%2b", "\\u002b", "\\u002B"],
  "/": ["/", "_", "%2F", "%2f", "\\/"],
  "=": ["=", "%3D", "%3d", "\\u003d", "\\u003D", ""],
};

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
