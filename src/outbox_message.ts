import { badness } from "./domain/condition.ts";
import type { Message, MessageItem } from "./domain/delivery.ts";
import type { OutboxRow, Told } from "./domain/outbox.ts";

/** What a channel was told of a check is kept under this key. */
export function toldKey(check: string, channelKey: string): string {
  return `${channelKey} ${check}`;
}

/** What is told: for each check what its rows come to, in order; the checks that are worst now first. */
export function messageOf(id: string, rows: readonly OutboxRow[], told: ReadonlyMap<string, Told>): Message {
  const items: MessageItem[] = [];
  const missed = new Map<string, OutboxRow>();
  for (const row of rows) {
    const { report, channelKey } = row;
    const key = toldKey(report.check, channelKey);
    if (report.event === "problem") missed.set(report.check, row);
    const problem = missed.get(report.check)?.report ?? null;
    if (report.event === "recovery" && problem !== null) {
      // The problem, and what became of it, is told in the recovery's line.
      const first = items.findIndex((item) => item.report.id === problem.id);
      const rest = items.filter((item, index) => index < first || item.report.check !== report.check);
      items.splice(0, items.length, ...rest, { report, missedProblem: problem, threadId: null });
      missed.delete(report.check);
    } else {
      items.push({ report, missedProblem: null, threadId: told.get(key)?.messageId ?? null });
    }
  }
  const badnessNow = new Map(items.map(({ report }) => [report.check, badness(report.condition)]));
  const badnessOf = ({ report: { check } }: MessageItem): number => badnessNow.get(check) ?? 0;
  return {
    id,
    items: items.sort((one, other) => badnessOf(other) - badnessOf(one)),
    isTest: false,
    decidedAtMs: rows.reduce((latest, row) => Math.max(latest, row.report.decidedAtMs), -Infinity),
  };
}
