/**
 * Channels and routes of an `alertmanager.yml`, and the alerting rules of Prometheus about probes. Since the labels of each
 * check are known, its route is found once, here.
 *
 * @see https://prometheus.io/docs/alerting/latest/configuration/
 */
import type * as written from "../domain/generated/written_config.ts";
import {
  addressesIn,
  channelOf,
  type ConfigDraft,
  emailChannel,
  type MakeChannel,
  SourceItem,
  webhook,
} from "./config_draft.ts";
import type { Foreign } from "./foreign_text.ts";
import { intervalText, parseHostAndPort, parsePrometheusDuration, spanText } from "./span_text.ts";

export type Labels = Readonly<Record<string, string>>;
type Matcher = (labels: Labels) => boolean;

/** What the route of an alert leads to. */
export interface Routed {
  readonly channels: readonly string[];
  readonly reminders: string;
}

/** Returns the routes of alerts by their labels. */
export async function readAlertmanager(
  config: Foreign,
  draft: ConfigDraft,
): Promise<(labels: Labels) => Routed> {
  new SourceItem(draft, "alertmanager.yml", "").leaveOutSet(config, OWN_KEYS);
  const global = config.object("global");
  const channels = new Map(
    config.objects("receivers").map((receiver) =>
      [receiver.text("name") ?? "", channelsOf(receiver, global, draft)] as const
    ),
  );
  const root = await readRoute(config.object("route"), new SourceItem(draft, "route", ""), null);
  return (labels) => {
    const routes = leavesOf(root, labels);
    return {
      channels: [...new Set(routes.flatMap(({ receiver }) => channels.get(receiver) ?? []))],
      reminders: intervalText(Math.min(...routes.map(({ repeatMs }) => repeatMs))),
    };
  };
}

const OWN_KEYS: Readonly<Record<string, string>> = {
  inhibit_rules: "write depends_on: a check is silent while one that it depends on has a problem",
  mute_time_intervals: "write hours in the channel",
  templates: "messages have their own text; a webhook channel may have a body",
  time_intervals: "write hours in the channel",
};

const ROUTE_KEYS: Readonly<Record<string, string>> = {
  mute_time_intervals: "write hours in the channel",
  active_time_intervals: "write hours in the channel",
  group_by: "write group in the channel",
  group_wait: "write group in the channel",
};

interface Route {
  readonly receiver: string;
  readonly repeatMs: number;
  readonly continues: boolean;
  readonly matches: Matcher;
  readonly routes: readonly Route[];
}

/** A route has the settings of the one around it that it does not set. */
async function readRoute(route: Foreign, item: SourceItem, outer: Route | null): Promise<Route> {
  item.leaveOutSet(route, ROUTE_KEYS);
  const matchers = [
    ...Object.entries(route.object("match").toTexts()).map(([name, value]) => `${name}="${value}"`),
    ...Object.entries(route.object("match_re").toTexts()).map(([name, value]) => `${name}=~"${value}"`),
    ...route.texts("matchers").flatMap(splitMatchers),
  ];
  const own = {
    receiver: route.text("receiver") ?? outer?.receiver ?? "",
    // Four hours, unless a route says otherwise.
    repeatMs: parsePrometheusDuration(route.text("repeat_interval") ?? "") ?? outer?.repeatMs ??
      4 * 3_600_000,
    continues: route.boolean("continue") === true,
    matches: await readMatchers(matchers, (text) => item.leaveOut(text, "not a matcher")),
    routes: [],
  };
  const routes: Route[] = [];
  for (const inner of route.objects("routes")) routes.push(await readRoute(inner, item, own));
  return { ...own, routes };
}

/** The deepest routes that match, as Alertmanager finds them. */
function leavesOf(route: Route, labels: Labels): readonly Route[] {
  const found: Route[] = [];
  for (const inner of route.routes) {
    if (!inner.matches(labels)) continue;
    found.push(...leavesOf(inner, labels));
    if (!inner.continues) break;
  }
  return found.length === 0 ? [route] : found;
}

/** Splits `{a="b", c!="d"}`. */
function splitMatchers(text: string): readonly string[] {
  return [...text.replace(/^\s*\{|\}\s*$/g, "").matchAll(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g)].map(([one]) =>
    one.trim()
  );
}

/** Longer patterns of a label are not read. */
const PATTERN_LENGTH_MAX = 1000;

/** Reads matchers such as `job=~"web|shop"`, of which all have to match; a malformed one is reported, and never matches. */
async function readMatchers(texts: readonly string[], report: (text: string) => void): Promise<Matcher> {
  const matchers = await Promise.all(
    texts.filter((text) => text !== "").map(async (text): Promise<Matcher> => {
      const [, name = "", operator = "", quoted = ""] = /^"?([\w.-]+)"?\s*(=~|!~|!=|=)\s*(.*)$/s.exec(text) ??
        [];
      const value = quoted.replace(/^"(.*)"$|^'(.*)'$/s, "$1$2").replaceAll(/\\(["\\])/g, "$1");
      const isEqual = operator.endsWith("~") ? await matchWhole(value) : (label: string) => label === value;
      if (name === "" || isEqual === null) {
        report(text);
        return () => false;
      }
      const wanted = !operator.startsWith("!");
      return (labels) => isEqual(labels[name] ?? "") === wanted;
    }),
  );
  return (labels) => matchers.every((matches) => matches(labels));
}

async function matchWhole(pattern: string): Promise<((text: string) => boolean) | null> {
  if (pattern.length > PATTERN_LENGTH_MAX) return null;
  const { RE2JS } = await import("re2js");
  try {
    const program = RE2JS.compile(pattern);
    return (text) => program.matches(text);
  } catch {
    return null;
  }
}

function channelsOf(receiver: Foreign, global: Foreign, draft: ConfigDraft): readonly string[] {
  const name = receiver.text("name") ?? "unnamed";
  return receiver.entries.filter(([key]) => key.endsWith("_configs")).flatMap(([key]) => {
    const type = key.slice(0, -"_configs".length);
    return receiver.objects(key).flatMap((settings) => {
      const item = new SourceItem(draft, `receiver "${name}", ${type}`, `${name} ${type}`);
      const channel = CHANNELS[type]?.(withGlobal(settings, global, GLOBAL_KEYS[type] ?? {}), item);
      if (channel === undefined) {
        item.leaveOut(null, type in CHANNELS ? "a required key is missing, or is in a file" : NO_COUNTERPART);
        return [];
      }
      const isSilent = settings.boolean("send_resolved") === false;
      return draft.addChannel(name, { ...channel, ...(isSilent && { events: WITHOUT_RECOVERY }) });
    });
  });
}

const NO_COUNTERPART = "no channel for this receiver; use a webhook or command channel";
const WITHOUT_RECOVERY = ["problem", "change", "reminder"] as const;

/** Keys of receivers, by the keys of `global` that are used if they are not set. */
const GLOBAL_KEYS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  slack: { api_url: "slack_api_url" },
  opsgenie: { api_key: "opsgenie_api_key" },
  telegram: { bot_token: "telegram_bot_token" },
  email: {
    smarthost: "smtp_smarthost",
    from: "smtp_from",
    auth_username: "smtp_auth_username",
    auth_password: "smtp_auth_password",
  },
};

function withGlobal(settings: Foreign, global: Foreign, keys: Readonly<Record<string, string>>): Foreign {
  const missing = Object.entries(keys).filter(([key, from]) => !settings.has(key) && global.has(from));
  return settings.with(Object.fromEntries(missing.map(([key, from]) => [key, global.get(from)])));
}

const CHANNELS: Readonly<Record<string, MakeChannel>> = {
  slack: channelOf("slack", "api_url"),
  discord: channelOf("discord", "webhook_url"),
  msteams: channelOf("teams", "webhook_url"),
  msteamsv2: channelOf("teams", "webhook_url"),
  mattermost: channelOf("mattermost", "webhook_url"),
  pushover: channelOf("pushover", "token", "user_key"),
  telegram: channelOf("telegram", "bot_token", "chat_id"),
  pagerduty: (settings, item) =>
    channelOf("pagerduty", settings.has("routing_key") ? "routing_key" : "service_key")(settings, item),
  opsgenie: channelOf("opsgenie", "api_key"),
  webhook: (settings, item) => {
    const url = settings.text("url");
    if (url === undefined) return undefined;
    item.leaveOut("body", "the receiver gets the JSON of monitor, not that of Alertmanager");
    return webhook({ target: item.secret(url, "webhook url") });
  },
  email: emailOf,
};

function emailOf(settings: Foreign, item: SourceItem): written.ChannelObject | undefined {
  const [host, sender] = [parseHostAndPort(settings.text("smarthost") ?? ""), settings.text("from")];
  const receivers = addressesIn(settings.text("to") ?? "");
  if (host === null || sender === undefined || receivers.length === 0) return undefined;
  return emailChannel({
    ...{ host: host.host, port: host.port ?? 25, sender, receivers },
    ...{ username: settings.text("auth_username"), password: settings.text("auth_password") },
  }, item);
}

/** An alerting rule of Prometheus that is about probes, and what it means for a check. */
export interface AlertRule {
  readonly name: string;
  readonly about: "success" | "expiry" | "duration";
  /** Below or above this it fires: a time before the expiry, or a duration; 0 for `success`. */
  readonly limitMs: number;
  /** How long it has to hold. */
  readonly forMs: number;
  readonly labels: Labels;
  readonly annotations: Foreign;
  readonly selects: Matcher;
}

export async function readRules(file: Foreign, draft: ConfigDraft): Promise<readonly AlertRule[]> {
  const rules: AlertRule[] = [];
  for (const rule of file.objects("groups").flatMap((group) => group.objects("rules"))) {
    const name = rule.text("alert");
    if (name === undefined) continue;
    const leaveOut = (reason: string): void => draft.leaveOut(`rule "${name}"`, null, reason);
    const report = (text: string): void => leaveOut(`"${text}" is no matcher`);
    const condition = readExpression(rule.text("expr") ?? "");
    if (condition === null) {
      leaveOut("its expression has no counterpart");
      continue;
    }
    rules.push({
      name,
      ...condition,
      forMs: parsePrometheusDuration(rule.text("for") ?? "0s") ?? 0,
      labels: { ...rule.object("labels").toTexts(), alertname: name },
      annotations: rule.object("annotations"),
      selects: await readMatchers(splitMatchers(condition.selector), report),
    });
  }
  return rules;
}

const SELECTOR = String.raw`\s*(?<selector>\{[^{}]*\})?\s*`;
const NUMBERS = String.raw`(?<limit>[\d.\s*/()]+)`;

const EXPRESSIONS: readonly (readonly [about: AlertRule["about"], unitMs: number, pattern: RegExp])[] = [
  ["success", 0, new RegExp(`^probe_success${SELECTOR}(?:==\\s*0|<\\s*1|!=\\s*1)$`)],
  [
    "expiry",
    1000,
    new RegExp(
      `^\\(?probe_ssl_(?:earliest_cert|last_chain)_expiry\\w*${SELECTOR}-\\s*time\\(\\)\\s*\\)?\\s*` +
        `(?:/(?<divisor>[\\d.\\s*/()]+))?<=?${NUMBERS}$`,
    ),
  ],
  ["duration", 1000, new RegExp(`^probe_(?:http_)?duration_seconds${SELECTOR}>=?${NUMBERS}$`)],
];

function readExpression(expression: string) {
  const text = expression.replaceAll(/\s+/g, " ").trim().replace(
    /^\((.*)\)$/,
    (whole, inner: string) => /^[^()]*(?:\([^()]*\)[^()]*)*$/.test(inner) ? inner.trim() : whole,
  );
  for (const [about, unitMs, pattern] of EXPRESSIONS) {
    const { groups } = pattern.exec(text) ?? {};
    if (groups === undefined) continue;
    const limit = product(groups["limit"] ?? "0");
    const divisor = product(groups["divisor"] ?? "1");
    if (limit === null || divisor === null) return null;
    return { about, limitMs: limit * divisor * unitMs, selector: groups["selector"] ?? "" };
  }
  return null;
}

/** The value of numbers that are multiplied and divided, such as `86400 * 30`; `null` for anything else. */
function product(text: string): number | null {
  const [first, ...rest] = text.replaceAll(/[()]/g, " ").trim().split(/\s*([*/])\s*/);
  let value = Number(first);
  for (let index = 0; index < rest.length; index += 2) {
    const factor = Number(rest[index + 1]);
    value = rest[index] === "*" ? value * factor : value / factor;
  }
  return Number.isFinite(value) && first !== "" ? value : null;
}

/** What the rules of a probe limit, as texts of a config. */
export interface ProbeLimits {
  readonly duration: Readonly<Partial<Record<Level, string>>>;
  readonly expiry: Readonly<Partial<Record<Level, string>>>;
  readonly isWarning: true | undefined;
}

type Level = "warning" | "critical";

export function limitsOf(rules: readonly AlertRule[]): ProbeLimits {
  const of = (about: AlertRule["about"]) =>
    Object.fromEntries(
      rules.filter((rule) => rule.about === about && rule.limitMs >= 1)
        .map((rule) => [levelOf(rule), limitText(rule.limitMs)]),
    );
  const failing = rules.filter(({ about }) => about === "success");
  return {
    duration: of("duration"),
    expiry: of("expiry"),
    isWarning: failing.length > 0 && failing.every((rule) => levelOf(rule) === "warning") || undefined,
  };
}

function levelOf({ labels }: AlertRule): Level {
  return /^(?:warn|info|low|none)/i.test(labels["severity"] ?? "") ? "warning" : "critical";
}

function limitText(limitMs: number): string {
  return limitMs % 1000 === 0 ? spanText(limitMs) : `${Math.round(limitMs)} ms`;
}

/** Returns the settings of a check by the rules that select it, and the channels that their alerts are routed to. */
export function alertSettings(
  rules: readonly AlertRule[],
  { labels, intervalMs, item, route }: {
    readonly labels: Labels;
    readonly intervalMs: number;
    readonly item: SourceItem;
    route(labels: Labels): Routed;
  },
): written.CheckSettings {
  const routed = rules.map((rule) => route({ ...labels, ...rule.labels }));
  const failing = rules.filter(({ about }) => about === "success");
  // The first failure begins the time that the rule has to hold.
  const thresholds = failing.map(({ forMs }) => Math.ceil(forMs / intervalMs) + 1);
  if (new Set(thresholds).size > 1) {
    item.leaveOut("for", "a check has one threshold: the lowest was used; write after in a channel");
  }
  const [annotations] = [...failing, ...rules].map((rule) => rule.annotations);
  return {
    description: plainText(annotations?.text("description") ?? annotations?.text("summary")),
    runbook: plainText(annotations?.text("runbook_url") ?? annotations?.text("runbook")),
    ...(thresholds.length > 0 && { threshold: Math.min(...thresholds) }),
    reminders: routed[0]?.reminders,
    notifications: channelsOfRules(rules, routed),
  };
}

/** A text without fields of a template. */
function plainText(text: string | undefined): string | undefined {
  return text === undefined || text.includes("{{") ? undefined : text;
}

/** A channel gets what is routed to it: the conditions of its rules, or all. */
function channelsOfRules(rules: readonly AlertRule[], routed: readonly Routed[]): readonly written.Channel[] {
  const levels = new Map<string, Set<Level>>();
  for (const [index, rule] of rules.entries()) {
    for (const channel of routed[index]?.channels ?? []) {
      levels.set(channel, (levels.get(channel) ?? new Set()).add(levelOf(rule)));
    }
  }
  const isMixed = new Set(rules.map(levelOf)).size > 1;
  return [...levels].map(([channel, own]) =>
    !isMixed || own.size > 1
      ? channel
      : { channel, conditions: own.has("warning") ? ["warning"] : ["critical", "unknown"] }
  );
}
