import type { Channel } from "./domain/channel.ts";
import type { OutboxRow } from "./domain/outbox.ts";
import type { Report } from "./domain/report.ts";

/** What {@linkcode rowsFor} goes by. */
export interface RowOptions {
  /** The channels of the check, in the document's order. */
  readonly channels: readonly Channel[];
  /** How people call a channel. */
  nameOf(channel: Channel): string;
  /** Whether a channel knows of the check's problem: it was told, or is about to be. */
  knowsProblem(channel: Channel): boolean;
  /** What is to be told last of the check over a channel; `null`: nothing. */
  lastOf(channel: Channel): OutboxRow | null;
  /** The sequence of the first row; each further one gets the next. */
  readonly sequence: number;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * The outbox rows of a report, one for each channel. A recovery goes only where its problem went, a reminder only where
 * nothing waits that says the same; two channels that are the same get one.
 */
export function rowsFor(report: Report, options: RowOptions): readonly OutboxRow[] {
  const channels = new Map(options.channels.map((channel) => [channel.key, channel]));
  const isNeeded = (channel: Channel): boolean => {
    if (report.event === "recovery") return options.knowsProblem(channel);
    return report.event !== "reminder" || options.lastOf(channel)?.report.condition !== report.condition;
  };
  return [...channels.values()]
    .filter(isNeeded)
    .map((channel, index) =>
      freshRow(report, {
        channelKey: channel.key,
        channelName: options.nameOf(channel),
        sequence: options.sequence + index,
        nowMs: options.nowMs,
      })
    );
}

/** A row that was never tried. */
export function freshRow(
  report: Report,
  { nowMs, ...rest }: Pick<OutboxRow, "channelKey" | "channelName" | "sequence"> & { readonly nowMs: number },
): OutboxRow {
  return {
    ...rest,
    id: `${report.id}-${rest.channelKey}`,
    report,
    state: "waiting",
    attempts: 0,
    nextAttemptAtMs: nowMs,
    lastFailure: null,
    firstFailedAtMs: null,
    messageId: null,
  };
}
