import { addCounts, type ChannelCount } from "../domain/channel_count.ts";
import type { DeliveryMarker, OutboxChange, QueuedNotification, SentOpen } from "../domain/outbox.ts";
import { markerKey } from "./delivery_markers.ts";

/** Returns one change with the effect of several, in order. */
export function joinChanges(changes: readonly OutboxChange[]): OutboxChange {
  const [only, ...others] = changes;
  if (only !== undefined && others.length === 0) return only;
  const changed = new Map<string, QueuedNotification>();
  const removed = new Set<string>();
  const delivered = new Set<string>();
  const markers = new Map<string, DeliveryMarker>();
  const cleared = new Map<string, OutboxChange["cleared"][number]>();
  const counted = new Map<string, ChannelCount>();
  const sentOpen = new Map<string, SentOpen>();
  const notices = new Map<string, QueuedNotification>();
  for (const change of changes) {
    for (const queued of change.changed) {
      changed.set(queued.id, queued);
      removed.delete(queued.id);
      delivered.delete(queued.id);
    }
    for (const notice of change.notices ?? []) notices.set(notice.id, notice);
    for (const id of change.removed) {
      notices.delete(id);
      changed.delete(id);
      removed.add(id);
    }
    for (const id of change.delivered ?? []) delivered.add(id);
    for (const marker of change.cleared) {
      markers.delete(markerKey(marker.check, marker.channelKey));
      cleared.set(markerKey(marker.check, marker.channelKey), marker);
    }
    for (const marker of change.markers) markers.set(markerKey(marker.check, marker.channelKey), marker);
    for (const count of change.counted ?? []) {
      counted.set(count.channelKey, addCounts(counted.get(count.channelKey), count));
    }
    for (const sent of change.sentOpen ?? []) sentOpen.set(markerKey(sent.check, sent.channelKey), sent);
  }
  return {
    changed: [...changed.values()],
    removed: [...removed],
    ...delivered.size > 0 && { delivered: [...delivered] },
    markers: [...markers.values()],
    cleared: [...cleared.values()],
    counted: [...counted.values()],
    ...notices.size > 0 && { notices: [...notices.values()] },
    ...changes.some((change) => change.sentOpen !== undefined) && { sentOpen: [...sentOpen.values()] },
  };
}
