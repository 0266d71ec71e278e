import { badness } from "./domain/condition.ts";
import type { Message, MessageItem } from "./domain/delivery.ts";
import type { OutboxRow, Told } from "./domain/outbox.ts";

/** What a channel was told of a check is kept under this key. */
export function toldKey(check: string, channelKey: string): string {
  return `${channelKey} ${check}`;
}

/** What is told, row by row; the checks that are worst now first, and of each check in order. */
export function messageOf(id: string, rows: readonly OutboxRow[], told: ReadonlyMap<string, Told>): Message {
  const items = rows.map(({ report, missedProblem, summarized, channelKey }): MessageItem => {
    const threadId = told.get(toldKey(report.check, channelKey))?.messageId ?? null;
    return { report, missedProblem, summarized, threadId: missedProblem === null ? threadId : null };
  });
  const badnessNow = new Map(items.map(({ report }) => [report.check, badness(report.condition)]));
  const badnessOf = ({ report: { check } }: MessageItem): number => badnessNow.get(check) ?? 0;
  return {
    id,
    items: items.sort((one, other) => badnessOf(other) - badnessOf(one)),
    isTest: false,
    decidedAtMs: rows.reduce((latest, row) => Math.max(latest, row.report.decidedAtMs), -Infinity),
  };
}
