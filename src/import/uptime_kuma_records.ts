import { asList, escapePlaceholders, Foreign, isObject } from "./foreign_value.ts";

/** A monitor, from a backup or a database. */
export interface KumaMonitor {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  /** The id of its group. */
  readonly parent: string | undefined;
  readonly tags: readonly string[];
  readonly notificationIds: readonly string[];
  readonly fields: Foreign;
}

export interface KumaBackup {
  readonly monitors: readonly KumaMonitor[];
  readonly notifications: readonly Foreign[];
  /** Tables with rows that are not imported. */
  readonly others: readonly string[];
}

/** The fields of a monitor by their names in SQL; JSON writes most of them in camel case. */
class KumaFields extends Foreign {
  override get(column: string): unknown {
    const camel = column.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
    return super.get(column) ?? super.get(camel);
  }
}

/** Reads the JSON that Uptime Kuma 1 exports; `null` if it is something else. */
export function readBackup(root: unknown): KumaBackup | null {
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

function basicsOf(fields: Foreign): Omit<KumaMonitor, "tags" | "notificationIds"> {
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
export async function readDatabase(path: string): Promise<KumaBackup | null> {
  const { readForeignTables } = await import("../state/sqlite/foreign_tables.ts");
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
