import { addCounts, type ChannelCount } from "../domain/channel_count.ts";
import type { OutboxChange, OutboxRow, Told } from "../domain/outbox.ts";
import { toldKey } from "./outbox_message.ts";

/** Returns the one change that several come to, one after the other. */
export function joinChanges(changes: readonly OutboxChange[]): OutboxChange {
  const [only, ...others] = changes;
  if (only !== undefined && others.length === 0) return only;
  const changed = new Map<string, OutboxRow>();
  const removed = new Set<string>();
  const told = new Map<string, Told>();
  const untold = new Map<string, OutboxChange["untold"][number]>();
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
    for (const mark of change.untold) {
      told.delete(toldKey(mark.check, mark.channelKey));
      untold.set(toldKey(mark.check, mark.channelKey), mark);
    }
    for (const mark of change.told) told.set(toldKey(mark.check, mark.channelKey), mark);
    for (const count of change.counted ?? []) {
      counted.set(count.channelKey, addCounts(counted.get(count.channelKey), count));
    }
  }
  return {
    changed: [...changed.values()],
    removed: [...removed],
    told: [...told.values()],
    untold: [...untold.values()],
    counted: [...counted.values()],
  };
}
