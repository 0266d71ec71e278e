/**
 * When a failed delivery is retried. Temporary failures back off per channel; a rejection concerns its notifications
 * alone, and may need an administrator.
 */
import type { Delivery } from "../domain/delivery.ts";
import type { QueuedNotification } from "../domain/outbox.ts";

/** Backoff after temporary failures, from 10 s to 15 min. */
const BACKOFF_MS_MIN = 10_000;
const BACKOFF_MS_MAX = 15 * 60_000;

/** With at most two attempts each time, a wrong password stays below common limits such as 5 failures in 10 minutes. */
const REJECTED_MS_MIN = 5 * 60_000;
const REJECTED_MS_MAX = 3_600_000;

/** While a channel backs off, a new notification is tried after this time at the latest. */
export const NEW_DURING_BACKOFF_MS = 60_000;

/** Returns the wait after so many failures in a row. `jitter`, 0 to below 1, keeps monitors from retrying in step. */
export function backoffMs(failures: number, jitter: number): number {
  const full = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(failures - 1, 20));
  return Math.round(full * (0.75 + jitter / 4));
}

/** Returns the wait after a rejection: twice as long as these have been rejected, 5 minutes to an hour. */
export function rejectedWaitMs(notifications: readonly QueuedNotification[], nowMs: number): number {
  const sinceMs = notifications.reduce(
    (least, { state, firstFailedAtMs }) =>
      state === "rejected" ? Math.min(least, firstFailedAtMs ?? nowMs) : least,
    nowMs,
  );
  return Math.min(REJECTED_MS_MAX, Math.max(REJECTED_MS_MIN, 2 * (nowMs - sinceMs)));
}

/** Returns the time of a restored attempt. No wait is longer than an hour, so a later time comes from another clock. */
export function restoredAttemptMs({ nextAttemptAtMs }: QueuedNotification, nowMs: number): number {
  return nextAttemptAtMs > nowMs + REJECTED_MS_MAX ? nowMs : Math.max(nowMs, nextAttemptAtMs);
}

/** A delivery that failed. */
export type Failure = Extract<Delivery, { readonly delivered: false }>;

/** Returns a queued notification after a failure. It keeps its message id while the message may have arrived. */
export function afterFailure(
  queued: QueuedNotification,
  { retryable, reason, mayHaveArrived }: Failure,
  { nowMs, nextAttemptAtMs }: { readonly nowMs: number; readonly nextAttemptAtMs: number },
): QueuedNotification {
  return {
    ...queued,
    state: retryable ? "pending" : "rejected",
    nextAttemptAtMs,
    lastFailure: reason,
    firstFailedAtMs: queued.firstFailedAtMs ?? nowMs,
    messageId: mayHaveArrived ? queued.messageId : null,
  };
}
