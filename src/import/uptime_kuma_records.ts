import { parseJson } from "../shared/parse_json.ts";
import {
  asBoolean,
  asList,
  asObject,
  asText,
  asTexts,
  escapePlaceholders,
  fieldOf,
  type Foreign,
  isForeign,
} from "./foreign_value.ts";

/** A monitor, from a backup or a database. */
export interface KumaMonitor {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  /** The id of its group. */
  readonly parent: string | undefined;
  readonly tags: readonly string[];
  readonly notificationIds: readonly string[];
  /** With names as in JSON or in SQL: see {@linkcode kumaField}. */
  readonly fields: Foreign;
}

export interface KumaBackup {
  readonly monitors: readonly KumaMonitor[];
  /** Each with `id`, `name` and `settings`. */
  readonly notifications: readonly Foreign[];
  /** Tables with rows that are not imported. */
  readonly others: readonly string[];
}

/** A field by its name in SQL; JSON writes most of them in camel case. */
export function kumaField(fields: Foreign, column: string): unknown {
  const camel = column.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
  return fieldOf(fields, column) ?? fieldOf(fields, camel);
}

/** Reads the JSON that Uptime Kuma 1 exports; `null` if it is something else. */
export function readBackup(root: unknown): KumaBackup | null {
  const backup = asObject(root);
  if (!Array.isArray(fieldOf(backup, "monitorList"))) return null;
  return {
    monitors: asList(fieldOf(backup, "monitorList")).filter(isForeign).map((fields) => ({
      ...basicsOf(fields),
      tags: asList(fieldOf(fields, "tags")).map(asObject).map(tagOf).filter((tag) => tag !== ""),
      notificationIds: Object.entries(asObject(fieldOf(fields, "notificationIDList")))
        .filter(([, isUsed]) => isUsed === true).map(([id]) => id),
    })),
    notifications: asList(fieldOf(backup, "notificationList")).filter(isForeign).map(withSettings),
    others: asList(fieldOf(backup, "proxyList")).length > 0 ? ["proxies"] : [],
  };
}

function basicsOf(fields: Foreign): Omit<KumaMonitor, "tags" | "notificationIds"> {
  return {
    id: asText(fieldOf(fields, "id")) ?? "",
    name: asText(fieldOf(fields, "name")) ?? "unnamed",
    type: asText(fieldOf(fields, "type")) ?? "",
    parent: asText(fieldOf(fields, "parent")),
    fields,
  };
}

/** A tag has a name, and a value for some monitors. */
function tagOf(tag: Foreign): string {
  return [asText(fieldOf(tag, "name")), asText(fieldOf(tag, "value"))].filter((part) => part !== undefined)
    .join(":");
}

/** The settings are JSON within a text. */
function withSettings(notification: Foreign): Foreign {
  const text = asText(fieldOf(notification, "config")) ?? "{}";
  return { ...notification, settings: parseJson(text, {}) };
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
export async function readDatabase(path: string): Promise<KumaBackup | null> {
  const { readForeignTables } = await import("../state/sqlite/foreign_tables.ts");
  const tables = readForeignTables(path, TABLES);
  const rowsOf = (table: typeof TABLES[number]): readonly Foreign[] =>
    asList(escapePlaceholders(tables.get(table))).filter(isForeign);
  if (!tables.has("monitor")) return null;
  const tagNames = new Map(rowsOf("tag").map((row) => [asText(fieldOf(row, "id")), fieldOf(row, "name")]));
  const byMonitor = (table: "monitor_notification" | "monitor_tag") => {
    const rows = Map.groupBy(rowsOf(table), (row) => asText(fieldOf(row, "monitor_id")));
    return (id: string) => rows.get(id) ?? [];
  };
  const [notificationsOf, tagsOf] = [byMonitor("monitor_notification"), byMonitor("monitor_tag")];
  return {
    monitors: rowsOf("monitor").map((fields) => {
      const basics = basicsOf(fields);
      return {
        ...basics,
        tags: tagsOf(basics.id).map((row) =>
          tagOf({ name: tagNames.get(asText(fieldOf(row, "tag_id"))), value: fieldOf(row, "value") })
        ).filter((tag) => tag !== ""),
        notificationIds: notificationsOf(basics.id).flatMap((row) =>
          asTexts(fieldOf(row, "notification_id"))
        ),
      };
    }),
    notifications: rowsOf("notification").filter((row) => asBoolean(fieldOf(row, "active")) !== false).map(
      withSettings,
    ),
    others: (["maintenance", "proxy"] as const).filter((table) => rowsOf(table).length > 0),
  };
}
