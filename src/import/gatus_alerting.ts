import type { ConfigDraft } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import {
  asBody,
  asBoolean,
  asList,
  asNumber,
  asObject,
  asText,
  fieldOf,
  type Foreign,
  isForeign,
} from "./foreign_value.ts";
import {
  addressesIn,
  addressOf,
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
    Object.entries(alerting).map(([type, value]) => {
      const settings = asObject(value);
      const item = `alerting.${type}`;
      const channel = CHANNELS[type]?.(settings, { name: type, source: item, draft }) ?? null;
      if (channel === null) {
        draft.leaveOut(item, null, type in CHANNELS ? "a required key is missing" : NO_COUNTERPART);
      }
      for (const key of ["overrides", "client", "placeholders"]) {
        if (fieldOf(settings, key) !== undefined) draft.leaveOut(item, key, "no counterpart");
      }
      return [type, {
        channel: channel === null ? null : draft.addChannel(type, channel),
        defaults: asObject(fieldOf(settings, "default-alert")),
      }];
    }),
  );
}

const NO_COUNTERPART = "no channel for this provider; use a webhook or command channel";

type MakeChannel = (settings: Foreign, options: MessageOptions) => written.ChannelObject | null;

function textOf(settings: Foreign, key: string): string | undefined {
  return asText(fieldOf(settings, key));
}

/** A channel of one secret text. */
function fromKey(
  key: string,
  make: (value: string, options: MessageOptions) => written.ChannelObject,
): MakeChannel {
  return (settings, options) => {
    const value = textOf(settings, key);
    return value === undefined ? null : make(value, options);
  };
}

/** A channel of two texts. */
function fromKeys(
  [one, other]: readonly [string, string],
  make: (one: string, other: string, options: MessageOptions) => written.ChannelObject,
): MakeChannel {
  return (settings, options) => {
    const values = [textOf(settings, one), textOf(settings, other)] as const;
    return values[0] === undefined || values[1] === undefined ? null : make(values[0], values[1], options);
  };
}

const CHANNELS: Readonly<Record<string, MakeChannel>> = {
  slack: fromKey("webhook-url", (url, options) => receiverChannel("slack", url, options)),
  discord: fromKey("webhook-url", (url, options) => receiverChannel("discord", url, options)),
  mattermost: fromKey("webhook-url", (url, options) => receiverChannel("mattermost", url, options)),
  rocketchat: fromKey("webhook-url", (url, options) => receiverChannel("rocket_chat", url, options)),
  googlechat: fromKey("webhook-url", (url, options) => receiverChannel("google_chat", url, options)),
  "teams-workflows": fromKey("webhook-url", (url, options) => receiverChannel("teams", url, options)),
  telegram: fromKeys(["token", "id"], telegramChannel),
  gotify: fromKeys(["server-url", "token"], gotifyChannel),
  pushover: fromKeys(["application-token", "user-key"], pushoverChannel),
  pagerduty: fromKey("integration-key", pagerDutyChannel),
  ntfy: (settings, options) => {
    const topic = textOf(settings, "topic");
    const url = textOf(settings, "url") ?? "https://ntfy.sh";
    return topic === undefined
      ? null
      : ntfyChannel({ url, topic, token: textOf(settings, "token") }, options);
  },
  email: (settings, options) => {
    const [host, from, to] = [textOf(settings, "host"), textOf(settings, "from"), textOf(settings, "to")];
    if (host === undefined || from === undefined || to === undefined) return null;
    return emailChannel({
      host,
      port: asNumber(fieldOf(settings, "port")) ?? 25,
      username: textOf(settings, "username") ?? addressOf(from),
      password: textOf(settings, "password"),
      sender: from,
      receivers: addressesIn(to),
    }, options);
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

function customChannel(
  settings: Foreign,
  { name, source, draft }: MessageOptions,
): written.ChannelObject | null {
  const url = textOf(settings, "url");
  if (url === undefined) return null;
  const fill = (text: string) =>
    text.replaceAll(/\[([A-Z_]+)\]/g, (whole, field) => {
      const known = FIELDS[field];
      if (known === undefined) draft.leaveOut(source, whole, "a notification has no such field");
      return known ?? whole;
    });
  const method = textOf(settings, "method")?.toUpperCase() ?? "GET";
  if (method === "GET") draft.leaveOut(source, "method", "a webhook sends POST, PUT or PATCH");
  const body = asBody(fieldOf(settings, "body"));
  const headers = Object.entries(asObject(fieldOf(settings, "headers")))
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
    target: isFixed ? draft.secret(url, `${name} webhook url`, source) : draft.url(fill(url), name, source),
    method: method === "PUT" || method === "PATCH" ? method : undefined,
    ...(headers.length > 0 && { headers: draft.headers(Object.fromEntries(headers), name, source) }),
    body: body === undefined ? undefined : draft.body(fill(body), name, source),
  });
}

/** The settings that the alerts of an endpoint become. Gatus counts for each alert, `monitor` for each check. */
export function alertSettings(
  value: unknown,
  { item, providers, draft }: {
    readonly item: string;
    readonly providers: Providers;
    readonly draft: ConfigDraft;
  },
): written.Defaults {
  const alerts = asList(value).filter(isForeign).map((alert) => {
    const type = textOf(alert, "type") ?? "";
    return { type, settings: { ...providers.get(type)?.defaults, ...alert } };
  }).filter(({ settings }) => asBoolean(fieldOf(settings, "enabled")) !== false);
  const channels = alerts.flatMap(({ type }) => providers.get(type)?.channel ?? []);
  for (const { type, settings } of alerts) {
    if (!providers.has(type)) draft.leaveOut(item, `alerts.${type}`, "alerting has no such provider");
    if (isForeign(fieldOf(settings, "provider-override"))) {
      draft.leaveOut(item, `alerts.${type}.provider-override`, "define a channel of its own");
    }
  }
  const numbers = (key: string, missing: number) =>
    alerts.map(({ settings }) => asNumber(fieldOf(settings, key)) ?? missing);
  const thresholds = numbers("failure-threshold", 3);
  if (new Set(thresholds).size > 1) {
    draft.leaveOut(item, "alerts.failure-threshold", "a check has one threshold: the lowest was used");
  }
  const reminders = alerts.map(({ settings }) => textOf(settings, "minimum-reminder-interval") ?? "")
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
