/** The part of the store for notifications, in memory. */
import { addCounts, type ChannelCount } from "../../src/domain/channel_count.ts";
import type { DeliveryMarker, OutboxChange, QueuedNotification, Silence } from "../../src/domain/outbox.ts";
import type { KeptOutbox } from "../../src/domain/store.ts";
import { copyMarker, copyQueued, copySilence } from "./copies.ts";
import type { RetentionLimits } from "../../src/state/retention.ts";

/** Implements the methods of the store that are named at each; here they are synchronous. */
export interface MemoryOutbox {
  /** Keeps a row of a batch. */
  keepRow(row: QueuedNotification): void;
  /** `outbox()`. */
  read(): KeptOutbox;
  /** `changeOutbox()`. */
  change(change: OutboxChange): void;
  /** `silences()`. */
  silences(nowMs: number): readonly Silence[];
  /** `addSilences()`. */
  addSilences(silences: readonly Silence[]): void;
  /** `endSilences()`. */
  endSilences(checks: readonly (string | null)[] | "all", nowMs: number): number;
  /** Deletes old data, and the markers of checks that are not stored any more. */
  prune(limits: RetentionLimits, isKept: (check: string) => boolean): void;
}

/** Makes one that keeps nothing yet. */
export function createMemoryOutbox(): MemoryOutbox {
  const rows = new Map<string, QueuedNotification>();
  const marked = new Map<string, DeliveryMarker>();
  const counts = new Map<string, ChannelCount>();
  const silences = new Map<string, Silence>();
  const keepRow = (row: QueuedNotification): void => void rows.set(row.id, copyQueued(row));

  return {
    keepRow,
    read: () => ({
      notifications: [...rows.values()].sort((one, other) => one.sequence - other.sequence).map(copyQueued),
      markers: [...marked.values()].map(copyMarker),
      counts: structuredClone([...counts.values()]),
    }),
    change: (change) => {
      [...change.notices ?? [], ...change.changed].forEach(keepRow);
      for (const id of change.removed) rows.delete(id);
      for (const mark of change.cleared) marked.delete(markerKey(mark));
      for (const mark of change.markers) marked.set(markerKey(mark), copyMarker(mark));
      for (const count of change.counted ?? []) {
        counts.set(count.channelKey, structuredClone(addCounts(counts.get(count.channelKey), count)));
      }
    },
    silences: (nowMs) =>
      [...silences.values()].filter(({ untilMs }) => untilMs > nowMs)
        .sort((one, other) => one.untilMs - other.untilMs).map(copySilence),
    addSilences: (added) => {
      for (const silence of added) silences.set(silence.id, copySilence(silence));
    },
    endSilences: (checks, nowMs) => {
      const ended = [...silences.values()].filter(({ kind, check, untilMs }) =>
        kind !== "maintenance" && untilMs > nowMs && (checks === "all" || checks.includes(check))
      );
      for (const silence of ended) silences.set(silence.id, { ...silence, untilMs: nowMs });
      return ended.length;
    },
    prune: (limits, isKept) => {
      for (const [id, row] of rows) {
        const lastMs = Math.max(row.nextAttemptAtMs, row.firstFailedAtMs ?? -Infinity);
        if (row.state === "dropped" && lastMs < limits.droppedMs) rows.delete(id);
      }
      for (const [key, { check }] of marked) {
        if (!isKept(check)) marked.delete(key);
      }
      for (const [id, { untilMs }] of silences) {
        if (untilMs < limits.silenceEndMs) silences.delete(id);
      }
      for (const [key, { countedAtMs }] of counts) {
        if (countedAtMs < limits.countedMs) counts.delete(key);
      }
    },
  };
}

/** Unique for any texts. */
function markerKey({ check, channelKey }: Pick<DeliveryMarker, "check" | "channelKey">): string {
  return JSON.stringify([check, channelKey]);
}
