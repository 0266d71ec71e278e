import { type Check, combinedChecks, type Result } from "../domain/check.ts";
import type { Condition } from "../domain/condition.ts";
import { sleep } from "../shared/deadline.ts";
import { type PassOptions, runPass } from "./run_checks.ts";

export interface RetryOptions {
  /** No run begins later than this after the first one. */
  readonly forMs: number;
  /** Returns whether a result is a reason to run a check again. */
  isFailure(condition: Condition): boolean;
  onRetry(checks: readonly Check[], leftMs: number): void;
}

/** From the end of one pass to the beginning of the next. */
const PAUSE_MS = 2_000;

/**
 * Runs each check, and again those that fail, until none does or the time is over. Only the last result of each check
 * is passed on. Returns the checks without any result, because the pass was ended early.
 */
export async function runRetryPass(
  checks: readonly Check[],
  options: PassOptions,
  { forMs, isFailure, onRetry }: RetryOptions,
): Promise<readonly Check[]> {
  const { system: { clock }, signal, onResult } = options;
  const endMs = clock.monotonicMs() + forMs;
  /** Results that another run may replace. */
  const failed = new Map<Check, Result>();
  // A group follows from results that were passed on, so it runs once after them.
  const groups = checks.filter((check) => combinedChecks(check).length > 0);
  const others = checks.filter((check) => !groups.includes(check));
  let left = others;
  for (;;) {
    const unfinished = await runPass(left, {
      ...options,
      onResult: (result) => {
        if (isFailure(result.condition)) return void failed.set(result.check, result);
        failed.delete(result.check);
        onResult(result);
      },
    });
    left = others.filter((check) => failed.has(check));
    const leftMs = endMs - clock.monotonicMs();
    const canRetry = left.length > 0 && leftMs > 0 && !signal.aborted &&
      await sleep(clock, Math.min(PAUSE_MS, leftMs), signal).then(() => true, () => false);
    if (!canRetry) {
      for (const result of failed.values()) onResult(result);
      return [...unfinished.filter((check) => !failed.has(check)), ...await runPass(groups, options)];
    }
    onRetry(left, Math.max(0, endMs - clock.monotonicMs()));
  }
}
