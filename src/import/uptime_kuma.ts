import type * as written from "../domain/generated/written_config.ts";
import { type ConfigDraft, type Importer, SourceItem } from "./config_draft.ts";
import {
  asList,
  escapePlaceholders,
  Foreign,
  type ForeignFile,
  importError,
  isObject,
  parseJson,
} from "./foreign_text.ts";
import { parseJson as parseJsonText } from "../shared/json_values.ts";
import { messageOf } from "../shared/describe_error.ts";
import { oneLine } from "../shared/text.ts";
import { intervalText } from "./span_text.ts";
import { KUMA_TARGETS, KUMA_TYPES_LEFT_OUT } from "./uptime_kuma_targets.ts";
import {
  addressesIn,
  channelOf,
  emailChannel,
  type MakeChannel,
  ntfyChannel,
  webhook,
} from "./message_channels.ts";

/** Imports a backup of Uptime Kuma 1, or the SQLite database of 1 and 2. */
export const uptimeKumaImporter: Importer = {
  expects: "a backup of Uptime Kuma in JSON, or its database kuma.db",
  isDatabase,
  translate: async (file, draft) => {
    const backup = file.path !== null && isDatabase(file.path)
      ? await openDatabase(file, file.path)
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

/** Errors of SQLite are errors of the file. */
async function openDatabase(file: ForeignFile, path: string): Promise<KumaBackup | null> {
  try {
    return await readDatabase(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw importError(file, oneLine(messageOf(error)));
  }
}

/** Returns the names of the channels by the ids of the notifications. */
function readChannels(notifications: readonly Foreign[], draft: ConfigDraft): Context["channels"] {
  const channels = new Map<string, string>();
  for (const notification of notifications) {
    const name = notification.text("name") ?? "unnamed";
    const item = new SourceItem(draft, `notification "${name}"`, name);
    // The settings are JSON within a text.
    const settings = Foreign.of(parseJsonText(notification.text("config") ?? "{}", {}));
    const channel = kumaChannel(settings, item);
    if (typeof channel === "string") item.leaveOut(null, channel);
    else channels.set(notification.text("id") ?? "", draft.addChannel(name, channel));
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
  const proxy = fields.get("proxy_id");
  if (proxy !== undefined && proxy !== null) item.leaveOut("proxy", "set HTTP_PROXY or HTTPS_PROXY");
  if (fields.text("description") !== undefined) item.leaveOut("description", "write it as a comment");
  const timeoutSeconds = fields.number("timeout");
  return draft.addCheck(name, {
    ...(monitor.tags.length > 0 && { tags: monitor.tags }),
    ...(fields.boolean("active") === false && { active: false }),
    ...(fields.boolean("upside_down") === true && { invert: true }),
    ...timingOf(fields, type),
    ...(timeoutSeconds !== undefined && timeoutSeconds > 0 && type !== PUSH && type !== GROUP && {
      timeout: intervalText(timeoutSeconds * 1000),
    }),
    notifications: monitor.notificationIds.flatMap((id) => channels.get(id) ?? []),
    ...target,
  });
}

const GROUP = "group";
const PUSH = "push";

function timingOf(fields: Foreign, type: string): written.CheckSettings {
  const number = (key: string) => fields.number(key) ?? 0;
  const [intervalSeconds, retrySeconds] = [number("interval") || 60, number("retry_interval")];
  const repeats = number("resend_interval");
  return {
    // A retry is one more failure; one good result is a recovery.
    ...{ threshold: Math.max(1, Math.trunc(number("maxretries")) + 1), recovery_threshold: 1 },
    ...(repeats > 0 && { reminders: intervalText(repeats * intervalSeconds * 1000) }),
    // A `job` check runs often, however long the job's interval is.
    ...(type !== PUSH && {
      schedule: {
        regular_interval: intervalText(intervalSeconds * 1000),
        ...(retrySeconds > 0 && retrySeconds !== intervalSeconds && {
          attentive_interval: intervalText(retrySeconds * 1000),
        }),
      },
    }),
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
  "monitor",
  "notification",
  "monitor_notification",
  "tag",
  "monitor_tag",
  "maintenance",
  "proxy",
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

function kumaChannel(settings: Foreign, item: SourceItem): written.ChannelObject | string {
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
    const headers = Foreign.of(parseJsonText(settings.text("webhookAdditionalHeaders") ?? "{}", {})).entries
      .flatMap(([header, value]) => typeof value === "string" ? [[header, value]] : []);
    return webhook({
      target: item.secret(url, "webhook url"),
      ...(headers.length > 0 && { headers: item.headers(Object.fromEntries(headers)) }),
    });
  },
};
