import type { ConfigDraft } from "./config_draft.ts";
import type { DraftSettings, DraftWindow } from "./draft_parts.ts";
import { emailChannel } from "./message_channels.ts";
import { listOf, type NagiosObject } from "./nagios_objects.ts";
import { windowsOutside } from "./nagios_periods.ts";

type Directive = (key: string) => string | undefined;

export interface NagiosNotifying {
  settingsOf(
    get: Directive,
    options: { readonly item: string; interval(value: string | undefined): string | undefined },
  ): DraftSettings;
}

/** Creates a channel of each contact, and one of each separate address. */
export function readContacts(objects: readonly NagiosObject[], draft: ConfigDraft): NagiosNotifying {
  const channels = new Map<string, string>();
  for (const { type, directives } of objects) {
    const name = directives.get("contact_name");
    if (type !== "contact" || name === undefined) continue;
    const email = directives.get("email");
    if (email === undefined) {
      draft.leaveOut(`contact "${name}"`, null, "it has no email; write a webhook or command channel");
    } else channels.set(name, draft.addChannel(name, mailOnThisMachine(email, { name, draft })));
    const command = directives.get("service_notification_commands") ?? "";
    if (command !== "" && !/mail/i.test(command)) {
      draft.leaveOut(`contact "${name}"`, "service_notification_commands", "write a command channel");
    }
  }
  const groups = contactGroups(objects);
  const periods = new Map(
    objects.filter(({ type }) => type === "timeperiod").map((period) => [
      period.directives.get("timeperiod_name") ?? "",
      windowsOutside(period),
    ]),
  );
  return {
    settingsOf: (get, { item, interval }) => {
      const names = [
        ...listOf(get("contacts")),
        ...listOf(get("contact_groups")).flatMap((group) => groups.get(group) ?? []),
      ];
      const isSilent = get("notifications_enabled") === "0" || get("notification_options") === "n";
      return {
        annoy: isSilent ? undefined : interval(get("notification_interval")),
        notifications: isSilent ? [] : [...new Set(names.flatMap((name) => channels.get(name) ?? []))],
        ...windowsOf(get, { item, periods, draft }),
      };
    },
  };
}

function mailOnThisMachine(
  email: string,
  { name, draft }: { readonly name: string; readonly draft: ConfigDraft },
) {
  return emailChannel(
    { host: "127.0.0.1", port: 25, sender: "monitor@localhost", receivers: listOf(email) },
    { name, source: `contact "${name}"`, draft },
  );
}

/** Names of contacts by group. */
function contactGroups(objects: readonly NagiosObject[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  const add = (group: string, contacts: readonly string[]) => {
    groups.set(group, [...groups.get(group) ?? [], ...contacts]);
  };
  for (const { type, directives } of objects) {
    if (type === "contactgroup") {
      add(directives.get("contactgroup_name") ?? "", listOf(directives.get("members")));
    }
    if (type !== "contact") continue;
    for (const group of listOf(directives.get("contactgroups"))) {
      add(group, [directives.get("contact_name") ?? ""]);
    }
  }
  return groups;
}

function windowsOf(
  get: Directive,
  { item, periods, draft }: {
    readonly item: string;
    readonly periods: ReadonlyMap<string, readonly DraftWindow[] | null>;
    readonly draft: ConfigDraft;
  },
): DraftSettings {
  const checked = get("check_period");
  const isAlways = (period: string | undefined) =>
    period === undefined || periods.get(period)?.length === 0 || period === "24x7";
  if (!isAlways(checked)) draft.leaveOut(item, "check_period", "write a cron schedule");
  const period = get("notification_period");
  if (isAlways(period)) return {};
  const windows = periods.get(period ?? "") ?? null;
  if (windows === null) draft.leaveOut(item, "notification_period", "only weekly times have a counterpart");
  return windows === null ? {} : { maintenance_windows: windows };
}
