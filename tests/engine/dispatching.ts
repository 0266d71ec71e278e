/** A dispatcher with a fake clock, whose deliveries a test decides. */
import type { Channel } from "../../src/domain/channel.ts";
import type { Condition, NotificationEvent } from "../../src/domain/condition.ts";
import type { Delivery, Message } from "../../src/domain/delivery.ts";
import type { MessageLimit } from "../../src/domain/limits.ts";
import type { OutboxChange, QueuedNotification } from "../../src/domain/outbox.ts";
import type { DeliveryEvent, Failure } from "../../src/engine/queue_state.ts";
import { markerKey } from "../../src/engine/outbox_changes.ts";
import { Dispatcher } from "../../src/engine/dispatcher.ts";
import { newQueued } from "../../src/engine/queued_notifications.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { notificationOf } from "../state/records.ts";

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const START = 1_800_000_000_000;

export const OK: Delivery = { delivered: true, note: null };
export const DOWN: Failure = {
  delivered: false,
  retryable: true,
  mayHaveArrived: false,
  reason: "down",
  retryAfterMs: null,
};
export const REJECTED: Failure = { ...DOWN, retryable: false, reason: "rejected" };
export const UNSURE: Failure = { ...DOWN, mayHaveArrived: true, reason: "lost" };

let sequence = 0;

interface RowOptions {
  readonly check?: string;
  readonly condition?: Condition;
  readonly event?: NotificationEvent;
  readonly channel?: string;
  readonly atMs?: number;
}

/** A notification for a channel; without options of a problem. */
export function row(
  { check = "web", event = "problem", channel = "mail", atMs = START, ...options }: RowOptions = {},
): QueuedNotification {
  const notification = notificationOf(check, {
    id: `r${++sequence}`,
    title: null,
    event,
    condition: options.condition ?? (event === "recovery" ? "ok" : "critical"),
    previous: event === "problem" ? "ok" : "critical",
    decidedAtMs: atMs,
  });
  return newQueued(notification, { channelKey: channel, channelName: channel, sequence, nowMs: atMs });
}

export interface DispatchOptions {
  readonly clock?: FakeClock;
  /** The persisted outbox. */
  readonly outbox?: Partial<ConstructorParameters<typeof Dispatcher>[0]>;
  readonly deliver?: (
    message: Message,
    channel: string,
    attempt: number,
    signal: AbortSignal,
  ) => Delivery | Promise<Delivery> | "hang";
  /** Channels that take one item a message. */
  readonly single?: readonly string[];
  /** Channels that the config does not have. */
  readonly gone?: readonly string[];
  /** Checks that the config does not have. */
  readonly absent?: readonly string[];
  readonly atMost?: MessageLimit | undefined;
  readonly staleAfterMs?: number;
  readonly holds?: boolean;
  /** Returns whether this process owns the queues. */
  readonly maySend?: () => boolean;
  /** Called while a change is being persisted. */
  readonly persist?: (change: OutboxChange, dispatcher: Dispatcher) => void | Promise<void>;
}

interface Dispatching {
  readonly clock: FakeClock;
  readonly dispatcher: Dispatcher;
  readonly sent: readonly { readonly channel: string; readonly message: Message; readonly atMs: number }[];
  readonly events: readonly DeliveryEvent[];
  readonly kept: readonly OutboxChange[];
  /**
   * Adopts a config without these channels: `{ "web mail": "other" }` moves pending notifications for `mail` of the
   * check `web` to `other`.
   */
  adopt(without: readonly string[], rekeyed?: Readonly<Record<string, string>>): void;
}

/** Starts a dispatcher. */
export function dispatch(options: DispatchOptions = {}): Dispatching {
  const { clock = createFakeClock(START), absent = [], atMost, single = [] } = options;
  let { gone = [] } = options;
  const sent: Dispatching["sent"][number][] = [];
  const events: DeliveryEvent[] = [];
  const kept: OutboxChange[] = [];
  const dispatcher: Dispatcher = new Dispatcher({
    notifications: [],
    markers: [],
    counts: [],
    ...options.outbox,
  }, {
    clock,
    random: () => 0.5,
    batchingMs: 2 * SECOND,
    targetOf: (key) =>
      gone.includes(key) ? null : {
        channel: { kind: "console", parameters: {}, key, ...atMost && { atMost } } as Channel,
        batches: !single.includes(key),
        group: null,
        mergesCauses: true,
        staleAfterMs: options.staleAfterMs ?? null,
        attemptTimeoutMs: MINUTE,
      },
    causes: () => null,
    readsCauses: () => false,
    readCauses: () => Promise.resolve(),
    isRevoked: () => false,
    placeOf: (check, channelKey) =>
      !gone.includes(channelKey) ? "here" : absent.includes(check) ? "absent" : "unwanted",
    maySend: options.maySend ?? (() => true),
    deliver: async (message, { key: channel }, signal) => {
      sent.push({ channel, message, atMs: clock.wallMs() - START });
      const aborted = Promise.withResolvers<never>();
      signal.addEventListener("abort", () => aborted.reject(signal.reason));
      const delivery = options.deliver?.(message, channel, sent.length, signal) ?? OK;
      return await (delivery === "hang" ? aborted.promise : Promise.race([delivery, aborted.promise]));
    },
    persist: async (change) => {
      kept.push(change);
      await options.persist?.(change, dispatcher);
    },
    isStillTrue: () => options.holds ?? true,
    isExcluded: () => false,
    onEvent: (event) => void events.push(event),
    onBug: (error) => {
      throw error;
    },
  });
  return {
    clock,
    dispatcher,
    sent,
    events,
    kept,
    adopt: (without, rekeyed = {}) => {
      gone = without;
      const moves = Object.entries(rekeyed).map(([name, channelKey]) => {
        const [check = "", old = ""] = name.split(" ");
        return [markerKey(check, old), { channelKey, channelName: channelKey }] as const;
      });
      dispatcher.reload(new Map(moves), () => false);
    },
  };
}
