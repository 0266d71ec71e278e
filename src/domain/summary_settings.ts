import type { Channel } from "./channel.ts";
import type { CronTimes } from "./schedule.ts";

export interface SummarySettings {
  readonly times: CronTimes;
  /** The time that it covers; absent: since the time before. */
  readonly periodMs?: number;
  /** Without filters, which concern single notifications. */
  readonly notifications: readonly Channel[];
  /** Only checks with one of these tags; absent: all. */
  readonly tags?: readonly string[];
}

/** The name of the summary in queues; no check may have it alongside a summary. */
export const SUMMARY_NAME = "summary";
