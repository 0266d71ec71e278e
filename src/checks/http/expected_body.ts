import type { HttpExpectation } from "../../domain/http_check.ts";
import type { IncomingResponse } from "../../domain/requests.ts";
import { describeReach, searchPattern } from "../body_pattern.ts";
import { evaluateJson, type JsonFindings } from "./json_body.ts";
import { quote } from "../../shared/quote.ts";
import { BODY_BYTES_MAX, type BodyFindings, readBody } from "./response_body.ts";

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

/**
 * Compares a body with the expected one, in the order of the config's description: texts, patterns, JSON.
 *
 * @throws The error of the body if it cannot be read to its end, and the error of `pause`.
 */
export async function evaluateBody(
  expected: HttpExpectation,
  { response, isCaptured, nowMs, onRead, pause }: BodyToEvaluate,
): Promise<JsonFindings & Pick<BodyFindings, "start" | "isWhole">> {
  const { bodyPart, notBodyPart, bodyPattern, notBodyPattern, json } = expected;
  const lengthBytes = declaredLength(response);
  const findings = await readBody(response, {
    parts: [bodyPart, notBodyPart].filter((part) => part !== undefined),
    keepsStart: isCaptured || bodyPattern !== undefined || notBodyPattern !== undefined || json !== undefined,
    readsOn: expected.warningDurationMs !== undefined || expected.criticalDurationMs !== undefined ||
      lengthBytes !== null && lengthBytes <= SHORT_BYTES_MAX,
    lengthBytes,
    contentType: response.header("content-type"),
  });
  onRead();
  const violations = [...partViolations(expected, findings)];
  const { start, isWhole } = findings;
  if (bodyPattern !== undefined) {
    await pause();
    const search = await searchPattern(start, { pattern: bodyPattern, isWhole });
    if (!search.found) {
      violations.push(
        `body does not match ${quote(bodyPattern)}${describeReach(search)}${describeCharset(findings)}`,
      );
    }
  }
  const obstacles = [...partObstacles(expected, findings)];
  if (notBodyPattern !== undefined) {
    await pause();
    const { found, searchedLength } = await searchPattern(start, { pattern: notBodyPattern, isWhole });
    if (found) violations.push(`body matches ${quote(notBodyPattern)}, expected no match`);
    else if (searchedLength !== null) {
      obstacles.push(unsearched(notBodyPattern, `it has more than ${searchedLength} characters`));
    } else obstacles.push(...charsetObstacles(notBodyPattern, findings));
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

function declaredLength(response: Pick<IncomingResponse, "header">): number | null {
  const length = response.header("content-length");
  return length === null || response.header("content-encoding") !== null ? null : Number(length);
}

function* partViolations(
  { bodyPart, notBodyPart }: HttpExpectation,
  findings: BodyFindings,
): Generator<string> {
  const found = [...findings.found];
  if (bodyPart !== undefined && found.shift() === false) {
    const where = findings.cut ? ` in its first ${BODY_BYTES_MAX / 1024 ** 2} MiB` : "";
    yield `body does not contain ${quote(bodyPart)}${where}${describeCharset(findings)}`;
  }
  if (notBodyPart !== undefined && found.shift() === true) {
    yield `body contains ${quote(notBodyPart)}, expected not to`;
  }
}

/** The reasons why a text that was not found may be in the body. */
function* partObstacles({ notBodyPart }: HttpExpectation, findings: BodyFindings): Generator<string> {
  if (notBodyPart === undefined || findings.found.at(-1) === true) return;
  if (findings.cut) yield unsearched(notBodyPart, `it has more than ${BODY_BYTES_MAX / 1024 ** 2} MiB`);
  else yield* charsetObstacles(notBodyPart, findings);
}

function* charsetObstacles(wanted: string, { unknownCharset }: BodyFindings): Generator<string> {
  if (unknownCharset !== null) {
    yield unsearched(wanted, `its charset ${quote(unknownCharset)} is unknown`);
  }
}

function unsearched(wanted: string, reason: string): string {
  return `cannot search all of the body for ${quote(wanted)}: ${reason}`;
}

function describeCharset({ unknownCharset }: BodyFindings): string {
  if (unknownCharset === null) return "";
  return ` (its charset ${quote(unknownCharset)} is unknown, it was read as UTF-8)`;
}
