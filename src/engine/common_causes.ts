import type { QueuedNotification } from "../domain/outbox.ts";
import { lazily } from "../shared/lazily.ts";
import { awaitedUntilMs, CAUSE_WAIT_MS, type CausesOptions, findCauses, type FoundCause } from "./causes.ts";
import { type DeliveryMarkers, markerKey } from "./delivery_markers.ts";
import { CAUSE_SUFFIX } from "./message.ts";
import type { CommonCauses } from "./queue_state.ts";

/**
 * Returns the common causes of queued notifications, as they are now. The recoveries of checks whose problems were one
 * message with a cause have a key in common.
 */
export function commonCausesOf(
  options: CausesOptions,
  markers: DeliveryMarkers,
  nowMs: number,
): CommonCauses {
  const siblingsOf = siblingsIn(markers);
  /** All of a cause wait, or they would be several messages. */
  const awaitedOf = (check: string): number => {
    const cause = findCauses(options).get(check);
    if (cause === undefined) return awaitedUntilMs(check, options);
    const before = awaited.get(cause);
    if (before !== undefined) return before;
    const untilMs = cause.names.reduce(
      (least, name) => Math.min(least, awaitedUntilMs(name, options)),
      Infinity,
    );
    awaited.set(cause, untilMs);
    return untilMs;
  };
  const awaited = new Map<FoundCause, number>();
  const recoveryOf = (key: string, checks: readonly string[]): number => {
    const untilMs = recoveries.get(key) ?? recoveryUntilMs(checks, options);
    recoveries.set(key, untilMs);
    return untilMs;
  };
  const recoveries = new Map<string, number>();
  return {
    of(queued) {
      const { channelKey, notification: { check, event } } = queued;
      if (event === "recovery") {
        if (siblingsOf(queued).length < 2) return null;
        const messageId = markers.get(markerKey(check, channelKey))?.messageId ?? "";
        return { key: `recovery ${messageId}`, cause: null };
      }
      const found = findCauses(options).get(check);
      if (found === undefined) return null;
      const { attribute, text, checks, sinceMs } = found;
      return { key: `${attribute} ${sinceMs}`, cause: { text, checks, sinceMs } };
    },
    awaitsOthers(queued) {
      const { channelKey, notification: { check, event, decidedAtMs } } = queued;
      const untilMs = decidedAtMs + CAUSE_WAIT_MS;
      if (nowMs >= untilMs || nowMs < decidedAtMs) return false;
      if (event !== "recovery") return awaitedOf(check) <= untilMs;
      const messageId = markers.get(markerKey(check, channelKey))?.messageId ?? "";
      return recoveryOf(messageKey({ channelKey, messageId }), siblingsOf(queued)) <= untilMs;
    },
  };
}

/** Returns the checks whose last results decide about the causes of queued notifications. */
export function decidingChecks(
  queued: readonly QueuedNotification[],
  markers: DeliveryMarkers,
): readonly string[] {
  const siblingsOf = siblingsIn(markers);
  return queued.flatMap((one) => {
    const { notification: { check, event } } = one;
    return event === "recovery" ? siblingsOf(one) : [check];
  });
}

/** Returns a function that returns the checks whose problem was in the same message, because of its cause. */
function siblingsIn(markers: DeliveryMarkers): (queued: QueuedNotification) => readonly string[] {
  const siblings = lazily(() =>
    Map.groupBy(markers.values(), ({ channelKey, messageId }) => messageKey({ channelKey, messageId }))
  );
  return ({ channelKey, notification: { check } }) => {
    const messageId = markers.get(markerKey(check, channelKey))?.messageId;
    if (messageId?.endsWith(CAUSE_SUFFIX) !== true) return [];
    return siblings().get(messageKey({ channelKey, messageId }))?.map((marker) => marker.check) ?? [];
  };
}

function messageKey(
  { channelKey, messageId }: { readonly channelKey: string; readonly messageId: string },
): string {
  return `${channelKey} ${messageId}`;
}

/**
 * Returns until when a recovery waits for those of the same message: `-Infinity` while a check of them is being run at
 * once, else the next run that may confirm a recovery; `Infinity`: for none.
 */
function recoveryUntilMs(checks: readonly string[], { recordOf, running }: CausesOptions): number {
  const records = checks.filter((name) => running.has(name)).map(recordOf);
  const recoveredAtMs = records.reduce(
    (latest, { last, condition: { observed } }) =>
      observed === "ok" && last !== null ? Math.max(latest, last.startedAtMs + last.durationMs) : latest,
    -Infinity,
  );
  return records.filter(({ condition: { confirmed } }) => confirmed !== "ok").reduce(
    (least, { last, condition: { observed }, nextRunAtMs }) => {
      if (observed === "ok") return Math.min(least, nextRunAtMs ?? Infinity);
      return (last?.startedAtMs ?? Infinity) < recoveredAtMs ? -Infinity : least;
    },
    Infinity,
  );
}
