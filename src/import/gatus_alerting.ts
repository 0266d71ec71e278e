import { type ConfigDraft, SourceItem } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import { asText, Foreign, isObject } from "./foreign_value.ts";
import {
  addressesIn,
  addressOf,
  channelOf,
  emailChannel,
  type MakeChannel,
  ntfyChannel,
  webhook,
} from "./message_channels.ts";
import { intervalText, parseGoDuration } from "./span_text.ts";

interface Provider {
  /** `null`: the provider has no counterpart. */
  readonly channel: string | null;
  readonly defaults: Foreign;
}

export type Providers = ReadonlyMap<string, Provider>;

/** Makes a channel of each provider in `alerting`. */
export function readProviders(alerting: Foreign, draft: ConfigDraft): Providers {
  return new Map(
    alerting.entries.map(([type, value]) => {
      const settings = Foreign.of(value);
      const item = new SourceItem(draft, `alerting.${type}`, type);
      const channel = CHANNELS[type]?.(settings, item);
      if (channel === undefined) {
        item.leaveOut(null, type in CHANNELS ? "a required key is missing" : NO_COUNTERPART);
      }
      for (const key of ["overrides", "client", "placeholders"]) {
        if (settings.has(key)) item.leaveOut(key, "no counterpart");
      }
      return [type, {
        channel: channel === undefined ? null : draft.addChannel(type, channel),
        defaults: settings.object("default-alert"),
      }];
    }),
  );
}

const NO_COUNTERPART = "no channel for this provider; use a webhook or command channel";

const CHANNELS: Readonly<Record<string, MakeChannel>> = {
  slack: channelOf("slack", "webhook-url"),
  discord: channelOf("discord", "webhook-url"),
  mattermost: channelOf("mattermost", "webhook-url"),
  rocketchat: channelOf("rocket_chat", "webhook-url"),
  googlechat: channelOf("google_chat", "webhook-url"),
  "teams-workflows": channelOf("teams", "webhook-url"),
  telegram: channelOf("telegram", "token", "id"),
  gotify: channelOf("gotify", "server-url", "token"),
  pushover: channelOf("pushover", "application-token", "user-key"),
  pagerduty: channelOf("pagerduty", "integration-key"),
  ntfy: (settings, item) => {
    const [url, topic, token] = ["url", "topic", "token"].map((key) => settings.text(key));
    return ntfyChannel({ url, topic, token }, item);
  },
  email: (settings, item) => {
    const [host, from, to] = ["host", "from", "to"].map((key) => settings.text(key));
    if (host === undefined || from === undefined || to === undefined) return undefined;
    return emailChannel({
      host,
      port: settings.number("port") ?? 25,
      username: settings.text("username") ?? addressOf(from),
      password: settings.text("password"),
      sender: from,
      receivers: addressesIn(to),
    }, item);
  },
  custom: customChannel,
};

/** The placeholders of a custom alert, and the fields of a notification. */
const FIELDS: Readonly<Record<string, string>> = {
  ALERT_DESCRIPTION: "{{summary}}",
  ALERT_TRIGGERED_OR_RESOLVED: "{{event}}",
  ENDPOINT_NAME: "{{title}}",
  RESULT_ERRORS: "{{output}}",
  RESULT_CONDITIONS: "{{detail}}",
};

function customChannel(settings: Foreign, item: SourceItem): written.ChannelObject | undefined {
  const url = settings.text("url");
  if (url === undefined) return undefined;
  const fill = (text: string) =>
    text.replaceAll(/\[([A-Z_]+)\]/g, (whole, field) => {
      const known = FIELDS[field];
      if (known === undefined) item.leaveOut(whole, "a notification has no such field");
      return known ?? whole;
    });
  const method = settings.text("method")?.toUpperCase() ?? "GET";
  if (method === "GET") item.leaveOut("method", "a webhook sends POST, PUT or PATCH");
  const body = settings.body("body");
  const headers = settings.object("headers").entries
    .map(([header, value]) => [header, fill(asText(value) ?? "")]);
  // The body of a webhook is JSON unless a header declares another type.
  if (
    !/^\s*(?:\{|\[\s*["{[\d])/.test(body ?? "{") &&
    !headers.some(([header]) => /^content-type$/i.test(header ?? ""))
  ) {
    headers.push(["Content-Type", "text/plain"]);
  }
  const isFixed = !/\[[A-Z_]+\]/.test(url);
  return webhook({
    // A URL of a webhook is mostly a secret; its fields could not be in a variable.
    target: isFixed ? item.secret(url, "webhook url") : item.url(fill(url)),
    method: method === "PUT" || method === "PATCH" ? method : undefined,
    ...(headers.length > 0 && { headers: item.headers(Object.fromEntries(headers)) }),
    body: body === undefined ? undefined : item.body(fill(body)),
  });
}

/** The settings that the alerts of an endpoint become. Gatus counts for each alert, `monitor` for each check. */
export function alertSettings(
  written: readonly Foreign[],
  item: SourceItem,
  providers: Providers,
): written.Defaults {
  const alerts = written.map((alert) => {
    const type = alert.text("type") ?? "";
    return { type, settings: providers.get(type)?.defaults.with(alert) ?? alert };
  }).filter(({ settings }) => settings.boolean("enabled") !== false);
  const channels = alerts.flatMap(({ type }) => providers.get(type)?.channel ?? []);
  for (const { type, settings } of alerts) {
    if (!providers.has(type)) item.leaveOut(`alerts.${type}`, "alerting has no such provider");
    if (isObject(settings.get("provider-override"))) {
      item.leaveOut(`alerts.${type}.provider-override`, "define a channel of its own");
    }
  }
  const numbers = (key: string, missing: number) =>
    alerts.map(({ settings }) => settings.number(key) ?? missing);
  const thresholds = numbers("failure-threshold", 3);
  if (new Set(thresholds).size > 1) {
    item.leaveOut("alerts.failure-threshold", "a check has one threshold: the lowest was used");
  }
  const reminders = alerts.map(({ settings }) => settings.text("minimum-reminder-interval") ?? "")
    .map((text) => parseGoDuration(text) ?? 0).filter((spanMs) => spanMs > 0);
  return {
    ...(alerts.length > 0 && {
      threshold: Math.max(1, Math.min(...thresholds)),
      recovery_threshold: Math.max(1, Math.min(...numbers("success-threshold", 2))),
    }),
    reminders: reminders.length === 0 ? undefined : intervalText(Math.min(...reminders)),
    notifications: [...new Set(channels)],
  };
}
