import type { ConfigDraft } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";

/** A channel of another tool whose URL is a secret, and the body that its receiver reads. */
export interface MessageOptions {
  /** For the names of variables. */
  readonly name: string;
  /** The place in the source. */
  readonly source: string;
  readonly draft: ConfigDraft;
}

/** Bodies by receiver: those of `docs/recipes/`, whose filters keep an output from mentioning people. */
const BODIES = {
  slack: { text: "{{summary | html}}", unfurl_links: false },
  mattermost: { text: "{{summary | no_mentions}}" },
  rocket_chat: { text: "{{summary | no_mentions}}" },
  google_chat: { text: "{{summary | no_mentions}}" },
  discord: { content: "{{summary}}", allowed_mentions: { parse: [] } },
  teams: {
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
  },
} as const;

const TITLE = "{{title | truncate: 200}}";

function byCondition(values: Readonly<Record<string, string | number>>): written.JsonTemplate {
  return { "{{condition}}": values };
}

/** A receiver whose webhook has the secret in its URL. */
type WebhookReceiver = keyof typeof BODIES;

/** A webhook whose whole URL is a secret. */
export function receiverChannel(
  receiver: WebhookReceiver,
  url: string,
  { name, source, draft }: MessageOptions,
): written.ChannelObject {
  return webhook({ target: draft.secret(url, `${name} webhook url`, source), body: BODIES[receiver] });
}

export function webhook(parameters: written.WebhookParameters): written.ChannelObject {
  return { kind: "webhook", parameters };
}

export function telegramChannel(
  token: string,
  chatId: string,
  { name, source, draft }: MessageOptions,
): written.ChannelObject {
  const secret = draft.secret(token, `${name} token`, source);
  return webhook({
    target: `https://api.telegram.org/bot${secret}/sendMessage`,
    body: {
      chat_id: chatId,
      parse_mode: "HTML",
      text: "<b>{{title | truncate: 200 | html}}</b>\n{{summary | html}}",
      link_preview_options: { is_disabled: true },
    },
  });
}

export function ntfyChannel(
  { url, topic, token }: {
    readonly url: string;
    readonly topic: string;
    readonly token?: string | undefined;
  },
  { name, source, draft }: MessageOptions,
): written.ChannelObject {
  return webhook({
    target: draft.url(url.replace(/\/*$/, "/"), name, source),
    ...(token !== undefined && {
      headers: { Authorization: `Bearer ${draft.secret(token, `${name} token`, source)}` },
    }),
    body: {
      topic: draft.secret(topic, `${name} topic`, source),
      title: TITLE,
      message: "{{summary}}",
      priority: byCondition({ critical: 5, warning: 4, "*": 3 }),
      tags: [byCondition({ ok: "white_check_mark", critical: "rotating_light", "*": "warning" })],
    },
  });
}

export function gotifyChannel(
  url: string,
  token: string,
  { name, source, draft }: MessageOptions,
): written.ChannelObject {
  return webhook({
    target: draft.url(`${url.replace(/\/+$/, "")}/message`, name, source),
    headers: { "X-Gotify-Key": draft.secret(token, `${name} token`, source) },
    body: {
      title: TITLE,
      message: "{{summary}}",
      priority: byCondition({ critical: 8, warning: 5, "*": 2 }),
    },
  });
}

export function pushoverChannel(
  token: string,
  user: string,
  { name, source, draft }: MessageOptions,
): written.ChannelObject {
  return webhook({
    target: "https://api.pushover.net/1/messages.json",
    body: {
      token: draft.secret(token, `${name} token`, source),
      user: draft.secret(user, `${name} user key`, source),
      title: TITLE,
      message: "{{summary}}",
    },
  });
}

export function pagerDutyChannel(
  key: string,
  { name, source, draft }: MessageOptions,
): written.ChannelObject {
  return webhook({
    target: "https://events.pagerduty.com/v2/enqueue",
    body: {
      routing_key: draft.secret(key, `${name} integration key`, source),
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
  { name, source, draft }: MessageOptions,
): written.ChannelObject {
  const secret = password === "" ? "" : draft.secret(password, `${name} password`, source);
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
