import type { IncomingResponse } from "../../domain/requests.ts";
import { quote } from "../../shared/quote.ts";
import { readHeader } from "./response_headers.ts";

/** What is wrong with a response's headers, in the config's order. */
export function headerViolations(
  response: IncomingResponse,
  expectedHeaders: Readonly<Record<string, string>>,
): readonly string[] {
  const violations: string[] = [];
  for (const [name, value] of Object.entries(expectedHeaders)) {
    const actual = readHeader(response.headers, name)?.trim();
    const expected = value.trim();
    if (actual === expected) continue;
    const state = actual === undefined ? "missing" : quote(actual);
    violations.push(`header "${name}" is ${state}, expected ${quote(expected)}`);
  }
  return violations;
}
