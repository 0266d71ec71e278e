import type { ChannelCount } from "./channel_count.ts";
import type { Condition } from "./condition.ts";
import type { Notification } from "./notification.ts";

/** A notification on its way to one channel. Holds no parameter of the channel. */
export interface OutboxRow {
  /** Unique: the notification's id and the channel's key. */
  readonly id: string;
  /** What is told, with no more of an output than the channel sends. */
  readonly notification: Notification;
  /** The problem that recovered before it was sent; then `notification` is its recovery. `null` otherwise. */
  readonly missedProblem: Notification | null;
  /** Older problems, of any check, that recovered before they were sent and are counted here instead of listed. */
  readonly summarized: number;
  /** The channel, as the resolved config keys it. */
  readonly channelKey: string;
  /** How people call the channel; no secrets. */
  readonly channelName: string;
  /** Orders the rows of a channel: a row that was made later has a larger one. Unique among them. */
  readonly sequence: number;
  /** `rejected`: the channel does not want it, so it is tried ever more seldom; `dropped`: kept for `monitor status` alone. */
  readonly state: "pending" | "rejected" | "dropped";
  /** How often it was tried. */
  readonly attempts: number;
  /** Wall time, milliseconds since 1970. */
  readonly nextAttemptAtMs: number;
  /** Why it did not go, the last time; `null` before the first failure. */
  readonly lastFailure: string | null;
  /** When it first did not go, wall time; `null` before that. */
  readonly firstFailedAtMs: number | null;
  /**
   * The id of the message that it goes with. Kept from before an attempt until it is known that the message did not
   * arrive; while it is kept, exactly the rows of the message are sent again, under the same id.
   */
  readonly messageId: string | null;
}

/** What a channel was last told of a check that has a problem. */
export interface Told {
  /** The check's name. */
  readonly check: string;
  /** The channel that was told. */
  readonly channelKey: string;
  /** The message that told it. */
  readonly messageId: string;
  /** The condition it was told last; never `ok`. */
  readonly condition: Condition;
  /**
   * Whether the channel is known to know it; not when a message was dropped that may have arrived, nor once its check did
   * not have the channel for a while.
   */
  readonly certain: boolean;
}

/** What came of sending: kept whole or not at all. */
export interface OutboxChange {
  /** Rows as they are now. */
  readonly changed: readonly OutboxRow[];
  /** Ids of rows that are done. */
  readonly removed: readonly string[];
  /** What channels know now; takes the place of what they knew of the same check. */
  readonly told: readonly Told[];
  /** Checks whose recovery a channel was told. */
  readonly untold: readonly { readonly check: string; readonly channelKey: string }[];
  /** What is added to the counts of channels. @default none */
  readonly counted?: readonly ChannelCount[];
}

/** Notifications of a check are suppressed for a while. */
export interface Silence {
  /** Unique; one that is kept under the same id is replaced. */
  readonly id: string;
  /** `null`: all checks. */
  readonly check: string | null;
  /** Wall time, milliseconds since 1970. */
  readonly fromMs: number;
  /** Notifications go again from then on; wall time, milliseconds since 1970. */
  readonly untilMs: number;
  /** For people; may be empty. */
  readonly reason: string;
}
