/** What a rehearsal has in the place of the machine and of the state. */
import type { Clock } from "../domain/clock.ts";
import { createWheelClock } from "../scheduler/wheel_clock.ts";
import { markerKey } from "../engine/outbox_changes.ts";
import {
  addCounts,
  type ChannelCount,
  type DeliveryMarker,
  type QueuedNotification,
  type Silence,
} from "../domain/outbox.ts";
import type { CheckRecord, QueuedSummary, Store } from "../domain/store.ts";
import type { System } from "../domain/system.ts";
import { NO_STORE } from "../state/no_store.ts";

/** A clock that only its owner moves on: the one of the service, over a timer that fires when its time is reached. */
export class VirtualClock implements Clock {
  readonly after: Clock["after"];
  readonly #startMs: number;
  readonly #settle: () => Promise<void>;
  #nowMs: number;
  #timer: { readonly atMs: number; readonly callback: () => void } | null = null;

  /** `settle` resolves once every promise callback that can run has run. */
  constructor(startMs: number, settle: () => Promise<void>) {
    this.#startMs = startMs;
    this.#settle = settle;
    this.#nowMs = startMs;
    const { after } = createWheelClock({
      wallMs: () => this.wallMs(),
      monotonicMs: () => this.monotonicMs(),
      set: (delayMs, callback) => this.#timer = { atMs: this.#nowMs + Math.ceil(delayMs), callback },
      clear: () => this.#timer = null,
    });
    this.after = after;
  }

  wallMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs - this.#startMs;
  }

  /** When something happens by itself; wall time, `Infinity`: nothing does. */
  get nextMs(): number {
    return this.#timer?.atMs ?? Infinity;
  }

  /** Moves on to the next time at which something happens, and waits for all that follows from it at once. */
  async fireNext(): Promise<void> {
    const timer = this.#timer;
    if (timer === null) return;
    this.#timer = null;
    this.moveTo(timer.atMs);
    timer.callback();
    await this.#settle();
  }

  /** Moves on to a time at or before the next one. */
  moveTo(atMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }
}

/** Returns the machine of a rehearsal or a replay, on which nothing happens by chance. */
export function rehearsedMachine(
  system: System,
  clock: VirtualClock,
  hostName: string,
): System & { readonly clock: VirtualClock } {
  let ids = 0;
  return { ...system, clock, random: () => 0.5, randomId: () => `r${++ids}`, hostName: () => hostName };
}

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
