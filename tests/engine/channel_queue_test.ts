import assert from "node:assert/strict";
import { newRound, nextBatch } from "../../src/engine/batching.ts";
import { transitionQueue, wakeAtMs } from "../../src/engine/channel_queue.ts";
import {
  type ChannelGroup,
  type ChannelQueue,
  EMPTY_QUEUE,
  type QueueContext,
  type QueueEffect,
  type QueueEvent,
} from "../../src/engine/queue_state.ts";
import type { QueuedNotification } from "../../src/domain/outbox.ts";
import { notificationOf, queuedOf } from "../state/records.ts";
import { DOWN, HOUR, MINUTE, REJECTED, SECOND, START as NOW } from "./dispatching.ts";
import { testTable } from "../support/rows.ts";

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

/** Short names of events; a number advances the time. */
const EVENTS: Readonly<Record<string, QueueEvent>> = {
  woke: { kind: "woke", isForced: false },
  forced: { kind: "woke", isForced: true },
  delivered: { kind: "delivered", note: null },
  down: { kind: "failed", failure: DOWN, jitter: 0 },
  lost: { kind: "failed", failure: { ...DOWN, mayHaveArrived: true }, jitter: 0 },
  "asked to wait": { kind: "failed", failure: { ...DOWN, retryAfterMs: HOUR }, jitter: 0 },
  "asked to wait briefly": { kind: "failed", failure: { ...DOWN, retryAfterMs: 0 }, jitter: 0 },
  rejected: { kind: "failed", failure: REJECTED, jitter: 0 },
  "rejected in part": { kind: "failed", failure: { ...REJECTED, mayHaveArrived: true }, jitter: 0 },
  aborted: { kind: "aborted" },
  stopped: { kind: "stopped" },
  refused: { kind: "refused" },
  released: { kind: "released" },
  "set back": { kind: "clock_set_back", byMs: HOUR },
};

/** Starts an empty queue, which a test sends events; the messages are those that it delivers. */
function startQueue(batches: boolean, group: ChannelGroup | null = null) {
  const context: QueueContext = {
    nowMs: NOW,
    batchingMs: 2 * SECOND,
    batches,
    group,
    staleAfterMs: null,
    limit: null,
    markers: new Map(),
    causes: null,
    isStillTrue: () => true,
    isExcluded: () => false,
  };
  const messages: (readonly QueuedNotification[])[] = [];
  const started = {
    queue: EMPTY_QUEUE as ChannelQueue,
    afterMs: 0,
    messages,
    act: (event: QueueEvent): readonly QueueEffect[] => {
      const step = transitionQueue(started.queue, event, { ...context, nowMs: NOW + started.afterMs });
      started.queue = step.queue;
      for (const effect of step.effects) {
        if (effect.kind !== "deliver") continue;
        messages.push(effect.message.notifications);
        const persisted = step.effects.findIndex((one) =>
          one.kind === "persist" && one.change.changed[0]?.messageId === effect.message.id
        );
        assert.ok(persisted >= 0 && persisted < step.effects.indexOf(effect), "persisted before delivery");
      }
      return step.effects;
    },
  };
  return started;
}

/** Sends the events of a row, and returns the messages and the status. */
function runRow(queued: string, events: string, batches: boolean): readonly [sent: string, status: string] {
  const started = startQueue(batches);
  let sequence = 100;
  if (queued !== "") started.act({ kind: "added", notifications: notifications(queued) });
  for (const event of events.split(", ").filter((name) => name !== "")) {
    if (/^-?[\d.]+$/.test(event)) started.afterMs += Number(event) * SECOND;
    else if (event.startsWith("+")) {
      const added = notifications(event.slice(1));
      started.act({
        kind: "added",
        notifications: added.map((one) => ({ ...one, id: `${one.id}-${++sequence}`, sequence })),
      });
    } else if (event.startsWith("=")) {
      started.act({ kind: "reloaded", notifications: notifications(event.slice(1)), moved: new Set() });
    } else started.act(EVENTS[event] ?? assert.fail(event));
  }
  const { queue, afterMs, messages } = started;
  const isWaiting = "untilMs" in queue.status || queue.mergeAtMs !== null && queue.status.kind === "sending";
  assert.strictEqual(Number.isFinite(wakeAtMs(queue)), isWaiting);
  const sent = messages.map((one) => one.map(({ notification }) => notification.check).join(" "));
  return [sent.join(" / "), describe(queue, afterMs)];
}

function describe({ status }: ChannelQueue, afterMs: number): string {
  if (!("untilMs" in status)) return status.kind;
  return `${status.kind} ${(status.untilMs - NOW - afterMs) / SECOND}`;
}

/**
 * The initial queue; names of {@linkcode EVENTS}, `+a b` to add, `=a b` to reload, numbers of seconds to wait; the sent
 * messages; the status, with the seconds until it ends; and whether the channel accepts one notification a message.
 */
const TABLES: Readonly<Record<string, string>> = {
  idle: `
    stays so without notifications | | woke, forced | | idle
    extends the batch for a new notification | a | | | batching 2
    continues the backoff of a restored one | a:3 | woke | a | sending
    continues the backoff of one that has failed once | a:1 | woke | a | sending
    waits for the retry of a restored rejection | a:r | woke | | rejected 300
    does not delay others because of a restored rejection | a:r b | 2, woke | b | sending`,
  batching: `
    is not extended by new notifications | a | 1, +b | | batching 1
    completes with one message | a b | 2, woke | a b | sending
    sends one message for each | a b | 2, woke, delivered | a / b | sending | single
    sends earlier if forced | a | forced | a | sending
    is not longer after the clock was set back | a | set back, -3599, 1, woke | a | sending`,
  sending: `
    is idle afterwards if everything was delivered | a b | 2, woke, delivered | a b | idle
    sends notifications that were queued meanwhile | a | 2, woke, +b, delivered | a / b | sending
    backs off after a temporary failure | a | 2, woke, down | a | backing_off 7.5
    waits as long as the receiver requests | a | 2, woke, asked to wait | a | backing_off 3600
    backs off if no delay is requested | a | 2, woke, asked to wait briefly | a | backing_off 7.5
    sends a rejected batch singly | a b c | 2, woke, rejected, delivered, rejected, delivered | a b c / a / b / c | rejected 300
    sends it so after a repetition that did not arrive | a b | 2, woke, lost, 7.5, woke, rejected, 300, woke | a b / a b / a b | sending
    sends a batch that may have arrived as it was | a b | 2, woke, rejected in part, 300, woke | a b / a b | sending
    stops at the first rejected | a b c | 2, woke, rejected, rejected | a b c / a | rejected 300
    begins with the least tried | a b | 2, woke, rejected, rejected, 300, woke, rejected, delivered, delivered | a b / a / a b / b / a | idle
    keeps the order of a check | a b | 2, woke, +a, rejected, delivered | a b / b | rejected 300
    sends a new check after a rejection | a b | 2, woke, rejected | a / b | sending | single
    retries soon after a reload | a | 2, woke, =a, down | a | batching 2
    retries a rejection soon after a reload | a | 2, woke, =a, rejected | a | batching 2
    stops after the message | a | 2, woke, stopped, delivered | a | stopped
    stops if the message is aborted | a | 2, woke, stopped, aborted | a | stopped`,
  "backing off": `
    doubles | a | 2, woke, down, 7.5, woke, down | a / a | backing_off 15
    completes with all pending notifications | a | 2, woke, down, +b, 7.5, woke | a / a b | sending
    delays a new notification by at most a minute | a:9 | woke, down, +b | a | backing_off 60
    lasts as long as requested, for new ones too | a | 2, woke, asked to wait, +b, 60, woke | a | backing_off 3540
    resends what may have arrived | a | 2, woke, lost, +b, 7.5, woke, delivered | a / a / b | sending
    sends others before those that often failed | a:3! b | woke | b | sending | single
    separates a batch after an hour | a:9 b:9 | 1860, woke, down, delivered, delivered | a b / a / b | idle
    stops soon after a reload | a:9 | woke, down, =a:9 | a | batching 2`,
  rejected: `
    is retried when it is due | a:r b:r | 300, woke | a b | sending
    is retried no later after the clock was set back | a:r | set back, -3600, 300, woke | a | sending
    is retried after new notifications | a:r b | 300, woke, delivered | b / a | sending
    waits for its time also if forced | a:r | forced | | rejected 300
    delays later notifications of its check | a:r | +a, 3, woke | | rejected 297
    delays no other check | a:r | +b, 2, woke, delivered | b | rejected 298
    stops soon after a reload | a:r b:r | =a:r b:r, 2, woke | a b | sending`,
  "another member's": `
    is released while it waits | a b:r | released, 9, woke | | idle
    is left after its message | a b | 2, woke, +c, released, delivered, 9, woke | a b | idle
    is left once its message has failed | a | 2, woke, released, down, 99, woke | a | idle
    is retried if the owner is uncertain | a | 2, woke, refused | a | batching 1
    is released if refused | a | 2, woke, released, refused, 99, woke | a | idle`,
  stopped: `
    sends nothing more | a | stopped, +b, 9, woke, forced | | stopped`,
};

for (const [status, table] of Object.entries(TABLES)) {
  Deno.test(`transition() of a ${status} queue`, async (t) => {
    await testTable(t, table, (_, queued, events, sent, expected, single) => {
      assert.deepStrictEqual(runRow(queued, events, single === ""), [sent, expected]);
    });
  });
}

Deno.test("the outcome of a message does not count for notifications that a reload has moved", () => {
  const [moved, left] = notifications("a b");
  assert.ok(moved !== undefined && left !== undefined);
  const { act } = startQueue(true);
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
  outcome = "delivered",
): readonly (readonly string[])[] {
  const started = startQueue(outcome === "delivered");
  started.act({ kind: "added", notifications: added });
  started.act({ kind: "woke", isForced: true });
  for (let count = 0; started.queue.status.kind === "sending" && count < 10; count++) {
    started.act(EVENTS[outcome] ?? assert.fail(outcome));
  }
  return started.messages.map((one) => one.map(({ id }) => id));
}

Deno.test("nextBatch() leaves out what follows a notification of the same check that was just attempted", () => {
  const queued = notifications("a a b");
  const options = {
    batches: true,
    isDigest: false,
    group: null,
    causes: null,
    nowMs: NOW,
    isExcluded: () => false,
  };
  const next = nextBatch(queued, { ...newRound(0), tried: new Set(["a0"]) }, options);
  assert.deepEqual(next?.map(({ id }) => id), ["b2"]);
  const sealed = nextBatch(notifications("a a:1! b"), newRound(0), options);
  assert.deepEqual(sealed?.map(({ id }) => id), ["a0", "b2"], "nor what may have arrived in another message");
});

Deno.test("nextBatch() makes one message of a common cause, whether or not the channel batches", () => {
  const queued = notifications("a b c d");
  const causes = {
    of: ({ notification: { check } }: QueuedNotification) =>
      "abc".includes(check) ? { key: "x", cause: null } : null,
    // Found later than the others, so that it would wait longer.
    awaitsOthers: ({ notification: { check } }: QueuedNotification) => check === "b",
  };
  for (const batches of [true, false]) {
    const options = { batches, isDigest: false, group: null, causes, nowMs: NOW, isExcluded: () => false };
    const first = nextBatch(queued, newRound(0), options);
    assert.deepEqual(first?.map(({ id }) => id), ["a0", "b1", "c2"]);
    const next = nextBatch(queued, { ...newRound(0), tried: new Set(["a0", "b1", "c2"]) }, options);
    assert.deepEqual(next?.map(({ id }) => id), ["d3"]);
  }
});

Deno.test("nextBatch() waits for checks that may have the same cause, unless it is forced", () => {
  const queued = notifications("a b");
  const causes = {
    of: () => null,
    awaitsOthers: ({ notification: { check } }: QueuedNotification) => check === "a",
  };
  const options = {
    batches: true,
    isDigest: false,
    group: null,
    causes,
    nowMs: NOW,
    isExcluded: () => false,
  };
  assert.deepEqual(nextBatch(queued, newRound(0), options)?.map(({ id }) => id), ["b1"]);
  assert.deepEqual(nextBatch(queued, newRound(0, true), options)?.map(({ id }) => id), ["a0", "b1"]);
});

/** Groups by the first letter of the name of a check. */
const LETTERS: ChannelGroup = { waitMs: 30 * SECOND, of: (check) => check.slice(0, 1) };

/** Adds notifications at a time, which wait for their group from then on. */
function addAt(
  started: ReturnType<typeof startQueue>,
  seconds: number,
  texts: string,
  first = 0,
  waitMs = LETTERS.waitMs,
): void {
  started.afterMs = seconds * SECOND;
  const nextAttemptAtMs = NOW + started.afterMs + waitMs;
  const added = notifications(texts).map((one) => ({
    ...one,
    id: `${one.notification.check}-${seconds}`,
    sequence: one.sequence + first,
    nextAttemptAtMs,
  }));
  started.act({ kind: "added", notifications: added });
}

for (const batches of [true, false]) {
  Deno.test(`a group is one message once its first notification has waited, batches ${batches}`, () => {
    const started = startQueue(batches, LETTERS);
    const idsOf = (): readonly string[] => started.messages.map((one) => one.map(({ id }) => id).join(" "));
    addAt(started, 0, "a1");
    assert.equal(wakeAtMs(started.queue), NOW + 30 * SECOND);
    addAt(started, 10, "b1 b2", 10);
    addAt(started, 20, "a2 a3", 20);
    assert.equal(wakeAtMs({ ...started.queue, mergeAtMs: null }), NOW + 30 * SECOND);
    started.afterMs = 30 * SECOND;
    started.act(EVENTS["woke"] ?? assert.fail());
    assert.deepEqual(idsOf(), ["a1-0 a2-20 a3-20"]);
    started.act(EVENTS["delivered"] ?? assert.fail());
    assert.deepEqual(idsOf().length, 1, "the other group waits");
    assert.equal(wakeAtMs(started.queue), NOW + 40 * SECOND);
    started.afterMs = 40 * SECOND;
    started.act(EVENTS["woke"] ?? assert.fail());
    assert.deepEqual(idsOf(), ["a1-0 a2-20 a3-20", "b1-10 b2-10"]);
  });
}

Deno.test("a service that stops sends each group at once", () => {
  const started = startQueue(false, LETTERS);
  addAt(started, 0, "a1 a2 b1");
  started.act(EVENTS["forced"] ?? assert.fail());
  started.act(EVENTS["delivered"] ?? assert.fail());
  assert.deepEqual(started.messages.map((one) => one.length), [2, 1]);
});

Deno.test("a restored notification waits for the rest of the time, unless another clock was used", () => {
  const restored = (nextAttemptAtMs: number): number => {
    const started = startQueue(false, LETTERS);
    const kept = notifications("a").map((one) => ({ ...one, nextAttemptAtMs }));
    started.act({ kind: "added", notifications: kept });
    return wakeAtMs(started.queue) - NOW;
  };
  assert.equal(restored(NOW + 20 * SECOND), 20 * SECOND);
  assert.equal(restored(NOW - SECOND), 2 * SECOND);
  assert.equal(restored(NOW + HOUR), 2 * SECOND);
});

Deno.test("a group whose message failed is retried as one message, and what is new waits", () => {
  const started = startQueue(false, LETTERS);
  addAt(started, 0, "a1 a2");
  started.afterMs = 30 * SECOND;
  started.act(EVENTS["woke"] ?? assert.fail());
  started.act(EVENTS["down"] ?? assert.fail());
  addAt(started, 35, "b1", 10);
  started.afterMs = wakeAtMs({ ...started.queue, mergeAtMs: null }) - NOW;
  started.act(EVENTS["woke"] ?? assert.fail());
  started.act(EVENTS["delivered"] ?? assert.fail());
  assert.deepEqual(started.messages.map((one) => one.length), [2, 2]);
  assert.equal(wakeAtMs({ ...started.queue, mergeAtMs: null }), NOW + 65 * SECOND);
});

Deno.test("a group that failed is tried again soon after something new, although that waits", () => {
  const started = startQueue(false, { ...LETTERS, waitMs: HOUR });
  addAt(started, 0, "a1 a2");
  for (let failure = 0; failure < 6; failure++) {
    started.afterMs = wakeAtMs({ ...started.queue, mergeAtMs: null }) - NOW;
    started.act(EVENTS["woke"] ?? assert.fail());
    started.act(EVENTS["down"] ?? assert.fail());
  }
  const seconds = started.afterMs / SECOND;
  assert.ok(wakeAtMs({ ...started.queue, mergeAtMs: null }) - NOW > started.afterMs + 2 * MINUTE);
  addAt(started, seconds, "b1", 10, HOUR);
  started.afterMs += MINUTE;
  started.act(EVENTS["woke"] ?? assert.fail());
  assert.deepEqual(started.messages.at(-1)?.map(({ notification: { check } }) => check), ["a1", "a2"]);
  assert.equal(started.messages.length, 7);
});

Deno.test("a summary neither waits for a group nor ends its wait", () => {
  const started = startQueue(true, { waitMs: 30 * SECOND, of: () => "" });
  addAt(started, 0, "a1");
  const [summary = assert.fail()] = notifications("summary");
  started.act({
    kind: "added",
    notifications: [{ ...summary, sequence: 9, notification: { ...summary.notification, event: "summary" } }],
  });
  assert.equal(wakeAtMs({ ...started.queue, mergeAtMs: null }), NOW + 2 * SECOND);
  started.afterMs = 2 * SECOND;
  started.act(EVENTS["woke"] ?? assert.fail());
  started.act(EVENTS["delivered"] ?? assert.fail());
  assert.deepEqual(started.messages.map((one) => one.length), [1]);
  assert.equal(wakeAtMs({ ...started.queue, mergeAtMs: null }), NOW + 30 * SECOND);
});

Deno.test("a summary and a rehearsal are sent by themselves, also by a channel that batches", () => {
  for (const event of ["summary", "rehearsal"] as const) {
    const queued = notifications(`${event} a b`).map((one, index) =>
      index > 0 ? one : { ...one, notification: { ...one.notification, event } }
    );
    assert.deepEqual(messagesOf(queued), [[`${event}0`], ["a1", "b2"]]);
  }
});

Deno.test("a message has at most 1,000 notifications", () => {
  const names = Array.from({ length: 1001 }, (_, index) => `check-${index}-`);
  assert.deepEqual(messagesOf(notifications(names.join(" "))).map(({ length }) => length), [1000, 1]);
});

Deno.test("a rejected recovery is tried once, and the next problem of its check is behind it", () => {
  const queued = notifications("a:r a").map((one, index) =>
    index > 0
      ? one
      : { ...one, nextAttemptAtMs: 0, notification: { ...one.notification, event: "recovery" as const } }
  );
  assert.deepEqual(messagesOf(queued, "rejected"), [["a0"]]);
});
