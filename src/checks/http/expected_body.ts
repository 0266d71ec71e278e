import type { HttpExpectation } from "../../domain/generated/config.ts";
import type { IncomingResponse } from "../../domain/requests.ts";
import { searchPattern } from "../body_pattern.ts";
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
  const { start, isWhole } = findings;
  const searches: TextSearch[] = [...partSearches(expected, findings)];
  for (const [pattern, isExpected] of [[bodyPattern, true], [notBodyPattern, false]] as const) {
    if (pattern === undefined) continue;
    await pause();
    const { found, searchedLength } = await searchPattern(start, { pattern, isWhole });
    searches.push({
      text: pattern,
      isExpected,
      isFound: found,
      limit: searchedLength === null ? null : `${searchedLength} characters`,
      violation: isExpected
        ? `body does not match ${quote(pattern)}`
        : `body matches ${quote(pattern)}, expected no match`,
    });
  }
  const obstacles = searches.flatMap((search) => obstacleIn(search, findings) ?? []);
  const violations = searches.filter(({ isFound, isExpected }) => isFound !== isExpected)
    .filter((search) => obstacleIn(search, findings) === null)
    .map(({ violation }) => violation);
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

interface TextSearch {
  readonly text: string;
  readonly isExpected: boolean;
  readonly isFound: boolean;
  /** How much of the body was searched; `null`: all of it. */
  readonly limit: string | null;
  /** What to print if it is found and not expected, or the other way round. */
  readonly violation: string;
}

function* partSearches(
  { bodyPart, notBodyPart }: HttpExpectation,
  { found, cut }: BodyFindings,
): Generator<TextSearch> {
  const limit = cut ? `${BODY_BYTES_MAX / 1024 ** 2} MiB` : null;
  if (bodyPart !== undefined) {
    const violation = `body does not contain ${quote(bodyPart)}`;
    yield { text: bodyPart, isExpected: true, isFound: found[0] === true, limit, violation };
  }
  if (notBodyPart !== undefined) {
    const violation = `body contains ${quote(notBodyPart)}, expected not to`;
    yield { text: notBodyPart, isExpected: false, isFound: found.at(-1) === true, limit, violation };
  }
}

/** Returns why a text that was not found may be in the body all the same; `null`: it is not. */
function obstacleIn({ text, isFound, limit }: TextSearch, { unknownCharset }: BodyFindings): string | null {
  if (isFound || limit === null && unknownCharset === null) return null;
  const reason = limit === null
    ? `its charset ${quote(unknownCharset ?? "")} is unknown`
    : `it has more than ${limit}`;
  return `cannot search all of the body for ${quote(text)}: ${reason}`;
}
