import type { ConfigDraft } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import { asBoolean, asList, asObject, asText, fieldOf, type Foreign } from "./foreign_value.ts";

/** Keys of `ui` that become the title of the page: the first one that is set does. */
const TITLE_KEYS = ["header", "title"];

export function translatePage(config: Foreign, draft: ConfigDraft): void {
  const ui = asObject(fieldOf(config, "ui"));
  const [titleKey] = TITLE_KEYS.filter((key) => textOf(ui, key) !== undefined);
  const title = titleKey === undefined ? undefined : textOf(ui, titleKey);
  const description = textOf(ui, "description");
  const announcements = asList(fieldOf(config, "announcements")).flatMap((announcement) =>
    readAnnouncement(asObject(announcement), draft) ?? []
  );
  for (const key of Object.keys(ui)) {
    if (key === titleKey || key === "description") continue;
    draft.leaveOut(
      "config",
      `ui.${key}`,
      TITLE_KEYS.includes(key) ? "the page has one title" : "no counterpart",
    );
  }
  if (title === undefined && description === undefined && announcements.length === 0) return;
  draft.settings.page = {
    title,
    description,
    ...announcements.length > 0 && { announcements },
  };
}

function readAnnouncement(announcement: Foreign, draft: ConfigDraft): written.Announcement | null {
  const leaveOut = (reason: string): null => {
    draft.leaveOut("config", "announcements", reason);
    return null;
  };
  if (asBoolean(fieldOf(announcement, "archived")) === true) return leaveOut("one is archived");
  const text = textOf(announcement, "message");
  if (text === undefined) return leaveOut("one has no message");
  const timeMs = Date.parse(textOf(announcement, "timestamp") ?? "");
  if (Number.isNaN(timeMs)) return leaveOut("one has no timestamp");
  if (textOf(announcement, "type") !== undefined) leaveOut("an announcement has no type");
  return { date: new Date(timeMs).toISOString().slice(0, 10), text };
}

/** An empty text is none. */
function textOf(object: Foreign, key: string): string | undefined {
  return asText(fieldOf(object, key)) || undefined;
}
