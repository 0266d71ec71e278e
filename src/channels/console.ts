import { messageOf } from "../shared/describe_error.ts";
import type { ChannelKindEntry, MessageItem, TextMax } from "../domain/delivery.ts";
import { describeDuration } from "../domain/duration.ts";
import type { NotificationEvent } from "../domain/condition.ts";
import { isNoLongerChecked, type Notification } from "../domain/outbox.ts";
import { DELIVERED, notDelivered } from "./clean_text.ts";
import { truncate } from "../shared/text.ts";
import { timeText } from "../shared/local_time.ts";

const OUTPUT_LENGTH_MAX = 500;
export const LINE_TEXT_MAX: TextMax = { output: OUTPUT_LENGTH_MAX, detail: 0 };

export const consoleKind: ChannelKindEntry<"console"> = {
  deliver: (message, _channel, context) => {
    try {
      for (const item of message.items) {
        context.writeLine(`${message.isTest ? "TEST " : ""}${describeItem(item)}`);
      }
    } catch (error) {
      return Promise.resolve(notDelivered(messageOf(error), { retryable: true }));
    }
    context.onStep("written");
    return Promise.resolve(DELIVERED);
  },
  batches: () => true,
  describe: () => "console",
  requiredPermissions: () => ({}),
  textMax: LINE_TEXT_MAX,
};

const EVENT_WORDS: Readonly<Record<Exclude<NotificationEvent, "recovery">, string>> = {
  problem: "",
  change: ", changed",
  reminder: ", still",
};

const NAME_LENGTH_MAX = 200;
const NOTE_LENGTH_MAX = 100;

/** An item as one line of text, of less than 1000 characters. Control characters are the writer's business. */
export function describeItem(item: MessageItem): string {
  const { check, title, event, condition, decidedAtMs } = item.notification;
  if (event === "summary") return `${timeText(decidedAtMs)} ${title ?? check}: ${describeOutput(item)}`;
  const name = truncate(title === null || title === check ? check : `${title} (${check})`, NAME_LENGTH_MAX);
  const recovered = isNoLongerChecked(item.notification) ? "" : `, ${recoveryWord(item.notification)}`;
  const word = event === "recovery" ? recovered : EVENT_WORDS[event];
  const what = `${condition.toUpperCase()}${word}: ${name}`;
  return `${timeText(decidedAtMs)} ${what}: ${describeResult(item)}`;
}

/** Describes a recovery: `recovered`, or `no longer CRITICAL` to a condition that is a problem. */
export function recoveryWord({ condition, previous }: Pick<Notification, "condition" | "previous">): string {
  if (condition === "unknown") return "no longer checked";
  return condition === "ok" ? "recovered" : `no longer ${previous.toUpperCase()}`;
}

/** The output, truncated, with its history, as in `was ok, 3 results in a row since 2026-01-31 10:00:00 UTC`. */
export function describeResult(item: MessageItem): string {
  const output = describeOutput(item);
  if (item.isDigest === true) return output;
  const history = [describeOwnHistory(item), ...describeNotes(item), describeSummarized(item)];
  return `${output} (${history.filter((part) => part !== "").join("; ")})`;
}

/** The check's output, truncated. */
export function describeOutput({ notification: { output } }: MessageItem): string {
  return output === "" ? "no output" : truncate(output, OUTPUT_LENGTH_MAX);
}

/** Describes the counted notifications of an item that are not listed; empty for none. */
export function describeSummarized({ summarized }: MessageItem): string {
  if (summarized === 0) return "";
  return `${summarized} older ${
    summarized === 1 ? "problem" : "problems"
  } recovered before they could be sent`;
}

/** Such as `14 checks that depend on it`. */
export function describeDependents(dependents: number): string {
  return dependents === 1 ? "1 check that depends on it" : `${dependents} checks that depend on it`;
}

function describeNotes({ notification: { acknowledged, flapping, dependents } }: MessageItem) {
  const note = truncate(acknowledged ?? "", NOTE_LENGTH_MAX);
  return [
    acknowledged === null ? "" : note === "" ? "acknowledged" : `acknowledged: ${note}`,
    flapping ? "flapping" : "",
    dependents === 0 ? "" : `suppressed: ${describeDependents(dependents)}`,
  ];
}

function describeOwnHistory({ notification, missedProblem }: MessageItem): string {
  const { event, previous, occurrences, problemBeganAtMs, decidedAtMs } = notification;
  const began = timeText(problemBeganAtMs);
  if (isNoLongerChecked(notification)) return `since ${began}`;
  if (missedProblem !== null) {
    return `was ${missedProblem.condition} from ${began} to ${timeText(decidedAtMs)}`;
  }
  if (event === "recovery") return `was ${previous} since ${began}`;
  if (event === "reminder") return `since ${began}`;
  return `was ${previous}, ${countResults(occurrences)} since ${began}`;
}

/** As in `3 results in a row`. */
export function countResults(occurrences: number): string {
  return occurrences === 1 ? "1 result" : `${occurrences} results in a row`;
}

/** Returns the duration of the problem. */
export function lasted({ problemBeganAtMs, decidedAtMs }: Notification): string {
  return describeDuration(Math.max(0, decidedAtMs - problemBeganAtMs));
}
