import type { HttpExpectation } from "../../domain/generated/config.ts";
import type { IncomingResponse } from "../../domain/requests.ts";
import { REDIRECT_STATUSES } from "./redirects.ts";

export function statusViolations(
  { status, headers }: IncomingResponse,
  expected: HttpExpectation["statusCode"],
): readonly string[] {
  if (expected === null || listOf(expected).some((one) => fits(status, one))) return [];
  const leadsNowhere = REDIRECT_STATUSES.has(status) && !headers.has("location");
  return [
    `status is ${status}${leadsNowhere ? " without a Location" : ""}, expected ${
      listOf(expected).join(" or ")
    }`,
  ];
}

/** Returns whether a 3xx is among the statuses that are expected; `null` expects none in particular. */
export function expectsRedirection(expected: HttpExpectation["statusCode"]): boolean {
  return expected !== null && listOf(expected).some((one) => String(one).startsWith("3"));
}

/** Returns whether a status was asked for, rather than let pass. */
export function isExpectedStatus(status: number, expected: HttpExpectation["statusCode"]): boolean {
  return expected !== null && listOf(expected).some((one) => fits(status, one));
}

/** A code, or a class such as `2xx`. */
type ExpectedStatus = number | string;

function listOf(expected: ExpectedStatus | readonly ExpectedStatus[]): readonly ExpectedStatus[] {
  return typeof expected === "object" ? expected : [expected];
}

function fits(status: number, expected: ExpectedStatus): boolean {
  return typeof expected === "number" ? status === expected : String(status).startsWith(expected.slice(0, 1));
}
