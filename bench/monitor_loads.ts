/** The monitor's own work: one pass over many checks, as `check --once` makes it. */
import type { Check, CheckSettings } from "../src/domain/check.ts";
import type { Result } from "../src/domain/result.ts";
import { DEFAULT_LIMITS, runPass } from "../src/monitor.ts";
import { createSystem } from "../src/system/system.ts";
import type { Load } from "./load.ts";

/** Requests that expect the status 200, and a text in the body where one is given. */
export function monitorRequests(bodyPart?: string): Load {
  return monitorLoad((name, target) => ({
    ...settings(name, 10_000),
    kind: "http_request",
    parameters: {
      request: { target, method: "GET" },
      response: { statusCode: 200, headers: {}, ...(bodyPart !== undefined && { bodyPart }) },
      asWarning: false,
    },
  }));
}

/** Scripts without arguments. */
export const monitorScripts: Load = monitorLoad((name, target) => ({
  ...settings(name, 30_000),
  kind: "script",
  parameters: { path: target, arguments: [], environment: {}, conditionOnTimeout: "unknown" },
}));

function monitorLoad(makeCheck: (name: string, target: string) => Check): Load {
  return async ({ count, target }) => {
    const checks = Array.from({ length: count }, (_, index) => makeCheck(`check ${index}`, target));
    const results: Result[] = [];
    await runPass(checks, {
      system: createSystem(),
      jobs: null,
      folder: "/",
      limits: DEFAULT_LIMITS,
      signal: new AbortController().signal,
      redact: (text) => text,
      onResult: (result) => results.push(result),
    });
    const failed = results.find(({ condition }) => condition !== "ok");
    if (failed !== undefined) throw new Error(`Cannot measure: a check said "${failed.output}"`);
    if (results.length !== count) {
      throw new Error(`Cannot measure: ${results.length} checks have a result, expected ${count}`);
    }
  };
}

function settings(name: string, timeoutMs: number): CheckSettings {
  return {
    name,
    active: true,
    threshold: 3,
    recoveryThreshold: 3,
    annoy: false,
    schedule: { regularIntervalMs: 60_000, attentiveIntervalMs: 60_000 },
    windows: [],
    notifications: [],
    dependsOn: [],
    tags: [],
    timeoutMs,
  };
}
