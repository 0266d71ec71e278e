/**
 * Ready-made channels: each becomes a webhook with the request that its provider expects. The module is loaded if a
 * config has one. The schema defines their keys and marks them with `x-ready-made`; only the config layer handles them.
 */
import type { ChannelKind } from "../domain/channel.ts";
import type {
  ChannelObjectParameters,
  JsonTemplate,
  WebhookParameters,
} from "../domain/generated/written_config.ts";
import { channelsIn, INCIDENT_KINDS } from "./channel_uses.ts";
import { replaceValues } from "./placeholders.ts";
import { type SchemaReader, valueAt } from "./schema_view.ts";
import type { JsonObject } from "./syntax.ts";

export type ReadyMadeKind = Exclude<keyof ChannelObjectParameters, ChannelKind>;

interface ReadyMadeChannel<Kind extends ReadyMadeKind> {
  /** The hosts of the provider, which identify the kind of a URL. @default none: users run their own servers */
  readonly hosts?: readonly string[];
  /** The key whose value is the last path segment of a URL. @default none */
  readonly pathKey?: string & keyof ChannelObjectParameters[Kind];
  /** The webhook; its target is the URL of the channel unless it has another one. */
  webhookOf(parameters: ChannelObjectParameters[Kind] & { readonly url: string }): Partial<WebhookParameters>;
}

const TITLE = "{{headline | truncate: 200}}";
const PAGE = "{{url | truncate: 500}}";

type Fact = "url" | "acknowledge_url" | "target" | "description" | "runbook";

function ifHas(field: Fact, value: JsonTemplate): JsonTemplate {
  const isLeftOut = { [`{{${field}}}`]: {} };
  return { [`{{${field}}}`]: { "": isLeftOut, "*": value } };
}

const ACKNOWLEDGE = "Acknowledge";
const ACKNOWLEDGE_URL = "{{acknowledge_url | truncate: 500}}";

/** The lines below a text; one is omitted if the notification does not have the field. */
const LINES: readonly (readonly [field: Fact, before: string, lengthMax: number])[] = [
  ["runbook", "", 400],
  ["url", "", 500],
  ["acknowledge_url", `${ACKNOWLEDGE}: `, 500],
];

/** Returns a text, followed by lines with facts, if any. */
function withLines(text: string, filter = "", lines = LINES): JsonTemplate {
  const [line, ...rest] = lines;
  if (line === undefined) return text;
  const [field, before, lengthMax] = line;
  return {
    [`{{${field}}}`]: {
      "": withLines(text, filter, rest),
      "*": withLines(`${text}\n${before}{{${field} | truncate: ${lengthMax}${filter}}}`, filter, rest),
    },
  };
}

/** For providers whose messages have one link alone, that of the page, and at most 1,024 characters. */
const TEXT = withLines("{{text | truncate: 700}}", "", [["acknowledge_url", `${ACKNOWLEDGE}: `, 300]]);

const DISCORD_LINES: typeof LINES = LINES.map(([field, before]) =>
  [field, before, field === "runbook" ? 250 : 400] as const
);

function byCondition(values: Readonly<Record<string, string | number>>): JsonTemplate {
  return { "{{condition}}": values };
}

/**
 * Returns what identifies the incident of a check. An error budget that burns has another one, which no recovery closes: the
 * next problem of the check must not be a duplicate of it.
 */
function incidentKey(lengthMax: number): JsonTemplate {
  const check = (length: number): string => `{{check | truncate: ${length}}}`;
  const suffix = " error budget";
  return { "{{event}}": { burning: `${check(lengthMax - suffix.length)}${suffix}`, "*": check(lengthMax) } };
}

/** The webhooks; filters and settings prevent that an output such as `@everyone` mentions people. */
export const READY_MADE: { readonly [Kind in ReadyMadeKind]: ReadyMadeChannel<Kind> } = {
  slack: {
    hosts: ["hooks.slack.com"],
    webhookOf: () => ({ body: { text: withLines("{{summary | html}}", " | html"), unfurl_links: false } }),
  },
  teams: {
    webhookOf: () => ({
      body: {
        type: "message",
        attachments: [{
          contentType: "application/vnd.microsoft.card.adaptive",
          content: {
            $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
            type: "AdaptiveCard",
            version: "1.4",
            body: [{ type: "RichTextBlock", inlines: [{ type: "TextRun", text: "{{summary}}" }] }],
            actions: ifHas("url", [
              { type: "Action.OpenUrl", title: "Open", url: PAGE },
              ifHas("acknowledge_url", { type: "Action.OpenUrl", title: ACKNOWLEDGE, url: ACKNOWLEDGE_URL }),
            ]),
          },
        }],
      },
    }),
  },
  discord: {
    hosts: ["discord.com", "discordapp.com"],
    webhookOf: () => ({
      body: {
        content: withLines("{{summary | no_mentions | truncate: 900}}", "", DISCORD_LINES),
        allowed_mentions: { parse: [] },
      },
    }),
  },
  telegram: {
    hosts: ["api.telegram.org"],
    webhookOf: ({ url, token, chat }) => ({
      target: `${baseOf(url)}/bot${token}/sendMessage`,
      body: {
        chat_id: chat,
        parse_mode: "HTML",
        text: withLines("<b>{{headline | truncate: 250 | html}}</b>\n{{text | html}}", " | html"),
        link_preview_options: { is_disabled: true },
      },
    }),
  },
  ntfy: {
    hosts: ["ntfy.sh"],
    pathKey: "topic",
    webhookOf: ({ url, topic, token }) => ({
      target: `${baseOf(url)}/`,
      ...token !== undefined && { headers: { Authorization: `Bearer ${token}` } },
      body: {
        topic,
        title: TITLE,
        message: "{{text}}",
        priority: byCondition({ critical: 5, warning: 4, "*": 3 }),
        tags: [byCondition({ ok: "white_check_mark", critical: "rotating_light", "*": "warning" })],
        click: ifHas("url", PAGE),
        actions: ifHas("acknowledge_url", [{ action: "view", label: ACKNOWLEDGE, url: ACKNOWLEDGE_URL }]),
      },
    }),
  },
  gotify: {
    webhookOf: ({ url, token }) => ({
      target: `${baseOf(url)}/message`,
      headers: { "X-Gotify-Key": token },
      body: {
        title: TITLE,
        message: TEXT,
        priority: byCondition({ critical: 8, warning: 5, "*": 2 }),
        extras: ifHas("url", { "client::notification": { click: { url: PAGE } } }),
      },
    }),
  },
  pushover: {
    hosts: ["api.pushover.net"],
    webhookOf: ({ url, token, user_key }) => ({
      target: `${baseOf(url)}/1/messages.json`,
      body: {
        token,
        user: user_key,
        title: TITLE,
        message: TEXT,
        priority: byCondition({ critical: 2, "*": 0 }),
        retry: 60,
        expire: 3600,
        url: ifHas("url", PAGE),
      },
    }),
  },
  pagerduty: {
    hosts: ["events.pagerduty.com", "events.eu.pagerduty.com"],
    webhookOf: ({ url, integration_key }) => ({
      target: `${baseOf(url)}/v2/enqueue`,
      body: {
        routing_key: integration_key,
        event_action: "{{action}}",
        dedup_key: incidentKey(255),
        client: "monitor",
        client_url: ifHas("url", PAGE),
        links: ifHas("acknowledge_url", [{ href: ACKNOWLEDGE_URL, text: ACKNOWLEDGE }]),
        payload: {
          summary: "{{summary}}",
          source: "{{host}}",
          severity: "{{severity}}",
          timestamp: "{{decided_at}}",
          component: "{{check}}",
          custom_details: {
            output: "{{output}}",
            detail: "{{detail}}",
            target: ifHas("target", "{{target}}"),
            description: ifHas("description", "{{description}}"),
            runbook: ifHas("runbook", "{{runbook}}"),
          },
        },
      },
    }),
  },
  opsgenie: {
    hosts: ["api.opsgenie.com", "api.eu.opsgenie.com"],
    webhookOf: ({ url, api_key }) => ({
      target: `${baseOf(url)}/v2/alerts`,
      recovery_target: `${baseOf(url)}/v2/alerts/{{check | truncate: 250}}/close?identifierType=alias`,
      headers: { Authorization: `GenieKey ${api_key}` },
      body: {
        "{{event}}": {
          recovery: { source: "monitor", note: "{{summary}}" },
          "*": {
            message: "{{headline | truncate: 130}}",
            alias: incidentKey(250),
            description: "{{summary}}\n{{detail | truncate: 10000}}",
            priority: byCondition({ critical: "P1", warning: "P3", "*": "P4" }),
            source: "monitor",
            details: {
              page: ifHas("url", PAGE),
              acknowledge: ifHas("acknowledge_url", ACKNOWLEDGE_URL),
              target: ifHas("target", "{{target | truncate: 2000}}"),
              description: ifHas("description", "{{description | truncate: 2000}}"),
              runbook: ifHas("runbook", "{{runbook | truncate: 2000}}"),
            },
          },
        },
      },
    }),
  },
  matrix: {
    webhookOf: ({ url, token, room }) => ({
      // A server drops a retry with the same id.
      target: `${baseOf(url)}/_matrix/client/v3/rooms/${encodeURIComponent(room)}/send/m.room.message/{{id}}`,
      method: "PUT",
      headers: { Authorization: `Bearer ${token}` },
      body: { msgtype: "m.text", body: withLines("{{summary}}"), "m.mentions": {} },
    }),
  },
  mattermost: {
    webhookOf: () => ({ body: { text: withLines("{{summary | no_mentions}}", " | no_mentions") } }),
  },
};

function baseOf(url: string): string {
  return url.replace(/\/+$/, "");
}

/** Replaces the ready-made channels of a valid file with their webhooks. */
export function expandReadyMade(config: JsonObject, reader: SchemaReader): JsonObject {
  const values = channelsIn(config).flatMap(({ path, kind }) => {
    const place = [...path, "parameters"];
    const { isReadyMade = false, keys } = reader.at(config, place) ?? {};
    if (!isReadyMade) return [];
    const parameters: Record<string, unknown> = {};
    for (const [name, schema] of keys ?? []) {
      parameters[name] = valueAt(config, [...place, name]) ?? reader.view(schema, undefined).default;
    }
    // The schema has validated the parameters of the kind.
    const { webhookOf }: { webhookOf(parameters: object): Partial<WebhookParameters> } =
      READY_MADE[kind as ReadyMadeKind];
    return [
      { path: [...path, "kind"], value: "webhook" },
      { path: place, value: { target: parameters["url"], ...webhookOf(parameters) } as JsonObject },
      ...valueAt(config, [...path, "common_causes"]) === undefined
        ? [{ path: [...path, "common_causes"], value: !INCIDENT_KINDS.includes(kind) }]
        : [],
    ];
  });
  return replaceValues(config, values) as JsonObject;
}
