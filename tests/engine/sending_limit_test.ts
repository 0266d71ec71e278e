import { digestOf } from "../../src/engine/batching.ts";
import assert from "node:assert/strict";
import type { MessageLimit } from "../../src/domain/limits.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { Delivery, Message } from "../../src/domain/delivery.ts";
import type { QueuedNotification } from "../../src/domain/outbox.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { createRandom } from "../../testing/random.ts";
import { outboxChangeOf } from "../state/records.ts";
import { openInMemoryStore } from "../../src/state/sqlite/sqlite_store.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import {
  dispatch,
  type DispatchOptions,
  DOWN,
  HOUR,
  MINUTE,
  OK,
  REJECTED,
  row as queuedRow,
  SECOND,
  START,
  UNSURE,
} from "./dispatching.ts";
import { testRows } from "../support/rows.ts";

const SEEDS = [testSeed(), testSeed() + 1].slice(0, campaign(2, 1));

/** A notification of a check of its own, so that none is merged with another. */
function row(number: number, atMs: number, condition: Condition = "critical"): QueuedNotification {
  const event = condition === "ok" ? "recovery" : "problem";
  return queuedRow({ check: `check-${number}`, event, condition, channel: "sms", atMs });
}

interface SenderOptions extends Omit<DispatchOptions, "outbox" | "persist" | "deliver"> {
  readonly store: Awaited<ReturnType<typeof openInMemoryStore>>;
  readonly batches?: boolean;
  deliver(message: Message, ids: readonly string[], hasEnded: () => boolean): Delivery | Promise<Delivery>;
}

/** Starts a dispatcher with the persisted outbox. */
async function startSender({ store, batches = false, ...options }: SenderOptions) {
  let isKilled = false;
  const all = dispatch({
    ...options,
    outbox: await store.outbox(),
    single: batches ? [] : ["sms"],
    maySend: () => !isKilled && (options.maySend?.() ?? true),
    deliver: (message, _channel, _attempt, signal) => {
      const { pending } = all.dispatcher;
      const ids = pending.filter(({ messageId }) => messageId === message.id).map(({ id }) => id);
      return options.deliver(message, ids, () => isKilled || signal.aborted);
    },
    persist: async (change) => {
      if (!isKilled) await store.changeOutbox(change);
    },
  });
  return {
    ...all,
    add: (...rows: readonly QueuedNotification[]): void => {
      void store.changeOutbox(outboxChangeOf({ changed: rows }));
      all.dispatcher.add(rows);
    },
    /** Ends without persisting anything more. */
    kill: (): void => {
      isKilled = true;
      void all.dispatcher.stop();
    },
  };
}

/** Returns the options of senders with a limit an hour, and what they send. */
async function collecting(count: number, delivery = OK) {
  const clock = createFakeClock(START);
  const sent: string[] = [];
  const deliver = (message: Message): Delivery => {
    const texts = digestOf(message).items.map(({ notification: { check, output }, isDigest = false }) =>
      isDigest ? `${check}: ${output}` : check
    );
    sent.push(`${(clock.wallMs() - START) / SECOND} ${texts.join()}`);
    return delivery;
  };
  const store = await openInMemoryStore();
  const atMost: MessageLimit = { count, windowMs: HOUR };
  return { clock, sent, options: { clock, store, atMost, deliver } };
}

Deno.test("a channel with a limit sends the digest after a restart, also if more is permitted by then", async () => {
  const { clock, sent, options } = await collecting(3);
  const first = await startSender(options);
  first.add(...[1, 2, 3, 4, 5].map((number) => row(number, START)));
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
  assert.deepEqual(sent.slice(3), ["7320 2 notifications: 2 checks are critical: check-4, check-5"]);
  const { counts } = await options.store.outbox();
  assert.deepEqual(counts.map(({ limitUse }) => limitUse?.limitedUntilMs), [null]);
  await third.dispatcher.stop();
});

Deno.test("a limit of 2 per hour permits attempts in five minutes", async (t) => {
  const rows = {
    "accepted": [OK, 2],
    "that may have arrived": [UNSURE, 2],
    "that certainly failed": [DOWN, 4],
  } as const;
  await testRows(t, rows, async ([delivery, expected]) => {
    const { clock, sent, options } = await collecting(2, delivery);
    const { add, dispatcher } = await startSender(options);
    add(row(1, START), row(2, START), row(3, START));
    await clock.advance(2 * MINUTE);
    assert.equal(sent.length, expected);
    await dispatcher.stop();
  });
});

Deno.test("a message that another member may send does not count", async () => {
  const { clock, sent, options } = await collecting(1);
  let owns = false;
  const { add, dispatcher } = await startSender({ ...options, maySend: () => owns });
  add(row(1, START));
  await clock.advance(MINUTE);
  owns = true;
  await clock.advance(MINUTE);
  assert.deepEqual(sent, ["61 check-1"]);
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
  assert.equal(sent[1]?.replace(/^\S+ /, ""), "2 notifications: 2 checks are critical: check-2, check-3");
  await dispatcher.stop();
});

/** The outcomes of a message; each arrives within its attempt or not at all. */
const FATES = [
  { delivery: OK, arrives: true },
  { delivery: OK, arrives: true },
  { delivery: OK, arrives: true },
  { delivery: UNSURE, arrives: true },
  { delivery: UNSURE, arrives: false },
  { delivery: DOWN, arrives: false },
  { delivery: REJECTED, arrives: false },
] as const;

for (const seed of SEEDS) {
  Deno.test(`no more messages than the limit arrive in any window, and nothing is lost, seed ${seed}`, async () => {
    const { below, oneIn, pick } = createRandom(seed, "limit");
    const clock = createFakeClock(START);
    const store = await openInMemoryStore();
    const atMost = { count: pick([1, 2, 5, 20]), windowMs: pick([MINUTE, HOUR]) };
    const arrivals: number[] = [];
    const arrived = new Set<string>();
    let isWell = false;
    const pause = () => new Promise((resolve) => void clock.after(below(5 * SECOND), () => resolve(null)));
    const options: SenderOptions = {
      clock,
      store,
      atMost,
      batches: oneIn(2),
      deliver: async (_message, ids, hasEnded) => {
        const { delivery, arrives } = isWell ? FATES[0] : pick(FATES);
        await pause();
        if (arrives && !hasEnded()) {
          arrivals.push(clock.wallMs());
          for (const id of ids) arrived.add(id);
        }
        await pause();
        return delivery;
      },
    };
    let sender = await startSender(options);
    let count = 0;
    for (let step = 0; step < campaign(300, 120); step++) {
      for (let left = pick([0, 0, 1, 1, 2, 30]); left > 0; left--) {
        sender.add(row(++count, clock.wallMs(), pick(["ok", "warning", "critical"])));
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
    assert.deepEqual((await store.outbox()).notifications, []);
    assert.equal(arrived.size, count);
    assert.ok(arrivals.length > campaign(20, 10), `only ${arrivals.length} messages`);
    for (const [index, atMs] of arrivals.entries()) {
      const laterMs = arrivals[index + atMost.count] ?? Infinity;
      assert.ok(laterMs - atMs >= atMost.windowMs, `${atMost.count + 1} messages in ${laterMs - atMs} ms`);
    }
    await sender.dispatcher.stop();
  });
}

Deno.test("an attempt that a kill interrupts counts from its timeout", async () => {
  const { clock, options } = await collecting(1);
  const { add, kill } = await startSender({ ...options, deliver: () => new Promise<Delivery>(() => {}) });
  add(row(1, START));
  await clock.advance(10 * SECOND);
  kill();
  const { counts } = await options.store.outbox();
  assert.deepEqual(counts.map(({ limitUse }) => limitUse?.sentAtMs), [[START + 2 * SECOND + MINUTE]]);
});
