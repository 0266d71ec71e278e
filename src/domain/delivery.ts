import type { Notification } from "./notification.ts";

/** One line of a message: a notification, or a problem that was over before it could be told. */
export interface MessageItem {
  readonly notification: Notification;
  /** The problem that was over before it was told; then `notification` is its recovery. `null` otherwise. */
  readonly missedProblem: Notification | null;
  /** Older problems, of any check, that recovered before they were sent and are counted here instead of listed. */
  readonly summarized: number;
  /** The id of the message that told of the problem, for threading; `null` when none did. */
  readonly threadId: string | null;
}

/** What a channel is handed at once. */
export interface Message {
  /** Stays the same when it is sent again, so that receivers can drop the duplicate. Letters, digits and `-`. */
  readonly id: string;
  /** One or more, highest severity first. */
  readonly items: readonly MessageItem[];
  /** Whether it is only a test of the channel. */
  readonly isTest: boolean;
  /** When the newest of its notifications was decided; wall time, milliseconds since 1970. */
  readonly decidedAtMs: number;
}

/** What came of handing over a message. */
export type Delivery =
  | {
    readonly delivered: true;
    /** What deserves telling all the same, such as a receiver that was refused; `null` for nothing. */
    readonly note: string | null;
  }
  | {
    readonly delivered: false;
    /** Whether trying again soon can help; otherwise somebody has to mend something. */
    readonly retryable: boolean;
    /** Whether it may have arrived all the same: the connection broke after the last byte. */
    readonly mayHaveArrived: boolean;
    readonly reason: string;
    /** How long the receiver asked to wait, in milliseconds; `null` when it did not. */
    readonly retryAfterMs: number | null;
  };
