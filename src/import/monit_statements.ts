import { decodeText, type ForeignFile, importError } from "./foreign_text.ts";
import { hideInAddress } from "../config/credentials.ts";
import type { COMPARISONS } from "./span_text.ts";

/** A word, a quoted text or a sign of a control file. */
export interface MonitToken {
  readonly text: string;
  /** In small letters, which Monit does not distinguish; empty for a quoted text. */
  readonly word: string;
}

/** A statement that begins with `set`, `include` or `check`. */
export interface MonitStatement {
  readonly tokens: readonly MonitToken[];
  /** Of a check: its tests and settings, each from its keyword on. */
  readonly parts: readonly (readonly MonitToken[])[];
}

const TOKEN =
  /\s+|#[^\n]*|"((?:[^"\\]|\\.)*)"|'([^']*)'|([a-z][a-z0-9+.-]*:\/\/[^\s"',{}]+)|(>=|<=|==|!=|<>|[<>=])|(\{[^{}]*\}|[,;()])|([^\s"'{}<>=!,;()#]+|[!{}])/giy;

/** @throws {ConfigError} If a quoted text does not end. */
export function parseMonit(file: ForeignFile): readonly MonitStatement[] {
  const text = decodeText(file).replaceAll("${", () => "$${");
  const tokens: MonitToken[] = [];
  let end = 0;
  for (const [whole, double, single, url, operator, sign, plain] of text.matchAll(TOKEN)) {
    end += whole.length;
    const quoted = double?.replaceAll(/\\(["\\])/g, "$1") ?? single;
    if (quoted !== undefined) tokens.push({ text: quoted, word: "" });
    else {
      const found = url ?? operator ?? sign ?? plain;
      if (found !== undefined) tokens.push({ text: found, word: found.toLowerCase() });
    }
  }
  if (end < text.length) {
    const problems = [{ message: "a quote is not closed", offset: end }];
    throw importError(file, "1 error", { text, problems });
  }
  return splitStatements(tokens);
}

const STATEMENTS: readonly string[] = ["set", "include", "check"];
const TYPES: readonly string[] = [
  ...["process", "file", "fifo", "filesystem", "device", "directory"],
  ...["host", "remote", "system", "program", "network"],
];
/** Words that begin a part of a check, unless `then` or `else` is before them. */
const PARTS: readonly string[] = [
  ...["if", "start", "stop", "restart", "every", "depends", "depend", "group", "alert", "noalert"],
  ...["mode", "onreboot"],
];

function splitStatements(tokens: readonly MonitToken[]): readonly MonitStatement[] {
  const statements: { tokens: MonitToken[]; parts: MonitToken[][] }[] = [];
  let part: MonitToken[] = [];
  for (const [index, token] of tokens.entries()) {
    const [before = "", next = ""] = [tokens[index - 1]?.word, tokens[index + 1]?.word];
    const isAction = before === "then" || before === "else";
    const begins = STATEMENTS.includes(token.word) && !isAction && before !== "=" &&
      (token.word !== "check" || TYPES.includes(next));
    const current = statements.at(-1);
    if (begins) {
      part = [token];
      statements.push({ tokens: part, parts: [] });
    } else if (current !== undefined) {
      const isPart = current.tokens[0]?.word === "check" && !isAction &&
        (PARTS.includes(token.word) || token.word === "not" && next === "every") && before !== "not" &&
        !(token.word === "if" && before === "else");
      if (isPart) current.parts.push(part = []);
      part.push(token);
    }
  }
  return statements;
}

/** The token after one of some words; `undefined` if none of them is there. */
export function after(tokens: readonly MonitToken[], ...words: readonly string[]): string | undefined {
  const index = tokens.findIndex(({ word }) => words.includes(word));
  if (index < 0) return undefined;
  const found = tokens.slice(index + 1).find(({ word }) => !NOISE.includes(word));
  return found?.text;
}

const NOISE: readonly string[] = ["=", "==", "is", "on", "with", "using", "and", "the", "at", "("];

export function has(tokens: readonly MonitToken[], ...words: readonly string[]): boolean {
  return tokens.some(({ word }) => words.includes(word));
}

/** Returns the words of a part, for the list of dropped parts. */
export function shownTokens(tokens: readonly MonitToken[]): string {
  return tokens.map(({ text, word }, index) => {
    if (word === "") return '"…"';
    return tokens[index - 1]?.word === "password" ? "(hidden)" : hideInAddress(text);
  }).join(" ");
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  month: 30 * 86_400_000,
};

/** A number with a unit of time, such as `5 seconds`, anywhere after a place. */
export function timeIn(tokens: readonly MonitToken[], from: number): number | null {
  for (let index = from; index < tokens.length - 1; index++) {
    const number = Number(tokens[index]?.text);
    const unit = UNIT_MS[tokens[index + 1]?.word.replace(/s$/, "") ?? ""] ??
      UNIT_MS[tokens[index + 1]?.word ?? ""];
    if (Number.isFinite(number) && unit !== undefined) return number * unit;
  }
  return null;
}

/** A comparison such as `usage > 80 %`; the unit is in small letters. */
interface MonitComparison {
  readonly operator: keyof typeof COMPARISONS;
  readonly value: number;
  readonly unit: string;
}

const OPERATORS: Readonly<Record<string, MonitComparison["operator"]>> = {
  ...{ ">": ">", gt: ">", greater: ">", ">=": ">=", "<": "<", lt: "<", less: "<", "<=": "<=" },
  ...{ "=": "==", "==": "==", eq: "==", equal: "==", "!=": "!=", ne: "!=", notequal: "!=", "<>": "!=" },
};

export function comparisonIn(tokens: readonly MonitToken[]): MonitComparison | null {
  for (const [index, { word }] of tokens.entries()) {
    const operator = OPERATORS[word];
    if (operator === undefined) continue;
    const rest = tokens.slice(index + 1).filter(({ word }) => word !== "than" && word !== "to");
    const [, digits = "", attached = ""] = /^(\d+(?:\.\d+)?)(.*)$/.exec(rest[0]?.text ?? "") ?? [];
    if (digits === "") continue;
    const unit = attached === "" ? rest[1]?.word ?? "" : attached.toLowerCase();
    return { operator, value: Number(digits), unit };
  }
  return null;
}
