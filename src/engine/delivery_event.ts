import type { QueuedNotification } from "../domain/outbox.ts";

/** An event of the notifications of one channel, for logs. */
export type DeliveryEvent =
  | {
    readonly event: "delivered";
    readonly notifications: readonly QueuedNotification[];
    readonly note: string | null;
    readonly isBack: boolean;
  }
  /** The first failure since the channel last accepted something, and the first rejection. */
  | {
    readonly event: "failed";
    readonly notifications: readonly QueuedNotification[];
    readonly reason: string;
    readonly isRejected: boolean;
  }
  /** Older problems that recovered unsent are counted from now on instead of listed; once until the count is sent. */
  | { readonly event: "summarized"; readonly notifications: readonly QueuedNotification[] }
  /** The channel's limit is reached: these and all later ones wait, to be sent as one message. */
  | {
    readonly event: "limited";
    readonly notifications: readonly QueuedNotification[];
    readonly untilMs: number;
  }
  | {
    readonly event: "dropped";
    readonly notifications: readonly QueuedNotification[];
    readonly reason: string;
  };
