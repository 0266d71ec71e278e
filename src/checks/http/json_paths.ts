import type { FilterFunction, JSONPathEnvironment } from "json-p3";
import { meter } from "../metered.ts";

/** How many steps a path may take: some 50 ms at worst, for as long as they last, nothing else can run. */
const STEPS_MAX = 60_000;

/** Between two looks a path may go through all its terms: so many characters of it cost a step more for each look. */
const PATH_CHARACTERS_PER_STEP = 100;

/** How deep a value may be nested. */
export const DEPTH_MAX = 64;

/** How many characters a regular expression within a path may have; it may come from the body. */
const EXPRESSION_LENGTH_MAX = 200;

/**
 * Everything a path (RFC 9535) finds in a value of JSON that is nested {@link DEPTH_MAX} deep at most, in order.
 *
 * The time is bounded whatever path and value are: every look at the value is counted, for more where the path is
 * long, and the regular expressions of `match` and `search` are linear. The libraries are loaded only here.
 *
 * @throws {TooManySteps} If the path needs more steps than it may.
 */
export async function selectValues(path: string, value: unknown): Promise<readonly unknown[]> {
  const lookSteps = 1 + Math.floor(path.length / PATH_CHARACTERS_PER_STEP);
  const metered = meter(value, { stepsMax: STEPS_MAX, lookSteps });
  const environment = await createEnvironment(path, metered.spend);
  const query = environment.compile(path);
  const found: unknown[] = [];
  // Step by step, so that nothing is gathered that is not counted.
  for (const node of query.lazyQuery(metered.value as never)) found.push(metered.plain(node.value));
  return found;
}

async function createEnvironment(path: string, spend: (steps: number) => void): Promise<JSONPathEnvironment> {
  const { FunctionExpressionType, JSONPathEnvironment } = await import("json-p3");
  const environment = new JSONPathEnvironment({ maxRecursionDepth: DEPTH_MAX + 2 });
  if (!/\b(?:match|search)\b/.test(path)) return environment;
  const { RE2JS } = await import("re2js");
  const compiled = new Map<string, InstanceType<typeof RE2JS> | null>();
  const compile = (expression: string): InstanceType<typeof RE2JS> | null => {
    const kept = compiled.get(expression);
    if (kept !== undefined) return kept;
    spend(COMPILE_STEPS);
    let made: InstanceType<typeof RE2JS> | null = null;
    try {
      if (expression.length <= EXPRESSION_LENGTH_MAX) made = RE2JS.compile(withStrictDots(expression));
    } catch {
      // An expression that is none matches nothing (RFC 9535, section 2.4.6).
    }
    compiled.set(expression, made);
    return made;
  };
  const matcher = (isWhole: boolean): FilterFunction => ({
    argTypes: [FunctionExpressionType.ValueType, FunctionExpressionType.ValueType],
    returnType: FunctionExpressionType.LogicalType,
    call(text: unknown, expression: unknown): boolean {
      if (typeof text !== "string" || typeof expression !== "string") return false;
      const program = compile(isWhole ? `^(?:${expression})$` : expression);
      if (program === null) return false;
      spend(CALL_STEPS + Math.ceil((program.programSize() * text.length) / TRIES_PER_STEP));
      return program.test(text);
    },
  });
  environment.functionRegister.set("match", matcher(true));
  environment.functionRegister.set("search", matcher(false));
  return environment;
}

/** What making a program costs. */
const COMPILE_STEPS = 5000;

/** What asking a program anything costs. */
const CALL_STEPS = 5;

/** How many steps of a regular expression's program cost as much as one look at a value. */
const TRIES_PER_STEP = 100;

/** Outside of a class, a dot stands for neither end of a line (RFC 9485, section 5.3). */
function withStrictDots(expression: string): string {
  return expression.replace(/\\[^]|\[(?:\\[^]|[^\]\\])*\]|\./gu, (part) => part === "." ? "[^\\n\\r]" : part);
}
