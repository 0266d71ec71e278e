/** The last notification of each channel, by check and channel. Pure. */
import {
  type DeliveryMarker,
  isStandalone,
  type OutboxChange,
  type QueuedNotification,
} from "../domain/outbox.ts";

/** All markers, by {@linkcode markerKey}. */
export type DeliveryMarkers = ReadonlyMap<string, DeliveryMarker>;

export function markerKey(check: string, channelKey: string): string {
  return `${channelKey} ${check}`;
}

/** Returns the changes of a delivered message: a recovery clears the marker, anything else sets it. */
export function markersAfter(
  delivered: readonly QueuedNotification[],
  messageId: string,
  markers: DeliveryMarkers,
): Pick<OutboxChange, "markers" | "cleared"> {
  const now = new Map<string, DeliveryMarker | null>();
  const cleared: { check: string; channelKey: string }[] = [];
  // In order: the last notification of a check decides.
  for (const { notification: { check, event, condition }, channelKey } of delivered) {
    if (isStandalone(event) || event === "burning") continue;
    const key = markerKey(check, channelKey);
    const known = now.has(key) ? now.get(key) : markers.get(key);
    if (event === "recovery") cleared.push({ check, channelKey });
    now.set(
      key,
      event === "recovery"
        ? null
        : { check, channelKey, messageId: known?.messageId || messageId, condition, certain: true },
    );
  }
  return { markers: [...now.values()].filter((marker) => marker !== null), cleared };
}

/** Returns the markers of dropped notifications that may have arrived, so that their channels get a recovery. */
export function markersOfDropped(dropped: readonly QueuedNotification[]): readonly DeliveryMarker[] {
  return dropped.flatMap(({ notification: { check, event, condition }, channelKey, messageId }) =>
    messageId === null || event === "recovery" || event === "burning" || isStandalone(event)
      ? []
      : [{ check, channelKey, messageId, condition, certain: false }]
  );
}
