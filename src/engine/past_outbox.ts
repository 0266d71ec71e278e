/** What the channels of a check had been sent in the past, from the log of deliveries and what still waits. */
import type { DeliveryMarker, LoggedDelivery, QueuedNotification } from "../domain/outbox.ts";
import type { KeptOutbox } from "../domain/store.ts";
import type { Channel } from "../domain/channel.ts";
import { markerKey, markersAfter, markersOfDropped } from "./delivery_markers.ts";
import { type LastNotified, lastNotified, newQueued } from "./queued_notifications.ts";

/** A notification was queued, or something became of it. */
interface Step {
  readonly atMs: number;
  readonly queued: QueuedNotification;
  /** `null`: it was queued. */
  readonly outcome: LoggedDelivery["outcome"] | null;
}

/** Moves on in time only. Of what was queued, attempts and texts are not known any more. */
export class PastOutbox {
  readonly #steps: readonly Step[];
  #next = 0;
  readonly #queued = new Map<string, QueuedNotification>();
  readonly #markers = new Map<string, DeliveryMarker>();

  /** Of one check. A channel that was edited is found by its name. */
  constructor(
    logged: readonly LoggedDelivery[],
    waiting: readonly QueuedNotification[],
    keyOf: (sent: Pick<LoggedDelivery, "channelKey" | "channelName">) => string,
  ) {
    const steps = logged.flatMap((sent): readonly Step[] => {
      const queued = queuedOf(sent, keyOf(sent));
      return [
        { atMs: sent.decidedAtMs, queued: { ...queued, messageId: null }, outcome: null },
        { atMs: sent.atMs, queued, outcome: sent.outcome },
      ];
    });
    const waits = waiting.filter(({ state }) => state !== "dropped").map((queued): Step => {
      const { decidedAtMs } = queued.notification;
      return { atMs: decidedAtMs, queued: { ...queued, state: "pending" }, outcome: null };
    });
    // What was rejected first has two rows, and was queued once.
    const first = new Set<string>();
    this.#steps = [...steps, ...waits].sort((one, other) =>
      one.atMs - other.atMs || one.queued.notification.decidedAtMs - other.queued.notification.decidedAtMs ||
      Number(one.outcome !== null) - Number(other.outcome !== null)
    ).filter(({ outcome, queued: { id } }) => {
      if (outcome !== null) return true;
      const isFirst = !first.has(id);
      first.add(id);
      return isFirst;
    });
  }

  /** Adds what happened until a time, that included. */
  advance(untilMs: number): void {
    for (let step = this.#steps[this.#next]; step !== undefined && step.atMs <= untilMs;) {
      this.#take(step);
      step = this.#steps[++this.#next];
    }
  }

  /** Notes a notification that its channel leaves out: it is not in the log. */
  leaveOut(queued: QueuedNotification): void {
    this.#deliver(queued, "");
  }

  /** The outbox of the check, without counts. */
  get outbox(): KeptOutbox {
    return { notifications: [...this.#queued.values()], markers: [...this.#markers.values()], counts: [] };
  }

  lastNotifiedOf(check: string, { key }: Pick<Channel, "key">): LastNotified {
    const waiting = [...this.#queued.values()].findLast(({ channelKey }) => channelKey === key) ?? null;
    return lastNotified(waiting, this.#markers.get(markerKey(check, key)) ?? null);
  }

  #take({ queued, outcome }: Step): void {
    if (outcome === "rejected") {
      this.#queued.set(queued.id, { ...queued, state: "rejected" });
      return;
    }
    if (outcome === null) {
      // One that waits is merged with the next one.
      for (const { id, channelKey } of this.#queued.values()) {
        if (channelKey === queued.channelKey && queued.missedProblem !== null) this.#queued.delete(id);
      }
      this.#queued.set(queued.id, queued);
      return;
    }
    this.#queued.delete(queued.id);
    if (outcome === "accepted") this.#deliver(queued, queued.messageId ?? "");
    else for (const marker of markersOfDropped([queued])) this.#setMarker(marker);
  }

  #deliver(queued: QueuedNotification, messageId: string): void {
    const { markers, cleared } = markersAfter([queued], messageId, this.#markers);
    for (const { check, channelKey } of cleared) this.#markers.delete(markerKey(check, channelKey));
    markers.forEach((marker) => this.#setMarker(marker));
  }

  #setMarker(marker: DeliveryMarker): void {
    this.#markers.set(markerKey(marker.check, marker.channelKey), marker);
  }
}

function queuedOf(sent: LoggedDelivery, channelKey: string): QueuedNotification {
  const { check, event, condition, missedProblem, decidedAtMs } = sent;
  const notification = {
    id: sent.id,
    ...{ check, event, condition, decidedAtMs },
    title: null,
    previous: "ok",
    output: "",
    detail: "",
    problemBeganAtMs: decidedAtMs,
    occurrences: 0,
    nextRunAtMs: decidedAtMs,
    hostName: "",
    acknowledged: null,
    flapping: false,
    dependents: 0,
  } as const;
  return {
    ...newQueued(notification, {
      channelKey,
      channelName: sent.channelName,
      sequence: 0,
      nowMs: decidedAtMs,
    }),
    id: sent.id,
    missedProblem: missedProblem === null
      ? null
      : { ...notification, event: "problem", condition: missedProblem },
    summarized: sent.summarized,
    messageId: sent.messageId,
  };
}
