import { describePath, type Problem, quoteValue } from "./problem.ts";
import { isExactNumber } from "../shared/decimal.ts";
import { createTokenReader, FAULT, TOKEN, type TokenReader } from "./positions.ts";
import { truncate } from "../shared/text.ts";

/** A JSON value. Objects have no inherited properties, so that a key may be any text. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** A JSON object without inherited properties; created by {@linkcode createObject}. */
export interface JsonObject {
  [name: string]: JsonValue;
}

interface ParsedText {
  /** `undefined` when the syntax is broken. */
  readonly value: JsonValue | undefined;
  readonly problems: readonly Problem[];
}

export const NESTING_MAX = 100;

/** After so many missing commas the text is not one of ours. */
const MISSING_COMMAS_MAX = 100;

/** Parses JSON, or JSONC (comments, trailing commas). A duplicate key keeps its first value. */
export function parseText(text: string): ParsedText {
  return new Parser(text).parse();
}

/**
 * Creates an object with only its own properties: `constructor` and `__proto__` are keys like any other. Created by a
 * constructor rather than by `Object.create(null)`, whose objects the engine stores as hash tables, at several times
 * the cost.
 */
export function createObject(): JsonObject {
  return new Bare();
}

class Bare {
  [name: string]: JsonValue;
}
Reflect.deleteProperty(Bare.prototype, "constructor");
Object.setPrototypeOf(Bare.prototype, null);

/** Replaces the parser's error for YAML, which concerns its first word. */
const YAML_PROBLEM: Problem = {
  path: [],
  offset: 0,
  message: "the text looks like YAML, expected JSON or JSONC",
  hint: "convert it, for example with: yq -o json",
};

class BrokenSyntax extends Error {
  override readonly name = "BrokenSyntax";

  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

const OPEN_STRING_HINT = 'a backslash makes the " after it part of the text: write \\\\ for a backslash';

const VALUE_FORMS = "expected a string in double quotes, a number, true, false, null, { or [";

/** Reads one text. Invariant: `#token` is the first token that has not been used yet. */
class Parser {
  readonly #text: string;
  readonly #tokens: TokenReader;
  /** The path of the parser; its length is the depth. */
  readonly #path: (string | number)[] = [];
  /** Missing commas: after one of them reading goes on, after other errors it would only guess. */
  readonly #missingCommas: Problem[] = [];
  readonly #duplicates: Problem[] = [];
  #token: number = TOKEN.end;
  #end = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = createTokenReader(text);
  }

  parse(): ParsedText {
    try {
      this.#advance();
      if (this.#token === TOKEN.end) this.#failAt(0, this.#explainNothing());
      const value = this.#readValue();
      if (this.#token !== TOKEN.end) this.#fail(`unexpected ${this.#describe()} after the end of the config`);
      const problems = [...this.#missingCommas, ...this.#duplicates];
      return { value: this.#missingCommas.length > 0 ? undefined : value, problems };
    } catch (error) {
      if (!(error instanceof BrokenSyntax)) throw error;
      if (YAML_START.test(this.#text)) return { value: undefined, problems: [YAML_PROBLEM] };
      return { value: undefined, problems: [...this.#missingCommas, ...this.#duplicates, error.problem] };
    }
  }

  #advance(): void {
    this.#end = this.#tokens.getPosition();
    this.#token = this.#tokens.next();
    if (this.#token === TOKEN.blockComment) this.#fail("this comment is not terminated, expected */");
  }

  #readValue(): JsonValue {
    switch (this.#token) {
      case TOKEN.openBrace:
        return this.#readObject();
      case TOKEN.openBracket:
        return this.#readList();
      case TOKEN.string:
        this.#refuseBrokenString();
        return this.#used(this.#tokens.getTokenValue());
      case TOKEN.number:
        return this.#readNumber();
      case TOKEN.true:
      case TOKEN.false:
        return this.#used(this.#token === TOKEN.true);
      case TOKEN.null:
        return this.#used(null);
      case TOKEN.unknown: {
        const word = this.#word();
        return this.#fail(`${describeToken(word)} is not a JSON value, ${VALUE_FORMS}`, hintForValue(word));
      }
      default:
        return this.#failExpecting("a value");
    }
  }

  /** Goes on after a value that is the current token. */
  #used<Value>(value: Value): Value {
    this.#advance();
    return value;
  }

  #readObject(): JsonObject {
    const object = createObject();
    this.#enter();
    while (this.#token !== TOKEN.closeBrace) {
      const name = this.#readName();
      const isGivenTwice = name in object;
      this.#path.push(name);
      if (isGivenTwice) this.#reportDuplicate(name);
      this.#advance();
      if (this.#token !== TOKEN.colon) this.#failExpecting("a colon");
      this.#advance();
      const value = this.#readValue();
      this.#path.pop();
      if (!isGivenTwice) object[name] = value;
      this.#readSeparator(TOKEN.closeBrace);
    }
    this.#advance();
    return object;
  }

  #readList(): JsonValue[] {
    const list: JsonValue[] = [];
    this.#enter();
    while (this.#token !== TOKEN.closeBracket) {
      if (this.#token !== TOKEN.unknown && !startsValue(this.#token)) this.#failExpecting("a value or ]");
      this.#path.push(list.length);
      const value = this.#readValue();
      this.#path.pop();
      list.push(value);
      this.#readSeparator(TOKEN.closeBracket);
    }
    this.#advance();
    return list;
  }

  #enter(): void {
    if (this.#path.length >= NESTING_MAX) {
      this.#fail(`the config is nested more than ${NESTING_MAX} levels deep`);
    }
    this.#advance();
  }

  /** The comma after a value, unless the container ends. */
  #readSeparator(close: typeof TOKEN.closeBrace | typeof TOKEN.closeBracket): void {
    if (this.#token === TOKEN.comma) this.#advance();
    else if (this.#token !== close) {
      const isObject = close === TOKEN.closeBrace;
      if (!(isObject ? this.#token === TOKEN.string : startsValue(this.#token))) {
        this.#failExpecting(isObject ? "a comma or }" : "a comma or ]");
      }
      if (this.#missingCommas.length >= MISSING_COMMAS_MAX) this.#failExpecting("a comma");
      this.#missingCommas.push({
        path: [],
        offset: this.#tokens.getTokenOffset(),
        message: `unexpected ${this.#describe()}, expected a comma`,
        hint: "put a comma after the value before it",
      });
    }
  }

  /** Returns a key; leaves it as the current token. */
  #readName(): string {
    if (this.#token === TOKEN.string) {
      this.#refuseBrokenString();
      return this.#tokens.getTokenValue();
    }
    if (this.#isWord()) {
      const word = this.#word();
      const hint = word.length <= 40 && /^[\w$-]+$/.test(word) ? `write "${word}"` : hintForQuotes(word);
      this.#fail(`${describeToken(word)} is not a key, expected one in double quotes`, hint);
    }
    return this.#failExpecting("a key in double quotes or }");
  }

  #reportDuplicate(name: string): void {
    this.#duplicates.push({
      path: [...this.#path],
      offset: this.#tokens.getTokenOffset(),
      message: `the name ${quoteValue(name)} is specified more than once in one object`,
      hint: "rename or remove one of them",
    });
  }

  #refuseBrokenString(): void {
    const fault: number = this.#tokens.getTokenError();
    if (fault === 0) return;
    const offset = this.#tokens.getTokenOffset();
    const raw = this.#text.slice(offset, this.#tokens.getPosition());
    if (fault === FAULT.openString) {
      const what = `${describeToken(raw)} is an unterminated string`;
      this.#fail(
        `${what}, expected " before the end of the line`,
        /\\"[\s,}\]]*$/.test(raw) ? OPEN_STRING_HINT : undefined,
      );
    }
    const { index, message, hint } = explainString(raw);
    this.#failAt(offset + index, message, hint);
  }

  #readNumber(): number {
    const offset = this.#tokens.getTokenOffset();
    const fault: number = this.#tokens.getTokenError();
    const written = this.#tokens.getTokenValue();
    const value = Number(written);
    const word = fault === FAULT.openNumber ? this.#word() : "";
    if (word !== "") this.#fail(`"${word}" is a number that breaks off, expected a digit after it`);
    this.#advance();
    // Characters directly behind a number are part of it for the writer: 007, 0x1F, 10s.
    if (this.#end === this.#tokens.getTokenOffset() && this.#isWord() && /^[\w.+-]/.test(this.#word())) {
      const whole = this.#text.slice(offset, this.#end) + this.#word();
      const message = `${describeToken(whole)} is not a JSON value, ${VALUE_FORMS}`;
      this.#failAt(offset, message, hintForValue(whole));
    }
    if (String(value) !== written && !isExactNumber(written)) {
      const message = `${describeToken(written)} has too many digits for a number, it would be ${value}`;
      this.#failAt(offset, message, 'write fewer digits; search for a long number with "body_part"');
    }
    return value;
  }

  /** Made of letters, digits and other signs rather than of JSON's punctuation. */
  #isWord(): boolean {
    return this.#token === TOKEN.unknown || startsScalar(this.#token) && this.#token !== TOKEN.string;
  }

  #word(): string {
    const offset = this.#tokens.getTokenOffset();
    const rest = this.#text.slice(offset, offset + 200);
    return /^[^\s{}[\]",:/]+/.exec(rest)?.[0] ?? this.#text.slice(offset, this.#tokens.getPosition());
  }

  #describe(): string {
    const token = this.#text.slice(this.#tokens.getTokenOffset(), this.#tokens.getPosition());
    return describeToken(this.#isWord() ? this.#word() : token);
  }

  #explainNothing(): string {
    return /\S/.test(this.#text)
      ? "the config contains only comments, expected an object"
      : "the config is empty, expected an object";
  }

  #failExpecting(expected: string): never {
    if (this.#token !== TOKEN.end) this.#fail(`unexpected ${this.#describe()}, expected ${expected}`);
    const container = this.#path.length === 0 ? "the config" : quoteValue(describePath(this.#path));
    const hint = /[}\]]$/.test(expected) ? `${container} is not closed` : undefined;
    return this.#fail(`unexpected end of the config, expected ${expected}`, hint);
  }

  #fail(message: string, hint?: string): never {
    return this.#failAt(this.#tokens.getTokenOffset(), message, hint);
  }

  #failAt(offset: number, message: string, hint?: string): never {
    throw new BrokenSyntax({ path: [], offset, message, ...hint !== undefined && { hint } });
  }
}

function startsScalar(token: number): boolean {
  return token >= TOKEN.null && token <= TOKEN.number;
}

function startsValue(token: number): boolean {
  return startsScalar(token) || token === TOKEN.openBrace || token === TOKEN.openBracket;
}

/** A piece of a text as messages quote it; invisible characters as their code point. */
function describeToken(token: string): string {
  const first = token.codePointAt(0) ?? 0;
  if (/^[\p{C}\p{Z}]/u.test(token)) return `character U+${first.toString(16).toUpperCase().padStart(4, "0")}`;
  const short = truncate(token, 40);
  return /^["']/.test(short) ? short : `"${short}"`;
}

/** The hint for a word in the place of a value; `undefined` if the message suffices. */
function hintForValue(word: string): string | undefined {
  if (/^(True|False|None|TRUE|FALSE|NULL|yes|no|on|off)$/.test(word)) return "write true, false or null";
  if (word.length <= 40 && /^\d.*[a-z]/i.test(word)) return `a text needs double quotes: "${word}"`;
  return hintForQuotes(word);
}

/**
 * YAML: comments and blank lines, then the start of a config, a directive, or a key of a mapping in block style. JSON
 * whose braces are missing does not begin so.
 */
const YAML_START =
  /^\ufeff?(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?:---\s|%YAML\s|[A-Za-z_$][\w$-]*[ \t]*:(?:[ \t]*(?:#[^\n]*)?\r?\n|[ \t]+[^\s{["]))/;

/** Finds the first error in a string that ends but is not right; `raw` is with its quotes. */
function explainString(
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
