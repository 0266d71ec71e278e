import { markerKey } from "../engine/delivery_markers.ts";
import {
  addCounts,
  type ChannelCount,
  type DeliveryMarker,
  type QueuedNotification,
  type Silence,
} from "../domain/outbox.ts";
import type { CheckRecord, QueuedSummary, Store } from "../domain/store.ts";
import { NO_STORE } from "../state/no_store.ts";

/** Returns a store with what decides about notifications, for as long as a rehearsal: it has no history. */
export function createRehearsalStore(): Store {
  const records = new Map<string, CheckRecord>();
  const queued = new Map<string, QueuedNotification>();
  const markers = new Map<string, DeliveryMarker>();
  const counts = new Map<string, ChannelCount>();
  const silences = new Map<string, Silence>();
  let summary: QueuedSummary | null = null;
  const keep = (some: readonly QueuedNotification[]): void => some.forEach((one) => queued.set(one.id, one));
  return {
    ...NO_STORE,
    records: () => Promise.resolve([...records.values()]),
    save: (updates) => {
      for (const update of updates) {
        records.set(update.record.name, update.record);
        keep(update.queued);
      }
      return Promise.resolve([]);
    },
    outbox: () =>
      Promise.resolve({
        notifications: [...queued.values()].sort((one, other) => one.sequence - other.sequence),
        markers: [...markers.values()],
        counts: [...counts.values()],
      }),
    changeOutbox: (change) => {
      keep([...change.notices ?? [], ...change.changed]);
      for (const id of change.removed) queued.delete(id);
      for (const { check, channelKey } of change.cleared) markers.delete(markerKey(check, channelKey));
      for (const marker of change.markers) markers.set(markerKey(marker.check, marker.channelKey), marker);
      for (const count of change.counted ?? []) {
        counts.set(count.channelKey, addCounts(counts.get(count.channelKey), count));
      }
      return Promise.resolve();
    },
    silences: (nowMs) =>
      Promise.resolve(
        [...silences.values()].filter(({ untilMs }) => untilMs > nowMs)
          .sort((one, other) => one.untilMs - other.untilMs),
      ),
    addSilences: (some) => {
      for (const silence of some) silences.set(silence.id, silence);
      return Promise.resolve();
    },
    endSilences: (checks, nowMs) => {
      const ended = [...silences.values()].filter(({ kind, check, untilMs }) =>
        kind !== "maintenance" && untilMs > nowMs && (checks === "all" || checks.includes(check))
      );
      for (const silence of ended) silences.set(silence.id, { ...silence, untilMs: nowMs });
      return Promise.resolve(ended.length);
    },
    queuedSummary: () => Promise.resolve(summary),
    queueSummary: (next, _before, some) => {
      summary = next;
      keep(some);
      return Promise.resolve(true);
    },
  };
}
