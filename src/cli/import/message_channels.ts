import type { ConfigDraft } from "./config_draft.ts";
import type { DraftChannel, DraftParameters } from "./draft_parts.ts";

/** A channel of another tool whose URL is a secret, and the body that its receiver reads. */
export interface MessageOptions {
  /** For the names of variables. */
  readonly name: string;
  /** The place in the source. */
  readonly source: string;
  readonly draft: ConfigDraft;
}

const PLAIN_TEXT = '{"text": "{{summary}}"}';

/** Bodies by receiver; those of `docs/reference/channels.md`. */
const BODIES = {
  slack: PLAIN_TEXT,
  mattermost: PLAIN_TEXT,
  rocket_chat: PLAIN_TEXT,
  google_chat: PLAIN_TEXT,
  discord: '{"content": "{{summary}}", "allowed_mentions": {"parse": []}}',
  teams:
    '{"type": "message", "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": null, "content": {"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": [{"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": "{{summary}}"}]}]}}]}',
} as const;

/** A receiver whose webhook has the secret in its URL. */
type WebhookReceiver = keyof typeof BODIES;

/** A webhook whose whole URL is a secret. */
export function receiverChannel(
  receiver: WebhookReceiver,
  url: string,
  { name, source, draft }: MessageOptions,
): DraftChannel {
  return webhook({ target: draft.secret(url, `${name} webhook url`, source), body: BODIES[receiver] });
}

export function webhook(parameters: DraftParameters): DraftChannel {
  return { kind: "webhook", parameters };
}

export function telegramChannel(
  token: string,
  chatId: string,
  { name, source, draft }: MessageOptions,
): DraftChannel {
  const secret = draft.secret(token, `${name} token`, source);
  return webhook({
    target: `https://api.telegram.org/bot${secret}/sendMessage`,
    body: JSON.stringify({ chat_id: chatId, text: "{{summary}}" }),
  });
}

export function ntfyChannel(
  { url, topic, token }: {
    readonly url: string;
    readonly topic: string;
    readonly token?: string | undefined;
  },
  { name, source, draft }: MessageOptions,
): DraftChannel {
  return webhook({
    target: draft.url(url.replace(/\/*$/, "/"), name, source),
    ...(token !== undefined && {
      headers: { Authorization: `Bearer ${draft.secret(token, `${name} token`, source)}` },
    }),
    body: JSON.stringify({
      topic: draft.secret(topic, `${name} topic`, source),
      title: "{{title}}",
      message: "{{summary}}",
      tags: ["{{severity}}"],
    }),
  });
}

export function gotifyChannel(
  url: string,
  token: string,
  { name, source, draft }: MessageOptions,
): DraftChannel {
  return webhook({
    target: draft.url(`${url.replace(/\/+$/, "")}/message`, name, source),
    headers: { "X-Gotify-Key": draft.secret(token, `${name} token`, source) },
    body: JSON.stringify({ title: "{{title}}", message: "{{summary}}" }),
  });
}

export function pushoverChannel(
  token: string,
  user: string,
  { name, source, draft }: MessageOptions,
): DraftChannel {
  return webhook({
    target: "https://api.pushover.net/1/messages.json",
    body: JSON.stringify({
      token: draft.secret(token, `${name} token`, source),
      user: draft.secret(user, `${name} user key`, source),
      title: "{{title}}",
      message: "{{summary}}",
    }),
  });
}

export function pagerDutyChannel(key: string, { name, source, draft }: MessageOptions): DraftChannel {
  return webhook({
    target: "https://events.pagerduty.com/v2/enqueue",
    body: JSON.stringify({
      routing_key: draft.secret(key, `${name} integration key`, source),
      event_action: "{{action}}",
      dedup_key: "{{host}}/{{check}}",
      payload: { summary: "{{summary}}", source: "{{host}}", severity: "{{severity}}" },
    }),
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
): DraftChannel {
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
