import type { HttpExpectation, JsonAny, JsonExpectation, JsonPlain } from "../../domain/http_check.ts";
import { DEPTH_MAX, REACHED_MAX, selectValues } from "./json_paths.ts";
import { START_LENGTH_MAX } from "./response_body.ts";
import { quote, QUOTED_LENGTH_MAX } from "../../shared/quote.ts";
import { truncate } from "../../shared/truncate.ts";

/** What a body of JSON showed. */
export interface JsonFindings {
  /** In the config's order; each path has one sentence at most. */
  readonly violations: readonly string[];
  /** Why the body can't be judged; `null` if it can. */
  readonly obstacle: string | null;
}

/** What {@linkcode judgeJson} needs besides the text. */
interface JsonBodyOptions {
  readonly expected: NonNullable<HttpExpectation["json"]>;
  readonly isWhole: boolean;
  pause(): Promise<void>;
}

/** Compares a body of JSON with what is expected. */
export async function judgeJson(
  text: string,
  { expected, isWhole, pause }: JsonBodyOptions,
): Promise<JsonFindings> {
  if (!isWhole) {
    return cannotJudge(`body is too long for JSON, at most ${START_LENGTH_MAX} characters are read`);
  }
  const value = parse(text);
  if (value === undefined) {
    return {
      violations: [text.trim() === "" ? "body is empty, expected JSON" : "body is not JSON"],
      obstacle: null,
    };
  }
  await pause();
  if (isDeeperThan(value, DEPTH_MAX)) {
    return cannotJudge(`body is JSON nested deeper than ${DEPTH_MAX} levels`);
  }
  const violations: string[] = [];
  for (const [path, wish] of Object.entries(expected)) {
    await pause();
    const found = await selectValues(path, value);
    if (found === null) {
      return { violations, obstacle: `json ${quote(path)} reaches more than ${REACHED_MAX} values` };
    }
    const problem = pathProblem(found, comparisons(wish));
    if (problem !== null) violations.push(`json ${quote(path)} ${problem}`);
  }
  return { violations, obstacle: null };
}

function cannotJudge(obstacle: string): JsonFindings {
  return { violations: [], obstacle };
}

function parse(text: string): unknown {
  try {
    // A byte order mark was taken away by the decoder.
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Level by level, since a hostile value is deep enough for the end of any stack. */
function isDeeperThan(value: unknown, depthMax: number): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= depthMax; depth++) {
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue;
      for (const part of Object.values(item)) if (typeof part === "object" && part !== null) next.push(part);
    }
    if (next.length === 0) return false;
    level = next;
  }
  return true;
}

/** A value alone is one that is to be equalled. */
function comparisons(wish: JsonExpectation | JsonPlain): JsonExpectation {
  return typeof wish === "object" && wish !== null && !Array.isArray(wish)
    ? wish as JsonExpectation
    : { equals: wish as JsonPlain };
}

function pathProblem(found: readonly unknown[], wish: JsonExpectation): string | null {
  const [first] = found;
  if (wish.exists === false) return found.length === 0 ? null : `finds ${show(first)}, expected nothing`;
  if (found.length === 0) return `finds nothing, expected ${describe(wish)}`;
  const wrong = found.filter((one) => !fits(one, wish));
  if (wrong.length === 0) return null;
  const count = found.length > 1 ? ` (${wrong.length} of ${found.length} values do not fit)` : "";
  return `is ${show(wrong[0])}, expected ${describe(wish)}${count}`;
}

function fits(value: unknown, { equals, notEquals, lessThan, greaterThan }: JsonExpectation): boolean {
  return (equals === undefined || isEqual(value, equals)) &&
    (notEquals === undefined || !isEqual(value, notEquals)) &&
    (lessThan === undefined || typeof value === "number" && value < lessThan) &&
    (greaterThan === undefined || typeof value === "number" && value > greaterThan);
}

/** As RFC 9535 compares (section 2.3.5.2.2): the order of members does not matter. */
function isEqual(value: unknown, expected: JsonAny): boolean {
  if (typeof value !== "object" || value === null || typeof expected !== "object" || expected === null) {
    return value === expected;
  }
  if (Array.isArray(value) !== Array.isArray(expected)) return false;
  const names = Object.keys(expected);
  const members = expected as Readonly<Record<string, JsonAny>>;
  return Object.keys(value).length === names.length && names.every((name) => {
    const wanted = members[name];
    return wanted !== undefined && Object.hasOwn(value, name) &&
      isEqual((value as Readonly<Record<string, unknown>>)[name], wanted);
  });
}

function describe({ equals, notEquals, lessThan, greaterThan }: JsonExpectation): string {
  const wishes = [
    ...equals === undefined ? [] : [show(equals)],
    ...notEquals === undefined ? [] : [`anything but ${show(notEquals)}`],
    ...lessThan === undefined ? [] : [`a number less than ${lessThan}`],
    ...greaterThan === undefined ? [] : [`a number greater than ${greaterThan}`],
  ];
  return wishes.length === 0 ? "a value" : wishes.join(" and ");
}

/** JSON; of what is large only its kind, which costs nothing to tell. */
function show(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (typeof value !== "object" || value === null) return String(value);
  const size = Object.keys(value).length;
  if (
    size > SHOWN_PARTS_MAX || Object.values(value).some((part) => typeof part === "object" && part !== null)
  ) {
    return Array.isArray(value) ? `a list of ${size}` : `an object of ${size}`;
  }
  const parts = Array.isArray(value)
    ? value.map(show)
    : Object.entries(value).map(([name, part]) => `${quote(name)}: ${show(part)}`);
  const text = truncate(parts.join(", "), QUOTED_LENGTH_MAX);
  return Array.isArray(value) ? `[${text}]` : `{${text}}`;
}

const SHOWN_PARTS_MAX = 5;
