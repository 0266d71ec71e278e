import type { ChannelOf } from "../domain/channel.ts";
import { hostAndPort, permissionsOfTls } from "../domain/runtime_permissions.ts";
import type {
  ChannelKindEntry,
  DeliverContext,
  Delivery,
  Message,
  MessageItem,
  TextMax,
} from "../domain/delivery.ts";
import type { MailEnd } from "../domain/system.ts";
import { cleanLine, cleanLines, DELIVERED, LINES_LENGTH_MAX, notDelivered } from "./clean_text.ts";
import {
  countConditions,
  countResults,
  describeCause,
  describeCondition,
  describeDependents,
  describeItems,
  describeSummarized,
  headline,
  lasted,
  OUTPUT_LENGTH_MAX,
  recoveryWord,
} from "./describe_item.ts";
import { isNoLongerChecked, type Notification } from "../domain/outbox.ts";
import { timeText } from "../shared/local_time.ts";

/**
 * The length that is read of a text for an email: more than is shown, since escape sequences and the like are
 * dropped; and slightly more, which shows that the detail was longer.
 */
const BODY_TEXT_MAX: TextMax = { output: 16 * OUTPUT_LENGTH_MAX, detail: 16 * LINES_LENGTH_MAX + 2 };

export const emailKind: ChannelKindEntry<"email"> = {
  deliver: deliverEmail,
  batches: () => true,
  describe: describeEmail,
  requiredPermissions: ({ parameters: { access } }) => ({
    net: [hostAndPort(access.host, access.port)],
    ...permissionsOfTls(mayUseTls(access)),
  }),
  textMax: BODY_TEXT_MAX,
};

/** A local relay without a login is spoken to in clear text. */
function mayUseTls({ host, port, username }: ChannelOf<"email">["parameters"]["access"]): boolean {
  return port === 465 || username !== "" || !/^(?:localhost|127\.[\d.]+|\[?::1\]?)$/i.test(host);
}

async function deliverEmail(message: Message, channel: ChannelOf<"email">, context: DeliverContext) {
  const { access, sender, receivers, tags } = channel.parameters;
  const domain = domainOf(sender);
  const html = message.items[0]?.notification.summary?.html;
  const end = await context.system.mail.send({
    ...access,
    sender,
    receivers,
    subject: mailSubject(message, tags),
    text: mailText(message),
    ...html !== undefined && { html },
    messageId: `<${message.id}@${domain}>`,
    references: threads(message).map((id) => `<${id}@${domain}>`),
    // Prevents automatic replies (RFC 3834).
    headers: { "Auto-Submitted": "auto-generated" },
    dateMs: message.decidedAtMs,
  }, { onStep: context.onStep, signal: context.signal });
  return toDelivery(end, hostAndPort(access.host, access.port));
}

/** Returns `email to admin@example.org and 2 more`. */
function describeEmail({ parameters: { receivers } }: ChannelOf<"email">): string {
  const [first, ...others] = receivers;
  if (first === undefined) return "email without receivers";
  return `email to ${first}${others.length === 0 ? "" : ` and ${others.length} more`}`;
}

/** Email clients truncate subjects much earlier. */
const SUBJECT_LENGTH_MAX = 250;
const TAG_LENGTH_MAX = 40;

/** As in `[tag] shop is down: status is 503`, or `[tag] 3 checks are down: first title and 2 more`. */
function mailSubject(message: Message, tags: readonly string[]): string {
  const marks = tags.map((tag) => cleanLine(tag, TAG_LENGTH_MAX)).filter((tag) => tag !== "");
  const parts = [
    ...marks.map((tag) => `[${tag}]`),
    ...message.isTest ? ["TEST:"] : [],
    itemsSubject(message),
  ];
  return cleanLine(parts.join(" "), SUBJECT_LENGTH_MAX);
}

function itemsSubject(message: Pick<Message, "items" | "groupSize">): string {
  const [first, ...others] = message.items;
  if (first === undefined) return "nothing to report";
  return others.length === 0 ? headline(first) : describeItems(message);
}

const RULE = "-".repeat(40);
/** Further items are only summarized. */
const ITEMS_IN_FULL_MAX = 10;

function mailText(message: Message): string {
  const { items, isTest } = message;
  const parts: string[] = [];
  if (isTest) parts.push("This is a test notification. Nothing is wrong.\n");
  if (items.length > 1) {
    const counts = countConditions(items.map(({ notification }) => notification));
    parts.push(`${counts} in ${items.length} notifications, highest severity first.\n`);
  }
  if (items.length > ITEMS_IN_FULL_MAX) return [...parts, items.map(notificationBrief).join("\n")].join("\n");
  return [...parts, items.map(notificationBody).join(`\n${RULE}\n\n`)].join("\n");
}

const REFERENCES_MAX = 20;

/** Returns the messages of the problems, so that an email client shows them as a thread. */
function threads({ id, items }: Message): readonly string[] {
  const ids = items.flatMap(({ threadId }) => threadId === null || threadId === id ? [] : [threadId]);
  return [...new Set(ids)].slice(0, REFERENCES_MAX);
}

/** The part of a message id behind the `@` (RFC 5322, 3.6.4): spam filters prefer the sender's domain. */
function domainOf(sender: string): string {
  const domain = sender.slice(sender.lastIndexOf("@") + 1);
  const name = URL.parse(`http://${domain}`)?.hostname ?? "";
  return /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(name) ? name : "localhost";
}

/** Up to here the server may be another than the one that was meant. */
const FIRST_PHASES: readonly string[] = ["resolving", "connecting", "greeting", "TLS"];

function toDelivery(end: MailEnd, server: string): Delivery {
  if (!end.sent) {
    const { retryable, mayHaveArrived, phase } = end;
    const place = FIRST_PHASES.includes(phase) ? ` (${server})` : "";
    return notDelivered(`${phase}${place}: ${end.reason}`, { retryable, mayHaveArrived });
  }
  if (end.refused.length === 0) return DELIVERED;
  const names = end.refused.map(({ receiver, reason }) => `${receiver} (${reason})`);
  return { delivered: true, note: `rejected for ${names.join(", ")}` };
}

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
