/** The channels of a check with their filters, in words. */
import type { Channel } from "../../domain/channel.ts";
import type { Check } from "../../domain/check.ts";
import { describeDuration } from "../../domain/duration.ts";
import type { MaintenanceWindow } from "../../domain/maintenance_window.ts";
import {
  type ChannelsSource,
  ConfiguredChannels,
  toNotifyingConfig,
} from "../../engine/configured_channels.ts";
import type { PageWhy } from "../html_report/snapshot.ts";
import { isoTime } from "../../shared/json_values.ts";

/** Returns a line for each channel of a check. */
export function describeChannels({ notifications }: Check, config: ChannelsSource): readonly PageWhy[] {
  const names = new ConfiguredChannels(toNotifyingConfig(config));
  return notifications.map((channel) => ({
    channel: names.nameOf(channel),
    text: describeFilters(channel),
  }));
}

/** Returns which notifications a channel gets, and when. */
export function describeFilters(
  { conditions, events, afterMs, hours, outsideHours, group, atMost, fallback }: Partial<Channel>,
): string {
  const parts = [
    ...conditions === undefined ? [] : [`only ${conditions.join(", ")}`],
    ...events === undefined ? [] : [`only ${events.map((event) => EVENT_WORDS[event]).join(", ")}`],
    ...afterMs === undefined ? [] : [`problems after ${describeDuration(afterMs)}`],
    ...hours === undefined ? [] : [
      `${hours.map(describeWindow).join(" or ")}, ${outsideHours === "never" ? "else never" : "else later"}`,
    ],
    ...group === undefined
      ? []
      : [`one message for ${GROUP_WORDS[group.by]} after ${describeDuration(group.waitMs)}`],
    ...atMost === undefined ? [] : [
      `at most ${atMost.count} message${atMost.count === 1 ? "" : "s"} in ${
        describeDuration(atMost.windowMs)
      }`,
    ],
    ...fallback === undefined ? [] : [`${fallback} if it fails`],
  ];
  return parts.length === 0 ? "everything" : parts.join("; ");
}

const GROUP_WORDS: Readonly<Record<NonNullable<Channel["group"]>["by"], string>> = {
  all: "all checks",
  tag: "each first tag",
  parent: "each check that others depend on",
};

const EVENT_WORDS: Readonly<Record<NonNullable<Channel["events"]>[number], string>> = {
  problem: "problems",
  change: "changes",
  recovery: "recoveries",
  reminder: "reminders",
  burning: "burning error budgets",
};

function describeWindow(window: MaintenanceWindow): string {
  if ("times" in window) return `for ${describeDuration(window.durationMs)} from ${window.times.expression}`;
  if ("untilMs" in window) return `from ${isoTime(window.fromMs)} until ${isoTime(window.untilMs)}`;
  const { days, daysOfMonth, months, fromMinute, toMinute, timeZone } = window;
  const ranges = daysOfMonth?.map(({ from, to }) => from === to ? `${from}` : `${from} to ${to}`);
  return [
    `${clockTime(fromMinute)} to ${clockTime(toMinute)}`,
    ...days === undefined ? [] : [days.join(" ")],
    ...ranges === undefined ? [] : [`day ${ranges.join(", ")} of the month`],
    ...months === undefined ? [] : [months.join(" ")],
    timeZone,
  ].join(" ");
}

function clockTime(minute: number): string {
  return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, "0")).join(":");
}
