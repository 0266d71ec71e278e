import assert from "node:assert/strict";
import { transitionQueue, wakeAtMs } from "../../src/alerting/channel_queue.ts";
import {
  type ChannelQueue,
  EMPTY_QUEUE,
  type QueueContext,
  type QueueEvent,
} from "../../src/alerting/queue_state.ts";
import type { Failure } from "../../src/alerting/retry.ts";
import type { QueuedNotification } from "../../src/domain/outbox.ts";
import { notificationOf, queuedOf } from "../state/records.ts";

const NOW = 1_800_000_000_000;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const DOWN: Failure = {
  delivered: false,
  retryable: true,
  mayHaveArrived: false,
  reason: "down",
  retryAfterMs: null,
};
const REJECTED: Failure = { ...DOWN, retryable: false, reason: "rejected" };

/** Notifications from `a b:r c:3`: a check, `r` if it is rejected, a number of attempts, `!` if it may have arrived. */
function notifications(text: string): readonly QueuedNotification[] {
  return text.split(" ").filter((word) => word !== "").map((word, index) => {
    const [check = "", marks = ""] = word.split(":");
    const attempts = Number(/\d+/.exec(marks)?.[0] ?? (marks === "" ? 0 : 1));
    return queuedOf(`${check}${index}`, index + 1, {
      notification: notificationOf(check, { id: `${check}${index}`, decidedAtMs: NOW, output: "" }),
      missedProblem: null,
      state: marks.includes("r") ? "rejected" : "pending",
      attempts,
      nextAttemptAtMs: NOW + (marks.includes("r") ? 5 * MINUTE : 0),
      firstFailedAtMs: attempts > 0 ? NOW - HOUR / 2 : null,
      lastFailure: attempts > 0 ? "failed" : null,
      messageId: marks.includes("!") ? `m-${check}` : null,
    });
  });
}

function contextAt(afterMs: number, batches: boolean): QueueContext {
  return {
    nowMs: NOW + afterMs,
    batchingMs: 2 * SECOND,
    batches,
    staleAfterMs: null,
    limit: null,
    markers: new Map(),
    isStillTrue: () => true,
    isExcluded: () => false,
  };
}

/** Short names of events; a number advances the time. */
const EVENTS: Readonly<Record<string, QueueEvent>> = {
  woke: { kind: "woke", isForced: false },
  forced: { kind: "woke", isForced: true },
  delivered: { kind: "delivered", note: null },
  down: { kind: "failed", failure: DOWN, jitter: 0 },
  lost: { kind: "failed", failure: { ...DOWN, mayHaveArrived: true }, jitter: 0 },
  "asked to wait": { kind: "failed", failure: { ...DOWN, retryAfterMs: HOUR }, jitter: 0 },
  rejected: { kind: "failed", failure: REJECTED, jitter: 0 },
  aborted: { kind: "aborted" },
  stopped: { kind: "stopped" },
  refused: { kind: "refused" },
  released: { kind: "released" },
  "set back": { kind: "clock_set_back", byMs: HOUR },
};

interface Row {
  readonly name: string;
  /** The initial queue. */
  readonly queued: string;
  /** Names of {@linkcode EVENTS}, `+a b` to add, `=a b` to reload, numbers to let seconds pass. */
  readonly events: readonly (string | number)[];
  /** The messages that were sent. */
  readonly sent: readonly string[];
  /** The status, with the seconds until it ends. */
  readonly status: string;
  /** Whether the channel accepts one notification a message. */
  readonly single?: boolean;
}

function runRow(
  { queued, events, single = false }: Row,
): { readonly sent: string[]; readonly queue: ChannelQueue; readonly afterMs: number } {
  const sent: string[] = [];
  let afterMs = 0;
  let queue = EMPTY_QUEUE;
  let sequence = 100;
  const act = (event: QueueEvent): void => {
    const step = transitionQueue(queue, event, contextAt(afterMs, !single));
    queue = step.queue;
    for (const effect of step.effects) {
      if (effect.kind !== "deliver") continue;
      sent.push(effect.message.notifications.map(({ notification }) => notification.check).join(" "));
      const persisted = step.effects.findIndex((one) =>
        one.kind === "persist" && one.change.changed[0]?.messageId === effect.message.id
      );
      assert.ok(
        persisted >= 0 && persisted < step.effects.indexOf(effect),
        "persisted before it is delivered",
      );
    }
  };
  if (queued !== "") act({ kind: "added", notifications: notifications(queued) });
  for (const event of events) {
    if (typeof event === "number") afterMs += event * SECOND;
    else if (event.startsWith("+")) {
      act({
        kind: "added",
        notifications: notifications(event.slice(1)).map((one) => ({
          ...one,
          id: `${one.id}-${++sequence}`,
          sequence,
        })),
      });
    } else if (event.startsWith("=")) {
      act({ kind: "reloaded", notifications: notifications(event.slice(1)), moved: new Set() });
    } else act(EVENTS[event] ?? assert.fail(event));
  }
  return { sent, queue, afterMs };
}

function describe({ status }: ChannelQueue, afterMs: number): string {
  if (!("untilMs" in status)) return status.kind;
  return `${status.kind} ${(status.untilMs - NOW - afterMs) / SECOND}`;
}

const TABLES: Readonly<Record<string, readonly Row[]>> = {
  idle: [
    {
      name: "stays so without notifications",
      queued: "",
      events: ["woke", "forced"],
      sent: [],
      status: "idle",
    },
    {
      name: "extends the batch for a new notification",
      queued: "a",
      events: [],
      sent: [],
      status: "batching 2",
    },
    {
      name: "continues the backoff of a restored one",
      queued: "a:3",
      events: ["woke"],
      sent: ["a"],
      status: "sending",
    },
    {
      name: "continues the backoff of one that has failed once",
      queued: "a:1",
      events: ["woke"],
      sent: ["a"],
      status: "sending",
    },
    {
      name: "waits for the retry of a restored rejection",
      queued: "a:r",
      events: ["woke"],
      sent: [],
      status: "rejected 300",
    },
    {
      name: "does not delay others because of a restored rejection",
      queued: "a:r b",
      events: [2, "woke"],
      sent: ["b"],
      status: "sending",
    },
  ],
  batching: [
    {
      name: "is not extended by new notifications",
      queued: "a",
      events: [1, "+b"],
      sent: [],
      status: "batching 1",
    },
    {
      name: "completes with one message",
      queued: "a b",
      events: [2, "woke"],
      sent: ["a b"],
      status: "sending",
    },
    {
      name: "completes with one message for each notification",
      queued: "a b",
      events: [2, "woke", "delivered"],
      sent: ["a", "b"],
      status: "sending",
      single: true,
    },
    { name: "sends earlier if forced", queued: "a", events: ["forced"], sent: ["a"], status: "sending" },
    {
      name: "is not longer after the clock was set back",
      queued: "a",
      events: ["set back", -3599, 1, "woke"],
      sent: ["a"],
      status: "sending",
    },
  ],
  sending: [
    {
      name: "is idle afterwards if everything was delivered",
      queued: "a b",
      events: [2, "woke", "delivered"],
      sent: ["a b"],
      status: "idle",
    },
    {
      name: "sends notifications that were queued meanwhile",
      queued: "a",
      events: [2, "woke", "+b", "delivered"],
      sent: ["a", "b"],
      status: "sending",
    },
    {
      name: "backs off after a temporary failure",
      queued: "a",
      events: [2, "woke", "down"],
      sent: ["a"],
      status: "backing_off 7.5",
    },
    {
      name: "delays the attempt as long as the receiver requests",
      queued: "a",
      events: [2, "woke", "asked to wait"],
      sent: ["a"],
      status: "backing_off 3600",
    },
    {
      name: "sends a rejected batch one by one",
      queued: "a b c",
      events: [2, "woke", "rejected", "delivered", "rejected", "delivered"],
      sent: ["a b c", "a", "b", "c"],
      status: "rejected 300",
    },
    {
      name: "stops at the first of a rejected batch",
      queued: "a b c",
      events: [2, "woke", "rejected", "rejected"],
      sent: ["a b c", "a"],
      status: "rejected 300",
    },
    {
      name: "starts the next attempt with the least tried",
      queued: "a b",
      events: [2, "woke", "rejected", "rejected", 300, "woke", "rejected", "delivered", "delivered"],
      sent: ["a b", "a", "a b", "b", "a"],
      status: "idle",
    },
    {
      name: "keeps later notifications of a check behind a rejected one",
      queued: "a b",
      events: [2, "woke", "+a", "rejected", "delivered"],
      sent: ["a b", "b"],
      status: "rejected 300",
    },
    {
      name: "sends a new check after a rejection",
      queued: "a b",
      events: [2, "woke", "rejected"],
      sent: ["a", "b"],
      status: "sending",
      single: true,
    },
    {
      name: "retries soon if the config changed meanwhile",
      queued: "a",
      events: [2, "woke", "=a", "down"],
      sent: ["a"],
      status: "batching 2",
    },
    {
      name: "stops after the message",
      queued: "a",
      events: [2, "woke", "stopped", "delivered"],
      sent: ["a"],
      status: "stopped",
    },
    {
      name: "stops if the message is aborted",
      queued: "a",
      events: [2, "woke", "stopped", "aborted"],
      sent: ["a"],
      status: "stopped",
    },
  ],
  "backing off": [
    {
      name: "doubles",
      queued: "a",
      events: [2, "woke", "down", 7.5, "woke", "down"],
      sent: ["a", "a"],
      status: "backing_off 15",
    },
    {
      name: "completes with all pending notifications",
      queued: "a",
      events: [2, "woke", "down", "+b", 7.5, "woke"],
      sent: ["a", "a b"],
      status: "sending",
    },
    {
      name: "delays a new notification by at most a minute",
      queued: "a:9",
      events: ["woke", "down", "+b"],
      sent: ["a"],
      status: "backing_off 60",
    },
    {
      name: "lasts as long as the receiver requested, also for a new notification",
      queued: "a",
      events: [2, "woke", "asked to wait", "+b", 60, "woke"],
      sent: ["a"],
      status: "backing_off 3540",
    },
    {
      name: "resends a message that may have arrived unchanged",
      queued: "a",
      events: [2, "woke", "lost", "+b", 7.5, "woke", "delivered"],
      sent: ["a", "a", "b"],
      status: "sending",
    },
    {
      name: "sends others before those that often failed",
      queued: "a:3! b",
      events: ["woke"],
      sent: ["b"],
      status: "sending",
      single: true,
    },
    {
      name: "separates a batch that has failed for an hour",
      queued: "a:9 b:9",
      events: [1860, "woke", "down", "delivered", "delivered"],
      sent: ["a b", "a", "b"],
      status: "idle",
    },
    {
      name: "stops soon after a reload",
      queued: "a:9",
      events: ["woke", "down", "=a:9"],
      sent: ["a"],
      status: "batching 2",
    },
  ],
  rejected: [
    {
      name: "is retried when it is due",
      queued: "a:r b:r",
      events: [300, "woke"],
      sent: ["a b"],
      status: "sending",
    },
    {
      name: "is retried no later after the clock was set back",
      queued: "a:r",
      events: ["set back", -3600, 300, "woke"],
      sent: ["a"],
      status: "sending",
    },
    {
      name: "is retried after new notifications",
      queued: "a:r b",
      events: ["forced"],
      sent: ["b"],
      status: "sending",
    },
    { name: "is retried if forced", queued: "a:r", events: ["forced"], sent: ["a"], status: "sending" },
    {
      name: "delays later notifications of its check",
      queued: "a:r",
      events: ["+a", 3, "woke"],
      sent: [],
      status: "rejected 297",
    },
    {
      name: "delays no other check",
      queued: "a:r",
      events: ["+b", 2, "woke", "delivered"],
      sent: ["b"],
      status: "rejected 298",
    },
    {
      name: "stops soon after a reload",
      queued: "a:r b:r",
      events: ["=a:r b:r", 2, "woke"],
      sent: ["a b"],
      status: "sending",
    },
  ],
  "another member's": [
    {
      name: "is released while it waits",
      queued: "a b:r",
      events: ["released", 9, "woke"],
      sent: [],
      status: "idle",
    },
    {
      name: "is left once its message is sent",
      queued: "a b",
      events: [2, "woke", "+c", "released", "delivered", 9, "woke"],
      sent: ["a b"],
      status: "idle",
    },
    {
      name: "is left once its message has failed",
      queued: "a",
      events: [2, "woke", "released", "down", 99, "woke"],
      sent: ["a"],
      status: "idle",
    },
    {
      name: "is soon retried if the owner of the queue is uncertain",
      queued: "a",
      events: [2, "woke", "refused"],
      sent: ["a"],
      status: "batching 1",
    },
    {
      name: "is released if it became another member's before the message was sent",
      queued: "a",
      events: [2, "woke", "released", "refused", 99, "woke"],
      sent: ["a"],
      status: "idle",
    },
  ],
  stopped: [
    {
      name: "sends nothing more",
      queued: "a",
      events: ["stopped", "+b", 9, "woke", "forced"],
      sent: [],
      status: "stopped",
    },
  ],
};

for (const [status, rows] of Object.entries(TABLES)) {
  Deno.test(`transition() of a ${status} queue`, async (t) => {
    for (const row of rows) {
      await t.step(row.name, () => {
        const { sent, queue, afterMs } = runRow(row);
        assert.deepStrictEqual([sent, describe(queue, afterMs)], [row.sent, row.status]);
        const isWaiting = "untilMs" in queue.status;
        assert.strictEqual(
          Number.isFinite(wakeAtMs(queue)),
          isWaiting || queue.mergeAtMs !== null && queue.status.kind === "sending",
        );
      });
    }
  });
}

Deno.test("the outcome of a message does not count for notifications that a reload has moved", () => {
  const [moved, left] = notifications("a b");
  assert.ok(moved !== undefined && left !== undefined);
  let queue = EMPTY_QUEUE;
  const act = (event: QueueEvent) => {
    const step = transitionQueue(queue, event, contextAt(2 * SECOND, true));
    queue = step.queue;
    return step.effects;
  };
  act({ kind: "added", notifications: [moved, left] });
  act({ kind: "woke", isForced: true });
  act({ kind: "reloaded", notifications: [left], moved: new Set([moved.id]) });
  const changes = act({ kind: "delivered", note: null })
    .flatMap((effect) => effect.kind === "persist" ? [effect.change] : []);
  assert.deepEqual(changes.flatMap(({ removed }) => removed), [left.id]);
  assert.deepEqual(changes.flatMap(({ markers }) => markers.map(({ check }) => check)), ["b"]);
});

/** Returns the ids of each message until nothing is sent any more, if each has the same outcome. */
function messagesOf(
  added: readonly QueuedNotification[],
  { outcome = "delivered", batches = true } = {},
): readonly (readonly string[])[] {
  const messages: (readonly string[])[] = [];
  let queue = EMPTY_QUEUE;
  const act = (event: QueueEvent): void => {
    const step = transitionQueue(queue, event, contextAt(2 * SECOND, batches));
    queue = step.queue;
    for (const effect of step.effects) {
      if (effect.kind === "deliver") messages.push(effect.message.notifications.map(({ id }) => id));
    }
  };
  act({ kind: "added", notifications: added });
  act({ kind: "woke", isForced: true });
  for (let count = 0; queue.status.kind === "sending" && count < 10; count++) {
    act(EVENTS[outcome] ?? assert.fail(outcome));
  }
  return messages;
}

Deno.test("a summary is sent by itself, also by a channel that batches", () => {
  const queued = notifications("summary a b").map((one, index) =>
    index > 0 ? one : { ...one, notification: { ...one.notification, event: "summary" as const } }
  );
  assert.deepEqual(messagesOf(queued), [["summary0"], ["a1", "b2"]]);
});

Deno.test("a message has at most 1,000 notifications", () => {
  const names = Array.from({ length: 1001 }, (_, index) => `check-${index}-`);
  assert.deepEqual(messagesOf(notifications(names.join(" "))).map(({ length }) => length), [1000, 1]);
});

Deno.test("a rejected recovery is tried once, and the next problem of its check is behind it", () => {
  const queued = notifications("a:r a").map((one, index) =>
    index > 0 ? one : { ...one, notification: { ...one.notification, event: "recovery" as const } }
  );
  assert.deepEqual(messagesOf(queued, { outcome: "rejected", batches: false }), [["a0"]]);
});
