import type { ChannelOf } from "../domain/channel.ts";
import { hostAndPort, permissionsOfTls } from "../domain/runtime_permissions.ts";
import type { ChannelKindEntry, DeliverContext, Delivery, Message } from "../domain/delivery.ts";
import type { MailEnd } from "../domain/mail.ts";
import { cleanLine, DELIVERED, notDelivered } from "./clean_text.ts";
import { BODY_TEXT_MAX, notificationBody, notificationBrief } from "./notification_text.ts";
import { countConditions, describeItems, headline } from "./describe_item.ts";

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
    parts.push(
      `${
        countConditions(items.map(({ notification }) => notification))
      } in ${items.length} notifications, highest severity first.\n`,
    );
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
