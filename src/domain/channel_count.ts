/** The use of a channel's limit. All times are wall time, milliseconds since 1970. */
export interface LimitUse {
  /** When messages were sent, oldest first; those that may have arrived included, older ones than the window not. */
  readonly sentAtMs: readonly number[];
  /**
   * Set once a message had to wait, until the queue is empty: when the next one may be sent. Until then, everything
   * pending is sent as one message.
   */
  readonly limitedUntilMs: number | null;
}

/** Additions to the counts of a channel, or all of them. */
export interface ChannelCount {
  /** The channel, as the resolved config keys it. */
  readonly channelKey: string;
  /** The name for people, without secrets. */
  readonly channelName: string;
  readonly sent: number;
  /** Attempts that failed; notifications that were tried together count once. */
  readonly failedAttempts: number;
  readonly dropped: number;
  /** Problems that recovered before they were sent and were counted instead of listed. */
  readonly summarized: number;
  /** Time of the last count; wall time, milliseconds since 1970. */
  readonly countedAtMs: number;
  /** `null`: unchanged, or it never had a limit. */
  readonly limitUse: LimitUse | null;
}

export function addCounts(before: ChannelCount | undefined, added: ChannelCount): ChannelCount {
  return {
    channelKey: added.channelKey,
    channelName: added.channelName,
    sent: (before?.sent ?? 0) + added.sent,
    failedAttempts: (before?.failedAttempts ?? 0) + added.failedAttempts,
    dropped: (before?.dropped ?? 0) + added.dropped,
    summarized: (before?.summarized ?? 0) + added.summarized,
    countedAtMs: Math.max(before?.countedAtMs ?? -Infinity, added.countedAtMs),
    limitUse: added.limitUse ?? before?.limitUse ?? null,
  };
}
