import type * as written from "../domain/generated/written_config.ts";
import {
  addressesIn,
  channelOf,
  chatOf,
  type ConfigDraft,
  emailChannel,
  type Importer,
  type Login,
  type MakeChannel,
  SourceItem,
  webhook,
} from "./config_draft.ts";
import {
  asList,
  asTexts,
  escapePlaceholders,
  Foreign,
  importError,
  isObject,
  parseJson,
} from "./foreign_text.ts";
import { parseJson as parseJsonText } from "../shared/json_values.ts";
import { messageOf } from "../shared/describe_error.ts";
import { oneLine } from "../shared/text.ts";
import {
  dnsLookup,
  dnsServerIn,
  intervalText,
  JSON_COMPARISONS,
  standardJsonPath,
  statusesThat,
} from "./span_text.ts";
import {
  databaseUrl,
  MYSQL_URL,
  POSTGRES_URL,
  REDIS_SCHEMES,
  sqlParametersOf,
  type SqlUrl,
} from "../shared/database_url.ts";

/** Imports a backup of Uptime Kuma 1, or the SQLite database of 1 and 2. */
export const uptimeKumaImporter: Importer = {
  expects: "a backup of Uptime Kuma in JSON, or its database kuma.db",
  isDatabase,
  translate: async (file, draft) => {
    const backup = file.path !== null && isDatabase(file.path)
      ? await readDatabase(file.path).catch((error) => {
        if (error instanceof Deno.errors.NotCapable) throw error;
        // Errors of SQLite are errors of the file.
        throw importError(file, oneLine(messageOf(error)));
      })
      : readBackup(escapePlaceholders(parseJson(file)));
    if (backup === null) {
      throw importError(file, "it has no monitors", { hint: `expected ${uptimeKumaImporter.expects}` });
    }
    translate(backup.monitors, { channels: readChannels(backup.notifications, draft), draft });
    for (const table of backup.others) {
      draft.leaveOut(table, null, "write maintenance_windows or a channel by hand");
    }
  },
};

function isDatabase(path: string): boolean {
  return /\.(?:db|sqlite3?)$/i.test(path);
}

/** Returns the names of the channels by the ids of the notifications. */
function readChannels(notifications: readonly Foreign[], draft: ConfigDraft): Context["channels"] {
  const channels = new Map<string, string>();
  for (const notification of notifications) {
    const name = notification.text("name") ?? "unnamed";
    const item = new SourceItem(draft, `notification "${name}"`, name);
    // The settings are JSON within a text.
    const settings = Foreign.of(parseJsonText(notification.text("config") ?? "{}", {}));
    const type = settings.text("type") ?? "";
    const unknown = `no channel for "${type}"; use a webhook or command channel`;
    const channel = CHANNELS[type]?.(settings, item);
    if (channel !== undefined) channels.set(notification.text("id") ?? "", draft.addChannel(name, channel));
    else item.leaveOut(null, type in CHANNELS ? "a required setting is missing" : unknown);
  }
  return channels;
}

interface Context {
  readonly channels: ReadonlyMap<string, string>;
  readonly draft: ConfigDraft;
}

function translate(monitors: readonly KumaMonitor[], context: Context): void {
  const nameById = new Map<string, string>();
  for (const monitor of monitors) {
    const key = translateMonitor(monitor, context);
    if (key !== null) nameById.set(monitor.id, key);
  }
  // A group combines its children, which come before or after it.
  for (const monitor of monitors) {
    const key = nameById.get(monitor.id);
    if (key === undefined || monitor.type !== GROUP) continue;
    const children = monitors.filter(({ parent }) => parent === monitor.id).flatMap(({ id }) =>
      nameById.get(id) ?? []
    );
    if (children.length === 0) {
      context.draft.drop("checks", key, "the group has no monitor that was imported");
    } else context.draft.changeCheck(key, { kind: GROUP, parameters: { checks: children } });
  }
}

function translateMonitor(monitor: KumaMonitor, { channels, draft }: Context): string | null {
  const { type, name, fields } = monitor;
  const item = new SourceItem(draft, `monitor "${name}"`, name);
  const target = KUMA_TARGETS[type]?.(fields, item) ??
    KUMA_TYPES_LEFT_OUT[type] ?? `no check for the type "${type}"; use a script check`;
  if (typeof target === "string") {
    item.leaveOut(null, target);
    return null;
  }
  item.leaveOutSet(fields, KUMA_KEYS);
  const timeoutSeconds = type === PUSH || type === GROUP ? 0 : fields.number("timeout") ?? 0;
  return draft.addCheck(name, {
    ...(monitor.tags.length > 0 && { tags: monitor.tags }),
    ...(fields.boolean("active") === false && { active: false }),
    ...(fields.boolean("upside_down") === true && { invert: true }),
    ...timingOf(fields, type),
    ...(timeoutSeconds > 0 && { timeout: intervalText(timeoutSeconds * 1000) }),
    notifications: monitor.notificationIds.flatMap((id) => channels.get(id) ?? []),
    ...target,
  });
}

const KUMA_KEYS = { proxy_id: "set HTTP_PROXY or HTTPS_PROXY", description: "write it as a comment" };
const GROUP = "group";
const PUSH = "push";

function timingOf(fields: Foreign, type: string): written.CheckSettings {
  const number = (key: string) => fields.number(key) ?? 0;
  const [intervalSeconds, retrySeconds] = [number("interval") || 60, number("retry_interval")];
  const repeats = number("resend_interval");
  const isFaster = retrySeconds > 0 && retrySeconds !== intervalSeconds;
  const schedule = {
    regular_interval: intervalText(intervalSeconds * 1000),
    ...(isFaster && { attentive_interval: intervalText(retrySeconds * 1000) }),
  };
  return {
    // A retry is one more failure; one good result is a recovery.
    ...{ threshold: Math.max(1, Math.trunc(number("maxretries")) + 1), recovery_threshold: 1 },
    ...(repeats > 0 && { reminders: intervalText(repeats * intervalSeconds * 1000) }),
    // A `job` check runs often, however long the job's interval is.
    ...(type !== PUSH && { schedule }),
  };
}

type KumaMonitor = KumaBackup["monitors"][number];
type KumaBackup = NonNullable<ReturnType<typeof readBackup>>;

/** The fields of a monitor by their names in SQL; JSON writes most of them in camel case. */
class KumaFields extends Foreign {
  override get(column: string): unknown {
    const camel = column.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
    return super.get(column) ?? super.get(camel);
  }
}

/** Reads the JSON that Uptime Kuma 1 exports; `null` if it is something else. */
function readBackup(root: unknown) {
  const backup = Foreign.of(root);
  if (!Array.isArray(backup.get("monitorList"))) return null;
  return {
    monitors: rowsIn(backup.get("monitorList")).map((fields) => ({
      ...basicsOf(fields),
      tags: tagsOf(fields.objects("tags")),
      notificationIds: fields.object("notificationIDList").entries
        .filter(([, isUsed]) => isUsed === true).map(([id]) => id),
    })),
    notifications: rowsIn(backup.get("notificationList")),
    others: rowsIn(backup.get("proxyList")).length > 0 ? ["proxies"] : [],
  };
}

function rowsIn(value: unknown): readonly Foreign[] {
  return asList(value).filter(isObject).map((row) => new KumaFields(row));
}

function basicsOf(fields: Foreign) {
  return {
    id: fields.text("id") ?? "",
    name: fields.text("name") ?? "unnamed",
    type: fields.text("type") ?? "",
    parent: fields.text("parent"),
    fields,
  };
}

/** A tag has a name, and a value for some monitors. */
function tagsOf(tags: readonly Foreign[]): readonly string[] {
  const parts = tags.map((tag) => [tag.text("name"), tag.text("value")].filter((part) => part !== undefined));
  return parts.filter(({ length }) => length > 0).map((words) => words.join(":"));
}

const TABLES = [
  ...["monitor", "notification", "monitor_notification", "tag", "monitor_tag"] as const,
  ...["maintenance", "proxy"] as const,
] as const;

/** Reads the database of Uptime Kuma; `null` if it has no table of monitors. */
async function readDatabase(path: string): Promise<KumaBackup | null> {
  const { readForeignTables } = await import("../state/sqlite/sqlite_tables.ts");
  const tables = readForeignTables(path, TABLES);
  const rowsOf = (table: typeof TABLES[number]): readonly Foreign[] =>
    rowsIn(escapePlaceholders(tables.get(table)));
  if (!tables.has("monitor")) return null;
  const tagNames = new Map(rowsOf("tag").map((row) => [row.text("id"), row.get("name")]));
  const [usedNotifications, usedTags] = (["monitor_notification", "monitor_tag"] as const).map((table) =>
    Map.groupBy(rowsOf(table), (row) => row.text("monitor_id"))
  );
  return {
    monitors: rowsOf("monitor").map((fields) => {
      const basics = basicsOf(fields);
      const tags = usedTags?.get(basics.id) ?? [];
      return {
        ...basics,
        tags: tagsOf(tags.map((row) => row.with({ name: tagNames.get(row.text("tag_id")) }))),
        notificationIds: (usedNotifications?.get(basics.id) ?? [])
          .flatMap((row) => row.texts("notification_id")),
      };
    }),
    notifications: rowsOf("notification").filter((row) => row.boolean("active") !== false),
    others: (["maintenance", "proxy"] as const).filter((table) => rowsOf(table).length > 0),
  };
}

const CHANNELS: Readonly<Record<string, MakeChannel>> = {
  slack: channelOf("slack", "slackwebhookURL"),
  discord: channelOf("discord", "discordWebhookUrl"),
  teams: channelOf("teams", "webhookUrl"),
  mattermost: channelOf("mattermost", "mattermostWebhookUrl"),
  "rocket.chat": chatOf("rocketwebhookURL"),
  GoogleChat: chatOf("googleChatWebhookURL"),
  telegram: channelOf("telegram", "telegramBotToken", "telegramChatID"),
  gotify: channelOf("gotify", "gotifyserverurl", "gotifyapplicationToken"),
  pushover: channelOf("pushover", "pushoverapptoken", "pushoveruserkey"),
  PagerDuty: channelOf("pagerduty", "pagerdutyIntegrationKey"),
  ntfy: (settings, item) => {
    if (settings.text("ntfytopic") !== undefined && settings.text("ntfypassword") !== undefined) {
      item.leaveOut("ntfypassword", "create an access token and use it");
    }
    return channelOf("ntfy", "ntfytopic", "ntfyaccesstoken", "ntfyserverurl")(settings, item);
  },
  smtp: (settings, item) => {
    const [host, sender] = [settings.text("smtpHost"), settings.text("smtpFrom")];
    const receivers = ["smtpTo", "smtpCC", "smtpBCC"].flatMap((key) => addressesIn(settings.text(key) ?? ""));
    if (host === undefined || sender === undefined || receivers.length === 0) return undefined;
    if (settings.boolean("smtpIgnoreTLSError") === true) {
      item.leaveOut("smtpIgnoreTLSError", "certificates are always verified");
    }
    return emailChannel({
      ...{ host, port: settings.number("smtpPort") ?? 25, sender, receivers },
      ...{ username: settings.text("smtpUsername"), password: settings.text("smtpPassword") },
    }, item);
  },
  webhook: (settings, item) => {
    const url = settings.text("webhookURL");
    if (url === undefined) return undefined;
    const hasBody = settings.body("webhookCustomBody") !== undefined;
    item.leaveOut(hasBody ? "webhookCustomBody" : "body", "the receiver gets the JSON of monitor");
    const headers = Foreign.of(parseJsonText(settings.text("webhookAdditionalHeaders") ?? "{}", {})).entries
      .flatMap(([header, value]) => typeof value === "string" ? [[header, value]] : []);
    const target = item.secret(url, "webhook url");
    return webhook({ target, headers: item.headers(Object.fromEntries(headers)) });
  },
};

type Target = written.CheckByKind;

/** Types without a check of their own, and their replacement. */
const KUMA_TYPES_LEFT_OUT: Readonly<Record<string, string>> = {
  manual: "its status is set by hand",
  "real-browser": "no check in a browser; use http_request",
};

/** Monitor types by their name; a text is the reason why there is no check. */
const KUMA_TARGETS: Readonly<Record<string, (fields: Foreign, item: SourceItem) => Target | string>> = {
  http: httpTarget,
  keyword: httpTarget,
  "json-query": httpTarget,
  port: (fields) => portTarget(fields),
  smtp: (fields) => portTarget(fields, "220"),
  ping: hostTarget("ping"),
  dns: dnsTarget,
  push: (fields, item) => ({
    kind: "job",
    parameters: {
      expected_every: intervalText((fields.number("interval") ?? 60) * 1000),
      ping_key: item.pingKey(),
    },
  }),
  docker: (fields, item) => {
    const name = fields.text("docker_container");
    if (name === undefined) return "it has no container";
    item.leaveOut("docker_host", "/run/docker.sock is used: prefer target, a read-only proxy");
    return { kind: "container", parameters: { name } };
  },
  postgres: (fields, item) => sqlTarget("postgres_query", POSTGRES_URL, { fields, item }),
  mysql: (fields, item) => sqlTarget("mysql_query", MYSQL_URL, { fields, item }),
  redis: (fields, item) => {
    const found = databaseUrl(fields.text("database_connection_string") ?? "", REDIS_SCHEMES);
    if (found === null) return "its connection string is no redis:// URL";
    const { server, login: { username, password }, scheme } = found;
    const tls = scheme === "rediss:" || undefined;
    const verify = tls && fields.boolean("ignore_tls") ? false : undefined;
    const secret = password === undefined ? undefined : item.secret(password, "password");
    return { kind: "redis_command", parameters: { ...server, username, password: secret, tls, verify } };
  },
  "websocket-upgrade": (fields, item) => {
    const url = fields.text("url");
    return url === undefined ? "it has no URL" : { kind: "websocket", parameters: { url: item.url(url) } };
  },
  ntp: hostTarget("ntp"),
  // Its checks follow once all monitors are read.
  group: () => ({ kind: "group", parameters: { checks: [] } }),
  "system-service": (fields) => {
    const unit = fields.text("system_service_name");
    return unit === undefined ? "it has no service" : { kind: "systemd_unit", parameters: { unit } };
  },
};

function hostTarget(kind: "ping" | "ntp"): (fields: Foreign) => Target | string {
  return (fields) => {
    const host = fields.text("hostname");
    return host === undefined ? "it has no hostname" : { kind, parameters: { host } };
  };
}

function sqlTarget(
  kind: "postgres_query" | "mysql_query",
  url: SqlUrl,
  { fields, item }: { readonly fields: Foreign; readonly item: SourceItem },
): Target | string {
  const found = sqlParametersOf(fields.text("database_connection_string") ?? "", url);
  if (found === null) return `its connection string is no ${url.schemes[0]}// URL`;
  // The password of MySQL is not in its URL, but in the column of RADIUS.
  const password = found.password ?? (kind === "mysql_query" ? fields.text("radius_password") : undefined);
  const secret = password === undefined ? undefined : item.secret(password, "password");
  return { kind, parameters: { ...found, password: secret, query: fields.text("database_query") } };
}

function httpTarget(fields: Foreign, item: SourceItem): Target | string {
  const url = fields.text("url");
  if (url === undefined) return "it has no URL";
  const hasCertificate = /^https:/i.test(url) && fields.boolean("expiry_notification") === true;
  const status_code = statusOf(fields);
  if (status_code === undefined) item.leaveOut("accepted_statuscodes", "no status from 100 to 599");
  return {
    kind: "http_request",
    parameters: {
      request: item.request(url, {
        ...{ login: loginOf(fields, item), method: fields.text("method"), headers: headersOf(fields, item) },
        ...{ body: fields.body("body"), isInsecure: fields.boolean("ignore_tls") },
        refusesRedirects: fields.number("maxredirects") === 0,
      }),
      response: {
        ...{ status_code, ...keywordOf(fields), ...jsonOf(fields, item) },
        // Uptime Kuma notifies 21, 14 and 7 days before.
        ...(hasCertificate &&
          { certificate: { warning_before_expiry: "21 days", critical_before_expiry: "7 days" } }),
      },
    },
  };
}

function loginOf(fields: Foreign, item: SourceItem): Login {
  const method = fields.text("auth_method");
  if (method !== undefined && method !== "basic" && method !== "null") {
    item.leaveOut("authMethod", `${method}: write the header or steps by hand`);
    return {};
  }
  return { username: fields.text("basic_auth_user"), password: fields.text("basic_auth_pass") };
}

function headersOf(fields: Foreign, item: SourceItem): Record<string, string> {
  const text = fields.text("headers");
  const headers = Foreign.of(parseJsonText(text ?? "", null)).entries
    .flatMap(([header, value]) => asTexts(value).map((one) => [header, one] as const));
  if (headers.length === 0 && text !== undefined) {
    item.leaveOut("headers", "not an object of JSON with texts");
  }
  return Object.fromEntries(headers);
}

/** Codes and ranges such as `200-299`. */
function statusOf(fields: Foreign) {
  const written = fields.get("accepted_statuscodes") ??
    parseJsonText(fields.text("accepted_statuscodes_json") ?? "[]", []);
  const ranges = asTexts(written).map((text) => {
    const [from = NaN, to = from] = text.split("-").map(Number);
    return { from, to };
  });
  if (ranges.length === 0) return "2xx";
  return statusesThat((status) => ranges.some(({ from, to }) => from <= status && status <= to));
}

function keywordOf(fields: Foreign): written.HttpExpectation {
  const keyword = fields.text("keyword");
  if (fields.text("type") !== "keyword" || keyword === undefined) return {};
  const isInverted = fields.boolean("invert_keyword") === true;
  return { [isInverted ? "not_body_part" : "body_part"]: keyword };
}

/** A JSONata expression that is only a path. */
function jsonOf(fields: Foreign, item: SourceItem): written.HttpExpectation {
  if (fields.text("type") !== "json-query") return {};
  const expression = fields.text("json_path") ?? "$";
  const path = standardJsonPath(expression.replace(/^\$\.?/, ""));
  const expected = fields.text("expected_value") ?? "";
  const operator = fields.text("json_path_operator") ?? "==";
  if (path === null) {
    item.leaveOut("jsonPath", `${expression}: only a path has a counterpart`);
    return {};
  }
  const number = Number(expected);
  if (operator in JSON_COMPARISONS && Number.isFinite(number)) {
    return { json: { [path]: { [JSON_COMPARISONS[operator as keyof typeof JSON_COMPARISONS]]: number } } };
  }
  if (operator === "contains") return { json: { [path]: { contains: expected } } };
  if (operator === "!=") return { json: { [path]: { not_equals: expected } } };
  // Uptime Kuma compares texts, so a number or a boolean may be a text in JSON.
  const literal = /^(?:true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?)$/.test(expected) ? JSON.parse(expected) : null;
  return { json: { [path]: literal === null ? { equals: expected } : { one_of: [literal, expected] } } };
}

function portTarget(fields: Foreign, expect?: string): Target | string {
  const [host, port] = [fields.text("hostname"), fields.number("port")];
  if (host === undefined || port === undefined) return "it has no hostname or port";
  return { kind: "tcp_connect", parameters: { host, port, expect } };
}

function dnsTarget(fields: Foreign, item: SourceItem): Target | string {
  const name = fields.text("hostname");
  if (name === undefined) return "it has no hostname";
  const servers = fields.text("dns_resolve_server")?.split(",").map((server) => server.trim()) ?? [];
  const known = servers.flatMap((server) => dnsServerIn(server, fields.number("port") ?? 53) ?? []);
  if (known.length < servers.length) item.leaveOut("dns_resolve_server", "a server must be an IP address");
  const conditions = fields.text("conditions") ?? "[]";
  if (conditions !== "[]") item.leaveOut("conditions", "use values or contains");
  return dnsLookup(name, { type: fields.text("dns_resolve_type"), server: known[0] });
}
