import { checkOf } from "../../testing/builders.ts";
import type { Check, CheckOf, CheckSettings } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import { type IntervalSchedule, isCron } from "../../src/domain/schedule.ts";

export function intervalsOf({ schedule }: Pick<Check, "schedule">): IntervalSchedule {
  if (isCron(schedule)) throw new TypeError("The check has no interval");
  return schedule;
}

export interface CheckOptions extends Omit<Partial<CheckSettings>, "notifications"> {
  readonly regularIntervalMs?: number;
  readonly attentiveIntervalMs?: number;
}

function settings(
  { threshold = 1, regularIntervalMs = 60_000, attentiveIntervalMs = regularIntervalMs, ...others }:
    CheckOptions,
): Partial<CheckSettings> {
  return {
    threshold,
    schedule: { regularIntervalMs, attentiveIntervalMs },
    notifications: [{ kind: "console", key: "console", parameters: {} }],
    timeoutMs: 10_000,
    ...others,
  };
}

export function testCheck(condition: Condition, options: CheckOptions = {}): CheckOf<"test"> {
  return checkOf("test", { condition, output: `always ${condition}` }, settings(options));
}

/** A check over others, of which so many must be ok. */
export function groupCheck(
  checks: readonly string[],
  atLeast: number,
  options: CheckOptions = {},
): CheckOf<"group"> {
  return checkOf("group", { checks, require: "all", atLeast }, settings(options));
}

/** Returns a check with a fake target. */
export function requestCheck(target: string, options: CheckOptions = {}): CheckOf<"http_request"> {
  return checkOf("http_request", {
    request: { target, method: "GET" },
    response: { statusCode: 200, headers: {} },
    asWarning: false,
  }, settings(options));
}
