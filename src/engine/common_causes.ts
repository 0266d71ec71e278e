import type { QueuedNotification } from "../domain/outbox.ts";
import { lazily } from "../shared/lazily.ts";
import { awaitsOthers, CAUSE_WAIT_MS, type CausesOptions, findCauses } from "./causes.ts";
import { type DeliveryMarkers, markerKey } from "./delivery_markers.ts";
import type { CommonCauses } from "./queue_state.ts";

/**
 * Returns the common causes of queued notifications, as they are now. The recoveries of checks whose problems were one
 * message have a key in common.
 */
export function commonCausesOf(
  options: CausesOptions,
  markers: DeliveryMarkers,
  nowMs: number,
): CommonCauses {
  const causes = lazily(() => findCauses(options));
  const siblings = lazily(() =>
    Map.groupBy(markers.values(), ({ channelKey, messageId }) => messageKey({ channelKey, messageId }))
  );
  /** The checks whose problem was in the same message. */
  const siblingsOf = ({ channelKey, notification: { check } }: QueuedNotification): readonly string[] => {
    const messageId = markers.get(markerKey(check, channelKey))?.messageId;
    if (!messageId) return [];
    return siblings().get(messageKey({ channelKey, messageId }))?.map((marker) => marker.check) ?? [];
  };
  return {
    of(queued) {
      const { channelKey, notification: { check, event } } = queued;
      if (event === "recovery") {
        if (siblingsOf(queued).length < 2) return null;
        const messageId = markers.get(markerKey(check, channelKey))?.messageId ?? "";
        return { key: `recovery ${messageId}`, cause: null };
      }
      const found = causes().get(check);
      if (found === undefined) return null;
      const { attribute, text, checks, sinceMs } = found;
      return { key: `${attribute} ${sinceMs}`, cause: { text, checks, sinceMs } };
    },
    awaitsOthers(queued) {
      const { notification: { check, event, decidedAtMs } } = queued;
      const untilMs = decidedAtMs + CAUSE_WAIT_MS;
      if (nowMs >= untilMs || nowMs < decidedAtMs) return false;
      if (event !== "recovery") {
        // All of a cause wait, or they would be several messages.
        const names = causes().get(check)?.names ?? [check];
        return names.some((name) => awaitsOthers(name, untilMs, options));
      }
      return siblingsOf(queued).some((other) => recoversSoon(other, { check, untilMs, options }));
    },
  };
}

function messageKey(
  { channelKey, messageId }: { readonly channelKey: string; readonly messageId: string },
): string {
  return `${channelKey} ${messageId}`;
}

/** Returns whether a check of the same message is being run at once, or its recovery is about to be confirmed. */
function recoversSoon(
  other: string,
  { check, untilMs, options: { recordOf, running } }: {
    readonly check: string;
    readonly untilMs: number;
    readonly options: CausesOptions;
  },
): boolean {
  const { last, condition: { confirmed, observed }, nextRunAtMs } = recordOf(other);
  if (!running.has(other) || last === null || confirmed === "ok") return false;
  if (observed === "ok") return nextRunAtMs !== null && nextRunAtMs <= untilMs;
  return last.startedAtMs < (recordOf(check).last?.startedAtMs ?? 0);
}
