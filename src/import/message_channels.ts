/** Channels of the receivers that other tools notify. */
import type * as written from "../domain/generated/written_config.ts";
import type { Foreign } from "./foreign_value.ts";
import type { SourceItem } from "./config_draft.ts";

/** Returns a channel of the settings of a receiver; `undefined` if a required one is missing. */
export type MakeChannel = (settings: Foreign, item: SourceItem) => written.ChannelObject | undefined;

const TITLE = "{{title | truncate: 200}}";

function byCondition(values: Readonly<Record<string, string | number>>): written.JsonTemplate {
  return { "{{condition}}": values };
}

/** The bodies are those of `docs/recipes/`, whose filters keep an output from mentioning people. */
const RECEIVERS = {
  slack: atSecretUrl({ text: "{{summary | html}}", unfurl_links: false }),
  mattermost: atSecretUrl({ text: "{{summary | no_mentions}}" }),
  rocket_chat: atSecretUrl({ text: "{{summary | no_mentions}}" }),
  google_chat: atSecretUrl({ text: "{{summary | no_mentions}}" }),
  discord: atSecretUrl({ content: "{{summary}}", allowed_mentions: { parse: [] } }),
  teams: atSecretUrl({
    type: "message",
    attachments: [{
      contentType: "application/vnd.microsoft.card.adaptive",
      content: {
        $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
        type: "AdaptiveCard",
        version: "1.4",
        body: [{ type: "RichTextBlock", inlines: [{ type: "TextRun", text: "{{summary}}" }] }],
      },
    }],
  }),
  telegram: (item, token, chatId) => ({
    target: `https://api.telegram.org/bot${item.secret(token, "token")}/sendMessage`,
    body: {
      chat_id: chatId,
      parse_mode: "HTML",
      text: "<b>{{title | truncate: 200 | html}}</b>\n{{summary | html}}",
      link_preview_options: { is_disabled: true },
    },
  }),
  gotify: (item, url, token) => ({
    target: item.url(`${url.replace(/\/+$/, "")}/message`),
    headers: { "X-Gotify-Key": item.secret(token, "token") },
    body: {
      title: TITLE,
      message: "{{summary}}",
      priority: byCondition({ critical: 8, warning: 5, "*": 2 }),
    },
  }),
  pushover: (item, token, user) => ({
    target: "https://api.pushover.net/1/messages.json",
    body: {
      token: item.secret(token, "token"),
      user: item.secret(user, "user key"),
      title: TITLE,
      message: "{{summary}}",
    },
  }),
  pagerduty: (item, key) => ({
    target: "https://events.pagerduty.com/v2/enqueue",
    body: {
      routing_key: item.secret(key, "integration key"),
      event_action: "{{action}}",
      dedup_key: "{{check | truncate: 255}}",
      payload: {
        summary: "{{summary}}",
        source: "{{host}}",
        severity: "{{severity}}",
        timestamp: "{{decided_at}}",
        component: "{{check}}",
        custom_details: { output: "{{output}}", detail: "{{detail}}" },
      },
    },
  }),
} satisfies Readonly<Record<string, MakeParameters>>;

type MakeParameters = (item: SourceItem, setting: string, other: string) => written.WebhookParameters;

function atSecretUrl(body: written.WebhookParameters["body"]): MakeParameters {
  return (item, url) => ({ target: item.secret(url, "webhook url"), body });
}

/** Returns how a receiver's channel is made of the settings with some keys, one or two. */
export function webhookOf(receiver: keyof typeof RECEIVERS, ...keys: readonly string[]): MakeChannel {
  return (settings, item) => {
    const values = keys.flatMap((key) => settings.text(key) ?? []);
    const [one = "", other = ""] = values;
    return values.length < keys.length ? undefined : webhook(RECEIVERS[receiver](item, one, other));
  };
}

export function webhook(parameters: written.WebhookParameters): written.ChannelObject {
  return { kind: "webhook", parameters };
}

export function ntfyChannel(
  { url = "https://ntfy.sh", topic, token }: Partial<Record<"url" | "topic" | "token", string | undefined>>,
  item: SourceItem,
): written.ChannelObject | undefined {
  return topic === undefined ? undefined : webhook({
    target: item.url(url.replace(/\/*$/, "/")),
    ...(token !== undefined && { headers: { Authorization: `Bearer ${item.secret(token, "token")}` } }),
    body: {
      topic: item.secret(topic, "topic"),
      title: TITLE,
      message: "{{summary}}",
      priority: byCondition({ critical: 5, warning: 4, "*": 3 }),
      tags: [byCondition({ ok: "white_check_mark", critical: "rotating_light", "*": "warning" })],
    },
  });
}

interface EmailSettings {
  readonly host: string;
  readonly port: number;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly sender: string;
  readonly receivers: readonly string[];
}

export function emailChannel(
  { host, port, username = "", password = "", sender, receivers }: EmailSettings,
  item: SourceItem,
): written.ChannelObject {
  const secret = password === "" ? "" : item.secret(password, "password");
  return {
    kind: "email",
    parameters: {
      access: { host, port, username: secret === "" ? "" : username, password: secret },
      sender: addressOf(sender),
      receivers: receivers.map(addressOf),
    },
  };
}

/** The address in `Name <name@example.org>`. */
export function addressOf(text: string): string {
  return (/<([^<>]+)>\s*$/.exec(text)?.[1] ?? text).trim();
}

export function addressesIn(text: string): readonly string[] {
  return text.split(/[,;]/).map((address) => address.trim()).filter((address) => address !== "");
}
