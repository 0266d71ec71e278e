import { decodeComponent, oneLine, truncate } from "../shared/text.ts";
import { startDeadline } from "../shared/deadline.ts";
import type { ChannelOf } from "../domain/channel.ts";
import type { JsonTemplate } from "../domain/generated/config.ts";
import { hostAndPortOf, permissionsOfTls } from "../domain/runtime_permissions.ts";
import type { Condition } from "../domain/condition.ts";
import type { ChannelKindEntry, DeliverContext, Delivery, Message, MessageItem } from "../domain/delivery.ts";
import { describeRequestFailure } from "../shared/failure_words.ts";
import { createRedactor, type Redact } from "../shared/redact.ts";
import { readStart, retryAfterMs } from "../shared/read_response.ts";
import type { IncomingResponse, OutgoingRequest } from "../domain/connections.ts";
import {
  bodyRuleOf,
  type Escape,
  escapeHeader,
  escapeUrl,
  fillJsonTemplate,
  fillTemplate,
  hasFields,
  literalsOf,
  type TemplateField,
} from "../shared/template.ts";
import { describeItem, describeState, factTexts, ITEM_TEXT_MAX, itemFields } from "./describe_item.ts";
import { afterColon, DELIVERED, notDelivered } from "./clean_text.ts";

export const webhookKind: ChannelKindEntry<"webhook"> = {
  deliver: deliverWebhook,
  batches: (channel) => !isTemplate(channel),
  isAboutOne: ({ parameters: { body } }) => body !== undefined,
  // The path and the query of such URLs often are the secret.
  describe: (channel) => `webhook ${URL.parse(channel.parameters.target)?.host ?? "of an unknown host"}`,
  requiredPermissions: (channel) => {
    const targets = targetsOf(channel);
    const isTls = targets.some((target) => new URL(target).protocol === "https:");
    return { net: [...new Set(targets.map(hostAndPortOf))], ...permissionsOfTls(isTls) };
  },
  textMax: ITEM_TEXT_MAX,
};

function isTemplate({ parameters: { target, recoveryTarget, headers, body } }: ChannelOf<"webhook">) {
  return body !== undefined || recoveryTarget !== undefined ||
    [target, ...Object.values(headers)].some(hasFields);
}

function targetsOf({ parameters: { target, recoveryTarget } }: ChannelOf<"webhook">): readonly string[] {
  return recoveryTarget === undefined ? [target] : [target, recoveryTarget];
}

async function deliverWebhook(message: Message, channel: ChannelOf<"webhook">, context: DeliverContext) {
  const { items } = message;
  if (!isTemplate(channel)) return await post(requestOf(items, message, channel), { channel, context });
  // The outbox delivers one item at a time; several would be separate messages to the receiver.
  for (const item of items) {
    const id = items.length === 1 ? message.id : item.notification.id;
    const delivery = await post(requestOf([item], { ...message, id }, channel), { channel, context });
    if (!delivery.delivered) return delivery;
  }
  return DELIVERED;
}

type FilledRequest = Pick<OutgoingRequest, "target" | "headers"> & { readonly body: string };

/** More of a value would make a URL or a header that servers reject. */
const SHORT_FIELD_LENGTH_MAX = 500;

/** The request for some items; for one alone where the channel has fields. */
function requestOf(
  items: readonly MessageItem[],
  { id, isTest }: Pick<Message, "id" | "isTest">,
  channel: ChannelOf<"webhook">,
): FilledRequest {
  const { target, recoveryTarget = target, headers, body } = channel.parameters;
  const [item] = items;
  if (item === undefined || !isTemplate(channel)) {
    return { target, headers: headersOf(headers, id), body: notificationsJson(items, isTest) };
  }
  const fields = templateFields(item, isTest);
  const fill = (template: string, escape: Escape): string =>
    fillTemplate(template, fields, (value) => escape(truncate(value, SHORT_FIELD_LENGTH_MAX)));
  const filled = Object.entries(headers).map(([name, value]) => [name, fill(value, escapeHeader)]);
  return {
    target: fill(item.notification.event === "recovery" ? recoveryTarget : target, escapeUrl),
    headers: headersOf(Object.fromEntries(filled), id),
    body: body === undefined ? notificationsJson(items, isTest) : fillBody(body, fields, headers),
  };
}

function fillBody(
  body: JsonTemplate,
  fields: Readonly<Record<TemplateField, string>>,
  headers: Readonly<Record<string, string>>,
): string {
  const { escape, isForm } = bodyRuleOf(headers);
  if (typeof body === "string") return fillTemplate(body, fields, escape);
  const value = fillJsonTemplate(body, fields);
  if (!isForm || typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  const parts = Object.entries(value).map(([name, part]): [string, string] => [
    name,
    typeof part === "string" ? part : JSON.stringify(part),
  ]);
  return new URLSearchParams(parts).toString();
}

function notificationsJson(items: readonly MessageItem[], isTest: boolean): string {
  const notifications = items.map((item) => itemFields(item, { isTest, itemCount: items.length }));
  return JSON.stringify({ notifications });
}

async function post(
  request: FilledRequest,
  { channel, context }: { readonly channel: ChannelOf<"webhook">; readonly context: DeliverContext },
): Promise<Delivery> {
  const { method, timeoutMs } = channel.parameters;
  const { requests, clock } = context.system;
  using deadline = startDeadline(clock, timeoutMs, context.signal);
  let response: IncomingResponse | null = null;
  try {
    response = await requests.send({ ...request, method }, deadline.signal);
    return await evaluate(response, channel, context);
  } catch (error) {
    context.signal.throwIfAborted();
    if (deadline.isTimeUp) {
      const reason = `no response within ${timeoutMs / 1000} s`;
      return notDelivered(reason, { retryable: true, mayHaveArrived: true });
    }
    const failure = requests.explain(error, request.target);
    return notDelivered(describeRequestFailure(failure, request.target), {
      retryable: failure.phase !== "permission",
      mayHaveArrived: failure.phase === "head" || failure.phase === "body",
    });
  } finally {
    await response?.close();
  }
}

const USER_AGENT = "monitor";

/** Ours, then the config's, whatever case they are written in. */
function headersOf(headers: Readonly<Record<string, string>>, id: string): Readonly<Record<string, string>> {
  const own = { "content-type": "application/json", "idempotency-key": id, "user-agent": USER_AGENT };
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...own, ...Object.fromEntries(given) };
}

/** Bad gateway, and a gateway's time-out (RFC 9110). */
const GATEWAY_STATUSES: readonly number[] = [502, 504];

/** Statuses below 500 that only ask to come back later (RFC 9110, RFC 8470, RFC 6585). */
const TRY_AGAIN_STATUSES: readonly number[] = [408, 425, 429];

const ANSWER_BYTES_MAX = 1024;

async function evaluate(
  response: IncomingResponse,
  channel: ChannelOf<"webhook">,
  { onStep, system }: DeliverContext,
): Promise<Delivery> {
  const { status } = response;
  if (status >= 200 && status < 300) {
    onStep(`accepted with status ${status}`);
    return DELIVERED;
  }
  const retryable = status >= 500 || TRY_AGAIN_STATUSES.includes(status);
  const redirect = status >= 300 && status < 400 ? ", and redirects are not followed" : "";
  // The first words of an HTML page are no reason.
  const isPage = /^text\/html\b/i.test(response.header("Content-Type") ?? "");
  const { text, isWhole } = isPage
    ? { text: "", isWhole: true }
    : await readStart(response, ANSWER_BYTES_MAX);
  // So that a secret that was cut is found by its beginning.
  const said = oneLine(hiddenParts(channel)(text === "" || isWhole ? text : `${text}…`));
  return notDelivered(`status is ${status}${redirect}${afterColon(said)}`, {
    retryable,
    // A gateway without a response may have forwarded the request.
    mayHaveArrived: GATEWAY_STATUSES.includes(status),
    retryAfterMs: retryable ? retryAfterMs(response.header("Retry-After"), system.clock.wallMs()) : null,
  });
}

/** Shorter parts of a URL or a header are words such as `api` and `Bearer`. */
const SECRET_LENGTH_MIN = 7;

/** A receiver may echo its request: the URL's path and query, and the headers, often are secrets of this channel. */
function hiddenParts(channel: ChannelOf<"webhook">): Redact {
  const written = targetsOf(channel).flatMap(partsOfTarget);
  const given = Object.entries(channel.parameters.headers).filter(([name]) => !/^content-type$/i.test(name))
    .flatMap(([, value]) => literalsOf(value)).flatMap((text) => [text, ...text.split(/\s+/)]);
  const parts = [...written.map(decodeComponent), ...given];
  return createRedactor(parts.filter((part) => part.length >= SECRET_LENGTH_MIN));
}

function partsOfTarget(target: string): readonly string[] {
  const { pathname, search, searchParams } = new URL(target);
  const query = [...search.slice(1).split(/[&=]/), ...searchParams.values()];
  const literals = literalsOf(decodeComponent(pathname + search)).flatMap((text) => text.split(/[/?&=]/));
  return [pathname + search, pathname, ...pathname.split("/"), ...query, ...literals];
}

/** The words of PagerDuty's Events API v2, which other receivers have taken over. */
const SEVERITIES: Readonly<Record<Condition, string>> = {
  ok: "info",
  unknown: "error",
  warning: "warning",
  critical: "critical",
};

function templateFields(item: MessageItem, isTest: boolean): Readonly<Record<TemplateField, string>> {
  const { missed_problem: _, summary: __, ...fields } = itemFields(item, { isTest, itemCount: 1 });
  return {
    ...fields,
    title: fields.title ?? fields.check,
    occurrences: String(fields.occurrences),
    acknowledged: fields.acknowledged ?? "",
    flapping: String(fields.flapping),
    dependents: String(fields.dependents),
    test: String(isTest),
    summarized: String(fields.summarized),
    summary: `${isTest ? "TEST " : ""}${describeItem(item)}`,
    text: describeState(item),
    action: ["recovery", "summary"].includes(fields.event) ? "resolve" : "trigger",
    severity: SEVERITIES[fields.condition],
    ...factTexts(item),
  };
}
