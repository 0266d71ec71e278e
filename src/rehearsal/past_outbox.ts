/** Reconstructs the outbox of a check at a past time, from the log of deliveries and pending notifications. */
import {
  type DeliveryMarker,
  type LoggedDelivery,
  PLAIN_NOTIFICATION,
  type QueuedNotification,
} from "../domain/outbox.ts";
import type { KeptOutbox } from "../domain/store.ts";
import type { Channel } from "../domain/channel.ts";
import { markerKey, markersAfter, markersOfDropped } from "../engine/delivery_markers.ts";
import { type LastNotified, lastNotified, newQueued } from "../engine/queued_notifications.ts";

/** An event of a notification: it was queued, or has an outcome. */
interface Step {
  readonly atMs: number;
  readonly queued: QueuedNotification;
  /** `null`: it was queued. */
  readonly outcome: LoggedDelivery["outcome"] | null;
}

/** Moves forward in time only. The attempts and texts of queued notifications are not stored. */
export class PastOutbox {
  readonly #steps: readonly Step[];
  #next = 0;
  readonly #queued = new Map<string, QueuedNotification>();
  readonly #markers = new Map<string, DeliveryMarker>();

  /** Expects rows of one check. An edited channel is found by its name. */
  constructor(
    logged: readonly LoggedDelivery[],
    waiting: readonly QueuedNotification[],
    keyOf: (sent: Pick<LoggedDelivery, "channelKey" | "channelName">) => string,
  ) {
    const outcomes = logged.map((sent): Step => ({
      atMs: sent.atMs,
      queued: queuedOf(sent, keyOf(sent)),
      outcome: sent.outcome,
    }));
    // A notification that was rejected first has two outcomes, but was queued once.
    const queued = new Map(
      [...waiting.filter(({ state }) => state !== "dropped"), ...outcomes.map((step) => step.queued)]
        .map((one): [string, Step] => {
          const pending = { ...one, state: "pending", messageId: null } as const;
          return [one.id, { atMs: one.notification.decidedAtMs, queued: pending, outcome: null }];
        }),
    );
    this.#steps = [...queued.values(), ...outcomes].sort((one, other) =>
      one.atMs - other.atMs || one.queued.notification.decidedAtMs - other.queued.notification.decidedAtMs
    );
  }

  /** Applies the events until a time, inclusive. */
  advance(untilMs: number): void {
    for (let step = this.#steps[this.#next]; step !== undefined && step.atMs <= untilMs;) {
      this.#take(step);
      step = this.#steps[++this.#next];
    }
  }

  /** Records a notification that its channel's `events` omit: it is not in the log. */
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
      // A pending notification is merged with the next one.
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
    ...PLAIN_NOTIFICATION,
    id: sent.id,
    ...{ check, event, condition, decidedAtMs },
    output: "",
    problemBeganAtMs: decidedAtMs,
    nextRunAtMs: decidedAtMs,
    hostName: "",
  };
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
