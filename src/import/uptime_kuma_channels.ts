import { parseJson } from "../shared/json_values.ts";
import type * as written from "../domain/generated/written_config.ts";
import { Foreign } from "./foreign_value.ts";
import {
  addressesIn,
  channelOf,
  emailChannel,
  type MakeChannel,
  ntfyChannel,
  webhook,
} from "./message_channels.ts";
import type { SourceItem } from "./config_draft.ts";

export function kumaChannel(settings: Foreign, item: SourceItem): written.ChannelObject | string {
  const type = settings.text("type") ?? "";
  const make = CHANNELS[type];
  if (make === undefined) return `no channel for "${type}"; use a webhook or command channel`;
  return make(settings, item) ?? "a required setting is missing";
}

const CHANNELS: Readonly<Record<string, MakeChannel>> = {
  slack: channelOf("slack", "slackwebhookURL"),
  discord: channelOf("discord", "discordWebhookUrl"),
  teams: channelOf("teams", "webhookUrl"),
  mattermost: channelOf("mattermost", "mattermostWebhookUrl"),
  "rocket.chat": channelOf("rocket_chat", "rocketwebhookURL"),
  GoogleChat: channelOf("google_chat", "googleChatWebhookURL"),
  telegram: channelOf("telegram", "telegramBotToken", "telegramChatID"),
  gotify: channelOf("gotify", "gotifyserverurl", "gotifyapplicationToken"),
  pushover: channelOf("pushover", "pushoverapptoken", "pushoveruserkey"),
  PagerDuty: channelOf("pagerduty", "pagerdutyIntegrationKey"),
  ntfy: (settings, item) => {
    if (settings.text("ntfytopic") !== undefined && settings.text("ntfypassword") !== undefined) {
      item.leaveOut("ntfypassword", "create an access token and use it");
    }
    return ntfyChannel({
      url: settings.text("ntfyserverurl"),
      topic: settings.text("ntfytopic"),
      token: settings.text("ntfyaccesstoken"),
    }, item);
  },
  smtp: (settings, item) => {
    const [host, sender] = [settings.text("smtpHost"), settings.text("smtpFrom")];
    const receivers = ["smtpTo", "smtpCC", "smtpBCC"].flatMap((key) => addressesIn(settings.text(key) ?? ""));
    if (host === undefined || sender === undefined || receivers.length === 0) return undefined;
    if (settings.boolean("smtpIgnoreTLSError") === true) {
      item.leaveOut("smtpIgnoreTLSError", "certificates are always verified");
    }
    return emailChannel({
      ...{ host, sender, receivers },
      port: settings.number("smtpPort") ?? 25,
      username: settings.text("smtpUsername"),
      password: settings.text("smtpPassword"),
    }, item);
  },
  webhook: (settings, item) => {
    const url = settings.text("webhookURL");
    if (url === undefined) return undefined;
    const hasBody = settings.body("webhookCustomBody") !== undefined;
    item.leaveOut(hasBody ? "webhookCustomBody" : "body", "the receiver gets the JSON of monitor");
    const headers = Foreign.of(parseJson(settings.text("webhookAdditionalHeaders") ?? "{}", {})).entries
      .flatMap(([header, value]) => typeof value === "string" ? [[header, value]] : []);
    return webhook({
      target: item.secret(url, "webhook url"),
      ...(headers.length > 0 && { headers: item.headers(Object.fromEntries(headers)) }),
    });
  },
};
