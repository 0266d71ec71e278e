import { createScanner } from "jsonc-parser";

/** The kinds of tokens, as jsonc-parser numbers them: a const enum there, which does not exist at run time. */
export const TOKEN = {
  openBrace: 1,
  closeBrace: 2,
  openBracket: 3,
  closeBracket: 4,
  comma: 5,
  colon: 6,
  null: 7,
  true: 8,
  false: 9,
  string: 10,
  number: 11,
  lineComment: 12,
  blockComment: 13,
  /** Characters of no JSON token, up to the next token or white space. */
  unknown: 16,
  end: 17,
} as const;

/** The error of a token, numbered likewise; 0: none. */
export const FAULT = { openComment: 1, openString: 2, openNumber: 3 } as const;

/** Reads a text token by token, without white space and comments. */
export interface TokenReader {
  /** Reads the next token and returns its kind; a comment is returned only if it never ends. */
  next(): number;
  jump(offset: number): void;
  offset(): number;
  end(): number;
  value(): string;
  /** One of {@linkcode FAULT}, or another number for a string that is not right; 0 for none. */
  fault(): number;
}

export function createTokenReader(text: string): TokenReader {
  const scanner = createScanner(text, false);
  return {
    next: () => {
      for (;;) {
        // The scanner would make a string of the white space, a character at a time.
        const start = scanner.getPosition();
        const end = skipSpace(text, start);
        if (end > start) scanner.setPosition(end);
        const kind: number = scanner.scan();
        const isComment = kind === TOKEN.lineComment || kind === TOKEN.blockComment;
        const fault: number = scanner.getTokenError();
        if (!isComment || fault === FAULT.openComment) return kind;
      }
    },
    jump: (offset) => scanner.setPosition(offset),
    offset: () => scanner.getTokenOffset(),
    end: () => scanner.getPosition(),
    value: () => scanner.getTokenValue(),
    fault: () => scanner.getTokenError(),
  };
}

function skipSpace(text: string, from: number): number {
  let offset = from;
  while (isSpace(text.charCodeAt(offset))) offset++;
  return offset;
}

/** Space, tab, line feed and carriage return: all the white space that JSON has. */
function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}
