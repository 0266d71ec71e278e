/**
 * The words of a message: a headline that is understood by itself, the condition with its duration, and the history.
 * A push message or an email shows the headline first, so no line begins with a time.
 */
import { type Condition, CONDITIONS, type NotificationEvent } from "../domain/condition.ts";
import type { CheckFacts, Message, MessageItem, TextMax } from "../domain/delivery.ts";
import { describeDuration } from "../domain/duration.ts";
import { type Cause, isNoLongerChecked, isStandalone, type Notification } from "../domain/outbox.ts";
import { timeText } from "../shared/local_time.ts";
import { counted, truncate } from "../shared/text.ts";
import { cleanLine } from "./clean_text.ts";
import { isoTime } from "../shared/json_values.ts";

export const OUTPUT_LENGTH_MAX = 500;
const NAME_LENGTH_MAX = 200;
const NOTE_LENGTH_MAX = 100;
const TARGET_LENGTH_MAX = 80;
const ITEM_LENGTH_MAX = 999;
/** Some receivers accept 1,024 characters. */
const DIGEST_LENGTH_MAX = 900;

/** How people call the check: its title, else its name; one line. */
export function titleOf(
  { title, check }: Pick<Notification, "title" | "check">,
  lengthMax = NAME_LENGTH_MAX,
): string {
  return cleanLine(title ?? "", lengthMax) || cleanLine(check, lengthMax);
}

/**
 * Returns an item as one line that is understood by itself: `Shop is down: status is 503, expected 200`, `Shop is up
 * again after 3 min 39 s`, `disk has a warning: 91 % used`.
 */
export function headline(item: MessageItem, lengthMax = NAME_LENGTH_MAX + OUTPUT_LENGTH_MAX): string {
  const name = titleOf(item.notification);
  return sentence(item, { name, hasOutput: item.notification.event !== "recovery", lengthMax });
}

/** An item as one line of less than 1000 characters: its headline with the name of the check, output and history. */
export function describeItem(item: MessageItem): string {
  const { check, title, event } = item.notification;
  const name = title === null || title === check
    ? check
    : isStandalone(event)
    ? title
    : `${title} (${check})`;
  const line = sentence(item, { name: cleanLine(name, NAME_LENGTH_MAX), hasOutput: true });
  if (isStandalone(event) || item.isDigest === true) return line;
  const [began, ...notes] = history(item);
  const condition = event === "problem" || event === "change" ? describeCondition(item) : conditionWord(item);
  return truncate(`${line} (${[`${condition}, ${began}`, ...notes].join("; ")})`, ITEM_LENGTH_MAX);
}

/** A text message has 160 characters. */
const NAMES_LENGTH_MAX = 80;

/**
 * Returns the items of a message as one line: `20 checks are down: web1, web2, and 18 more`, `3 of 20 checks are up again:
 * web1, web2, web3`.
 */
export function describeItems({ items, groupSize }: Pick<Message, "items" | "groupSize">): string {
  const cause = commonCause(items);
  // The last item of a check decides.
  const lasts = [...new Map(items.map((item) => [item.notification.check, item])).values()];
  const kindOf = (item: MessageItem): Kind =>
    item.notification.event === "burning"
      ? "burning"
      : item.notification.event !== "recovery"
      ? "problem"
      : item.notification.condition === "ok"
      ? "recovery"
      : "end";
  const parts = Object.entries(Object.groupBy(lasts, kindOf)).map(([kind, some]) => {
    const all =
      kind === "problem" || kind === "burning" || groupSize === undefined || groupSize <= lasts.length
        ? counted(some.length, "check")
        : `${some.length} of ${counted(groupSize, "check")}`;
    const state = STATES[kind as Kind](some);
    return cause === null
      ? `${all} ${state}`
      : causeOfMany(cause, { state, count: some.length, timeZone: items[0]?.timeZone });
  });
  const names = lasts.map(({ notification }) => titleOf(notification));
  const shown = withinLength(names, NAMES_LENGTH_MAX);
  const more = names.length - shown.length;
  return `${parts.join(", ")}: ${[...shown, ...more > 0 ? [`and ${more} more`] : []].join(", ")}`;
}

/** Returns the cause that all items have; `null`: there is none. */
export function commonCause(items: readonly MessageItem[]): Cause | null {
  const [first, ...others] = items.map(({ notification }) => notification.cause);
  if (first === undefined) return null;
  return others.every((other) => other?.text === first.text && other.sinceMs === first.sinceMs)
    ? first
    : null;
}

function causeOfMany(
  { checks, sinceMs, text }: Cause,
  { state, count, timeZone }: {
    readonly state: string;
    readonly count: number;
    readonly timeZone?: string | undefined;
  },
): string {
  const since = timeText(sinceMs, timeZone);
  return count >= checks
    ? `${counted(count, "check")} ${state} since ${since}: ${text}`
    : `${counted(count, "check")} ${state}, ${checks} in all since ${since}: ${text}`;
}

/** As in `5 checks fail since 2026-01-31 10:00:00 UTC: all connect to 192.0.2.7, and no healthy check does`. */
export function describeCause({ checks, sinceMs, text }: Cause, timeZone?: string): string {
  return `${counted(checks, "check")} fail since ${timeText(sinceMs, timeZone)}: ${text}`;
}

type Kind = "problem" | "burning" | "recovery" | "end";

const STATES: Readonly<Record<Kind, (items: readonly MessageItem[]) => string>> = {
  problem: (items) => {
    const states = items.map((item) => problemOf(item));
    const [first = ""] = states;
    const isOne = states.every((state) => state === first);
    const [are, have] = items.length === 1 ? ["is", "has"] : ["are", "have"];
    if (isOne) return first.replace(/^is/, are).replace(/^has/, have);
    return `${have} a problem (${countConditions(items.map(({ notification }) => notification))})`;
  },
  burning: (items) => items.length === 1 ? "burns its error budget" : "burn their error budgets",
  recovery: (items) => {
    const [first = "", ...others] = items.map(againOf);
    const again = others.every((other) => other === first) ? first : "is ok again";
    return items.length === 1 ? again : again.replace(/^is/, "are");
  },
  end: (items) => {
    const isUnchecked = items.every(({ notification }) => isNoLongerChecked(notification));
    return `${items.length === 1 ? "is" : "are"} ${isUnchecked ? "no longer checked" : "better"}`;
  },
};

/** As in `3 CRITICAL, 11 OK`, highest severity first. */
export function countConditions(notifications: readonly Notification[]): string {
  return CONDITIONS.toReversed().flatMap((one) => {
    const count = notifications.filter(({ condition }) => condition === one).length;
    return count === 0 ? [] : [`${count} ${one.toUpperCase()}`];
  }).join(", ");
}

/** Returns the first texts, one or more, that are not longer together. */
export function withinLength(texts: readonly string[], lengthMax: number): readonly string[] {
  let length = 0;
  const end = texts.findIndex((text, index) => (length += text.length) > lengthMax && index > 0);
  return end === -1 ? texts : texts.slice(0, end);
}

/** An item as one line for below its headline: the condition and its duration, the output, and the history. */
export function describeState(item: MessageItem): string {
  if (item.isDigest === true) return truncate(item.notification.detail, DIGEST_LENGTH_MAX);
  if (isStandalone(item.notification.event)) return describeOutput(item);
  return `${describeCondition(item)}: ${describeOutput(item)} (${history(item).join("; ")})`;
}

/** Returns the condition and its duration: `CRITICAL for 2 min`, `OK after 7 min`, `UNKNOWN, no longer checked`. */
export function describeCondition(item: MessageItem): string {
  const { notification } = item;
  const isUnchecked = isNoLongerChecked(notification);
  const isNew = notification.decidedAtMs - notification.problemBeganAtMs < 1000;
  const time = isNew || isUnchecked
    ? ""
    : ` ${notification.event === "recovery" ? "after" : "for"} ${lasted(notification)}`;
  return `${conditionWord(item)}${time}`;
}

function conditionWord({ notification }: MessageItem): string {
  const { event, condition } = notification;
  const word = condition.toUpperCase();
  return event !== "recovery" || condition === "ok" ? word : `${word}, ${recoveryWord(notification)}`;
}

interface SentenceOptions {
  readonly name: string;
  readonly hasOutput: boolean;
  readonly lengthMax?: number;
}

function sentence(
  item: MessageItem,
  { name, hasOutput, lengthMax = NAME_LENGTH_MAX + OUTPUT_LENGTH_MAX }: SentenceOptions,
): string {
  const { notification, missedProblem } = item;
  if (item.isDigest === true) return cleanLine(notification.output, lengthMax);
  const { event } = notification;
  const [what, output = notification.output] = isStandalone(event) || event === "burning"
    ? [""]
    : event === "recovery"
    ? [` ${recoverySentence(item)}`, missedProblem?.output]
    : [` ${SENTENCES[event](item)}`];
  const isShown = output !== "" && (hasOutput || missedProblem !== null);
  return cleanLine(`${name}${what}${isShown ? `: ${truncate(output, OUTPUT_LENGTH_MAX)}` : ""}`, lengthMax);
}

const SENTENCES: Readonly<
  Record<Exclude<NotificationEvent, "recovery" | "burning">, (item: MessageItem) => string>
> = {
  problem: (item) => problemOf(item),
  change: (item) => problemOf(item, "now "),
  reminder: (item) => problemOf(item, "still ", ` after ${lasted(item.notification)}`),
};

function recoverySentence(item: MessageItem): string {
  const { notification, missedProblem } = item;
  const { condition } = notification;
  const before = beforeOf(item);
  const time = lasted(notification);
  if (isNoLongerChecked(notification)) return `is no longer checked, ${past(before)} for ${time}`;
  const again = againOf(item);
  if (missedProblem !== null) {
    const now = condition === "ok" ? again : problemOf(item, "now ");
    return `${past(before)} for ${time} and ${now}`;
  }
  return `${condition === "ok" ? again : present(before, "no longer ")} after ${time}`;
}

function againOf(item: MessageItem): string {
  const before = beforeOf(item);
  if (before.isUnwanted) return present(before, "no longer ");
  return before.rest === "down" ? "is up again" : "is ok again";
}

function beforeOf(item: MessageItem): State {
  const { notification: { previous }, missedProblem } = item;
  return stateOf(missedProblem?.condition ?? (previous === "pending" ? "unknown" : previous), item);
}

interface State {
  readonly isQuality: boolean;
  readonly rest: string;
  /** Whether the check is to fail, and does not. */
  readonly isUnwanted: boolean;
}

function stateOf(condition: Condition, { goesDown = false, isInverted = false }: MessageItem): State {
  if (condition === "warning") return { isQuality: false, rest: "a warning", isUnwanted: false };
  if (condition !== "critical") return { isQuality: true, rest: condition, isUnwanted: false };
  const [down, up] = goesDown ? ["down", "up"] : [condition, "passing"];
  return { isQuality: true, rest: isInverted ? up : down, isUnwanted: isInverted };
}

/** As in `is down`, `still has a warning after 2 h`, `is up, but must not be`. */
function problemOf(item: MessageItem, adverb = "", time = ""): string {
  const state = stateOf(item.notification.condition, item);
  return `${present(state, adverb)}${time}${state.isUnwanted ? ", but must not be" : ""}`;
}

function present({ isQuality, rest }: State, adverb = ""): string {
  return isQuality ? `is ${adverb}${rest}` : `${adverb}has ${rest}`;
}

function past({ isQuality, rest }: State): string {
  return `${isQuality ? "was" : "had"} ${rest}`;
}

/** Describes a recovery: `recovered`, or `no longer CRITICAL` to a condition that is a problem. */
export function recoveryWord({ condition, previous }: Pick<Notification, "condition" | "previous">): string {
  if (condition === "unknown") return "no longer checked";
  return condition === "ok" ? "recovered" : `no longer ${previous.toUpperCase()}`;
}

function describeOutput({ notification: { output } }: MessageItem): string {
  return cleanLine(output, OUTPUT_LENGTH_MAX) || "no output";
}

/** Describes the counted notifications of an item that are not listed; empty for none. */
export function describeSummarized({ summarized }: MessageItem): string {
  return summarized === 0
    ? ""
    : `${counted(summarized, "older problem")} recovered before they could be sent`;
}

/** Such as `14 checks that depend on it`. */
export function describeDependents(dependents: number): string {
  return `${counted(dependents, "check")} that ${dependents === 1 ? "depends" : "depend"} on it`;
}

/** As in `was ok, 3 results in a row since 2026-01-31 10:00:00 UTC`, then notes. */
function history(item: MessageItem): readonly string[] {
  const { event, acknowledged, flapping, dependents, cause } = item.notification;
  const note = cleanLine(acknowledged ?? "", NOTE_LENGTH_MAX);
  const target = event === "recovery" ? "" : cleanLine(item.facts?.target ?? "", TARGET_LENGTH_MAX);
  return [
    describeOwnHistory(item),
    target === "" ? "" : `target: ${target}`,
    acknowledged === null ? "" : note === "" ? "acknowledged" : `acknowledged: ${note}`,
    flapping ? "flapping" : "",
    cause === undefined ? "" : `cause: ${describeCause(cause, item.timeZone)}`,
    dependents === 0 ? "" : `suppressed: ${describeDependents(dependents)}`,
    describeSummarized(item),
  ].filter((part) => part !== "");
}

function describeOwnHistory({ notification, missedProblem, timeZone }: MessageItem): string {
  const { event, previous, occurrences, problemBeganAtMs, decidedAtMs } = notification;
  const began = timeText(problemBeganAtMs, timeZone);
  if (isNoLongerChecked(notification) || event === "reminder") return `since ${began}`;
  if (event === "burning") return `problem not confirmed: ${countResults(occurrences)} since ${began}`;
  if (missedProblem !== null) {
    return `was ${missedProblem.condition} from ${began} to ${timeText(decidedAtMs, timeZone)}`;
  }
  if (event === "recovery") return `was ${previous} since ${began}`;
  return `was ${previous}, ${countResults(occurrences)} since ${began}`;
}

/** As in `3 results in a row`. */
export function countResults(occurrences: number): string {
  return occurrences === 1 ? "1 result" : `${occurrences} results in a row`;
}

export function lasted({ problemBeganAtMs, decidedAtMs }: Notification): string {
  return describeDuration(Math.max(0, decidedAtMs - problemBeganAtMs));
}

/** For a webhook's JSON, a command's input, an `ndjson` event. Fields are only ever added. Times are ISO 8601 in UTC. */
interface NotificationFields extends
  Omit<
    Notification,
    "problemBeganAtMs" | "decidedAtMs" | "nextRunAtMs" | "hostName" | "cause" | "summary" | "token"
  > {
  readonly problem_began_at: string;
  readonly decided_at: string;
  readonly next_run_at: string;
  readonly host: string;
  /** The common cause of its problem and others. @default none is known */
  readonly cause?: string;
}

export function notificationFields(notification: Notification, timeZone?: string): NotificationFields {
  const { id, check, title, event, condition, previous, output, detail } = notification;
  return {
    ...{ id, check, title, event, condition, previous, output, detail },
    problem_began_at: isoTime(notification.problemBeganAtMs),
    decided_at: isoTime(notification.decidedAtMs),
    occurrences: notification.occurrences,
    next_run_at: isoTime(notification.nextRunAtMs),
    host: notification.hostName,
    acknowledged: notification.acknowledged,
    flapping: notification.flapping,
    dependents: notification.dependents,
    ...notification.cause !== undefined && { cause: describeCause(notification.cause, timeZone) },
  };
}

/** The most of an output and of a detail that goes to a receiver. */
export const ITEM_TEXT_MAX: TextMax = { output: 8 * 1024, detail: 64 * 1024 };
const HEADLINE_LENGTH_MAX = 500;
/** Half of it for outputs, half for details of all items: many servers accept no more than a megabyte. */
const SHARED_LENGTH_MAX = 512 * 1024;

interface ItemFields extends NotificationFields, CheckFacts {
  /** As in `Shop is down: status is 503, expected 200`. */
  readonly headline: string;
  readonly test: boolean;
  /** The problem that recovered before it was sent; then the rest is its recovery. `null` otherwise. */
  readonly missed_problem: NotificationFields | null;
  /** Older problems, of any check, that recovered before they could be sent and are not listed. */
  readonly summarized: number;
  /** The fields of a summary. @default none */
  readonly summary?: unknown;
}

/** Returns the facts of the config about a check, its time zone, and the duration of the problem, as texts; empty: none. */
export function factTexts(
  { notification, timeZone = "UTC", facts = {} }: MessageItem,
): Readonly<Record<keyof CheckFacts | "duration" | "time_zone", string>> {
  return {
    ...{ url: "", acknowledge_url: "", kind: "", target: "", description: "", runbook: "", ...facts },
    tags: (facts.tags ?? []).join(", "),
    duration: lasted(notification),
    time_zone: timeZone,
  };
}

/** Returns the fields of an item; the items of a message share the space for output and detail. */
export function itemFields(
  item: MessageItem,
  { isTest, itemCount }: { readonly isTest: boolean; readonly itemCount: number },
): ItemFields {
  const { summary } = item.notification;
  const share = Math.floor(SHARED_LENGTH_MAX / 2 / itemCount);
  const bounded = (notification: Notification): NotificationFields => ({
    ...notificationFields(notification, item.timeZone),
    output: truncate(notification.output, Math.min(ITEM_TEXT_MAX.output, share)),
    detail: truncate(notification.detail, Math.min(ITEM_TEXT_MAX.detail, share)),
  });
  return {
    ...bounded(item.notification),
    headline: `${isTest ? "TEST " : ""}${headline(item, Math.min(HEADLINE_LENGTH_MAX, share / 4))}`,
    test: isTest,
    missed_problem: item.missedProblem === null ? null : bounded(item.missedProblem),
    summarized: item.summarized,
    ...item.facts,
    ...summary !== undefined && { summary: JSON.parse(summary.json) },
  };
}
