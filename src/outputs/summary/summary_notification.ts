import type { Notification } from "../../domain/notification.ts";
import { SUMMARY_NAME } from "../../domain/channel.ts";
import type { Summary } from "./summary.ts";
import { summaryHtml } from "./summary_html.ts";
import { summaryFields } from "./summary_json.ts";
import { sentenceOf } from "./summary_sections.ts";
import { summaryText } from "./summary_text.ts";

interface NotificationOptions {
  /** Letters, digits and `-`. */
  readonly id: string;
  /** Wall time, milliseconds since 1970; so is the other time. */
  readonly nowMs: number;
  /** When the next one is scheduled. */
  readonly nextAtMs: number;
}

/** Returns a summary as a notification: its sentence is the output, its text the detail. */
export function summaryNotification(
  summary: Summary,
  { id, nowMs, nextAtMs }: NotificationOptions,
): Notification {
  return {
    id,
    check: SUMMARY_NAME,
    title: "Summary",
    event: "summary",
    condition: "ok",
    previous: "ok",
    output: sentenceOf(summary),
    detail: summaryText(summary),
    problemBeganAtMs: summary.sinceMs,
    decidedAtMs: nowMs,
    occurrences: 0,
    nextRunAtMs: nextAtMs,
    hostName: summary.hostName,
    acknowledged: null,
    flapping: false,
    dependents: 0,
    summary: { html: summaryHtml(summary).toString(), json: JSON.stringify(summaryFields(summary)) },
  };
}
