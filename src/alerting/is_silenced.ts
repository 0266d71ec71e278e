import type { Silence } from "../domain/outbox.ts";

/** Whether notifications of a check are suppressed at a time. */
export function isSilenced(check: string, silences: readonly Silence[], nowMs: number): boolean {
  return silences.some((silence) =>
    (silence.check === null || silence.check === check) && silence.fromMs <= nowMs && nowMs < silence.untilMs
  );
}
