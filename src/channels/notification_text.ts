/** The text of a notification in an email. */
import type { MessageItem, TextMax } from "../domain/delivery.ts";
import { isNoLongerChecked, type Notification } from "../domain/outbox.ts";
import { cleanLine, cleanLines, LINES_LENGTH_MAX } from "./clean_text.ts";
import {
  countResults,
  describeCause,
  describeCondition,
  describeDependents,
  describeSummarized,
  headline,
  lasted,
  OUTPUT_LENGTH_MAX,
  recoveryWord,
} from "./describe_item.ts";
import { timeText } from "../shared/local_time.ts";

/**
 * The length that is read of a text for an email: more than is shown, since escape sequences and the like are
 * dropped; and slightly more, which shows that the detail was longer.
 */
export const BODY_TEXT_MAX: TextMax = {
  output: 16 * OUTPUT_LENGTH_MAX,
  detail: 16 * LINES_LENGTH_MAX + 2,
};

/** A check's output in one line; empty if there is none. */
function notificationOutput({ output }: Pick<Notification, "output">): string {
  return cleanLine(output, OUTPUT_LENGTH_MAX);
}

/**
 * Returns all facts for a person to act, as lines of text with line feeds: headline, condition and duration, output,
 * begin, count, the detail (20 lines or 4096 characters of it), the next run, the check, the host, its description and runbook, and its page.
 */
export function notificationBody(item: MessageItem): string {
  const { notification, timeZone } = item;
  if (notification.event === "summary") return notification.detail;
  if (notification.event === "rehearsal") return rehearsalBody(item);
  const detail = cleanLines(notification.detail);
  const output = notificationOutput(notification);
  const lines = [
    headline(item),
    "",
    `${describeCondition(item)}: ${output === "" ? "no output" : output}`,
    "",
    ...history(item),
    ...isNoLongerChecked(notification) ? [] : [`Next run: ${timeText(notification.nextRunAtMs, timeZone)}`],
    `Check: ${cleanLine(notification.check, OUTPUT_LENGTH_MAX)}`,
    `Host: ${cleanLine(notification.hostName, OUTPUT_LENGTH_MAX)}`,
    ...facts(item),
    ...notes(item),
  ];
  const summarized = describeSummarized(item);
  if (summarized !== "") lines.push(`Also: ${summarized}`);
  if (detail.lines.length > 0) {
    lines.push("", "Detail:", ...detail.lines);
    if (detail.isCut) lines.push("(truncated)");
  }
  return lines.map((line) => `${line}\n`).join("");
}

function rehearsalBody({ notification, timeZone }: MessageItem): string {
  const { output, detail, decidedAtMs, hostName } = notification;
  const lines = [
    cleanLine(output, 2 * OUTPUT_LENGTH_MAX),
    "",
    detail,
    "",
    `Sent: ${timeText(decidedAtMs, timeZone)}`,
    `Host: ${cleanLine(hostName, OUTPUT_LENGTH_MAX)}`,
  ];
  return lines.map((line) => `${line}\n`).join("");
}

const BRIEF_LENGTH_MAX = 250;

/** An item in few lines, for a message of many. */
export function notificationBrief(item: MessageItem): string {
  const { notification, timeZone } = item;
  const { event, decidedAtMs, problemBeganAtMs, occurrences } = notification;
  const time = event === "recovery"
    ? `at ${timeText(decidedAtMs, timeZone)}`
    : `since ${timeText(problemBeganAtMs, timeZone)}, ${countResults(occurrences)}`;
  const summarized = describeSummarized(item);
  const lines = [
    headline(item, BRIEF_LENGTH_MAX),
    `  ${describeCondition(item)}, ${time}`,
    ...notes(item).map((line) => `  ${line}`),
    ...facts(item).map((line) => `  ${line}`),
    ...summarized === "" ? [] : [`  Also: ${summarized}`],
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function notes({ notification, timeZone }: MessageItem): readonly string[] {
  const { acknowledged, flapping, dependents, cause } = notification;
  return [
    ...cause === undefined ? [] : [`Cause: ${describeCause(cause, timeZone)}`],
    ...dependents === 0 ? [] : [`Suppressed: ${describeDependents(dependents)}`],
    ...acknowledged === null ? [] : [`Acknowledged: ${cleanLine(acknowledged, OUTPUT_LENGTH_MAX) || "yes"}`],
    ...flapping ? ["Flapping: it changes often"] : [],
  ];
}

function facts(
  { facts: { target, description, runbook, url, acknowledge_url } = {} }: MessageItem,
): readonly string[] {
  return [
    ...target === undefined ? [] : [`Target: ${cleanLine(target, OUTPUT_LENGTH_MAX)}`],
    ...description === undefined ? [] : [`About: ${cleanLine(description, OUTPUT_LENGTH_MAX)}`],
    ...runbook === undefined ? [] : [`Runbook: ${cleanLine(runbook, OUTPUT_LENGTH_MAX)}`],
    ...url === undefined ? [] : [`Page: ${url}`],
    ...acknowledge_url === undefined ? [] : [`Acknowledge: ${acknowledge_url}`],
  ];
}

function history({ notification, missedProblem, timeZone }: MessageItem): readonly string[] {
  const { event, previous, problemBeganAtMs, decidedAtMs } = notification;
  if (event === "recovery") {
    const [began, ended] = [timeText(problemBeganAtMs, timeZone), timeText(decidedAtMs, timeZone)];
    const lines = [
      isNoLongerChecked(notification)
        ? `Was ${previous.toUpperCase()}: since ${began}, no longer checked since ${ended}`
        : `Was ${previous.toUpperCase()}: from ${began} to ${ended} (${lasted(notification)})`,
    ];
    if (missedProblem === null) return lines;
    const said = notificationOutput(missedProblem);
    return [
      ...lines,
      notification.condition === "ok"
        ? "The problem recovered before it was sent."
        : `It was ${recoveryWord(notification)} before that was sent.`,
      ...said === "" ? [] : [`Output: ${said}`],
    ];
  }
  return [
    `Since: ${timeText(problemBeganAtMs, timeZone)} (${lasted(notification)})`,
    `Results: ${notification.occurrences} in a row`,
    ...event === "reminder" || event === "burning" ? [] : [`Previous: ${previous.toUpperCase()}`],
    `Decided: ${timeText(decidedAtMs, timeZone)}`,
  ];
}
