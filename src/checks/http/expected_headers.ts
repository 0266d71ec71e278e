import type { HttpExpectation } from "../../domain/generated/config.ts";
import type { IncomingResponse } from "../../domain/requests.ts";
import { searchPattern } from "../body_pattern.ts";
import { quote } from "../../shared/quote.ts";
import { readHeader } from "./response_headers.ts";

/** Returns the violations of a response's headers, in the config's order. */
export async function headerViolations(
  response: IncomingResponse,
  expectedHeaders: HttpExpectation["headers"],
): Promise<readonly string[]> {
  const violations: string[] = [];
  for (const [name, wish] of Object.entries(expectedHeaders)) {
    const actual = readHeader(response.headers, name)?.trim();
    const expected = typeof wish === "string"
      ? { fits: actual === wish.trim(), text: quote(wish.trim()) }
      : { fits: await matches(actual, wish.matches), text: `a match of ${quote(wish.matches)}` };
    if (expected.fits) continue;
    const state = actual === undefined ? "missing" : quote(actual);
    violations.push(`header "${name}" is ${state}, expected ${expected.text}`);
  }
  return violations;
}

async function matches(value: string | undefined, pattern: string): Promise<boolean> {
  return value !== undefined && (await searchPattern(value, { pattern, isWhole: true })).found;
}
