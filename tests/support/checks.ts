import type { Check, GroupCheck, HttpRequestCheck, TestCheck } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import { type IntervalSchedule, isCron } from "../../src/domain/schedule.ts";

/** The intervals of a check that has some. */
export function intervalsOf({ schedule }: Pick<Check, "schedule">): IntervalSchedule {
  if (isCron(schedule)) throw new TypeError("The check has no interval");
  return schedule;
}

/** The settings of a check that a test does not care about. */
export interface CheckOptions {
  readonly name?: string;
  readonly threshold?: number;
  readonly recoveryThreshold?: number;
  readonly annoy?: Check["annoy"];
  readonly within?: number;
  readonly regularIntervalMs?: number;
  readonly attentiveIntervalMs?: number;
  readonly timeoutMs?: number;
  /** Instead of the intervals. */
  readonly schedule?: Check["schedule"];
  readonly maintenanceWindows?: Check["maintenanceWindows"];
  readonly dependsOn?: readonly string[];
}

function settings(options: CheckOptions): Omit<TestCheck, "kind" | "parameters"> {
  const threshold = options.threshold ?? 1;
  const regularIntervalMs = options.regularIntervalMs ?? 60_000;
  return {
    name: options.name ?? "web",
    active: true,
    threshold,
    recoveryThreshold: options.recoveryThreshold ?? threshold,
    annoy: options.annoy ?? false,
    ...options.within !== undefined && { within: options.within },
    schedule: options.schedule ??
      { regularIntervalMs, attentiveIntervalMs: options.attentiveIntervalMs ?? regularIntervalMs },
    maintenanceWindows: options.maintenanceWindows ?? [],
    notifications: [{ kind: "console", key: "console", parameters: {} }],
    dependsOn: options.dependsOn ?? [],
    tags: [],
    timeoutMs: options.timeoutMs ?? 10_000,
  };
}

/** A check that always returns the same. */
export function testCheck(condition: Condition, options: CheckOptions = {}): TestCheck {
  return { ...settings(options), kind: "test", parameters: { condition, output: `always ${condition}` } };
}

/** A check over others, of which so many must be ok. */
export function groupCheck(
  checks: readonly string[],
  atLeast: number,
  options: CheckOptions = {},
): GroupCheck {
  return { ...settings(options), kind: "group", parameters: { checks, require: "all", atLeast } };
}

/** Returns a check with a fake target. */
export function requestCheck(target: string, options: CheckOptions = {}): HttpRequestCheck {
  return {
    ...settings(options),
    kind: "http_request",
    parameters: {
      request: { target, method: "GET" },
      response: { statusCode: 200, headers: {} },
      asWarning: false,
    },
  };
}
