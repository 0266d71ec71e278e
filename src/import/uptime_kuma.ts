import type { ConfigDraft } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import {
  asBoolean,
  asNumber,
  asObject,
  asText,
  escapePlaceholders,
  fieldOf,
  type Foreign,
} from "./foreign_value.ts";
import { importError, parseJson } from "./foreign_text.ts";
import type { ForeignFile } from "./foreign_file.ts";
import type { Importer } from "./importer.ts";
import { messageOf } from "../shared/describe_error.ts";
import { oneLine } from "../shared/truncate.ts";
import { intervalText } from "./span_text.ts";
import {
  type KumaBackup,
  kumaField,
  type KumaMonitor,
  readBackup,
  readDatabase,
} from "./uptime_kuma_records.ts";
import { kumaChannel } from "./uptime_kuma_channels.ts";
import { KUMA_TARGETS, KUMA_TYPES_LEFT_OUT } from "./uptime_kuma_targets.ts";

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

interface Channels {
  readonly byId: ReadonlyMap<string, string>;
}

function readChannels(notifications: readonly Foreign[], draft: ConfigDraft): Channels {
  const byId = new Map<string, string>();
  for (const notification of notifications) {
    const name = asText(fieldOf(notification, "name")) ?? "unnamed";
    const item = `notification "${name}"`;
    const channel = kumaChannel(asObject(fieldOf(notification, "settings")), { name, source: item, draft });
    if (typeof channel === "string") draft.leaveOut(item, null, channel);
    else byId.set(asText(fieldOf(notification, "id")) ?? "", draft.addChannel(name, channel));
  }
  return { byId };
}

interface Context {
  readonly channels: Channels;
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
  const item = `monitor "${name}"`;
  if (asBoolean(kumaField(fields, "upside_down")) === true) {
    draft.leaveOut(item, null, "upside down: a check cannot expect a failure");
    return null;
  }
  const target = KUMA_TARGETS[type]?.({ monitor, item, draft }) ??
    (KUMA_TYPES_LEFT_OUT[type] ?? `no check for the type "${type}"; use a script check`);
  if (typeof target === "string") {
    draft.leaveOut(item, null, target);
    return null;
  }
  const proxy = kumaField(fields, "proxy_id");
  if (proxy !== undefined && proxy !== null) draft.leaveOut(item, "proxy", "set HTTP_PROXY or HTTPS_PROXY");
  if (asText(kumaField(fields, "description")) !== undefined) {
    draft.leaveOut(item, "description", "write it as a comment");
  }
  const timeoutSeconds = asNumber(kumaField(fields, "timeout"));
  return draft.addCheck(name, {
    ...(monitor.tags.length > 0 && { tags: monitor.tags }),
    ...(asBoolean(kumaField(fields, "active")) === false && { active: false }),
    ...timingOf(fields, type),
    ...(timeoutSeconds !== undefined && timeoutSeconds > 0 && type !== PUSH && type !== GROUP && {
      timeout: intervalText(timeoutSeconds * 1000),
    }),
    notifications: monitor.notificationIds.flatMap((id) => channels.byId.get(id) ?? []),
    ...target,
  });
}

const GROUP = "group";
const PUSH = "push";

function timingOf(fields: Foreign, type: string): written.CheckSettings {
  const number = (key: string) => asNumber(kumaField(fields, key)) ?? 0;
  const [intervalSeconds, retrySeconds] = [number("interval") || 60, number("retry_interval")];
  const repeats = number("resend_interval");
  const interval = intervalText(intervalSeconds * 1000);
  return {
    // A retry is one more failure; one good result is a recovery.
    ...{ threshold: Math.max(1, Math.trunc(number("maxretries")) + 1), recovery_threshold: 1 },
    ...(repeats > 0 && { reminders: intervalText(repeats * intervalSeconds * 1000) }),
    // A `job` check runs often, however long the job's interval is.
    ...(type !== PUSH && {
      schedule: {
        regular_interval: interval,
        ...(retrySeconds > 0 && retrySeconds !== intervalSeconds && {
          attentive_interval: intervalText(retrySeconds * 1000),
        }),
      },
    }),
  };
}
