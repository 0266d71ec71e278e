import type { Condition } from "../../domain/condition.ts";
import { highestSeverity } from "../../domain/condition.ts";
import type { ObserveContext } from "../../domain/check_kind.ts";
import type { HttpStep } from "../../domain/generated/config.ts";
import { type CheckResult, checkResult } from "../../domain/result.ts";
import { roundedMs } from "../../shared/json_values.ts";
import { createRedactor } from "../../shared/redact.ts";
import { capturedNames, fillRequest, textsOf } from "./captures.ts";
import { withCookies } from "./cookies.ts";
import { conditionOf, describeFindings, examine, type Exchange, timeoutText } from "./exchange.ts";

interface StepsRun extends Omit<Exchange, "step" | "startedMs">, Pick<ObserveContext, "hide"> {
  readonly asWarning: boolean;
}

/**
 * Runs the steps in their order, each with the values that earlier ones captured, and the cookies that their responses
 * set. After a step that fails, only those with `always` run whose values were captured.
 */
export async function observeSteps(
  steps: readonly HttpStep[],
  { asWarning, hide, ...run }: StepsRun,
): Promise<CheckResult> {
  const { clock } = run.system;
  const jar = withCookies(run.system.requests, () => clock.wallMs());
  const system = { ...run.system, requests: jar.requests };
  const captured = new Map<string, string>();
  const conditions: Condition[] = [];
  const texts: string[] = [];
  const metrics: Record<string, number> = {};
  const beganMs = clock.monotonicMs();
  let hasFailed = false;
  for (const [index, step] of steps.entries()) {
    if (run.signal.aborted) {
      if (!hasFailed) {
        conditions.push(asWarning ? "warning" : "critical");
        texts.push(`${stepName(step, index)}: ${timeoutText(run)}, before its request`);
      }
      break;
    }
    const canRun = textsOf(step.request).flatMap(capturedNames).every((name) => captured.has(name));
    if (hasFailed && !(step.always && canRun)) continue;
    const startedMs = clock.monotonicMs();
    const request = fillRequest(step.request, captured);
    const findings = await examine({ ...run, system, startedMs, step: { ...step, request } });
    for (const [name, value] of Object.entries(findings.captured)) captured.set(name, value);
    metrics[`step_${metricName(stepName(step, index))}_ms`] = roundedMs(clock.monotonicMs() - startedMs);
    const { status, certificate_left_seconds: left } = findings.metrics;
    if (status !== undefined && !hasFailed) metrics["status"] = status;
    if (left !== undefined) metrics["certificate_left_seconds"] = left;
    const condition = conditionOf(findings, asWarning);
    if (condition !== "ok") {
      conditions.push(condition);
      texts.push(`${stepName(step, index)}: ${describeFindings(findings)}`);
    }
    hasFailed ||= findings.violations.length > 0 || findings.obstacle !== null;
  }
  metrics["total_ms"] = roundedMs(clock.monotonicMs() - beganMs);
  const passed = `${steps.length} ${steps.length === 1 ? "step" : "steps"} passed`;
  // A violation shows a number as it is read, such as 1.5 for "1.50".
  const numbers = [...captured.values()].map((value) => String(Number(value)));
  const secrets = [...captured.values(), ...numbers, ...jar.secrets()];
  hide?.(secrets);
  const redact = createRedactor(secrets);
  return checkResult(
    highestSeverity(conditions),
    redact(texts.length === 0 ? passed : texts.join("; ")),
    metrics,
  );
}

export function stepName({ name }: Pick<HttpStep, "name">, index: number): string {
  return name ?? `step ${index + 1}`;
}

export function metricName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]+/g, "_").toLowerCase();
}
