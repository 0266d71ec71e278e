import assert from "node:assert/strict";
import type { Channel } from "../../src/domain/channel.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { NotificationEvent } from "../../src/domain/condition_state.ts";
import type { Delivery, Message } from "../../src/domain/delivery.ts";
import type { DeliveryMarker, OutboxChange, QueuedNotification } from "../../src/domain/outbox.ts";
import type { DeliveryEvent } from "../../src/alerting/delivery_event.ts";
import { markerKey } from "../../src/alerting/delivery_markers.ts";
import { Dispatcher } from "../../src/alerting/dispatcher.ts";
import { newQueued } from "../../src/alerting/queued_notifications.ts";
import { notificationOf } from "../state/records.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { testRows } from "../support/rows.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const START = 1_800_000_000_000;

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

let sequence = 0;

interface RowOptions {
  readonly check?: string;
  readonly event?: NotificationEvent;
  readonly condition?: Condition;
  readonly channel?: string;
}

function row(
  { check = "web", event = "problem", channel = "mail", ...options }: RowOptions = {},
): QueuedNotification {
  const id = `r${++sequence}`;
  return newQueued(
    notificationOf(check, {
      id,
      event,
      condition: options.condition ?? (event === "recovery" ? "ok" : "critical"),
      previous: event === "problem" ? "ok" : "critical",
      decidedAtMs: START,
    }),
    { channelKey: channel, channelName: channel, sequence, nowMs: START },
  );
}

interface Harness {
  readonly clock: FakeClock;
  readonly dispatcher: Dispatcher;
  readonly sent: { readonly channel: string; readonly message: Message; readonly atMs: number }[];
  readonly events: DeliveryEvent[];
  readonly kept: OutboxChange[];
  /**
   * Adopts another config: `{ "web mail": "other" }` moves pending notifications for `mail` of the check `web` to
   * `other`.
   */
  adopt(rekeyed?: Readonly<Record<string, string>>): void;
}

interface HarnessOptions {
  readonly rows?: readonly QueuedNotification[];
  readonly markers?: readonly DeliveryMarker[];
  readonly deliver?: (
    message: Message,
    channel: string,
    attempt: number,
  ) => Delivery | Promise<Delivery> | "hang";
  /** Channels that take one item a message. */
  readonly single?: readonly string[];
  readonly gone?: readonly string[];
  /** Checks that the config does not have. */
  readonly absent?: readonly string[];
  readonly staleAfterMs?: number;
  readonly holds?: boolean;
  /** Returns whether this process owns a queue; by default it owns all of them. */
  readonly maySend?: (channelKey: string) => boolean;
  /** Called while a change is being kept. */
  readonly onKeep?: (change: OutboxChange) => void;
}

function harness(options: HarnessOptions = {}): Harness {
  const clock = createFakeClock(START);
  const sent: Harness["sent"] = [];
  const events: DeliveryEvent[] = [];
  const kept: OutboxChange[] = [];
  let attempt = 0;
  const { gone = [] } = options;
  const { rows: notifications = [], markers = [] } = options;
  const dispatcher = new Dispatcher({ notifications, markers, counts: [] }, {
    clock,
    random: () => 0.5,
    batchingMs: 2 * SECOND,
    targetOf: (key) =>
      gone.includes(key) ? null : {
        channel: { kind: "console", parameters: {}, key } as Channel,
        batches: !(options.single ?? []).includes(key),
        staleAfterMs: options.staleAfterMs ?? null,
        attemptTimeoutMs: MINUTE,
      },
    isRevoked: () => false,
    placeOf: (check, channelKey) =>
      !gone.includes(channelKey) ? "here" : (options.absent ?? []).includes(check) ? "absent" : "unwanted",
    maySend: options.maySend ?? (() => true),
    deliver: (message, channel, signal) => {
      sent.push({ channel: channel.key, message, atMs: clock.wallMs() - START });
      const delivery = options.deliver?.(message, channel.key, ++attempt) ?? OK;
      if (delivery !== "hang") return Promise.resolve(delivery);
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    persist: (change) => {
      kept.push(change);
      options.onKeep?.(change);
      return Promise.resolve();
    },
    isStillTrue: () => options.holds ?? true,
    isExcluded: () => false,
    onEvent: (event) => void events.push(event),
    onBug: (error) => {
      throw error;
    },
  });
  const adopt: Harness["adopt"] = (rekeyed = {}) => {
    const moves = Object.entries(rekeyed).map(([name, channelKey]) => {
      const [check = "", old = ""] = name.split(" ");
      return [markerKey(check, old), { channelKey, channelName: channelKey }] as const;
    });
    dispatcher.reload(new Map(moves), () => false);
  };
  return { clock, dispatcher, sent, events, kept, adopt };
}

function checksOf(message: Message): readonly string[] {
  return message.items.map((item) => item.notification.check);
}

Deno.test("add() sends the highest severity first, and each check in order", async () => {
  const { clock, dispatcher, sent } = harness();
  dispatcher.add([
    row({ check: "a", event: "recovery" }),
    row({ check: "b", condition: "warning" }),
    row({ check: "a", condition: "critical" }),
    row({ check: "c", event: "change", condition: "critical" }),
    row({ check: "c", event: "recovery" }),
  ]);
  await clock.advance(3 * SECOND);
  assert.deepStrictEqual(
    sent[0]?.message.items.map(({ notification }) => `${notification.check} ${notification.condition}`),
    ["a ok", "a critical", "b warning", "c ok"],
  );
});

Deno.test("add() backs off up to 15 minutes, and after rejections up to an hour", async (t) => {
  await t.step("a channel that is down", async () => {
    const { clock, dispatcher, sent } = harness({ deliver: () => DOWN });
    dispatcher.add([row()]);
    await clock.advance(12 * HOUR);
    const waits = sent.slice(1).map(({ atMs }, index) => atMs - (sent[index]?.atMs ?? 0));
    assert.ok(Math.max(...waits) <= 15 * MINUTE);
    assert.ok(sent.length > 48);
  });
  await t.step("a channel that rejects", async () => {
    const { clock, dispatcher, sent } = harness({ deliver: () => REJECTED });
    dispatcher.add([row()]);
    await clock.advance(5 * HOUR + MINUTE);
    const waits = sent.slice(1).map(({ atMs }, index) =>
      Math.round((atMs - (sent[index]?.atMs ?? 0)) / MINUTE)
    );
    assert.deepStrictEqual(waits, [5, 10, 30, 60, 60, 60, 60]);
    assert.strictEqual(dispatcher.all[0]?.state, "rejected");
  });
});

Deno.test("add() keeps channels independent: one that hangs delays no other", async () => {
  const { clock, dispatcher, sent } = harness({
    deliver: (_message, channel) => channel === "hang" ? "hang" : OK,
  });
  dispatcher.add([row({ channel: "hang" }), row({ channel: "quick" })]);
  await clock.advance(3 * SECOND);
  dispatcher.add([row({ channel: "quick", check: "other" })]);
  await clock.advance(3 * SECOND);
  assert.deepStrictEqual(sent.map(({ channel }) => channel), ["hang", "quick", "quick"]);
  await clock.advance(2 * MINUTE);
  const [waiting] = dispatcher.all;
  assert.match(waiting?.lastFailure ?? "", /no response within 60 s/);
});

Deno.test("add() resends a message that may have arrived unchanged, and later notifications after it", async () => {
  const { clock, dispatcher, sent } = harness({
    deliver: (_message, _channel, attempt) => attempt === 1 ? UNSURE : OK,
  });
  dispatcher.add([row({ check: "a" }), row({ check: "b" })]);
  await clock.advance(3 * SECOND);
  dispatcher.add([row({ check: "a", event: "recovery" })]);
  await clock.advance(5 * MINUTE);
  assert.deepStrictEqual(sent.map(({ message }) => checksOf(message)), [["a", "b"], ["a", "b"], ["a"]]);
  assert.strictEqual(sent[0]?.message.id, sent[1]?.message.id);
  assert.notStrictEqual(sent[1]?.message.id, sent[2]?.message.id);
  assert.strictEqual(sent[2]?.message.items[0]?.threadId, sent[0]?.message.id, "the recovery is threaded");
});

Deno.test("add() drops a notification after a day if it is no longer true", async (t) => {
  for (const holds of [true, false]) {
    await t.step(holds ? "still true: pending" : "no longer true: dropped", async () => {
      const { clock, dispatcher, events } = harness({ deliver: () => DOWN, holds });
      dispatcher.add([row()]);
      await clock.advance(25 * HOUR);
      assert.strictEqual(dispatcher.all[0]?.state, holds ? "pending" : "dropped");
      assert.strictEqual(events.some(({ event }) => event === "dropped"), !holds);
    });
  }
});

Deno.test("add() drops notifications of which the check has no such channel", async () => {
  const { clock, dispatcher, sent, events } = harness({ gone: ["mail"] });
  const summary = { html: "long", json: "{}" };
  dispatcher.add([
    { ...row(), notification: { ...row().notification, output: "long", detail: "long", summary } },
  ]);
  await clock.advance(1 * MINUTE);
  assert.strictEqual(sent.length, 0);
  const [event] = events;
  assert.ok(event?.event === "dropped" && event.reason === "its check no longer has this channel");
  assert.deepStrictEqual(dispatcher.pending, []);
  assert.deepStrictEqual(
    dispatcher.all.map(({ notification: { output, detail, summary } }) => ({ output, detail, summary })),
    [{ output: "", detail: "", summary: undefined }],
  );
});

Deno.test("add() keeps the last dropped notification of each check and channel", () => {
  const gone: string[] = [];
  const { dispatcher, kept, adopt } = harness({ gone });
  for (const condition of ["warning", "critical", "unknown"] as const) {
    gone.length = 0;
    dispatcher.add([row({ condition }), row({ check: "other", condition })]);
    gone.push("mail");
    adopt();
  }
  assert.deepStrictEqual(
    dispatcher.all.map(({ notification, state }) => [notification.check, notification.condition, state]),
    [["web", "unknown", "dropped"], ["other", "unknown", "dropped"]],
  );
  assert.deepStrictEqual(keptIds(kept), dispatcher.all.map(({ id }) => id));
});

/** Returns the rows of a store after these changes. */
function keptIds(kept: readonly OutboxChange[]): readonly string[] {
  const open = new Set<string>();
  for (const { changed, removed } of kept) {
    for (const one of changed) open.add(one.id);
    for (const id of removed) open.delete(id);
  }
  return [...open];
}

Deno.test("add() keeps notifications without check and channel for a day", async (t) => {
  await t.step("they are restored", async () => {
    const gone = ["mail"];
    const problem = { ...row(), attempts: 1, messageId: "m1" };
    const { clock, dispatcher, sent, kept, events, adopt } = harness({
      rows: [problem],
      gone,
      absent: ["web"],
    });
    await clock.advance(20 * HOUR);
    assert.deepStrictEqual([sent, kept, events], [[], [], []]);
    assert.deepStrictEqual([dispatcher.all, dispatcher.pending], [[problem], []]);
    gone.pop();
    adopt();
    await clock.advance(3 * SECOND);
    assert.deepStrictEqual(sent.map(({ message }) => message.id), ["m1"]);
    assert.deepStrictEqual(dispatcher.all, []);
  });
  await t.step("they are not restored", async () => {
    const { clock, dispatcher, events } = harness({ rows: [row()], gone: ["mail"], absent: ["web"] });
    await clock.advance(26 * HOUR);
    assert.deepStrictEqual(events.map(({ event }) => event), ["dropped"]);
    assert.deepStrictEqual(dispatcher.all.map(({ state }) => state), ["dropped"]);
  });
});

Deno.test("reload() persists that a marker is uncertain once its check no longer has the channel", () => {
  const marker = { check: "web", channelKey: "mail", messageId: "m0", condition: "critical" } as const;
  const { dispatcher, kept, adopt } = harness({ gone: ["mail"], markers: [{ ...marker, certain: true }] });
  adopt();
  assert.deepStrictEqual(dispatcher.markerOf("web", "mail"), { ...marker, certain: false });
  assert.deepStrictEqual(kept.flatMap(({ markers }) => markers), [{ ...marker, certain: false }]);
});

Deno.test("reload() sends a message in progress to the new key, under the same id", async (t) => {
  for (
    const [name, end] of Object.entries({ "it arrives": OK, "it fails": DOWN, "it is rejected": REJECTED })
  ) {
    await t.step(name, async () => {
      const gone: string[] = [];
      const { promise, resolve } = Promise.withResolvers<Delivery>();
      const { clock, dispatcher, sent, adopt } = harness({
        gone,
        deliver: (_message, channel) => channel === "mail" ? promise : OK,
      });
      dispatcher.add([row()]);
      await clock.advance(3 * SECOND);
      gone.push("mail");
      adopt({ "web mail": "other" });
      await clock.advance(3 * SECOND);
      assert.deepStrictEqual(sent.map(({ channel }) => channel), ["mail", "other"]);
      assert.strictEqual(sent[1]?.message.id, sent[0]?.message.id, "it is the same message");
      resolve(end);
      await clock.advance(HOUR);
      assert.strictEqual(sent.length, 2);
      assert.deepStrictEqual(dispatcher.all, []);
      assert.strictEqual(dispatcher.markerOf("web", "other")?.condition, "critical");
    });
  }
});

Deno.test("reload() counts a delivery of notifications that were dropped or left the config meanwhile", async (t) => {
  for (const absent of [[], ["web"]]) {
    await t.step(absent.length === 0 ? "dropped" : "its check is gone", async () => {
      const gone: string[] = [];
      const { promise, resolve } = Promise.withResolvers<Delivery>();
      const { clock, dispatcher, kept, adopt } = harness({ gone, absent, deliver: () => promise });
      dispatcher.add([row()]);
      await clock.advance(3 * SECOND);
      gone.push("mail");
      adopt();
      resolve(OK);
      await clock.advance(3 * SECOND);
      assert.deepStrictEqual(dispatcher.all, []);
      assert.deepStrictEqual(keptIds(kept), []);
      assert.strictEqual(dispatcher.markerOf("web", "mail")?.condition, "critical");
    });
  }
});

Deno.test("reload() keeps the id of a message only if all of it moves to one channel", async () => {
  for (const [other, isKept] of [["other", true], ["elsewhere", false]] as const) {
    const gone: string[] = [];
    const { clock, dispatcher, sent, adopt } = harness({
      gone,
      deliver: (_message, channel) => channel === "mail" ? UNSURE : OK,
    });
    dispatcher.add([row(), row({ check: "db" })]);
    await clock.advance(3 * SECOND);
    dispatcher.add([row({ check: "late" })]);
    gone.push("mail");
    adopt({ "web mail": "other", "db mail": other, "late mail": "other" });
    await clock.advance(3 * SECOND);
    const ids = sent.map(({ message }) => message.id);
    assert.strictEqual(ids.filter((id) => id === ids[0]).length, isKept ? 2 : 1);
    assert.deepStrictEqual(sent.slice(1).flatMap(({ message }) => checksOf(message)).toSorted(), [
      "db",
      "late",
      "web",
    ]);
  }
});

Deno.test("reload() splits a message for a channel that does not batch", async (t) => {
  const cases: Readonly<Record<string, readonly [rows: readonly QueuedNotification[], isKept: boolean]>> = {
    "two checks": [[row(), row({ check: "db" })], false],
    "one notification": [[row()], true],
    "a problem and its end": [[row(), row({ event: "recovery", condition: "ok" })], true],
  };
  await testRows(t, cases, async ([rows, isKept]) => {
    const gone: string[] = [];
    const { clock, dispatcher, sent, adopt } = harness({
      gone,
      single: ["pager"],
      deliver: (_message, channel) => channel === "mail" ? UNSURE : OK,
    });
    dispatcher.add(rows);
    await clock.advance(3 * SECOND);
    gone.push("mail");
    adopt({ "web mail": "pager", "db mail": "pager" });
    await clock.advance(3 * SECOND);
    const [first, ...others] = sent.map(({ message }) => message);
    assert.deepStrictEqual(others.map(({ items }) => items.length), others.map(() => 1));
    assert.strictEqual(new Set(others.map(({ id }) => id)).size, isKept ? 1 : 2);
    assert.strictEqual(others[0]?.id === first?.id, isKept);
  });
});

Deno.test("reload() shows each notification while its key changes", async () => {
  const gone: string[] = [];
  const seen: (readonly string[])[] = [];
  const { clock, dispatcher, adopt } = harness({
    gone,
    deliver: () => DOWN,
    onKeep: ({ removed }) => {
      if (removed.length > 0) seen.push(dispatcher.all.map(({ channelKey }) => channelKey));
    },
  });
  dispatcher.add([row()]);
  await clock.advance(MINUTE);
  gone.push("mail");
  adopt({ "web mail": "other" });
  await clock.advance(3 * SECOND);
  assert.deepStrictEqual(seen, [["other"]]);
});

Deno.test("add() logs a rejection after a temporary failure, and delays no new check", async () => {
  const ends = [DOWN, REJECTED];
  const { clock, dispatcher, sent, events } = harness({ deliver: () => ends.shift() ?? OK });
  dispatcher.add([row()]);
  await clock.advance(20 * SECOND);
  assert.deepStrictEqual(events.map((one) => one.event === "failed" && one.isRejected), [false, true]);
  dispatcher.add([row({ check: "other" })]);
  await clock.advance(3 * SECOND);
  assert.deepStrictEqual(sent.slice(2).map(({ message }) => checksOf(message)), [["other"]]);
  await clock.advance(6 * MINUTE);
  assert.deepStrictEqual(dispatcher.all, []);
});

Deno.test("add() drops notifications that are stale for a channel, unless they are still true", async (t) => {
  for (const holds of [true, false]) {
    await t.step(holds ? "still true: retried" : "no longer true: dropped", async () => {
      let isDown = true;
      const { clock, dispatcher, sent } = harness({
        deliver: () => isDown ? DOWN : OK,
        staleAfterMs: 5 * MINUTE,
        holds,
      });
      dispatcher.add([row()]);
      await clock.advance(10 * MINUTE);
      const before = sent.length;
      isDown = false;
      await clock.advance(20 * MINUTE);
      assert.strictEqual(sent.length, before + (holds ? 1 : 0));
      assert.deepStrictEqual(dispatcher.pending, []);
      assert.deepStrictEqual(dispatcher.all.map(({ state }) => state), holds ? [] : ["dropped"]);
    });
  }
});

Deno.test("add() drops a stale recovery whose problem was not sent", async () => {
  const { clock, dispatcher, sent } = harness({ staleAfterMs: 5 * MINUTE });
  const { notification } = row();
  const recovery = { ...row({ event: "recovery" }), missedProblem: notification };
  await clock.advance(10 * MINUTE);
  dispatcher.add([recovery, { ...recovery, id: "without", missedProblem: null, sequence: 999 }]);
  await clock.advance(MINUTE);
  assert.deepStrictEqual(sent.flatMap(({ message }) => message.items.map((item) => item.missedProblem)), [
    null,
  ]);
});

Deno.test("add() waits no longer if the wall clock is set back", async () => {
  const { clock, dispatcher, sent } = harness({
    deliver: (_message, _channel, attempt) => attempt > 1 ? OK : DOWN,
  });
  dispatcher.add([row()]);
  await clock.advance(5 * SECOND);
  clock.stepWall(-5 * HOUR);
  await clock.advance(10 * SECOND);
  assert.deepStrictEqual([sent.length, dispatcher.all], [2, []]);
});

Deno.test("Dispatcher ignores a restored time that is over an hour in the future", async (t) => {
  for (const [aheadMs, dueMs] of [[30 * MINUTE, 30 * MINUTE], [5 * HOUR, 0]] as const) {
    await t.step(`${aheadMs / MINUTE} minutes ahead`, async () => {
      const kept = { ...row(), attempts: 3, nextAttemptAtMs: START + aheadMs };
      const { clock, sent } = harness({ rows: [kept] });
      await clock.advance(HOUR);
      assert.deepStrictEqual(sent.map(({ atMs }) => atMs), [dueMs]);
    });
  }
});

Deno.test("drain() tries every message once, and returns in time", async (t) => {
  await t.step("a channel that works", async () => {
    const { clock, dispatcher, sent } = harness({
      rows: [{ ...row(), nextAttemptAtMs: START + HOUR, attempts: 3 }],
    });
    const drained = dispatcher.drain(START + MINUTE);
    await clock.advance(0);
    await drained;
    assert.strictEqual(sent.length, 1);
    assert.deepStrictEqual(dispatcher.all, []);
  });
  await t.step("a channel that hangs", async () => {
    const { clock, dispatcher } = harness({ rows: [row()], deliver: () => "hang" });
    const drained = dispatcher.drain(START + 20 * SECOND);
    await clock.advance(21 * SECOND);
    await drained;
    const stopped = dispatcher.stop();
    await clock.advance(1);
    await stopped;
    assert.strictEqual(dispatcher.all.length, 1);
    assert.notStrictEqual(dispatcher.all[0]?.messageId, null, "it may have arrived");
  });
});

Deno.test("reload() makes the marker uncertain if a removed channel accepts a message in progress", async () => {
  const gone: string[] = [];
  const { promise, resolve } = Promise.withResolvers<Delivery>();
  const { clock, dispatcher, kept, adopt } = harness({ gone, deliver: () => promise });
  dispatcher.add([row()]);
  await clock.advance(3 * SECOND);
  gone.push("mail");
  adopt();
  resolve(OK);
  await clock.advance(SECOND);
  assert.strictEqual(dispatcher.markerOf("web", "mail")?.certain, false);
  assert.deepStrictEqual(kept.at(-1)?.markers.map(({ certain }) => certain), [false]);
});

Deno.test("add() backs off from a channel that is down, however long the queue is", async () => {
  const { clock, dispatcher, sent } = harness({ single: ["mail"], deliver: () => DOWN });
  dispatcher.add(Array.from({ length: 50 }, (_, index) => row({ check: `check ${index}` })));
  await clock.advance(1 * HOUR);
  assert.ok(sent.length < 15, `${sent.length} attempts in an hour`);
});

/** A receiver that rejects every message with the check `bad`. */
function exceptBad(failure: Delivery): (message: Message) => Delivery {
  return (message) => checksOf(message).includes("bad") ? failure : OK;
}

Deno.test("add() sends other notifications first if one keeps failing", async (t) => {
  await t.step("one at a time", async () => {
    const { clock, dispatcher, sent, events } = harness({ single: ["mail"], deliver: exceptBad(DOWN) });
    dispatcher.add([row({ check: "bad" }), row({ check: "a" }), row({ check: "b" })]);
    await clock.advance(2 * MINUTE);
    const taken = (): readonly string[] =>
      sent.map(({ message }) => checksOf(message).join()).filter((checks) => checks !== "bad");
    assert.deepStrictEqual(taken(), ["a", "b"]);
    dispatcher.add([row({ check: "bad", event: "change", condition: "warning" }), row({ check: "c" })]);
    await clock.advance(61 * SECOND);
    assert.deepStrictEqual(taken(), ["a", "b", "c"]);
    await clock.advance(3 * HOUR);
    assert.deepStrictEqual(dispatcher.all.map(({ notification }) => notification.condition), ["warning"]);
    assert.deepStrictEqual(events.flatMap((one) => one.event === "failed" ? [one.reason] : []), ["down"]);
    assert.ok(events.every((one) => one.event !== "delivered" || !one.isBack), "it is not well again");
  });
  await t.step("one that may have arrived", async () => {
    const { clock, dispatcher, sent } = harness({ deliver: exceptBad(UNSURE) });
    dispatcher.add([row({ check: "bad" }), row({ check: "with it" })]);
    await clock.advance(3 * HOUR);
    dispatcher.add([row({ check: "a" })]);
    await clock.advance(61 * SECOND);
    const messages = sent.map(({ message }) => checksOf(message).join());
    assert.deepStrictEqual([...new Set(messages)], ["bad,with it", "a"], "it stays whole");
    assert.strictEqual(dispatcher.all.length, 2);
  });
});

Deno.test("add() sends a rejected batch one by one after an hour if it may have arrived", async () => {
  const { clock, dispatcher, sent } = harness({
    deliver: (message, _channel, attempt) => attempt === 1 ? UNSURE : exceptBad(REJECTED)(message),
  });
  dispatcher.add(["a", "bad", "b"].map((check) => row({ check })));
  await clock.advance(30 * MINUTE);
  assert.deepStrictEqual(new Set(sent.map(({ message }) => message.id)).size, 1);
  await clock.advance(3 * HOUR);
  assert.deepStrictEqual(dispatcher.all.map(({ notification }) => notification.check), ["bad"]);
});

Deno.test("add() counts problems that recovered unsent if there are too many", async () => {
  let isDown = true;
  const { clock, dispatcher, sent, events, kept } = harness({ deliver: () => isDown ? DOWN : OK });
  for (let index = 0; index < 1010; index++) {
    const check = `check ${index % 7}`;
    dispatcher.add([row({ check })]);
    if (index === 500) await clock.advance(3 * SECOND);
    dispatcher.add([row({ check, event: "recovery" })]);
  }
  dispatcher.add([row({ check: "going on" })]);
  await clock.advance(SECOND);
  assert.strictEqual(dispatcher.all.length, 1001);
  const merged = dispatcher.all.filter(({ missedProblem }) => missedProblem !== null);
  assert.deepStrictEqual(keptIds(kept).toSorted(), merged.map(({ id }) => id).toSorted());
  assert.strictEqual(events.filter(({ event }) => event === "summarized").length, 1);
  const counted = kept.flatMap((change) => change.counted ?? []);
  assert.strictEqual(counted.reduce((sum, { summarized }) => sum + summarized, 0), 10);
  isDown = false;
  const before = sent.length;
  await clock.advance(5 * MINUTE);
  const items = sent.slice(before).flatMap(({ message }) => message.items);
  assert.strictEqual(items.length, 1001);
  assert.strictEqual(items.reduce((sum, { summarized }) => sum + summarized, 0), 10);
  assert.deepStrictEqual(dispatcher.all, []);
});

Deno.test("Dispatcher merges notifications that a kill left unmerged", async () => {
  const problem = { ...row(), summarized: 4 };
  const rows = [problem, row({ event: "recovery" })];
  const { clock, sent, kept, events } = harness({ rows });
  await clock.advance(SECOND);
  assert.deepStrictEqual(kept.map(({ removed }) => removed), [[problem.id]]);
  await clock.advance(MINUTE);
  const [item, ...others] = sent.flatMap(({ message }) => message.items);
  assert.deepStrictEqual([item?.missedProblem?.id, item?.summarized, others], [
    problem.notification.id,
    4,
    [],
  ]);
  assert.deepStrictEqual(events.map(({ event }) => event), ["delivered"]);
});

Deno.test("Dispatcher counts accepted and dropped notifications, and failed attempts", async () => {
  const { clock, dispatcher, kept } = harness({
    deliver: (_message, _channel, attempt) => attempt === 1 ? DOWN : OK,
    gone: ["left"],
  });
  dispatcher.add([row({ check: "a" }), row({ check: "b" }), row({ channel: "left" })]);
  await clock.advance(HOUR);
  const counted = kept.flatMap((change) => change.counted ?? []);
  assert.deepStrictEqual(
    counted.map((
      { channelKey, sent, failedAttempts, dropped },
    ) => [channelKey, sent, failedAttempts, dropped])
      .toSorted(),
    [["left", 0, 0, 1], ["mail", 0, 1, 0], ["mail", 2, 0, 0]],
  );
});

Deno.test("add() sends only while it owns the queue, and retries under the same id", async () => {
  let isOwner = false;
  const { clock, sent, kept } = harness({ rows: [row()], maySend: () => isOwner });
  await clock.advance(MINUTE);
  assert.strictEqual(sent.length, 0);
  isOwner = true;
  await clock.advance(2 * SECOND);
  assert.deepStrictEqual(sent.map(({ message }) => message.id), [kept[0]?.changed[0]?.messageId]);
});

Deno.test("release() resolves once the message in progress has its outcome, and sends nothing more", async () => {
  const problem = row();
  const delivered = Promise.withResolvers<Delivery>();
  const { clock, dispatcher, sent, kept } = harness({
    rows: [problem],
    deliver: () => delivered.promise,
  });
  await clock.advance(3 * SECOND);
  const late = row({ check: "mail" });
  dispatcher.receive([late]);
  dispatcher.receive([late]);
  assert.strictEqual(dispatcher.pending.length, 2);
  let isReleased = false;
  const released = dispatcher.release("mail").then(() => isReleased = true);
  await clock.advance(30 * SECOND);
  assert.strictEqual(isReleased, false);
  delivered.resolve(OK);
  await released;
  await clock.advance(MINUTE);
  assert.strictEqual(sent.length, 1);
  assert.deepStrictEqual(kept.at(-1)?.removed, [problem.id]);
  assert.deepStrictEqual([dispatcher.pending, dispatcher.markers], [[], []]);
});

Deno.test("receive() removes a recovery whose problem the channel was not notified of", async () => {
  const recovery = row({ event: "recovery" });
  const { clock, dispatcher, sent, kept } = harness();
  dispatcher.receive([recovery]);
  await clock.advance(MINUTE);
  assert.deepStrictEqual(sent, []);
  assert.deepStrictEqual(kept.map(({ removed }) => removed), [[recovery.id]]);
});

Deno.test("receive() keeps a recovery that has its problem with it", async () => {
  const { clock, dispatcher, sent } = harness();
  dispatcher.receive([{ ...row({ event: "recovery" }), missedProblem: row().notification }]);
  await clock.advance(MINUTE);
  assert.deepStrictEqual(sent.map(({ message }) => message.items.length), [1]);
});

Deno.test("receive() removes a reminder while a problem of its check is pending", async () => {
  const { clock, dispatcher, sent } = harness();
  dispatcher.receive([row(), row({ event: "reminder" })]);
  await clock.advance(MINUTE);
  assert.deepStrictEqual(sent.map(({ message }) => message.items.length), [1]);
});
