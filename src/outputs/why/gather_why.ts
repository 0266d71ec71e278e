/** Explains why the channels of a check were, or were not, notified: for `monitor why`, and for the page of the check. */
import { initialState } from "../../condition/condition_state.ts";
import { agentCheckName, type Check, isReported } from "../../domain/check.ts";
import type { Channel } from "../../domain/channel.ts";
import type { KnownCondition } from "../../domain/check_kind.ts";
import type { DeliveryMarker, LoggedDelivery, Silence } from "../../domain/outbox.ts";
import type { CheckRecord, KeptOutbox } from "../../domain/store.ts";
import { asHeard, conditionOf, describeStale } from "../../engine/check_status.ts";
import {
  type ChannelsSource,
  ConfiguredChannels,
  toNotifyingConfig,
} from "../../engine/configured_channels.ts";
import { explainCause, type ExplainedCause } from "../../engine/causes.ts";
import { recordedCauses, runningChecks } from "../present_causes.ts";
import { type ShownNotification, shownNotifications } from "../outbox_status.ts";
import { type LastNotified, lastNotified } from "../../engine/queued_notifications.ts";
import {
  explainChannel,
  type ExplainedReminder,
  explainReminder,
  type Explanation,
} from "../../engine/why.ts";
import type { MonitorStatus } from "../json/monitor_fields.ts";

const DELIVERIES_SHOWN = 3;

export interface WhySources {
  readonly config: ChannelsSource;
  recordOf(name: string): CheckRecord | null;
  /** `null`: unknown, or this process. */
  readonly monitor: MonitorStatus | null;
  readonly outbox: KeptOutbox;
  /** Silences that have not ended. */
  readonly silences: readonly Silence[];
  /** Deliveries of the check, the oldest first. */
  readonly logged: readonly LoggedDelivery[];
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
  /** Whether that time is past, so that attempts are unknown. @default false */
  readonly isPast?: boolean;
  /** The gap in the runs at that time. @default null: none */
  readonly gap?: Gap | null;
}

/** A time in which a check skipped planned runs; wall time, milliseconds since 1970. */
export interface Gap {
  /** The name of the check, or of one that it combines. */
  readonly name: string;
  /** Its last run before the gap. */
  readonly fromMs: number;
  /** Its next run; `null`: none until now. */
  readonly untilMs: number | null;
  /** Whether no check ran in the gap, as far as stored. */
  readonly isStop: boolean;
}

/** A channel of a check: its last notification, pending notifications, and the causes that suppress one. */
export interface ExplainedChannel extends Explanation {
  readonly name: string;
  /** The notified conditions before the pending ones. */
  readonly notified: LastNotified["conditions"];
  readonly isLeftOut: boolean;
  /** Omitted events count as notified. */
  readonly events: Channel["events"];
  /** Pending, rejected and dropped notifications. */
  readonly queued: readonly ShownNotification[];
  /** The next reminder; `null`: there is none, or the time is past. */
  readonly reminder: ExplainedReminder | null;
  /** The last deliveries, the newest first; also from before the channel was edited. */
  readonly deliveries: readonly LoggedDelivery[];
}

export interface Why extends Required<Pick<WhySources, "monitor" | "nowMs" | "isPast" | "gap">> {
  readonly check: Check;
  readonly record: CheckRecord | null;
  readonly known: KnownCondition;
  /** The reason why its condition does not count; empty if it does. */
  readonly stale: string;
  /** What the check about its agent found last; empty without one. */
  readonly agentOutput: string;
  /** Its common cause with other checks; `null`: it does not fail, or what it depended on is unknown. */
  readonly cause: ExplainedCause | null;
  /** Distinct channels in the order of the config. */
  readonly channels: readonly ExplainedChannel[];
}

/** Returns the notifications of each channel of a check, and the causes that suppress one. */
export function gatherWhy(
  check: Check,
  { config, recordOf, monitor, outbox, silences, logged, nowMs, isPast = false, gap = null }: WhySources,
): Why {
  const record = recordOf(check.name);
  const notRunning = monitor?.notRunning ?? null;
  const present = conditionOf(check, asHeard(check, record, recordOf), nowMs, notRunning);
  const known: KnownCondition = gap === null
    ? present
    : { condition: "unknown", state: "overdue", last: present.last };
  const names = new ConfiguredChannels(toNotifyingConfig(config));
  const running = runningChecks(config.checks, recordOf);
  const rows = shownNotifications(outbox, nowMs, names)
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
    isLate: record?.last?.isLate ?? false,
    nowMs,
  };
  const unique = new Map(check.notifications.map((channel) => [channel.key, channel]));
  return {
    check,
    record,
    known,
    cause: isPast || known.state !== "current" || !config.commonCauses
      ? null
      : explainCause(check.name, recordedCauses(running, recordOf, nowMs)),
    agentOutput: isReported(check) ? recordOf(agentCheckName(check.agent ?? ""))?.last?.output ?? "" : "",
    stale: describeStale({ check, state: known.state, record, notRunning }, nowMs),
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
