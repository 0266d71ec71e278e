import type { HttpExpectation } from "../../domain/generated/config.ts";
import type { IncomingResponse } from "../../domain/connections.ts";
import { searchPattern } from "../body_pattern.ts";
import { quote } from "../../shared/text.ts";
import { BODY_BYTES_MAX, type BodyFindings, readBody, START_LENGTH_MAX } from "./response_body.ts";
import { parseJson } from "../../shared/json_values.ts";
import {
  type Comparison,
  compileExpectation,
  isAbsenceExpected,
  LONG_NUMBERS_MAX,
  markLongNumbers,
  show,
  unmarked,
} from "./json_comparisons.ts";
import { DEPTH_MAX, isTooDeep, REACHED_MAX, selectValues } from "./captures.ts";

interface BodyToEvaluate {
  readonly response: Pick<IncomingResponse, "header" | "read">;
  /** Whether its beginning is wanted, whatever is expected. */
  readonly isCaptured: boolean;
  /** Wall time, for times in the body. */
  readonly nowMs: number;
  /** Called once the required part of the body was read. */
  onRead(): void;
  pause(): Promise<void>;
}

export function expectsBody(expected: HttpExpectation): boolean {
  return BODY_WISHES.some((name) => expected[name] !== undefined);
}

export const BODY_PARTS = ["bodyPart", "notBodyPart", "bodyPattern", "notBodyPattern", "json"] as const;

const BODY_WISHES = [...BODY_PARTS, "warningDurationMs", "criticalDurationMs"] as const;

/** Compares a body with the expected one. Throws the error of the body if it cannot be read, and that of `pause`. */
export async function evaluateBody(
  expected: HttpExpectation,
  { response, isCaptured, nowMs, onRead, pause }: BodyToEvaluate,
): Promise<JsonFindings & Pick<BodyFindings, "start" | "isWhole">> {
  const { bodyPart, notBodyPart, bodyPattern, notBodyPattern, json } = expected;
  const length = response.header("content-length");
  const lengthBytes = length === null || response.header("content-encoding") !== null ? null : Number(length);
  const findings = await readBody(response, {
    parts: [bodyPart, notBodyPart].filter((part) => part !== undefined),
    keepsStart: isCaptured || bodyPattern !== undefined || notBodyPattern !== undefined || json !== undefined,
    readsOn: expected.warningDurationMs !== undefined || expected.criticalDurationMs !== undefined ||
      lengthBytes !== null && lengthBytes <= SHORT_BYTES_MAX,
    lengthBytes,
    contentType: response.header("content-type"),
  });
  onRead();
  const { start, isWhole } = findings;
  const searches = partSearches(expected, findings);
  const searchFor = async (pattern: string, isExpected: boolean): Promise<TextSearch> => {
    await pause();
    const { found, searchedLength } = await searchPattern(start, { pattern, isWhole });
    const limit = searchedLength === null ? null : `${searchedLength} characters`;
    return { text: pattern, isPattern: true, isExpected, isFound: found, limit };
  };
  if (bodyPattern !== undefined) searches.push(await searchFor(bodyPattern, true));
  if (notBodyPattern !== undefined) searches.push(await searchFor(notBodyPattern, false));
  const obstacles: string[] = [];
  const violations: string[] = [];
  for (const search of searches) {
    const obstacle = obstacleIn(search, findings);
    if (obstacle !== null) obstacles.push(obstacle);
    else if (search.isFound !== search.isExpected) violations.push(violationOf(search));
  }
  if (json !== undefined) {
    await pause();
    const evaluated = await evaluateJson(start, { expected: json, isWhole, nowMs, pause });
    violations.push(...evaluated.violations);
    if (evaluated.obstacle !== null) obstacles.push(evaluated.obstacle);
  }
  return { violations, obstacle: obstacles.length === 0 ? null : obstacles.join("; "), start, isWhole };
}

/** So that a short body that breaks off is noticed, wherever the text is in it. */
const SHORT_BYTES_MAX = 1024 * 1024;

interface TextSearch {
  readonly text: string;
  readonly isPattern: boolean;
  readonly isExpected: boolean;
  readonly isFound: boolean;
  /** How much of the body was searched; `null`: all of it. */
  readonly limit: string | null;
}

function partSearches(
  { bodyPart, notBodyPart }: HttpExpectation,
  { found, cut }: BodyFindings,
): TextSearch[] {
  const limit = cut ? `${BODY_BYTES_MAX / 1024 ** 2} MiB` : null;
  const searches: TextSearch[] = [];
  if (bodyPart !== undefined) {
    searches.push({ text: bodyPart, isPattern: false, isExpected: true, isFound: found[0] === true, limit });
  }
  if (notBodyPart !== undefined) {
    const isFound = found.at(-1) === true;
    searches.push({ text: notBodyPart, isPattern: false, isExpected: false, isFound, limit });
  }
  return searches;
}

/** What to print if a text is found and not expected, or the other way round. */
function violationOf({ text, isPattern, isExpected }: TextSearch): string {
  if (isPattern) {
    return isExpected
      ? `body does not match ${quote(text)}`
      : `body matches ${quote(text)}, expected no match`;
  }
  return isExpected
    ? `body does not contain ${quote(text)}`
    : `body contains ${quote(text)}, expected not to`;
}

/** Returns why a text that was not found may be in the body all the same; `null`: it is not. */
function obstacleIn({ text, isFound, limit }: TextSearch, { unknownCharset }: BodyFindings): string | null {
  if (isFound || limit === null && unknownCharset === null) return null;
  const reason = limit === null
    ? `its charset ${quote(unknownCharset ?? "")} is unknown`
    : `it has more than ${limit}`;
  return `cannot search all of the body for ${quote(text)}: ${reason}`;
}

interface JsonFindings {
  /** In the config's order; each path has one sentence at most. */
  readonly violations: readonly string[];
  /** The reason why the body can't be evaluated; `null` if it can. */
  readonly obstacle: string | null;
}

interface JsonBodyOptions {
  readonly expected: NonNullable<HttpExpectation["json"]>;
  readonly isWhole: boolean;
  readonly nowMs: number;
  pause(): Promise<void>;
}

export async function evaluateJson(
  text: string,
  { expected, isWhole, nowMs, pause }: JsonBodyOptions,
): Promise<JsonFindings> {
  if (!isWhole) {
    return cannotEvaluate(`body is too long for JSON, at most ${START_LENGTH_MAX} characters are read`);
  }
  const read = parseJson(text);
  if (read === undefined) {
    const violation = text.trim() === "" ? "body is empty, expected JSON" : "body is not JSON";
    return { violations: [violation], obstacle: null };
  }
  await pause();
  if (isTooDeep(read)) return cannotEvaluate(`body is JSON nested deeper than ${DEPTH_MAX} levels`);
  const marked = markLongNumbers(text);
  if (marked === null) {
    return cannotEvaluate(`body has more than ${LONG_NUMBERS_MAX} numbers with too many digits`);
  }
  const hasLongNumbers = marked !== text;
  const value = hasLongNumbers ? parseJson(marked) : read;
  const violations: string[] = [];
  for (const [path, wish] of Object.entries(expected)) {
    await pause();
    const found = await selectValues(path, value);
    if (found === null) {
      return { violations, obstacle: `json ${quote(path)} reaches more than ${REACHED_MAX} values` };
    }
    if (hasLongNumbers && ORDERS.test(path)) {
      return { violations, obstacle: `json ${quote(path)} cannot compare the long numbers of the body` };
    }
    const { problem, obstacle } = evaluateFound(hasLongNumbers ? found.map(unmarked) : found, {
      comparisons: await compileExpectation(wish, nowMs),
      isExpected: !isAbsenceExpected(wish),
    });
    if (obstacle !== null) return { violations, obstacle: `json ${quote(path)} ${obstacle}` };
    if (problem !== null) violations.push(`json ${quote(path)} ${problem}`);
  }
  return { violations, obstacle: null };
}

/** A filter that does more than compare for equality, which no long number has. */
const ORDERS = /\?.*[<>(]/s;

function cannotEvaluate(obstacle: string): JsonFindings {
  return { violations: [], obstacle };
}

function evaluateFound(
  found: readonly unknown[],
  { comparisons, isExpected }: { readonly comparisons: readonly Comparison[]; readonly isExpected: boolean },
) {
  const [first] = found;
  const fine = { problem: null, obstacle: null };
  if (!isExpected) {
    return found.length === 0 ? fine : { ...fine, problem: `finds ${show(first)}, expected nothing` };
  }
  const expected = comparisons.length === 0 ? "a value" : comparisons.map(({ text }) => text).join(" and ");
  if (found.length === 0) return { ...fine, problem: `finds nothing, expected ${expected}` };
  const wrong: unknown[] = [];
  for (const one of found) {
    const fits = comparisons.map((comparison) => comparison.fits(one));
    if (fits.includes(false)) wrong.push(one);
    else if (fits.includes(null)) return { ...fine, obstacle: "finds more text than the pattern can search" };
  }
  if (wrong.length === 0) return fine;
  const count = found.length > 1 ? ` (${wrong.length} of ${found.length} values do not fit)` : "";
  return { ...fine, problem: `is ${show(wrong[0])}, expected ${expected}${count}` };
}
