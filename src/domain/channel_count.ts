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
  };
}
