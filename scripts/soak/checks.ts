import type { Check, CheckOf } from "../../src/domain/check.ts";

export interface SoakCheckOptions {
  /** The name of the check. */
  readonly name: string;
  /** Its interval, attentive or not. */
  readonly intervalMs: number;
  /** How long a run may take. @default 10 s */
  readonly timeoutMs?: number;
}

/** Returns a check without target that is ok. */
export function steadyCheck(options: SoakCheckOptions): CheckOf<"test"> {
  return { ...settings(options), kind: "test", parameters: { condition: "ok", output: "" } };
}

/** Returns a check that requests a URL, and expects the status 200. */
export function askingCheck(target: string, options: SoakCheckOptions): CheckOf<"http_request"> {
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

function settings(
  { name, intervalMs, timeoutMs = 10_000 }: SoakCheckOptions,
): Omit<Check, "kind" | "parameters"> {
  return {
    name,
    active: true,
    threshold: 3,
    recoveryThreshold: 3,
    flapping: "once",
    reminders: false,
    schedule: { regularIntervalMs: intervalMs, attentiveIntervalMs: intervalMs },
    maintenanceWindows: [],
    notifications: [],
    dependsOn: [],
    invert: false,
    tags: [],
    timeoutMs,
  };
}
