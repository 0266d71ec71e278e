import type * as written from "../domain/generated/written_config.ts";
import {
  addressesIn,
  addressOf,
  channelOf,
  chatOf,
  type ConfigDraft,
  emailChannel,
  type Importer,
  type MakeChannel,
  SourceItem,
  webhook,
} from "./config_draft.ts";
import { asList, asText, asWord, Foreign, isObject, parseMapping } from "./foreign_text.ts";
import { translateTarget } from "./gatus_targets.ts";
import { intervalText, MINUTES_OF_DAY, parseGoDuration, standardJsonPath, timeOfDay } from "./span_text.ts";

export const gatusImporter: Importer = {
  expects: 'a config of Gatus in YAML with "endpoints"',
  translate: async (file, draft) => {
    translate((await parseMapping(file, gatusImporter.expects)).mapTexts(readVariables), draft);
  },
};

/** Gatus replaces `$NAME` and `${NAME}` by variables, and `$$` by `$`. */
function readVariables(text: string): string {
  return text.replaceAll(
    /\$\$(\{?)|\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))|\$\{/g,
    (whole, brace, inBraces, plain) => {
      const name = inBraces ?? plain;
      if (name !== undefined) return `\${env:${name}}`;
      return brace === "{" || whole === "${" ? "$${" : "$";
    },
  );
}

const OWN_KEYS: Readonly<Record<string, string>> = {
  remote: "no counterpart",
  security: "the HTTP endpoint has a token: set listen.token",
  storage: "set state, if the default place does not suit",
  tunneling: "no counterpart",
  web: "set listen for the live view",
};

function translate(config: Foreign, draft: ConfigDraft): void {
  const providers = readProviders(config.object("alerting"), draft);
  const item = new SourceItem(draft, "config", "");
  item.leaveOutSet(config, OWN_KEYS);
  translateConnectivity(config, draft);
  translatePage(config, item);
  const windows = readWindows(config, "maintenance", item);
  if (windows.length > 0) draft.settings.maintenance_windows = windows;
  const context = { providers, draft };
  for (const endpoint of config.objects("endpoints")) translateEndpoint(endpoint, context);
  for (const suite of config.objects("suites")) translateSuite(suite, context);
  for (const endpoint of config.objects("external-endpoints")) translateExternal(endpoint, context);
}

function translateConnectivity(config: Foreign, draft: ConfigDraft): void {
  if (!config.has("connectivity")) return;
  const target = config.object("connectivity").object("checker").text("target") ?? "";
  if (!/^(?:\[[\da-f:.]+\]|[^\s:/[\]@]+):\d{1,5}$/i.test(target)) {
    draft.leaveOut("config", "connectivity", "write connectivity");
  } else draft.settings.connectivity = [target];
}

interface Context {
  readonly providers: Providers;
  readonly draft: ConfigDraft;
}

function commonOf(endpoint: Foreign, item: SourceItem, providers: Providers): written.CheckSettings {
  const windows = readWindows(endpoint, "maintenance-windows", item);
  const tags = endpoint.texts("group");
  return {
    ...{ title: endpoint.text("name"), tags: tags.length > 0 ? tags : undefined },
    ...(endpoint.boolean("enabled") === false && { active: false }),
    ...alertSettings(endpoint.objects("alerts"), item, providers),
    ...(windows.length > 0 && { maintenance_windows: windows }),
  };
}

function itemOf(endpoint: Foreign, what: string, draft: ConfigDraft): SourceItem {
  const name = [...endpoint.texts("group"), endpoint.text("name") ?? ""].join(" ");
  return new SourceItem(draft, `${what} "${name}"`, name);
}

function translateEndpoint(endpoint: Foreign, { providers, draft }: Context): void {
  const item = itemOf(endpoint, "endpoint", draft);
  const target = translateTarget(endpoint, item);
  if ("reason" in target) return item.leaveOut(null, target.reason);
  const client = endpoint.object("client");
  item.leaveOutSet(client, CLIENT_KEYS, "client.");
  item.leaveOutSet(endpoint, { "extra-labels": "metrics have fixed labels" });
  const intervalMs = parseGoDuration(endpoint.text("interval") ?? "60s");
  if (intervalMs === null) item.leaveOut("interval", "not a duration");
  const timeoutMs = parseGoDuration(client.text("timeout") ?? "");
  draft.addCheck(item.name, {
    ...commonOf(endpoint, item, providers),
    ...(intervalMs !== null && { schedule: { regular_interval: intervalText(intervalMs) } }),
    ...(timeoutMs !== null && { timeout: intervalText(timeoutMs) }),
    ...target,
  });
}

const CLIENT_KEYS: Readonly<Record<string, string>> = {
  "dns-resolver": "names are resolved by the machine",
  oauth2: "write an http_request check with steps",
  "proxy-url": "set HTTP_PROXY or HTTPS_PROXY",
  "identity-aware-proxy": "no counterpart",
  network: "ping chooses the address family",
  tunnel: "no counterpart",
  "store-cookies": "cookies are kept between the steps of a check only",
};

function translateExternal(endpoint: Foreign, { providers, draft }: Context): void {
  const item = itemOf(endpoint, "external endpoint", draft);
  const intervalMs = parseGoDuration(endpoint.object("heartbeat").text("interval") ?? "");
  if (intervalMs === null || intervalMs === 0) {
    return item.leaveOut(null, "it has no heartbeat.interval, which a job check requires");
  }
  item.leaveOut("token", "pushes become /ping/KEY, with a new key of at least 16 characters");
  draft.addCheck(item.name, {
    ...commonOf(endpoint, item, providers),
    kind: "job",
    parameters: { expected_every: intervalText(intervalMs), ping_key: item.pingKey() },
  });
}

function readWindows(config: Foreign, key: string, item: SourceItem): readonly written.Window[] {
  return config.objects(key).flatMap((window) => {
    if (window.boolean("enabled") === false) return [];
    const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(window.text("start") ?? "") ?? [];
    const lastsMinutes = Math.round((parseGoDuration(window.text("duration") ?? "") ?? 0) / 60_000);
    if (hours === undefined || lastsMinutes < 1 || lastsMinutes >= MINUTES_OF_DAY) {
      item.leaveOut(key, "a window has a start and lasts less than a day");
      return [];
    }
    const startMinute = Number(hours) * 60 + Number(minutes);
    const days = window.texts("every").map((day) => asWord<Day>(day.slice(0, 3).toLowerCase()));
    return [{
      ...(days.length > 0 && { days }),
      from: timeOfDay(startMinute),
      to: timeOfDay(startMinute + lastsMinutes),
      time_zone: window.text("timezone"),
    }];
  });
}

type Day = NonNullable<written.Window["days"]>[number];

/** Keys of `ui` that become the title of the page: the first one that is set does. */
const TITLE_KEYS = ["header", "title"];

function translatePage(config: Foreign, item: SourceItem): void {
  const ui = config.object("ui");
  const titleKey = TITLE_KEYS.find((key) => ui.text(key) !== undefined) ?? "";
  const [title, description] = [ui.text(titleKey), ui.text("description")];
  const announcements = config.objects("announcements").flatMap((one) => readAnnouncement(one, item) ?? []);
  for (const [key] of ui.entries) {
    if (key === titleKey || key === "description") continue;
    const reason = TITLE_KEYS.includes(key) ? "the page has one title" : "no counterpart";
    item.leaveOut(`ui.${key}`, reason);
  }
  if (title === undefined && description === undefined && announcements.length === 0) return;
  item.draft.settings.page = { title, description, ...announcements.length > 0 && { announcements } };
}

function readAnnouncement(announcement: Foreign, item: SourceItem): written.Announcement | void {
  const text = announcement.text("message");
  const timeMs = Date.parse(announcement.text("timestamp") ?? "");
  if (announcement.boolean("archived") === true) return item.leaveOut("announcements", "one is archived");
  if (text === undefined) return item.leaveOut("announcements", "one has no message");
  if (Number.isNaN(timeMs)) return item.leaveOut("announcements", "one has no timestamp");
  if (announcement.has("type")) item.leaveOut("announcements", "an announcement has no type");
  return { date: new Date(timeMs).toISOString().slice(0, 10), text };
}

/** Translates a suite into one `http_request` with a step for each endpoint. */
function translateSuite(suite: Foreign, { providers, draft }: Context): void {
  const name = suite.text("name") ?? "unnamed";
  const item = new SourceItem(draft, `suite "${name}"`, name);
  const endpoints = suite.objects("endpoints");
  // Names that steps capture; others have a value from the start.
  const captured = new Set<string>();
  const values = suite.object("context");
  const steps: written.HttpStep[] = [];
  for (const endpoint of endpoints) {
    const step = translateStep(endpoint, item, { values, captured });
    if (typeof step === "string") return item.leaveOut(null, step);
    steps.push(step);
  }
  if (steps.length === 0) return item.leaveOut(null, "it has no endpoints");
  const spanOf = (key: string, missing: string) => parseGoDuration(suite.text(key) ?? missing);
  const [intervalMs, timeoutMs] = [spanOf("interval", "10m"), spanOf("timeout", "5m")];
  const alerts = endpoints.flatMap((endpoint) => asList(endpoint.get("alerts")));
  draft.addCheck([...suite.texts("group"), name].join(" "), {
    ...commonOf(suite.with({ alerts }), item, providers),
    ...(intervalMs !== null && { schedule: { regular_interval: intervalText(intervalMs) } }),
    ...(timeoutMs !== null && { timeout: intervalText(timeoutMs) }),
    kind: "http_request",
    parameters: { steps },
  });
}

function translateStep(
  endpoint: Foreign,
  suite: SourceItem,
  { values, captured }: { readonly values: Foreign; readonly captured: Set<string> },
): written.HttpStep | string {
  const name = endpoint.text("name") ?? "step";
  const item = new SourceItem(suite.draft, `${suite.label}, ${name}`, name);
  const unknown = new Set<string>();
  const fill = (text: string) =>
    text.replaceAll(/\[CONTEXT\]\.([\w-]+)/g, (whole, key) => {
      const value = values.text(key);
      if (captured.has(key)) return `\${captured:${captureName(key)}}`;
      if (value === undefined) unknown.add(whole);
      return value ?? whole;
    });
  const filled = endpoint.mapTexts(fill);
  const [missing] = unknown;
  if (missing !== undefined) return `${missing} has no value, or one of a structure`;
  // A value captured by a step cannot be an expected value.
  const conditions = filled.texts("conditions").filter((condition) => !condition.includes("${captured:"));
  if (conditions.length < filled.texts("conditions").length) {
    suite.leaveOut(`${name}: a condition on [CONTEXT]`, "a captured value cannot be expected");
  }
  const target = translateTarget(filled.with({ conditions }), item);
  if ("reason" in target) return `${name}: ${target.reason}`;
  const { request, response } = "request" in target.parameters ? target.parameters : {};
  if (request === undefined) return `${name}: only HTTP has a counterpart`;
  const capture: Record<string, written.HttpCapture> = {};
  for (const [key, value] of endpoint.object("store").entries) {
    const [, rest] = /^\[BODY\](.+)$/s.exec(asText(value) ?? "") ?? [];
    const path = rest === undefined ? null : standardJsonPath(rest);
    if (path === null) suite.leaveOut(`${name}: store.${key}`, "only a JSON path has a counterpart");
    else {
      capture[captureName(key)] = { json: path };
      captured.add(key);
    }
  }
  return {
    name,
    request,
    ...(response !== undefined && { response }),
    ...(Object.keys(capture).length > 0 && { capture }),
    ...(endpoint.boolean("always-run") === true && { always: true }),
  };
}

function captureName(key: string): string {
  return key.replaceAll("-", "_");
}

type Providers = ReturnType<typeof readProviders>;

/** Makes a channel of each provider in `alerting`; `channel` is `null` if it has no counterpart. */
function readProviders(alerting: Foreign, draft: ConfigDraft) {
  return new Map(
    alerting.entries.map(([type, value]) => {
      const settings = Foreign.of(value);
      const item = new SourceItem(draft, `alerting.${type}`, type);
      const channel = CHANNELS[type]?.(settings, item);
      if (channel === undefined) {
        item.leaveOut(null, type in CHANNELS ? "a required key is missing" : NO_COUNTERPART);
      }
      item.leaveOutSet(settings, PROVIDER_KEYS);
      const name = channel === undefined ? null : draft.addChannel(type, channel);
      return [type, { channel: name, defaults: settings.object("default-alert") }] as const;
    }),
  );
}

const NO_COUNTERPART = "no channel for this provider; use a webhook or command channel";
const NONE = "no counterpart";
const PROVIDER_KEYS = { overrides: NONE, client: NONE, placeholders: NONE };

const CHANNELS: Readonly<Record<string, MakeChannel>> = {
  slack: channelOf("slack", "webhook-url"),
  discord: channelOf("discord", "webhook-url"),
  mattermost: channelOf("mattermost", "webhook-url"),
  rocketchat: chatOf("webhook-url"),
  googlechat: chatOf("webhook-url"),
  "teams-workflows": channelOf("teams", "webhook-url"),
  telegram: channelOf("telegram", "token", "id"),
  gotify: channelOf("gotify", "server-url", "token"),
  pushover: channelOf("pushover", "application-token", "user-key"),
  pagerduty: channelOf("pagerduty", "integration-key"),
  ntfy: channelOf("ntfy", "topic", "token", "url"),
  email: (settings, item) => {
    const [host, from, to] = ["host", "from", "to"].map((key) => settings.text(key));
    if (host === undefined || from === undefined || to === undefined) return undefined;
    return emailChannel({
      ...{ host, port: settings.number("port") ?? 25, sender: from, receivers: addressesIn(to) },
      ...{ username: settings.text("username") ?? addressOf(from), password: settings.text("password") },
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
  const headers = settings.object("headers").mapTexts(fill).toTexts();
  const isTyped = Object.keys(headers).some((header) => /^content-type$/i.test(header));
  // The body of a webhook is JSON unless a header declares another type.
  const isJson = /^\s*(?:\{|\[\s*["{[\d])/.test(body ?? "{");
  if (!isJson && !isTyped) headers["Content-Type"] = "text/plain";
  const isFixed = !/\[[A-Z_]+\]/.test(url);
  return webhook({
    // A URL of a webhook is mostly a secret; its fields could not be in a variable.
    target: isFixed ? item.secret(url, "webhook url") : item.url(fill(url)),
    method: method === "PUT" || method === "PATCH" ? method : undefined,
    headers: item.headers(headers),
    body: body && item.body(fill(body)),
  });
}

/** The settings that the alerts of an endpoint become. Gatus counts for each alert, `monitor` for each check. */
function alertSettings(listed: readonly Foreign[], item: SourceItem, providers: Providers): written.Defaults {
  const alerts = listed.map((alert) => {
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
