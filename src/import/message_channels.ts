/** Channels of the receivers that other tools notify. */
import type * as written from "../domain/generated/written_config.ts";
import type { Foreign } from "./foreign_text.ts";
import type { SourceItem } from "./config_draft.ts";

/** Returns a channel of the settings of a receiver; `undefined` if a required one is missing. */
export type MakeChannel = (settings: Foreign, item: SourceItem) => written.ChannelObject | undefined;

const RECEIVERS = {
  slack: (item, url) => ({ kind: "slack", parameters: { url: item.secret(url, URL_NAME) } }),
  mattermost: (item, url) => ({ kind: "mattermost", parameters: { url: item.secret(url, URL_NAME) } }),
  discord: (item, url) => ({ kind: "discord", parameters: { url: item.secret(url, URL_NAME) } }),
  teams: (item, url) => ({ kind: "teams", parameters: { url: item.secret(url, URL_NAME) } }),
  rocket_chat: chatOf,
  google_chat: chatOf,
  telegram: (item, token, chat) => ({
    kind: "telegram",
    parameters: { token: item.secret(token, "token"), chat },
  }),
  gotify: (item, url, token) => ({
    kind: "gotify",
    parameters: { url: item.url(url), token: item.secret(token, "token") },
  }),
  pushover: (item, token, user) => ({
    kind: "pushover",
    parameters: { token: item.secret(token, "token"), user_key: item.secret(user, "user key") },
  }),
  pagerduty: (item, key) => ({
    kind: "pagerduty",
    parameters: { integration_key: item.secret(key, "integration key") },
  }),
} satisfies Readonly<
  Record<string, (item: SourceItem, setting: string, other: string) => written.ChannelObject>
>;

const URL_NAME = "webhook url";

function chatOf(item: SourceItem, url: string): written.ChannelObject {
  return webhook({ target: item.secret(url, URL_NAME), body: { text: "{{summary | no_mentions}}" } });
}

/** Returns how a receiver's channel is made of the settings with some keys, one or two. */
export function channelOf(receiver: keyof typeof RECEIVERS, ...keys: readonly string[]): MakeChannel {
  return (settings, item) => {
    const values = keys.flatMap((key) => settings.text(key) ?? []);
    const [one = "", other = ""] = values;
    return values.length < keys.length ? undefined : RECEIVERS[receiver](item, one, other);
  };
}

export function webhook(parameters: written.WebhookParameters): written.ChannelObject {
  return { kind: "webhook", parameters };
}

export function ntfyChannel(
  { url, topic, token }: Partial<Record<"url" | "topic" | "token", string | undefined>>,
  item: SourceItem,
): written.ChannelObject | undefined {
  return topic === undefined ? undefined : {
    kind: "ntfy",
    parameters: {
      topic: item.secret(topic, "topic"),
      ...token !== undefined && { token: item.secret(token, "token") },
      ...url !== undefined && { url: item.url(url) },
    },
  };
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
