/**
 * The members of rows, and of the JSON in them, one by one. Everything here that reads one throws an
 * {@linkcode UnreadableRowError} when it is not what it should be.
 */
import { type Condition, CONDITIONS } from "../domain/condition.ts";

/** A row that no monitor can have written. */
export class UnreadableRowError extends Error {
  /** The name of the class. */
  override readonly name = "UnreadableRowError";
}

/** Members by name, of a row or of parsed JSON. */
export type Members = Readonly<Record<string, unknown>>;

/**
 * Text as it is kept. The database would end it at a U+0000 and make every lone surrogate the same U+FFFD, so
 * that two names become one; text with either is kept as a JSON string. That begins with a quotation mark, and
 * so that nothing else does, text that begins with one is kept as JSON too.
 */
export function encodeText(text: string): string {
  return text.isWellFormed() && !text.includes("\0") && !text.startsWith('"') ? text : JSON.stringify(text);
}

/** `encodeText` of a text that may be missing. */
export function encodeTextOrNull(text: string | null): string | null {
  return text === null ? null : encodeText(text);
}

/** A condition. */
export function conditionIn(members: Members, name: string): Condition {
  const condition = CONDITIONS.find((known) => known === members[name]);
  if (condition === undefined) throw unreadable(name, "a condition");
  return condition;
}

/** Text as it stands there. */
export function textIn(members: Members, name: string): string {
  const value = members[name];
  if (typeof value !== "string") throw unreadable(name, "text");
  return value;
}

/** Text as it stands there, or `null`. */
export function textOrNullIn(members: Members, name: string): string | null {
  return members[name] === null ? null : textIn(members, name);
}

/** A number. */
export function numberIn(members: Members, name: string): number {
  const value = members[name];
  if (typeof value !== "number") throw unreadable(name, "a number");
  return value;
}

/** A number or `null`. */
export function numberOrNullIn(members: Members, name: string): number | null {
  return members[name] === null ? null : numberIn(members, name);
}

/** Text that `encodeText` made. */
export function encodedTextIn(members: Members, name: string): string {
  return decodeText(textIn(members, name));
}

/** Text that `encodeText` made, or `null`. */
export function encodedTextOrNullIn(members: Members, name: string): string | null {
  return members[name] === null ? null : encodedTextIn(members, name);
}

/** A list of texts. */
export function textsIn(members: Members, name: string): readonly string[] {
  const value = members[name];
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) {
    throw unreadable(name, "a list of texts");
  }
  return value;
}

/** One of some words. */
export function wordIn<T extends string>(members: Members, name: string, words: readonly T[]): T {
  const word = words.find((known) => known === members[name]);
  if (word === undefined) throw unreadable(name, `one of ${words.join(", ")}`);
  return word;
}

/** The members of an object that is kept as JSON. */
export function membersOf(json: string): Members {
  return objectOf(parse(json), "JSON");
}

/** The members of an object in JSON; the name is that of where it stands. */
export function objectOf(value: unknown, name: string): Members {
  if (typeof value !== "object" || value === null) throw unreadable(name, "an object");
  return value as Members;
}

/** A JSON list of lists of so many numbers. */
export function numberListsIn(
  members: Members,
  name: string,
  length: number,
): readonly (readonly number[])[] {
  const lists = parse(textIn(members, name));
  const isList = (list: unknown): boolean =>
    Array.isArray(list) && list.length === length && list.every((value) => typeof value === "number");
  if (!Array.isArray(lists) || !lists.every(isList)) throw unreadable(name, `lists of ${length} numbers`);
  return lists;
}

/** The text that `encodeText` kept. */
function decodeText(kept: string): string {
  if (!kept.startsWith('"')) return kept;
  const text = parse(kept);
  if (typeof text !== "string") throw new UnreadableRowError("text is a string, not another JSON value");
  return text;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new UnreadableRowError("a row holds broken JSON", { cause: error });
  }
}

function unreadable(name: string, expected: string): UnreadableRowError {
  return new UnreadableRowError(`"${name}" of a row is not ${expected}`);
}
