import type { JsonValue } from "../config/syntax.ts";
import type * as written from "../domain/generated/written_config.ts";
import {
  COMPARISONS,
  escapePattern,
  globPattern,
  JSON_COMPARISONS,
  parseGoDuration,
  partOfGlob,
  spanText,
  standardJsonPath,
  statusesThat,
} from "./span_text.ts";

/** A condition of Gatus, with its placeholder on the left. */
export interface GatusCondition {
  readonly text: string;
  readonly left: string;
  readonly operator: Operator;
  readonly right: string;
}

/** In the order in which Gatus searches for them. */
const OPERATORS = ["==", "!=", "<=", ">=", ">", "<"] as const;
type Operator = typeof OPERATORS[number];

export function parseCondition(text: string): GatusCondition | null {
  const operator = OPERATORS.find((candidate) => text.includes(` ${candidate} `));
  if (operator === undefined) return null;
  const [first = "", second = ""] = text.split(` ${operator} `).map((part) => part.trim());
  const isPlaceholder = (part: string) => /^(?:len\(|has\()?\[/.test(part);
  return !isPlaceholder(first) && isPlaceholder(second)
    ? { text, left: second, operator: mirrored(operator), right: first }
    : { text, left: first, operator, right: second };
}

function mirrored(operator: Operator): Operator {
  return operator.replace(/[<>]/, (sign) => sign === "<" ? ">" : "<") as Operator;
}
/** An object in the making. */
type Changing<T> = { -readonly [Key in keyof T]: T[Key] };
type Response = Changing<written.HttpExpectation>;

type JsonComparisons = Record<string, written.JsonExpectationObject>;

type LeaveCondition = (condition: string, reason: string) => void;

export function expectResponse(
  conditions: readonly GatusCondition[],
  leave: LeaveCondition,
): written.HttpExpectation {
  const statusRules: ((status: number) => boolean)[] = [];
  const response: Response = {};
  const json: JsonComparisons = {};
  for (const condition of conditions) {
    const { left, text } = condition;
    const reason = left === "[STATUS]"
      ? expectStatus(condition, statusRules)
      : left === "[RESPONSE_TIME]"
      ? expectDuration(condition, response)
      : left === "[CERTIFICATE_EXPIRATION]"
      ? expectExpiry(condition, response)
      : /\[BODY\]/.test(left)
      ? expectBody(condition, response, json)
      : leftOutReason(condition);
    if (reason !== null) leave(text, reason);
  }
  const status = statusesThat((code) => statusRules.every((accepts) => accepts(code)));
  if (status === undefined) leave("[STATUS]", "no status fits all conditions");
  return {
    ...(status !== undefined && status !== 200 && { status_code: status }),
    ...response,
    ...(Object.keys(json).length > 0 && { json }),
  };
}

/** Returns why a condition without a counterpart is left out; `null` if the check implies it. */
export function leftOutReason({ left, operator, right }: GatusCondition): string | null {
  if (left === "[CONNECTED]" && operator === "==" && right === "true") return null;
  return REASONS[left] ?? "no counterpart";
}

const REASONS: Readonly<Record<string, string>> = {
  "[DOMAIN_EXPIRATION]": "write a domain_expiry check of the registered domain",
  "[IP]": "use a dns_lookup check",
  "[CONNECTED]": "a failed connection can be expected as the only condition, without HTTP",
  "[STATUS]": "only HTTP has a status",
  "[RESPONSE_TIME]": "this kind of check has no limit of the duration but timeout",
};

function expectStatus(
  { operator, right }: GatusCondition,
  rules: ((status: number) => boolean)[],
): string | null {
  const accepts = textRule(right);
  const number = Number(right);
  if (operator === "==") rules.push((status) => accepts(String(status)));
  else if (operator === "!=") rules.push((status) => !accepts(String(status)));
  else if (!Number.isFinite(number)) return "not a number";
  else rules.push((status) => COMPARISONS[operator](status, number));
  return null;
}

/** Returns which texts `200`, `any(200, 429)` and `pat(2*)` accept. */
function textRule(right: string): (text: string) => boolean {
  const glob = argumentOf("pat", right);
  if (glob !== null) {
    // A status has three digits; a longer pattern would only take time.
    if (glob.length > STATUS_GLOB_LENGTH_MAX) return () => false;
    const pattern = new RegExp(globPattern(glob).replace("(?s)", ""), "s");
    return (text) => pattern.test(text);
  }
  const options = optionsOf(right) ?? [right];
  return (text) => options.includes(text);
}

const STATUS_GLOB_LENGTH_MAX = 20;

function argumentOf(name: string, call: string): string | null {
  return call.startsWith(`${name}(`) && call.endsWith(")") ? call.slice(name.length + 1, -1) : null;
}

function optionsOf(right: string): readonly string[] | null {
  return argumentOf("any", right)?.split(",").map((option) => option.trim()) ?? null;
}

/** Milliseconds of a plain number or a duration. */
export function milliseconds(text: string): number | null {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : parseGoDuration(text);
}

function expectDuration({ operator, right }: GatusCondition, response: Response): string | null {
  const limitMs = milliseconds(right);
  if (operator !== "<" && operator !== "<=" || limitMs === null) {
    return "only an upper limit has a counterpart";
  }
  response.critical_duration = spanText(limitMs);
  return null;
}

function expectExpiry(condition: GatusCondition, response: Response): string | null {
  const certificate = expiryOf(condition);
  if (certificate === null) return "only a lower limit has a counterpart";
  response.certificate = certificate;
  return null;
}

/** One limit of the time until expiry is both thresholds: Gatus has one severity. */
export function expiryOf({ operator, right }: GatusCondition): written.HttpExpectationCertificate | null {
  const limitMs = milliseconds(right);
  if (operator !== ">" && operator !== ">=" || limitMs === null || limitMs < 1000) return null;
  return { warning_before_expiry: spanText(limitMs), critical_before_expiry: spanText(limitMs) };
}

function expectBody(condition: GatusCondition, response: Response, json: JsonComparisons): string | null {
  const { left, operator, right } = condition;
  if (/\[[A-Z_]+\]/.test(right)) return "a comparison of two values of the response";
  if (left === "[BODY]" && (operator === "==" || operator === "!=")) {
    return expectText(operator, right, response);
  }
  const [, call, rest = ""] = /^(len|has)\(\[BODY\](.*)\)$/s.exec(left) ?? /^()\[BODY\](.*)$/s.exec(left) ??
    [];
  const path = call === undefined ? null : standardJsonPath(rest);
  if (path === null) return "the JSON path has no counterpart";
  const comparison = call === "has"
    ? presenceOf(operator, right)
    : call === "len"
    ? lengthOf(operator, right)
    : comparisonOf(operator, right);
  if (comparison === null) return "the comparison has no counterpart";
  const earlier = json[path] ?? {};
  if (Object.keys(comparison).some((name) => name in earlier)) {
    return "another condition of the same path has the same comparison";
  }
  json[path] = { ...earlier, ...comparison };
  return null;
}

function expectText(operator: "==" | "!=", right: string, response: Response): string | null {
  const glob = argumentOf("pat", right);
  const part = glob === null ? null : partOfGlob(glob);
  const options = (optionsOf(right) ?? [right]).map(escapePattern);
  const pattern = glob === null ? `^(?:${options.join("|")})$` : globPattern(glob);
  const name = `${operator === "==" ? "" : "not_"}${part === null ? "body_pattern" : "body_part"}` as const;
  if (name in response) return `a check has one ${name}`;
  response[name] = part ?? pattern;
  return null;
}

/** Gatus compares texts, so a number may be a text in JSON. */
function valuesOf(text: string): readonly JsonValue[] {
  if (text === "true" || text === "false") return [text === "true", text];
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) ? [Number(text), text] : [text];
}

function comparisonOf(operator: Operator, right: string): written.JsonExpectationObject | null {
  const number = Number(right);
  const glob = argumentOf("pat", right);
  if (operator === "==") {
    if (glob !== null) return { matches: globPattern(glob) };
    const values = (optionsOf(right) ?? [right]).flatMap(valuesOf);
    return values.length === 1 ? { equals: values[0] } : { one_of: values };
  }
  if (operator === "!=") {
    return glob !== null || optionsOf(right) !== null ? null : { not_equals: valuesOf(right)[0] };
  }
  if (!Number.isFinite(number)) return null;
  return { [JSON_COMPARISONS[operator]]: number };
}

function presenceOf(operator: Operator, right: string): written.JsonExpectationObject | null {
  if (operator !== "==" && operator !== "!=" || right !== "true" && right !== "false") return null;
  return { exists: (operator === "==") === (right === "true") };
}

function lengthOf(operator: Operator, right: string): written.JsonExpectationObject | null {
  const number = Number(right);
  if (!Number.isInteger(number) || operator === "!=") return null;
  if (operator === "==") return { length: number };
  return { length: LENGTH_LIMITS[operator](number) };
}

const LENGTH_LIMITS = {
  "<": (number: number) => ({ at_most: number - 1 }),
  "<=": (number: number) => ({ at_most: number }),
  ">": (number: number) => ({ at_least: number + 1 }),
  ">=": (number: number) => ({ at_least: number }),
} as const;
