import { parseJson } from "../../shared/parse_json.ts";
import type { HttpExpectation, JsonExpectation } from "../../domain/generated/config.ts";
import { type Comparison, compileExpectation, show } from "./json_comparisons.ts";
import { DEPTH_MAX, isTooDeep, REACHED_MAX, selectValues } from "./json_paths.ts";
import { LONG_NUMBERS_MAX, markLongNumbers, unmarked } from "./long_numbers.ts";
import { START_LENGTH_MAX } from "./response_body.ts";
import { quote } from "../../shared/quote.ts";

export interface JsonFindings {
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
    return {
      violations: [text.trim() === "" ? "body is empty, expected JSON" : "body is not JSON"],
      obstacle: null,
    };
  }
  await pause();
  if (isTooDeep(read)) {
    return cannotEvaluate(`body is JSON nested deeper than ${DEPTH_MAX} levels`);
  }
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

function isAbsenceExpected(wish: JsonExpectation): boolean {
  return typeof wish === "object" && wish !== null && "exists" in wish && wish.exists === false;
}

interface Found {
  readonly problem: string | null;
  readonly obstacle: string | null;
}

function evaluateFound(
  found: readonly unknown[],
  { comparisons, isExpected }: {
    readonly comparisons: readonly Comparison[];
    readonly isExpected: boolean;
  },
): Found {
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
