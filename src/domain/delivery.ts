import type { Notification } from "./notification.ts";

/** One line of a message: a notification, or a problem that recovered before it was sent. */
export interface MessageItem {
  readonly notification: Notification;
  /** The problem that recovered before it was sent; then `notification` is its recovery. `null` otherwise. */
  readonly missedProblem: Notification | null;
  /** Older problems, of any check, that recovered before they were sent and are counted here instead of listed. */
  readonly summarized: number;
  /** The id of the message with the problem, for threading; `null` if none was sent. */
  readonly threadId: string | null;
  /** Whether it counts and names several notifications in place of one. @default false */
  readonly isDigest?: boolean;
}

export interface Message {
  /** Stays the same when it is sent again, so that receivers can drop the duplicate. Letters, digits and `-`. */
  readonly id: string;
  /** One or more, highest severity first. */
  readonly items: readonly MessageItem[];
  readonly isTest: boolean;
  /** When the newest of its notifications was decided; wall time, milliseconds since 1970. */
  readonly decidedAtMs: number;
}

export type Delivery =
  | {
    readonly delivered: true;
    /** A problem in spite of the delivery, such as one rejected receiver; `null` for none. */
    readonly note: string | null;
  }
  | {
    readonly delivered: false;
    /** Whether a retry can help soon; if not, the cause has to be fixed. */
    readonly retryable: boolean;
    /** Whether it may have arrived all the same: the connection broke after the last byte. */
    readonly mayHaveArrived: boolean;
    readonly reason: string;
    /** How long the receiver asked to wait, in milliseconds; `null` if it did not. */
    readonly retryAfterMs: number | null;
  };
