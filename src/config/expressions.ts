import { PATTERN_STEPS_MAX } from "../domain/pattern_size.ts";
import type { FormattedValue } from "./formats.ts";
import { type Problem, quote } from "./problem.ts";

/**
 * Holds regular expressions (RE2 syntax) and JSON paths (RFC 9535) to their grammars. What reads them is loaded only
 * where there are any.
 */
export async function findExpressionProblems(items: readonly FormattedValue[]): Promise<readonly Problem[]> {
  const problems: Problem[] = [];
  for (const { format, ...item } of items) {
    const text = String(item.value);
    // A text that comes from a variable or a file is not for showing, and what is wrong would quote it.
    const isShown = item.value === item.written;
    const reason = format === "pattern" ? await patternProblem(text) : await jsonPathProblem(text);
    if (reason === null) continue;
    const kind = format === "pattern" ? "regular expression in RE2 syntax" : "JSON path (RFC 9535)";
    problems.push({
      path: item.path,
      ...(item.at !== undefined && { at: item.at }),
      message: `${quote(item.written)} is not a ${kind}${isShown ? `: ${reason}` : ""}`,
      ...(format === "pattern" && isShown && LOOKS_AROUND.test(text) && { hint: LOOKAROUND_HINT }),
    });
  }
  return problems;
}

const LOOKS_AROUND = /\(\?<?[=!]|\\[1-9]/;

const LOOKAROUND_HINT = "RE2 cannot look around or refer back, and so never runs away";

async function patternProblem(pattern: string): Promise<string | null> {
  // Before the library makes a program of it, which costs time and memory.
  if (pattern.length > PATTERN_LENGTH_MAX) {
    return `it has ${pattern.length} characters, at most ${PATTERN_LENGTH_MAX} are accepted`;
  }
  const { RE2JS } = await import("re2js");
  try {
    const steps = RE2JS.compile(pattern).programSize();
    return steps <= PATTERN_STEPS_MAX
      ? null
      : `it is too large (${steps} steps of at most ${PATTERN_STEPS_MAX}), repeat less`;
  } catch (error) {
    return reasonOf(error).replace(/^error parsing regexp: /, "");
  }
}

const PATTERN_LENGTH_MAX = 1000;

async function jsonPathProblem(path: string): Promise<string | null> {
  const { JSONPathEnvironment } = await import("json-p3");
  try {
    new JSONPathEnvironment().compile(path);
    return null;
  } catch (error) {
    // The library ends with the path once more, and the place counted from 0.
    return reasonOf(error).replace(/ \('.*':(\d+)\)$/, (_end, index) => ` (character ${Number(index) + 1})`);
  }
}

function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ").replace(/\.$/, "");
}
