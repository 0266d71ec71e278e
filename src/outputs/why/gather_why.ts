/** Why the channels of a check were, or were not, notified: for `monitor why`, and for the page of the check. */
import { initialState } from "../../condition/condition_state.ts";
import type { Channel } from "../../domain/channel.ts";
import type { KnownCondition } from "../../domain/check_kind.ts";
import type { Check } from "../../domain/check.ts";
import type { DeliveryMarker, LoggedDelivery, Silence } from "../../domain/outbox.ts";
import type { CheckRecord, KeptOutbox } from "../../domain/store.ts";
import { conditionOf, describeStale } from "../../engine/check_status.ts";
import {
  type ChannelsSource,
  ConfiguredChannels,
  toNotifyingConfig,
} from "../../engine/configured_channels.ts";
import { type ShownNotification, shownNotifications } from "../../engine/outbox_status.ts";
import { type LastNotified, lastNotified } from "../../engine/queued_notifications.ts";
import {
  explainChannel,
  type ExplainedReminder,
  explainReminder,
  type Explanation,
} from "../../engine/why.ts";
import type { MonitorStatus } from "../json/monitor_fields.ts";

/** How many deliveries of each channel are shown. */
const DELIVERIES_SHOWN = 3;

export interface WhySources {
  readonly config: ChannelsSource;
  recordOf(name: string): CheckRecord | null;
  /** `null`: unknown, or this process. */
  readonly monitor: MonitorStatus | null;
  readonly outbox: KeptOutbox;
  /** Those that are not over. */
  readonly silences: readonly Silence[];
  /** Of the check, the oldest first. */
  readonly logged: readonly LoggedDelivery[];
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
  /** Whether that time is past, so that attempts are not known. @default false */
  readonly isPast?: boolean;
  /** The gap in the runs at that time. @default null, there is none */
  readonly gap?: Gap | null;
}

/** A time in which a check did not run though it was to; wall time, milliseconds since 1970. */
export interface Gap {
  /** The check, or one that it combines. */
  readonly name: string;
  /** Its last run before. */
  readonly fromMs: number;
  /** Its next run; `null`: none came until now. */
  readonly untilMs: number | null;
  /** Whether nothing ran meanwhile, as far as is known. */
  readonly isStop: boolean;
}

/** A channel of a check: what it was notified of, what waits for it, and what holds it back. */
export interface ExplainedChannel extends Explanation {
  readonly name: string;
  /** What it was notified of before what waits for it. */
  readonly notified: LastNotified["conditions"];
  readonly isLeftOut: boolean;
  /** One that is left out counts as notified, sent or not. */
  readonly events: Channel["events"];
  /** What waits for it, was rejected or dropped. */
  readonly queued: readonly ShownNotification[];
  /** The next reminder; `null`: there is none, or the time is past. */
  readonly reminder: ExplainedReminder | null;
  /** What became of the last ones, the newest first; also before the channel was edited. */
  readonly deliveries: readonly LoggedDelivery[];
}

export interface Why extends Required<Pick<WhySources, "monitor" | "nowMs" | "isPast" | "gap">> {
  readonly check: Check;
  readonly record: CheckRecord | null;
  readonly known: KnownCondition;
  /** Why its condition does not count; empty if it does. */
  readonly stale: string;
  /** Each once, in the order of the config. */
  readonly channels: readonly ExplainedChannel[];
}

/** Returns what each channel of a check was notified of, and what holds it back. */
export function gatherWhy(
  check: Check,
  { config, recordOf, monitor, outbox, silences, logged, nowMs, isPast = false, gap = null }: WhySources,
): Why {
  const record = recordOf(check.name);
  const notRunning = monitor?.notRunning ?? null;
  const present = conditionOf(check, record, nowMs, notRunning);
  const known: KnownCondition = gap === null
    ? present
    : { condition: "unknown", state: "overdue", last: present.last };
  const names = new ConfiguredChannels(toNotifyingConfig(config));
  // One that the present service does not run suppresses nothing.
  const isLeft = (name: string): boolean => recordOf(name)?.nextRunAtMs === null;
  const running = new Map(
    config.checks.filter(({ name, active }) => active && !isLeft(name)).map((one) => [one.name, one]),
  );
  const rows = shownNotifications(outbox, nowMs)
    .filter(({ notification }) => notification.check === check.name);
  const markerOf = ({ key }: Channel): DeliveryMarker | null =>
    outbox.markers.find((marker) => marker.check === check.name && marker.channelKey === key) ?? null;
  const lastOf = (channel: Channel): LastNotified =>
    lastNotified(
      rows.findLast(({ channelKey, state }) => channelKey === channel.key && state !== "dropped") ?? null,
      markerOf(channel),
    );
  const options = {
    check,
    silences,
    running,
    stateOf: (name: string) => recordOf(name)?.condition ?? initialState(),
    lastNotifiedOf: lastOf,
    nowMs,
  };
  const unique = new Map(check.notifications.map((channel) => [channel.key, channel]));
  return {
    check,
    record,
    known,
    stale: describeStale({ state: known.state, record, notRunning }, nowMs),
    channels: [...unique.values()].map((channel) => ({
      name: names.nameOf(channel),
      notified: lastNotified(null, markerOf(channel)).conditions,
      isLeftOut: markerOf(channel)?.messageId === "",
      events: channel.events,
      queued: rows.filter(({ channelKey }) => channelKey === channel.key),
      deliveries: logged.filter(({ channelKey, channelName }) =>
        channelKey === channel.key || channelName === names.nameOf(channel)
      ).slice(-DELIVERIES_SHOWN).reverse(),
      ...record === null || known.state !== "current" ? { event: null, causes: [], reminder: null } : {
        ...explainChannel(channel, { ...options, record }),
        reminder: isPast ? null : explainReminder(channel, { ...options, record }),
      },
    })),
    monitor,
    nowMs,
    isPast,
    gap,
  };
}
