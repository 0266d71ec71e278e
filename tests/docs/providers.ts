/**
 * The requests that receivers of notifications accept, from the pages of their providers. The date is that of reading;
 * a copy of the page may have been older.
 */
import assert from "node:assert/strict";

/** A part of a JSON schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A request as it arrived. */
export interface ArrivedRequest {
  readonly method: string;
  /** Path and query, as they were sent. */
  readonly path: string;
  readonly headers: Headers;
  /** JSON, or the fields of a form. */
  readonly body: unknown;
}

/** A receiver that has an API over HTTP. */
export interface Provider {
  /** The host in a recipe, replaced by the loopback server. @default none: the URL has a default or is a secret */
  readonly host?: string;
  /** Secrets in the environment; `ORIGIN` stands for the loopback server. */
  readonly environment: Readonly<Record<string, string>>;
  /** @default POST */
  readonly method?: string;
  /** The path of problems. */
  readonly path: RegExp;
  /** The path of recoveries. @default that of problems */
  readonly recoveryPath?: RegExp;
  /** @default application/json */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly schema: JsonSchema;
  /** @default that of problems */
  readonly recoverySchema?: JsonSchema;
  /** Whether recoveries are sent. @default true */
  readonly sendsRecoveries?: boolean;
  /** Returns the text that people read, to look for mentions. */
  readonly textOf: (body: never) => string;
  /** Text that would mention people, or break the markup; absent: none. */
  readonly mention?: RegExp;
  /** Returns the key by which the receiver matches a problem with its recovery; absent: each message is separate. */
  readonly keyOf?: (request: ArrivedRequest) => unknown;
  /** Returns the key by which a receiver drops duplicates. */
  readonly idOf?: (request: ArrivedRequest) => string;
  /** What the bodies of the problem and of the recovery of one check have. */
  readonly pair?: readonly [problem: object, recovery: object];
}

/**
 * An object with these keys and no others, and with more: `title:250` is text of so many characters, `a:1..5` a whole
 * number, `a:1..` one without a maximum, `a=x|y` one of these texts. Others may be there.
 */
function object(
  words: string,
  more: Readonly<Record<string, JsonSchema>> = {},
  others: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  const keys = [...words.matchAll(/([^ :=]+)(?:=(\S+)|:(\S+))/g)].map(([, name, texts, size = ""]) => {
    const [least, most] = size.split("..");
    if (texts !== undefined) return [name, { enum: texts.split("|") }];
    if (most === undefined) return [name, text(Number(least))];
    return [name, { type: "integer", minimum: Number(least), ...most !== "" && { maximum: Number(most) } }];
  });
  const own = { ...Object.fromEntries(keys), ...more };
  const properties = { ...own, ...others };
  return { type: "object", additionalProperties: false, properties, required: Object.keys(own) };
}

/** A text of so many characters. */
function text(maxLength: number): JsonSchema {
  return { type: "string", minLength: 1, maxLength };
}

function list(items: JsonSchema, maxItems?: number): JsonSchema {
  return { type: "array", minItems: 1, items, ...maxItems !== undefined && { maxItems } };
}

/** A time as RFC 3339 writes it. */
const TIME: JsonSchema = {
  type: "string",
  pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z$",
};

/** The name of the check at the begin of a headline. */
const titleOf = ({ body }: ArrivedRequest): unknown =>
  String((body as { readonly title: unknown }).title).replace(/ is (?:critical|ok again).*$/, "");

/** Names as Prometheus writes them; values are any text. */
const LABELS: JsonSchema = {
  type: "object",
  propertyNames: { pattern: "^[a-zA-Z_][a-zA-Z0-9_]*$" },
  additionalProperties: { type: "string" },
};

/** The end of an alert that has not ended. */
const LATER = "2100-01-01T00:00:00Z";

function alertsUntil(endsAt: JsonSchema): JsonSchema {
  return list(object("", { labels: LABELS, annotations: LABELS, startsAt: TIME, endsAt }));
}

/** The page of a check. */
const ACKNOWLEDGE = { type: "string", pattern: "/checks/[^/]+#acknowledge$", maxLength: 512 };
const PAGE = { type: "string", pattern: "^https://monitor\\.example\\.org/", maxLength: 512 };

const NUMBER = { type: "string", pattern: "^\\+[1-9]\\d{1,14}$" };

export const PROVIDERS: Readonly<Record<string, Provider>> = {
  /** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks and .../formatting-message-text, 2026-11-23 */
  slack: {
    environment: { SLACK_URL: "ORIGIN/services/T000/B000/slack-secret" },
    path: /^\/services\/T000\/B000\/slack-secret$/,
    // Longer texts are cut.
    schema: object("text:40000", { unfurl_links: { type: "boolean" } }),
    textOf: (body: { text: string }) => body.text,
    // Mentions are in angle brackets; an ampersand begins an entity.
    mention: /[<>]|&(?!(?:amp|lt|gt);)/,
  },
  /** https://developers.mattermost.com/integrate/webhooks/incoming and the limit of a post, 2026-11-23 */
  mattermost: {
    environment: { MATTERMOST_URL: "ORIGIN/hooks/mattermost-secret" },
    path: /^\/hooks\/mattermost-secret$/,
    schema: object("text:16383"),
    textOf: (body: { text: string }) => body.text,
    // Those of Slack are understood, too.
    mention: /@[\w.-]|<[!@]/,
  },
  /** https://docs.rocket.chat/docs/integrations, 2026-11-26 */
  rocket_chat: {
    host: "chat.example.org",
    environment: { ROCKET_CHAT_HOOK: "rocket-secret" },
    path: /^\/hooks\/rocket-secret$/,
    schema: object("text:5000"),
    textOf: (body: { text: string }) => body.text,
    mention: /@[\w.-]/,
  },
  /** https://discord.com/developers/docs/resources/webhook#execute-webhook, 2026-11-23 */
  discord: {
    environment: { DISCORD_URL: "ORIGIN/api/webhooks/1234/discord-secret" },
    path: /^\/api\/webhooks\/1234\/discord-secret$/,
    // An empty list of kinds to parse: nothing in the content mentions anyone.
    schema: object("content:2000", {
      allowed_mentions: object("", { parse: { type: "array", maxItems: 0 } }),
    }),
    textOf: (body: { content: string }) => body.content,
  },
  /**
   * https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using and
   * https://adaptivecards.io/explorer/RichTextBlock.html, 2026-11-23. A message has at most 28 KB. A TextRun has no
   * Markdown, and mentions need an entity of their own.
   */
  teams: {
    environment: { TEAMS_URL: "ORIGIN/workflows/1?sig=teams-secret" },
    path: /^\/workflows\/1\?sig=teams-secret$/,
    schema: object("type=message", {
      attachments: list(
        object("contentType=application/vnd.microsoft.card.adaptive", {
          content: object(
            "$schema=http://adaptivecards.io/schemas/adaptive-card.json type=AdaptiveCard version=1.2|1.3|1.4|1.5",
            {
              body: list(object("type=RichTextBlock", { inlines: list(object("type=TextRun text:20000")) })),
              actions: list(object("type=Action.OpenUrl title:100", { url: PAGE })),
            },
          ),
        }),
        1,
      ),
    }),
    textOf: (body: object) => JSON.stringify(body),
  },
  /** https://core.telegram.org/bots/api#sendmessage and #html-style, 2026-11-23 */
  telegram: {
    environment: { TELEGRAM_TOKEN: "123:telegram-secret" },
    path: /^\/bot123:telegram-secret\/sendMessage$/,
    // 4,096 characters once the entities are read.
    schema: object("parse_mode=HTML text:8096", {
      chat_id: { const: -1001234567890 },
      link_preview_options: object("", { is_disabled: { type: "boolean" } }),
    }),
    textOf: (body: { text: string }) => {
      const plain = body.text.replaceAll(/&(?:amp|lt|gt);/g, ".").replaceAll(/<\/?b>/g, "");
      assert.ok(plain.length <= 4096);
      return body.text;
    },
    // Any tag but ours, and any ampersand that begins no entity, is an error.
    mention: /<(?!\/?b>)|&(?!(?:amp|lt|gt|quot);)/,
  },
  /**
   * https://spec.matrix.org/v1.18/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid, #mmessage and
   * #user-and-room-mentions, 2026-11-23. An event has at most 65,536 bytes. With `m.mentions`, texts mention no one.
   */
  matrix: {
    host: "matrix.example.org",
    environment: { MATRIX_TOKEN: "matrix-secret" },
    method: "PUT",
    path: /^\/_matrix\/client\/v3\/rooms\/!room%3Aexample.org\/send\/m\.room\.message\/[\w-]+$/,
    headers: { authorization: "Bearer matrix-secret" },
    schema: object("msgtype=m.text body:60000", { "m.mentions": { type: "object", maxProperties: 0 } }),
    textOf: (body: { body: string }) => body.body,
    // The transaction: a server drops another message with the same id.
    idOf: ({ path }) => path,
  },
  /** https://docs.ntfy.sh/publish/#publish-as-json, 2026-11-23. Above 4,096 bytes a message becomes an attachment. */
  ntfy: {
    environment: { NTFY_TOKEN: "ntfy-secret" },
    path: /^\/$/,
    headers: { authorization: "Bearer ntfy-secret" },
    schema: object("title:1000 message:4096 priority:1..5", {
      topic: { type: "string", pattern: "^[-_A-Za-z0-9]{1,64}$" },
      tags: { type: "array", items: text(100) },
      click: PAGE,
    }, { actions: list(object("action=view label:20", { url: ACKNOWLEDGE }), 3) }),
    textOf: (body: { message: string }) => {
      assert.ok(new TextEncoder().encode(body.message).length <= 4096);
      return body.message;
    },
    keyOf: titleOf,
    pair: [{ priority: 5 }, { priority: 3, tags: ["white_check_mark"] }],
  },
  /** As `ntfy`. */
  quiet_ntfy: {
    host: "ntfy.sh",
    environment: {},
    path: /^\/$/,
    schema: object("topic:64 title:1000 message:4096 priority:1..5"),
    textOf: (body: { message: string }) => body.message,
    keyOf: titleOf,
    pair: [{ priority: 4 }, { priority: 2 }],
  },
  /** https://gotify.net/api-docs#/message/createMessage, 2026-11-23 */
  gotify: {
    host: "gotify.example.org",
    environment: { GOTIFY_TOKEN: "gotify-secret" },
    path: /^\/message$/,
    headers: { "x-gotify-key": "gotify-secret" },
    schema: object("title:1000 message:10000 priority:0..10", {
      extras: object("", { "client::notification": object("", { click: object("", { url: PAGE }) }) }),
    }),
    textOf: (body: { message: string }) => body.message,
    keyOf: titleOf,
    pair: [{ priority: 8 }, { priority: 2 }],
  },
  /** https://pushover.net/api, 2026-11-23: limits in characters; priority 2 needs `retry` and `expire`. */
  pushover: {
    environment: { PUSHOVER_TOKEN: "pushover-secret", PUSHOVER_USER_KEY: "pushover-user" },
    path: /^\/1\/messages\.json$/,
    schema: object(
      "token=pushover-secret user=pushover-user title:250 message:1024 priority:-2..2 retry:30.. expire:1..10800",
      { url: PAGE },
    ),
    textOf: (body: { message: string }) => body.message,
    keyOf: titleOf,
    pair: [{ priority: 2 }, { priority: 0 }],
  },
  /** https://developer.pagerduty.com/docs/events-api-v2/trigger-events/, 2026-11-23 */
  pagerduty: {
    environment: { PAGERDUTY_KEY: "0123456789abcdef0123456789abcdef" },
    path: /^\/v2\/enqueue$/,
    schema: object(
      "routing_key=0123456789abcdef0123456789abcdef event_action=trigger|acknowledge|resolve dedup_key:255 client:255",
      {
        client_url: PAGE,
        payload: object("summary:1024 source:1000 severity=critical|error|warning|info component:1000", {
          timestamp: TIME,
          custom_details: { type: "object" },
        }),
      },
      { links: list(object("text:20", { href: ACKNOWLEDGE })) },
    ),
    textOf: (body: { payload: { summary: string } }) => body.payload.summary,
    keyOf: ({ body }) => (body as { readonly dedup_key: string }).dedup_key,
    pair: [{ event_action: "trigger" }, { event_action: "resolve" }],
  },
  /** As `pagerduty`. */
  shop_pagerduty: {
    host: "events.pagerduty.com",
    environment: { PAGERDUTY_KEY: "0123456789abcdef0123456789abcdef" },
    path: /^\/v2\/enqueue$/,
    schema: object(
      "routing_key=0123456789abcdef0123456789abcdef event_action=trigger|acknowledge|resolve dedup_key:255",
      { payload: object("summary:1024 source:1000 severity=critical|error|warning|info") },
    ),
    textOf: (body: { payload: { summary: string } }) => body.payload.summary,
    keyOf: ({ body }) => (body as { readonly dedup_key: string }).dedup_key,
    pair: [{ event_action: "trigger" }, { event_action: "resolve" }],
  },
  /**
   * https://docs.opsgenie.com/docs/alert-api and, with the same requests,
   * https://developer.atlassian.com/cloud/jira/service-desk-ops/rest/v1/api-group-integration-events/, 2026-11-23
   */
  opsgenie: {
    environment: { OPSGENIE_KEY: "opsgenie-secret" },
    path: /^\/v2\/alerts$/,
    recoveryPath: /^\/v2\/alerts\/[^/]+\/close\?identifierType=alias$/,
    headers: { authorization: "GenieKey opsgenie-secret" },
    schema: object("message:130 alias:512 description:15000 priority=P1|P2|P3|P4|P5 source:100", {
      details: object("description:2000 runbook:2000 target:2000", { page: PAGE, acknowledge: ACKNOWLEDGE }),
    }),
    recoverySchema: object("source:100 note:25000"),
    textOf: (body: { message?: string; note?: string }) => body.message ?? body.note ?? "",
    keyOf: ({ path, body }) => {
      const [, alias] = /^\/v2\/alerts\/([^/]+)\/close/.exec(path) ?? [];
      return alias === undefined ? (body as { readonly alias: string }).alias : decodeURIComponent(alias);
    },
    pair: [{ priority: "P1" }, {}],
  },
  /** https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml (postableAlerts), 2026-11-23 */
  alertmanager: {
    host: "alertmanager.example.org:9093",
    environment: {},
    path: /^\/api\/v2\/alerts$/,
    schema: alertsUntil({ const: LATER }),
    recoverySchema: alertsUntil({ ...TIME, not: { const: LATER } }),
    textOf: ([alert]: readonly { labels: object; annotations: object }[]) =>
      Object.values({ ...alert?.labels, ...alert?.annotations }).join("\n"),
    keyOf: ({ body }) => JSON.stringify((body as readonly { readonly labels: object }[])[0]?.labels),
  },
  /** https://www.twilio.com/docs/messaging/api/message-resource, 2026-11-23 */
  twilio: {
    host: "api.twilio.com",
    environment: { TWILIO_SID: "AC0123", TWILIO_TOKEN: "twilio-secret" },
    path: /^\/2010-04-01\/Accounts\/AC0123\/Messages\.json$/,
    contentType: "application/x-www-form-urlencoded",
    headers: { authorization: `Basic ${btoa("AC0123:twilio-secret")}` },
    schema: object("Body:1600", { From: NUMBER, To: NUMBER }),
    textOf: (body: { Body: string }) => body.Body,
  },
  /** https://docs.seven.io/en/rest-api/endpoints/sms, 2026-11-23 */
  seven: {
    host: "gateway.seven.io",
    environment: { SEVEN_KEY: "seven-secret" },
    path: /^\/api\/sms$/,
    headers: { "x-api-key": "seven-secret" },
    schema: object("from:11 text:1520", { to: NUMBER }),
    textOf: (body: { text: string }) => body.text,
  },
  /** https://docs.github.com/en/rest/issues/issues#create-an-issue, 2026-11-23 */
  github: {
    host: "api.github.com",
    environment: { GITHUB_TOKEN: "github-secret" },
    path: /^\/repos\/example\/operations\/issues$/,
    // A request without a user agent is rejected.
    headers: {
      authorization: "Bearer github-secret",
      accept: "application/vnd.github+json",
      "user-agent": "monitor",
    },
    schema: object("title:256 body:65536", { labels: { type: "array", items: text(50) } }),
    sendsRecoveries: false,
    textOf: (body: { body: string }) => body.body,
    mention: /@\w/,
  },
};
