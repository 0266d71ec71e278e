import type { ConfigDraft } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import type { Foreign } from "./foreign_value.ts";

/** Keys of `ui` that become the title of the page: the first one that is set does. */
const TITLE_KEYS = ["header", "title"];

export function translatePage(config: Foreign, draft: ConfigDraft): void {
  const ui = config.object("ui");
  const titleKey = TITLE_KEYS.find((key) => ui.text(key) !== undefined) ?? "";
  const title = ui.text(titleKey);
  const description = ui.text("description");
  const announcements = config.objects("announcements").flatMap((announcement) =>
    readAnnouncement(announcement, draft) ?? []
  );
  for (const [key] of ui.entries) {
    if (key === titleKey || key === "description") continue;
    const reason = TITLE_KEYS.includes(key) ? "the page has one title" : "no counterpart";
    draft.leaveOut("config", `ui.${key}`, reason);
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
  if (announcement.boolean("archived") === true) return leaveOut("one is archived");
  const text = announcement.text("message");
  if (text === undefined) return leaveOut("one has no message");
  const timeMs = Date.parse(announcement.text("timestamp") ?? "");
  if (Number.isNaN(timeMs)) return leaveOut("one has no timestamp");
  if (announcement.text("type") !== undefined) leaveOut("an announcement has no type");
  return { date: new Date(timeMs).toISOString().slice(0, 10), text };
}
