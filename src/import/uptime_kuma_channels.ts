import { parseJson } from "../shared/parse_json.ts";
import type * as written from "../domain/generated/written_config.ts";
import { asBody, asBoolean, asNumber, asObject, asText, fieldOf, type Foreign } from "./foreign_value.ts";
import {
  addressesIn,
  emailChannel,
  gotifyChannel,
  type MessageOptions,
  ntfyChannel,
  pagerDutyChannel,
  pushoverChannel,
  receiverChannel,
  telegramChannel,
  webhook,
} from "./message_channels.ts";

export function kumaChannel(settings: Foreign, options: MessageOptions): written.ChannelObject | string {
  const type = asText(fieldOf(settings, "type")) ?? "";
  const make = CHANNELS[type];
  if (make === undefined) return `no channel for "${type}"; use a webhook or command channel`;
  const text = (key: string) => asText(fieldOf(settings, key));
  return make(text, options, settings) ?? "a required setting is missing";
}

type MakeChannel = (
  text: (key: string) => string | undefined,
  options: MessageOptions,
  settings: Foreign,
) => written.ChannelObject | undefined;

/** A channel whose only setting is a secret URL. */
function fromUrl(key: string, receiver: Parameters<typeof receiverChannel>[0]): MakeChannel {
  return (text, options) => {
    const url = text(key);
    return url === undefined ? undefined : receiverChannel(receiver, url, options);
  };
}

/** A channel of two settings. */
function fromTwo(
  [first, second]: readonly [string, string],
  make: (one: string, other: string, options: MessageOptions) => written.ChannelObject,
): MakeChannel {
  return (text, options) => {
    const [one, other] = [text(first), text(second)];
    return one === undefined || other === undefined ? undefined : make(one, other, options);
  };
}

const CHANNELS: Readonly<Record<string, MakeChannel>> = {
  slack: fromUrl("slackwebhookURL", "slack"),
  discord: fromUrl("discordWebhookUrl", "discord"),
  teams: fromUrl("webhookUrl", "teams"),
  mattermost: fromUrl("mattermostWebhookUrl", "mattermost"),
  "rocket.chat": fromUrl("rocketwebhookURL", "rocket_chat"),
  GoogleChat: fromUrl("googleChatWebhookURL", "google_chat"),
  telegram: fromTwo(["telegramBotToken", "telegramChatID"], telegramChannel),
  gotify: fromTwo(["gotifyserverurl", "gotifyapplicationToken"], gotifyChannel),
  pushover: fromTwo(["pushoverapptoken", "pushoveruserkey"], pushoverChannel),
  PagerDuty: (text, options) => {
    const key = text("pagerdutyIntegrationKey");
    return key === undefined ? undefined : pagerDutyChannel(key, options);
  },
  ntfy: (text, options) => {
    const topic = text("ntfytopic");
    if (topic === undefined) return undefined;
    const url = text("ntfyserverurl") ?? "https://ntfy.sh";
    if (text("ntfypassword") !== undefined) {
      options.draft.leaveOut(options.source, "ntfypassword", "create an access token and use it");
    }
    return ntfyChannel({ url, topic, token: text("ntfyaccesstoken") }, options);
  },
  smtp: (text, options, settings) => {
    const [host, sender] = [text("smtpHost"), text("smtpFrom")];
    const receivers = ["smtpTo", "smtpCC", "smtpBCC"].flatMap((key) => addressesIn(text(key) ?? ""));
    if (host === undefined || sender === undefined || receivers.length === 0) return undefined;
    if (asBoolean(fieldOf(settings, "smtpIgnoreTLSError")) === true) {
      options.draft.leaveOut(options.source, "smtpIgnoreTLSError", "certificates are always verified");
    }
    return emailChannel({
      ...{ host, sender, receivers },
      port: asNumber(fieldOf(settings, "smtpPort")) ?? 25,
      username: text("smtpUsername"),
      password: text("smtpPassword"),
    }, options);
  },
  webhook: (text, options, settings) => {
    const url = text("webhookURL");
    if (url === undefined) return undefined;
    const { name, source, draft } = options;
    const body = asBody(fieldOf(settings, "webhookCustomBody"));
    draft.leaveOut(
      source,
      body === undefined ? "body" : "webhookCustomBody",
      "the receiver gets the JSON of monitor",
    );
    const headers = Object.entries(asObject(parseJson(text("webhookAdditionalHeaders") ?? "{}", {})))
      .flatMap(([header, value]) => typeof value === "string" ? [[header, value]] : []);
    return webhook({
      target: draft.secret(url, `${name} webhook url`, source),
      ...(headers.length > 0 && { headers: draft.headers(Object.fromEntries(headers), name, source) }),
    });
  },
};
