/** The text of a notification. Times are UTC, so that those of two machines can be compared. */
import type { MessageItem, TextMax } from "../domain/delivery.ts";
import { CONDITIONS } from "../domain/condition.ts";
import { isNoLongerChecked, type Notification } from "../domain/outbox.ts";
import { cleanLine, cleanLines, LINES_LENGTH_MAX } from "./clean_text.ts";
import { countResults, describeDependents, describeSummarized, lasted, recoveryWord } from "./console.ts";
import { timeText } from "../shared/local_time.ts";

const TITLE_LENGTH_MAX = 120;
const OUTPUT_LENGTH_MAX = 500;

/**
 * The length that is read of a text for an email: more than is shown, since escape sequences and the like are
 * dropped; and slightly more, which shows that the detail was longer.
 */
export const BODY_TEXT_MAX: TextMax = {
  output: 16 * OUTPUT_LENGTH_MAX,
  detail: 16 * LINES_LENGTH_MAX + 2,
};

/** How people call the check: its title, else its name; one line of at most 120 characters. */
export function notificationTitle({ title, check }: Pick<Notification, "title" | "check">): string {
  const line = cleanLine(title ?? "", TITLE_LENGTH_MAX);
  return line === "" ? cleanLine(check, TITLE_LENGTH_MAX) : line;
}

/**
 * An item in one line: `CRITICAL: title`, `still CRITICAL: title` for a reminder, `title: sentence` for a summary,
 * `OK: title` for a recovery, `UNKNOWN, no longer checked: title` if the config no longer runs the check, and
 * `OK: title (was CRITICAL from 12:03 to 12:09 UTC)` if the problem itself was not sent.
 */
export function notificationSubject({ notification, missedProblem }: MessageItem): string {
  if (notification.event === "summary") {
    return `${notificationTitle(notification)}: ${notificationOutput(notification)}`;
  }
  const still = notification.event === "reminder" ? "still " : "";
  const isUnchecked = isNoLongerChecked(notification);
  const what = `${notification.condition.toUpperCase()}${
    isUnchecked ? `, ${recoveryWord(notification)}` : ""
  }`;
  const line = `${still}${what}: ${notificationTitle(notification)}`;
  if (missedProblem === null || isUnchecked) return line;
  return `${line} (was ${notification.previous.toUpperCase()} ${span(missedProblem, notification)})`;
}

/** A check's output in one line; empty if there is none. */
function notificationOutput({ output }: Pick<Notification, "output">): string {
  return cleanLine(output, OUTPUT_LENGTH_MAX);
}

/**
 * Returns all facts for a person to act, as lines of text with line feeds: event, begin, count, the output, the
 * detail (20 lines or 4096 characters of it), the next run, the check, the host, its description and runbook, and its page.
 */
export function notificationBody(item: MessageItem): string {
  const { notification } = item;
  if (notification.event === "summary") return notification.detail;
  const detail = cleanLines(notification.detail);
  const output = notificationOutput(notification);
  const lines = [
    notificationSubject(item),
    "",
    output === "" ? "(no output)" : output,
    "",
    ...history(item),
    ...isNoLongerChecked(notification) ? [] : [`Next run: ${timeText(notification.nextRunAtMs)}`],
    `Check: ${cleanLine(notification.check, OUTPUT_LENGTH_MAX)}`,
    `Host: ${cleanLine(notification.hostName, OUTPUT_LENGTH_MAX)}`,
    ...facts(item),
    ...notes(notification),
  ];
  const summarized = describeSummarized(item);
  if (summarized !== "") lines.push(`Also: ${summarized}`);
  if (detail.lines.length > 0) {
    lines.push("", "Detail:", ...detail.lines);
    if (detail.isCut) lines.push("(truncated)");
  }
  return lines.map((line) => `${line}\n`).join("");
}

/** An item in three lines at most, for a message of many. */
export function notificationBrief(item: MessageItem): string {
  const { notification } = item;
  const output = cleanLine(notification.output, 160);
  const began = notification.event === "recovery"
    ? `${recoveryWord(notification)} at ${timeText(notification.decidedAtMs)}`
    : since(notification);
  const summarized = describeSummarized(item);
  const lines = [
    notificationSubject(item),
    ...output === "" ? [] : [`  ${output}`],
    `  ${began}`,
    ...notes(notification).map((line) => `  ${line}`),
    ...facts(item).map((line) => `  ${line}`),
    ...summarized === "" ? [] : [`  Also: ${summarized}`],
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** As in `3 CRITICAL, 11 OK`, highest severity first. */
export function countConditions(notifications: readonly Notification[]): string {
  return CONDITIONS.toReversed().flatMap((one) => {
    const count = notifications.filter(({ condition }) => condition === one).length;
    return count === 0 ? [] : [`${count} ${one.toUpperCase()}`];
  }).join(", ");
}

function notes({ acknowledged, flapping, dependents }: Notification): readonly string[] {
  return [
    ...dependents === 0 ? [] : [`Suppressed: ${describeDependents(dependents)}`],
    ...acknowledged === null ? [] : [`Acknowledged: ${cleanLine(acknowledged, OUTPUT_LENGTH_MAX) || "yes"}`],
    ...flapping ? ["Flapping: it changes often"] : [],
  ];
}

function facts({ facts: { description, runbook, url } = {} }: MessageItem): readonly string[] {
  return [
    ...description === undefined ? [] : [`About: ${cleanLine(description, OUTPUT_LENGTH_MAX)}`],
    ...runbook === undefined ? [] : [`Runbook: ${cleanLine(runbook, OUTPUT_LENGTH_MAX)}`],
    ...url === undefined ? [] : [`Page: ${url}`],
  ];
}

function history({ notification, missedProblem }: MessageItem): readonly string[] {
  const { event, previous, problemBeganAtMs, decidedAtMs } = notification;
  if (event === "recovery") {
    const began = timeText(problemBeganAtMs);
    const lines = [
      isNoLongerChecked(notification)
        ? `Was ${previous.toUpperCase()}: since ${began}, no longer checked since ${timeText(decidedAtMs)}`
        : `Was ${previous.toUpperCase()}: from ${began} to ${timeText(decidedAtMs)} (${
          lasted(notification)
        })`,
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
    `Since: ${timeText(problemBeganAtMs)} (${lasted(notification)})`,
    `Results: ${notification.occurrences} in a row`,
    ...event === "reminder" ? [] : [`Previous: ${previous.toUpperCase()}`],
    `Decided: ${timeText(decidedAtMs)}`,
  ];
}

function since(notification: Notification): string {
  return `since ${timeText(notification.problemBeganAtMs)}, ${countResults(notification.occurrences)}`;
}

/** `from 12:03 to 12:09 UTC`, with the days where they differ. */
function span(problem: Notification, recovery: Notification): string {
  const began = timeText(problem.problemBeganAtMs);
  const ended = timeText(recovery.decidedAtMs);
  const isOneDay = began.slice(0, 10) === ended.slice(0, 10);
  const part = (text: string): string => isOneDay ? text.slice(11, 16) : text.slice(0, 16);
  return `from ${part(began)} to ${part(ended)} UTC`;
}
