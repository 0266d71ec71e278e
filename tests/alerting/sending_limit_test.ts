import assert from "node:assert/strict";
import { Dispatcher } from "../../src/alerting/dispatcher.ts";
import type { DeliveryEvent } from "../../src/alerting/delivery_event.ts";
import type { Channel } from "../../src/domain/channel.ts";
import type { MessageLimit } from "../../src/domain/message_limit.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { Delivery, Message } from "../../src/domain/delivery.ts";
import type { QueuedNotification } from "../../src/domain/outbox.ts";
import type { Store } from "../../src/domain/store.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { createRandom } from "../../testing/random.ts";
import { notificationOf, outboxChangeOf, queuedOf } from "../state/records.ts";
import { openInMemoryStore } from "../../src/state/sqlite/in_memory_store.ts";
import { campaign } from "../../testing/seed.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const START = 1_800_000_000_000;
const SEEDS = (Deno.env.get("TRACE_SEEDS") ?? "3 1 2 4").split(" ").slice(0, campaign(10)).map(Number);

const OK: Delivery = { delivered: true, note: null };
const DOWN: Delivery = {
  delivered: false,
  retryable: true,
  mayHaveArrived: false,
  reason: "down",
  retryAfterMs: null,
};
const REJECTED: Delivery = { ...DOWN, retryable: false, reason: "rejected" };
const UNSURE: Delivery = { ...DOWN, mayHaveArrived: true, reason: "lost" };

/** A notification of a check of its own, so that none is merged with another. */
function row(sequence: number, atMs: number, condition: Condition = "critical"): QueuedNotification {
  const event = condition === "ok" ? "recovery" : "problem";
  return queuedOf(`r${sequence}`, sequence, {
    notification: notificationOf(`check-${sequence}`, {
      id: `r${sequence}`,
      title: null,
      event,
      condition,
      decidedAtMs: atMs,
    }),
    channelKey: "sms",
    channelName: "sms",
    attempts: 0,
    nextAttemptAtMs: atMs,
    lastFailure: null,
    firstFailedAtMs: null,
    messageId: null,
  });
}

interface Sender {
  readonly dispatcher: Dispatcher;
  readonly events: readonly DeliveryEvent[];
  add(...rows: readonly QueuedNotification[]): void;
  /** Ends without persisting anything more, as after a kill. */
  kill(): void;
}

interface SenderOptions {
  readonly clock: FakeClock;
  readonly outbox: Pick<Store, "outbox" | "changeOutbox">;
  readonly atMost?: MessageLimit;
  readonly batches?: boolean;
  readonly maySend?: () => boolean;
  deliver(message: Message, ids: readonly string[], hasEnded: () => boolean): Delivery | Promise<Delivery>;
}

/** Starts a dispatcher with the persisted outbox. */
async function startSender(
  { clock, outbox, atMost, batches = false, ...options }: SenderOptions,
): Promise<Sender> {
  let isKilled = false;
  const events: DeliveryEvent[] = [];
  const channel: Channel = { kind: "console", parameters: {}, key: "sms", ...atMost && { atMost } };
  const dispatcher: Dispatcher = new Dispatcher(await outbox.outbox(), {
    clock,
    random: () => 0.5,
    batchingMs: 2 * SECOND,
    targetOf: () => ({ channel, batches, staleAfterMs: null, attemptTimeoutMs: MINUTE }),
    placeOf: () => "here",
    isRevoked: () => false,
    maySend: () => !isKilled && (options.maySend?.() ?? true),
    deliver: async (message, _channel, signal) => {
      const ids = dispatcher.pending.filter(({ messageId }) => messageId === message.id).map(({ id }) => id);
      const aborted = Promise.withResolvers<never>();
      signal.addEventListener("abort", () => aborted.reject(signal.reason));
      const delivery = options.deliver(message, ids, () => isKilled || signal.aborted);
      return await Promise.race([delivery, aborted.promise]);
    },
    persist: async (change) => {
      if (!isKilled) await outbox.changeOutbox(change);
    },
    isStillTrue: () => true,
    isExcluded: () => false,
    onEvent: (event) => void events.push(event),
    onBug: (error) => {
      throw error;
    },
  });
  return {
    dispatcher,
    events,
    add: (...rows) => {
      void outbox.changeOutbox(outboxChangeOf({ changed: rows }));
      dispatcher.add(rows);
    },
    kill: () => {
      isKilled = true;
      void dispatcher.stop();
    },
  };
}

interface Sent {
  readonly atMs: number;
  readonly text: string;
}

/** Returns the options of senders with a limit an hour, and what they send. */
async function collecting(count: number, delivery = OK) {
  const clock = createFakeClock(START);
  const sent: Sent[] = [];
  const deliver = ({ items }: Message): Delivery => {
    const texts = items.map(({ notification: { check, output }, isDigest = false }) =>
      isDigest ? `${check}: ${output}` : check
    );
    sent.push({ atMs: clock.wallMs() - START, text: texts.join() });
    return delivery;
  };
  const outbox = await openInMemoryStore();
  return { clock, sent, options: { clock, outbox, atMost: { count, windowMs: HOUR }, deliver } };
}

Deno.test("a channel with a limit sends further notifications in one digest, as soon as the limit permits", async () => {
  const { clock, sent, options } = await collecting(2);
  const { add, events, dispatcher } = await startSender(options);
  add(row(1, START), row(2, START), row(3, START, "ok"), row(4, START, "ok"));
  await clock.advance(MINUTE);
  add(row(5, clock.wallMs(), "critical"));
  await clock.advance(3 * HOUR);
  add(row(6, clock.wallMs()), row(7, clock.wallMs()));
  await clock.advance(MINUTE);
  assert.deepEqual(sent, [
    { atMs: 2 * SECOND, text: "check-1" },
    { atMs: 2 * SECOND, text: "check-2" },
    { atMs: HOUR + 2 * SECOND, text: "3 notifications: 1 CRITICAL, 2 OK: check-5, check-3, check-4" },
    { atMs: 3 * HOUR + MINUTE + 2 * SECOND, text: "check-6" },
    { atMs: 3 * HOUR + MINUTE + 2 * SECOND, text: "check-7" },
  ]);
  assert.deepEqual(
    events.flatMap((event) =>
      event.event === "limited" ? [[event.notifications.length, event.untilMs - START]] : []
    ),
    [[2, HOUR + 2 * SECOND]],
  );
  await dispatcher.stop();
});

Deno.test("a channel with a limit sends the digest after a restart, also if more is permitted by then", async () => {
  const { clock, sent, options } = await collecting(3);
  const first = await startSender(options);
  first.add(...[1, 2, 3, 4, 5].map((sequence) => row(sequence, START)));
  await clock.advance(MINUTE);
  first.kill();
  await clock.advance(MINUTE);
  const second = await startSender(options);
  await second.dispatcher.drain(clock.wallMs() + MINUTE);
  assert.equal(sent.length, 3);
  assert.deepEqual(second.events, [], "the limit is logged once");
  second.kill();
  await clock.advance(2 * HOUR);
  const third = await startSender(options);
  const drained = third.dispatcher.drain(clock.wallMs() + MINUTE);
  await clock.advance(MINUTE);
  await drained;
  assert.deepEqual(sent.slice(3).map(({ text }) => text), ["2 notifications: 2 CRITICAL: check-4, check-5"]);
  assert.deepEqual((await options.outbox.outbox()).counts.map(({ limitUse }) => limitUse?.limitedUntilMs), [
    null,
  ]);
  await third.dispatcher.stop();
});

const ATTEMPTS = [
  { name: "accepted", delivery: OK, expected: 2 },
  { name: "that may have arrived", delivery: UNSURE, expected: 2 },
  { name: "that certainly failed", delivery: DOWN, expected: 4 },
];

for (const { name, delivery, expected } of ATTEMPTS) {
  Deno.test(`a limit of 2 per hour permits ${expected} attempts ${name} in five minutes`, async () => {
    const { clock, sent, options } = await collecting(2, delivery);
    const { add, dispatcher } = await startSender(options);
    add(row(1, START), row(2, START), row(3, START));
    await clock.advance(2 * MINUTE);
    assert.equal(sent.length, expected);
    await dispatcher.stop();
  });
}

Deno.test("a message that another member may send does not count", async () => {
  const { clock, sent, options } = await collecting(1);
  let owns = false;
  const { add, dispatcher } = await startSender({ ...options, maySend: () => owns });
  add(row(1, START));
  await clock.advance(MINUTE);
  assert.deepEqual((await options.outbox.outbox()).counts.map(({ limitUse }) => limitUse?.sentAtMs), [[]]);
  owns = true;
  await clock.advance(MINUTE);
  assert.deepEqual(sent.map(({ text }) => text), ["check-1"]);
  await dispatcher.stop();
});

Deno.test("a limit waits no longer because the wall clock was set back", async () => {
  const { clock, sent, options } = await collecting(1);
  const { add, dispatcher } = await startSender(options);
  add(row(1, START), row(2, START));
  await clock.advance(MINUTE);
  clock.stepWall(-5 * HOUR);
  add(row(3, START));
  await clock.advance(HOUR - MINUTE);
  assert.equal(sent.length, 1);
  await clock.advance(10 * SECOND);
  assert.deepEqual(sent.map(({ text }) => text), [
    "check-1",
    "2 notifications: 2 CRITICAL: check-2, check-3",
  ]);
  await dispatcher.stop();
});

/** The outcomes of a message; each arrives within its attempt or not at all. */
const FATES: readonly { readonly delivery: Delivery; readonly arrives: boolean; readonly share: number }[] = [
  { delivery: OK, arrives: true, share: 0.6 },
  { delivery: UNSURE, arrives: true, share: 0.1 },
  { delivery: UNSURE, arrives: false, share: 0.1 },
  { delivery: DOWN, arrives: false, share: 0.1 },
  { delivery: REJECTED, arrives: false, share: 0.1 },
];

for (const seed of SEEDS) {
  Deno.test(`no more messages than the limit arrive in any window, and nothing is lost, seed ${seed}`, async () => {
    const { below, next, oneIn, pick } = createRandom(seed, "limit");
    const clock = createFakeClock(START);
    const outbox = await openInMemoryStore();
    const atMost = { count: pick([1, 2, 5, 20]), windowMs: pick([MINUTE, HOUR]) };
    const arrivals: number[] = [];
    const arrived = new Set<string>();
    let isWell = false;
    const options: SenderOptions = {
      clock,
      outbox,
      atMost,
      batches: oneIn(2),
      deliver: async (_message, ids, hasEnded) => {
        const { delivery, arrives } = isWell ? { delivery: OK, arrives: true } : fateOf(next());
        const arrive = (): void => {
          if (!arrives || hasEnded()) return;
          arrivals.push(clock.wallMs());
          for (const id of ids) arrived.add(id);
        };
        await new Promise((resolve) => void clock.after(below(5 * SECOND), () => resolve(null)));
        arrive();
        await new Promise((resolve) => void clock.after(below(5 * SECOND), () => resolve(null)));
        return delivery;
      },
    };
    let sender = await startSender(options);
    let sequence = 0;
    for (let step = 0; step < 300; step++) {
      const count = pick([0, 0, 1, 1, 2, 30]);
      for (let index = 0; index < count; index++) {
        sender.add(row(++sequence, clock.wallMs(), pick(["ok", "warning", "critical"])));
      }
      await clock.advance(below(atMost.windowMs / 4));
      if (!oneIn(10)) continue;
      if (oneIn(2)) sender.kill();
      else await sender.dispatcher.stop();
      await clock.advance(below(atMost.windowMs));
      sender = await startSender(options);
    }
    isWell = true;
    await clock.advance(12 * HOUR + 3 * atMost.windowMs);
    assert.deepEqual((await outbox.outbox()).notifications, []);
    assert.equal(arrived.size, sequence);
    assert.ok(arrivals.length > 20, `only ${arrivals.length} messages`);
    for (const [index, atMs] of arrivals.entries()) {
      const laterMs = arrivals[index + atMost.count] ?? Infinity;
      assert.ok(laterMs - atMs >= atMost.windowMs, `${atMost.count + 1} messages in ${laterMs - atMs} ms`);
    }
    await sender.dispatcher.stop();
  });
}

function fateOf(random: number): (typeof FATES)[number] {
  let sum = 0;
  const fate = FATES.find(({ share }) => random < (sum += share)) ?? FATES[0];
  assert.ok(fate);
  return fate;
}
