import type { Delivery } from "../domain/delivery.ts";
import { oneLine } from "../shared/truncate.ts";

interface FailureOptions {
  readonly retryable: boolean;
  /** Whether it may have arrived all the same. @default {false} */
  readonly mayHaveArrived?: boolean;
  /** How long the receiver asked to wait, in milliseconds. @default {null} */
  readonly retryAfterMs?: number | null;
}

export function notDelivered(reason: string, options: FailureOptions): Delivery {
  const { retryable, mayHaveArrived = false, retryAfterMs = null } = options;
  return { delivered: false, retryable, mayHaveArrived, reason, retryAfterMs };
}

/** A message that was delivered without a note. */
export const DELIVERED: Delivery = { delivered: true, note: null };

export function firstLine(text: string): string {
  return oneLine(text.trim().split(/[\r\n]/)[0] ?? "");
}

/** Puts `: ` before words, if there are any. */
export function afterColon(words: string): string {
  return words === "" ? "" : `: ${words}`;
}
