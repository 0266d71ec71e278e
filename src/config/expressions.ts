import { messageOf } from "../shared/describe_error.ts";
import type { JSONPathQuery } from "json-p3";
import type { FormattedValue } from "./schema_view.ts";
import { type Problem, quoteValue } from "./problem.ts";

/** Validates RE2 expressions and JSON paths (RFC 9535). Their parsers are loaded only if there are any. */
export async function findExpressionProblems(items: readonly FormattedValue[]): Promise<readonly Problem[]> {
  const problems: Problem[] = [];
  // Many checks have the same expression.
  const validated = new Map<string, Verdict>();
  let steps = 0;
  for (const { format, ...item } of items) {
    if (problems.length === EXPRESSION_PROBLEMS_MAX) break;
    const text = String(item.value);
    // A text from a variable or a file is not printed, and the error would quote it.
    const isShown = item.value === item.written;
    const key = `${format} ${text}`;
    const verdict = validated.get(key) ??
      (format === "pattern" ? await validatePattern(text) : await validateJsonPath(text));
    if (!validated.has(key)) steps += verdict.steps;
    validated.set(key, verdict);
    if (steps > STEPS_MAX) {
      const message = `is one of regular expressions of more than ${STEPS_MAX} steps, too many for one file`;
      return [...problems, { path: item.path, message }];
    }
    const { reason } = verdict;
    if (reason === null) continue;
    const kind = format === "pattern" ? "regular expression in RE2 syntax" : "JSON path (RFC 9535)";
    const { path, at = "value" } = item;
    const message = `${quoteValue(item.written)} is not a ${kind}${isShown ? `: ${reason}` : ""}`;
    const looksAround = format === "pattern" && isShown && LOOKS_AROUND.test(text);
    problems.push({ path, at, message, hint: looksAround ? LOOKAROUND_HINT : undefined });
  }
  return problems;
}

interface Verdict {
  readonly reason: string | null;
  readonly steps: number;
}

/** Each takes some milliseconds to find. */
const EXPRESSION_PROBLEMS_MAX = 100;
/** Of all regular expressions of a file: each step costs some memory, and so many take a second. */
const STEPS_MAX = 500_000;

const LOOKS_AROUND = /\(\?<?[=!]|\\[1-9]/;

const LOOKAROUND_HINT = "RE2 has no look-around and no back-references";

async function validatePattern(pattern: string): Promise<Verdict> {
  // Before the library compiles it, which costs time and memory.
  if (pattern.length > LENGTH_MAX) return refuse(tooLong(pattern));
  if (estimateSteps(pattern) > 10 * PATTERN_STEPS_MAX) {
    return refuse(`it is too large (more than ${PATTERN_STEPS_MAX} steps), repeat less`);
  }
  const { RE2JS } = await import("re2js");
  try {
    const steps = RE2JS.compile(pattern).programSize();
    if (steps <= PATTERN_STEPS_MAX) return { reason: null, steps };
    return refuse(`it is too large (${steps} steps of at most ${PATTERN_STEPS_MAX}), repeat less`);
  } catch (error) {
    return refuse(reasonOf(error).replace(/^error parsing regexp: /, ""));
  }
}

/** Of an expression, in characters. */
const LENGTH_MAX = 1000;

function tooLong(expression: string): string {
  return `it has ${expression.length} characters, at most ${LENGTH_MAX} are accepted`;
}

async function validateJsonPath(path: string): Promise<Verdict> {
  if (path.length > LENGTH_MAX) return refuse(tooLong(path));
  const { compile } = await import("json-p3");
  try {
    return { reason: await findExpense(compile(path)), steps: 0 };
  } catch (error) {
    // The library ends with the path once more, and the place counted from 0.
    const END = / \('.*':(\d+)\)$/;
    return refuse(reasonOf(error).replace(END, (_end, index) => ` (character ${Number(index) + 1})`));
  }
}

/** Finds filters whose time grows faster than the body: they search, or read more than the value in question. */
async function findExpense(query: JSONPathQuery): Promise<string | null> {
  const { jsonpath } = await import("json-p3");
  const filters = query.segments.flatMap(({ selectors }) => selectors)
    .filter((selector) => selector instanceof jsonpath.selectors.FilterSelector);
  const parts = filters.flatMap(({ expression }) => partsOf(expression as FilterPart));
  const queries = parts.filter((part) => part.path !== undefined);
  if (queries.some(({ path }) => path?.singularQuery() === false)) {
    return "a filter may compare single values only, such as @.name";
  }
  if (queries.some((part) => String(part).startsWith("$"))) return "a filter may look at @ only, not at $";
  if (parts.some(({ name }) => name === "match" || name === "search")) {
    return "match() and search() are not supported, use body_pattern";
  }
  if (queries.length > QUERIES_MAX) return `its filters have more than ${QUERIES_MAX} parts with @`;
  return null;
}

/** Of the filters of a path together. */
const QUERIES_MAX = 10;

/** The library's classes of expressions, by the fields of which they consist. */
interface FilterPart {
  readonly expression?: FilterPart;
  readonly left?: FilterPart;
  readonly right?: FilterPart;
  readonly args?: readonly FilterPart[];
  readonly path?: JSONPathQuery;
  readonly name?: string;
}

function partsOf(part: FilterPart): readonly FilterPart[] {
  const { expression, left, right, args = [] } = part;
  const inner = [expression, left, right, ...args].filter((one) => one !== undefined);
  return [part, ...inner.flatMap(partsOf)];
}

function refuse(reason: string): Verdict {
  return { reason, steps: 0 };
}

function reasonOf(error: unknown): string {
  return messageOf(error).replace(/\s+/g, " ").replace(/\.$/, "");
}

/** Maximum size of a compiled regular expression, in steps; configs with larger ones are rejected. */
const PATTERN_STEPS_MAX = 500;

/** An escape, a class, the start of a group with its flags, or a count. */
const PIECE =
  /\\Q(?:[^\\]|\\(?!E))*(?:\\E)?|\\[pPx]\{[^}]*\}|\\[pP]?[^]|\[\^?\]?(?:\[:[^\]]*:\]|\\[^]|[^\]\\])*\]|\((?:\?(?:P?<[^>]*>|[a-zA-Z-]*[:)]))?|\{(\d+)(?:,(\d*))?\}|[^]/g;

/**
 * Estimates the steps of the compiled regular expression (RE2 syntax) without compiling it, which could take a second and
 * 100 MB. Alternatives that share letters have fewer, so only hugely oversized ones are detected.
 */
export function estimateSteps(pattern: string): number {
  const groups: number[] = [];
  let sum = 0;
  let last = 0;
  for (const [piece, least, most] of pattern.matchAll(PIECE)) {
    if (piece.startsWith("(")) {
      // Flags alone are no group.
      if (piece.endsWith(")")) continue;
      groups.push(sum + last);
      [sum, last] = [0, 0];
    } else if (piece === ")") {
      [last, sum] = [sum + last, groups.pop() ?? 0];
    } else if (least !== undefined) {
      last *= Math.max(Number(least), Number(most ?? 0), 1);
    } else if (!"*+?".includes(piece)) {
      sum += last;
      last = piece.startsWith("\\Q") ? piece.length - 2 : 1;
    }
  }
  // Unclosed groups are rejected elsewhere.
  return groups.reduce((all, group) => all + group, sum + last);
}
