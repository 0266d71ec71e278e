import type { OutboxRow } from "../../domain/outbox.ts";
import type { OutboxEvent } from "../../outbox.ts";

/** What an event of the outbox is worth saying. */
export interface OutboxWords {
  /** How loud it is to be said. */
  readonly level: "warning" | "error";
  /** One line, without secrets of the channel; outputs of checks are not in it. */
  readonly message: string;
}

/** Puts an event of the outbox into words; `null` where there is nothing to say. */
export function describeOutboxEvent(event: OutboxEvent, whatNext: string): OutboxWords | null {
  const reports = countReports(event.rows);
  const channel = event.rows[0]?.channelName ?? "a channel";
  if (event.event === "delivered") {
    return event.note === null
      ? null
      : { level: "warning", message: `${reports} delivered to ${channel}, but ${event.note}` };
  }
  if (event.event === "failed") {
    return {
      level: "warning",
      message: `${reports} not delivered to ${channel}: ${event.reason}; ${whatNext}`,
    };
  }
  return { level: "error", message: `${reports} to ${channel} given up: ${event.reason}` };
}

function countReports(rows: readonly OutboxRow[]): string {
  const names = [...new Set(rows.map((row) => `"${row.report.check}"`))];
  const some = names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  return rows.length === 1 ? `the report of ${some}` : `${rows.length} reports of ${some}`;
}
