import { type ConfigDraft, SourceItem } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import { asWord } from "./foreign_value.ts";
import { emailChannel } from "./message_channels.ts";
import { listOf, type NagiosObject } from "./nagios_objects.ts";
import { timeOfDay } from "./span_text.ts";

type Directive = (key: string) => string | undefined;

export interface NagiosNotifying {
  settingsOf(
    get: Directive,
    options: { readonly item: string; interval(value: string | undefined): string | undefined },
  ): written.Defaults;
}

/** Creates a channel of each contact, and one of each separate address. */
export function readContacts(objects: readonly NagiosObject[], draft: ConfigDraft): NagiosNotifying {
  const channels = new Map<string, string>();
  const periods = new Map(
    objects.filter(({ type }) => type === "timeperiod").map((one) => [one.text("timeperiod_name"), one]),
  );
  for (const { type, directives } of objects) {
    const name = directives.get("contact_name");
    if (type !== "contact" || name === undefined) continue;
    const email = directives.get("email");
    if (email === undefined) {
      draft.leaveOut(`contact "${name}"`, null, "it has no email; write a webhook or command channel");
    } else {
      const channel = {
        ...mailOnThisMachine(email, { name, draft }),
        ...hoursOf(directives, { name, periods, draft }),
      };
      channels.set(name, draft.addChannel(name, channel));
      listFilters(directives, name, draft);
    }
    const command = directives.get("service_notification_commands") ?? "";
    if (command !== "" && !/mail/i.test(command)) {
      draft.leaveOut(`contact "${name}"`, "service_notification_commands", "write a command channel");
    }
  }
  const groups = contactGroups(objects);
  return {
    settingsOf: (get, { item, interval }) => {
      const names = [
        ...listOf(get("contacts")),
        ...listOf(get("contact_groups")).flatMap((group) => groups.get(group) ?? []),
      ];
      const isSilent = get("notifications_enabled") === "0" || get("notification_options") === "n";
      return {
        reminders: isSilent ? undefined : interval(get("notification_interval")),
        notifications: isSilent ? [] : [...new Set(names.flatMap((name) => channels.get(name) ?? []))],
        ...windowsOf(get, { item, periods, draft }),
      };
    },
  };
}

/** The first letters of the events that can be filtered. */
export const HOST_EVENTS = ["d", "u", "r"];
export const SERVICE_EVENTS = ["w", "u", "c", "r"];
export const FILTER_BY_HAND = "write conditions and events of a channel by hand";

function listFilters(directives: ReadonlyMap<string, string>, name: string, draft: ConfigDraft): void {
  for (const [type, events] of [["service", SERVICE_EVENTS], ["host", HOST_EVENTS]] as const) {
    const options = listOf(directives.get(`${type}_notification_options`));
    const isOff = directives.get(`${type}_notifications_enabled`) === "0";
    if (!isOff && !options.some((option) => option[0] === "n") && !lacksEvents(options, events)) continue;
    const setting = isOff
      ? `${type}_notifications_enabled 0`
      : `${type}_notification_options ${options.join(",")}`;
    draft.leaveOut(`contact "${name}"`, setting, FILTER_BY_HAND);
  }
}

/** Whether `notification_options` leave out some of the events; without any, or with `n`, nothing is filtered. */
export function lacksEvents(options: readonly string[], events: readonly string[]): boolean {
  const isFilter = options.length > 0 && !options.some((option) => ["n", "a"].includes(option[0] ?? ""));
  return isFilter && !events.every((event) => options.some((option) => option[0] === event));
}

function mailOnThisMachine(
  email: string,
  { name, draft }: { readonly name: string; readonly draft: ConfigDraft },
) {
  return emailChannel(
    { host: "127.0.0.1", port: 25, sender: "monitor@localhost", receivers: listOf(email) },
    new SourceItem(draft, `contact "${name}"`, name),
  );
}

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

type Periods = ReadonlyMap<string, NagiosObject>;

function isAlways(name: string | undefined, periods: Periods): boolean {
  const period = name === undefined ? undefined : periods.get(name);
  return name === undefined || name === "24x7" ||
    (period !== undefined && windowsOutside(period)?.length === 0);
}

function undefinedReason(name = "", periods: Periods): string | null {
  return periods.has(name) ? null : `the time period "${name}" is not defined`;
}

/** The hours of a contact's channel. Nagios has one time period for hosts and one for services. */
function hoursOf(
  directives: ReadonlyMap<string, string>,
  { name, periods, draft }: { readonly name: string; readonly periods: Periods; readonly draft: ConfigDraft },
): Pick<written.ChannelObject, "hours"> {
  const keys = ["service_notification_period", "host_notification_period"];
  const limited = keys.filter((key) => !isAlways(directives.get(key), periods));
  const [first] = limited;
  if (first === undefined) return {};
  const period = periods.get(directives.get(first) ?? "");
  const windows = period === undefined ? null : weeklyWindows(period, (ranges) => ranges.map(spanOf));
  const isSame = limited.length === keys.length && new Set(keys.map((key) => directives.get(key))).size === 1;
  if (isSame && windows !== null && windows.length > 0) return { hours: windows };
  for (const key of limited) {
    const reason = isSame
      ? "only weekly times have a counterpart"
      : "hosts and services differ: write hours by hand";
    draft.leaveOut(`contact "${name}"`, key, undefinedReason(directives.get(key), periods) ?? reason);
  }
  return {};
}

function windowsOf(
  get: Directive,
  { item, periods, draft }: {
    readonly item: string;
    readonly periods: Periods;
    readonly draft: ConfigDraft;
  },
): written.Defaults {
  const checked = get("check_period");
  if (!isAlways(checked, periods)) {
    draft.leaveOut(item, "check_period", undefinedReason(checked, periods) ?? "write a cron schedule");
  }
  const name = get("notification_period");
  if (isAlways(name, periods)) return {};
  const period = periods.get(name ?? "");
  const windows = period === undefined ? null : windowsOutside(period);
  if (windows === null) {
    const reason = undefinedReason(name, periods) ?? "only weekly times have a counterpart";
    draft.leaveOut(item, "notification_period", reason);
  }
  return windows === null ? {} : { maintenance_windows: windows };
}

const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
type Day = NonNullable<written.Window["days"]>[number];
const MINUTES_OF_DAY = 24 * 60;
const OTHER_DIRECTIVES: readonly string[] = ["timeperiod_name", "alias", "name", "use", "register"];

/** The windows outside of a weekly time period; `null` if it has exceptions, dates or exclusions. */
function windowsOutside(period: NagiosObject): readonly written.Window[] | null {
  return weeklyWindows(period, gapsOf);
}

function weeklyWindows(
  { directives }: NagiosObject,
  spansOf: (ranges: readonly Range[]) => readonly string[],
): readonly written.Window[] | null {
  const isWeekly = [...directives.keys()].every((key) =>
    DAYS.includes(key) || OTHER_DIRECTIVES.includes(key)
  );
  if (!isWeekly) return null;
  const daysBySpan = new Map<string, Day[]>();
  for (const name of DAYS) {
    const ranges = readRanges(directives.get(name) ?? "");
    if (ranges === null) return null;
    for (const span of spansOf(ranges)) {
      daysBySpan.set(span, [...daysBySpan.get(span) ?? [], asWord<Day>(name.slice(0, 3))]);
    }
  }
  return [...daysBySpan].map(([span, days]) => {
    const [from = "", to = ""] = span.split("-");
    return { ...(days.length < DAYS.length && { days }), from, to };
  });
}

type Range = readonly [from: number, to: number];

function readRanges(text: string): readonly Range[] | null {
  const ranges: Range[] = [];
  for (const range of text.split(",").map((part) => part.trim()).filter((part) => part !== "")) {
    const [, ...numbers] = /^(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})$/.exec(range) ?? [];
    const [fromHour, fromMinute, toHour, toMinute] = numbers.map(Number);
    if (
      fromHour === undefined || fromMinute === undefined || toHour === undefined || toMinute === undefined
    ) return null;
    ranges.push([fromHour * 60 + fromMinute, toHour * 60 + toMinute]);
  }
  return ranges.sort(([one], [other]) => one - other);
}

function spanOf([from, to]: Range): string {
  return `${timeOfDay(from)}-${to === MINUTES_OF_DAY ? "24:00" : timeOfDay(to)}`;
}

function gapsOf(ranges: readonly Range[]): readonly string[] {
  const gaps: string[] = [];
  let covered = 0;
  for (const [from, to] of [...ranges, [MINUTES_OF_DAY, MINUTES_OF_DAY] as const]) {
    if (from > covered) gaps.push(spanOf([covered, from]));
    covered = Math.max(covered, to);
  }
  return gaps;
}
