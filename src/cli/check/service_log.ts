import { actionTitle } from "../../condition/action.ts";
import type { SchedulerEvent } from "../../scheduler/scheduler.ts";
import type { DeliveryEvent } from "../../engine/queue_state.ts";
import type { Redact } from "../../shared/redact.ts";
import type { Log } from "../../domain/system.ts";
import { firstItems, oneLine } from "../../shared/text.ts";
import type { QueuedNotification } from "../../domain/outbox.ts";
import { timeText } from "../../shared/local_time.ts";

/**
 * Logs an event of the scheduler: results at level `debug`, changes of confirmed conditions at `info`, trouble of this
 * machine as warnings.
 */
export function logSchedulerEvent(event: SchedulerEvent, log: Log): void {
  LOGGERS[event.event](event as never, log);
}

/**
 * Logs an event of a delivery, a message in one line; `redact` is that of the config in force. What was delivered to
 * one of the `consoles`, by their keys, is at level `debug`: the message itself is printed.
 */
export function logDeliveryEvent(event: DeliveryEvent, { log, redact, consoles }: DeliveryLogOptions): void {
  const words = describeOutboxEvent(event, "retrying");
  if (words !== null) return log[words.level](redact(words.message));
  const [{ channelKey, channelName } = { channelKey: "", channelName: "" }] = event.notifications;
  const level = consoles.has(channelKey) ? "debug" : "info";
  const events = [...new Set(event.notifications.map(({ notification }) => notification.event))].join(", ");
  log[level](redact(`${countNotifications(event.notifications)} delivered to ${channelName}`), { events });
}

interface DeliveryLogOptions {
  readonly log: Log;
  readonly redact: Redact;
  readonly consoles: ReadonlySet<string>;
}

const LOGGERS: {
  readonly [Name in SchedulerEvent["event"]]: (
    event: Extract<SchedulerEvent, { event: Name }>,
    log: Log,
  ) => void;
} = {
  result: ({ result, entry: { record, suppressed, update: { change } }, lateMs }, log) => {
    log.debug(`${result.check.name}: ${result.condition}: ${result.output}`, {
      confirmed: record.condition.confirmed,
      duration_ms: Math.round(result.durationMs),
      late_ms: Math.round(lateMs),
    });
    if (change === null) return;
    const { name: check, from: previous, to: condition, output } = change;
    log.info("condition changed", {
      ...{ check, previous, condition, output: oneLine(output) },
      ...suppressed !== null && { suppressed },
    });
  },
  action: ({ check: { name, action }, run: { endedAtMs, outcome, reason } }, log) => {
    const fields = { check: name, action: action === undefined ? "" : actionTitle(action) };
    if (endedAtMs === null) return log.info("action started", fields);
    if (outcome === "succeeded") return log.info("action ended", fields);
    log.warning(outcome === "not_started" ? "action did not start" : "action failed", { ...fields, reason });
  },
  network: ({ servers }, log) =>
    servers === null
      ? log.info("the network is back: failures count again")
      : log.warning("no network: failures of checks that need it do not count", {
        no_response: servers.join(),
      }),
  // Its delivery is logged.
  notification: () => {},
  clock_jumped: ({ forMs, discarded }, log) =>
    log.warning("system suspended or clock set: running interrupted checks again", {
      for_ms: Math.round(forMs),
      runs: discarded,
    }),
  stalled: ({ count, highestMs, name }, log) =>
    log.warning(
      count === 1
        ? `stall: discarding the result of "${name}", running it again`
        : "stall: discarding results, running the checks again",
      { ...count > 1 && { count }, for_ms: Math.round(highestMs) },
    ),
  late: ({ count, highestMs, name }, log) =>
    log.warning("checks started late", { count, lag_max_ms: Math.round(highestMs), check: name }),
};

interface OutboxWords {
  readonly level: "info" | "warning" | "error";
  /** One line, without secrets of the channel; outputs of checks are not in it. */
  readonly message: string;
}

/** Describes an event of the outbox; `null` if it is not logged. */
export function describeOutboxEvent(event: DeliveryEvent, whatNext: string): OutboxWords | null {
  const notifications = countNotifications(event.notifications);
  const channel = event.notifications[0]?.channelName ?? "a channel";
  const warning = (message: string): OutboxWords => ({ level: "warning", message });
  if (event.event === "delivered") {
    if (event.note !== null) return warning(`${notifications} delivered to ${channel}, but ${event.note}`);
    if (!event.isBack) return null;
    return { level: "info", message: `${channel} accepts notifications again: ${notifications}` };
  }
  if (event.event === "failed") {
    const what = event.isRejected ? "rejected by" : "not delivered to";
    return warning(`${notifications} ${what} ${channel}: ${event.reason}; ${whatNext}`);
  }
  if (event.event === "summarized") {
    return warning(`too many recovered problems are pending for ${channel}: the older ones are only counted`);
  }
  if (event.event === "limited") {
    const pending = `notifications are pending until ${timeText(event.untilMs)}, then sent together`;
    return warning(`the limit of ${channel} is reached: ${pending}`);
  }
  return { level: "error", message: `${notifications} to ${channel} dropped: ${event.reason}` };
}

/** Describes that a channel has neither accepted nor rejected notifications when a run ended. */
export function describeUnfinished(rows: readonly QueuedNotification[], whatNext: string): string {
  const channel = rows[0]?.channelName ?? "a channel";
  return `${countNotifications(rows)} not delivered to ${channel} before the run ended; ${whatNext}`;
}

export function describePending({ length }: readonly QueuedNotification[]): string {
  return length === 1 ? "1 notification is pending" : `${length} notifications are pending`;
}

/** Such as `the notification of "web"`, or `5 notifications of "a", "b", "c", and 2 more`. */
function countNotifications(rows: readonly QueuedNotification[]): string {
  const names = new Set(rows.map((row) => `"${row.notification.check}"`));
  const some = firstItems([...names], 3).join(", ");
  return rows.length === 1 ? `the notification of ${some}` : `${rows.length} notifications of ${some}`;
}
