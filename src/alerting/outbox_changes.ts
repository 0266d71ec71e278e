import { addCounts, type ChannelCount } from "../domain/channel_count.ts";
import type { DeliveryMarker, OutboxChange, QueuedNotification } from "../domain/outbox.ts";
import { markerKey } from "./delivery_markers.ts";

/** Returns the one change that several come to, one after the other. */
export function joinChanges(changes: readonly OutboxChange[]): OutboxChange {
  const [only, ...others] = changes;
  if (only !== undefined && others.length === 0) return only;
  const changed = new Map<string, QueuedNotification>();
  const removed = new Set<string>();
  const told = new Map<string, DeliveryMarker>();
  const untold = new Map<string, OutboxChange["cleared"][number]>();
  const counted = new Map<string, ChannelCount>();
  for (const change of changes) {
    for (const row of change.changed) {
      changed.set(row.id, row);
      removed.delete(row.id);
    }
    for (const id of change.removed) {
      changed.delete(id);
      removed.add(id);
    }
    for (const mark of change.cleared) {
      told.delete(markerKey(mark.check, mark.channelKey));
      untold.set(markerKey(mark.check, mark.channelKey), mark);
    }
    for (const mark of change.markers) told.set(markerKey(mark.check, mark.channelKey), mark);
    for (const count of change.counted ?? []) {
      counted.set(count.channelKey, addCounts(counted.get(count.channelKey), count));
    }
  }
  return {
    changed: [...changed.values()],
    removed: [...removed],
    markers: [...told.values()],
    cleared: [...untold.values()],
    counted: [...counted.values()],
  };
}
