import assert from "node:assert/strict";
import type { Delivery, Message } from "../../src/domain/delivery.ts";
import type { OutboxChange, QueuedNotification } from "../../src/domain/outbox.ts";
import { testRows } from "../support/rows.ts";
import {
  dispatch,
  type DispatchOptions,
  DOWN,
  HOUR,
  MINUTE,
  OK,
  REJECTED,
  row,
  SECOND,
  START,
  UNSURE,
} from "./dispatching.ts";

function checksOf(message: Message): readonly string[] {
  return message.items.map((item) => item.notification.check);
}

/** Returns the rows of a store after these changes. */
function keptIds(kept: readonly OutboxChange[]): readonly string[] {
  const open = new Set<string>();
  for (const { changed, removed } of kept) {
    for (const one of changed) open.add(one.id);
    for (const id of removed) open.delete(id);
  }
  return [...open];
}

Deno.test("add() backs off up to 15 minutes, and after rejections up to an hour", async () => {
  const minutesBetween = async (failure: Delivery, hours: number): Promise<readonly number[]> => {
    const { clock, dispatcher, sent } = dispatch({ deliver: () => failure });
    dispatcher.add([row()]);
    await clock.advance(hours * HOUR + MINUTE);
    return sent.slice(1).map(({ atMs }, index) => Math.round((atMs - (sent[index]?.atMs ?? 0)) / MINUTE));
  };
  const down = await minutesBetween(DOWN, 12);
  assert.ok(Math.max(...down) <= 15 && down.length > 48);
  assert.deepEqual(await minutesBetween(REJECTED, 5), [5, 10, 30, 60, 60, 60, 60]);
});

Deno.test("add() keeps channels independent: one that hangs delays no other", async () => {
  const { clock, dispatcher, sent } = dispatch({
    deliver: (_message, channel) => channel === "hang" ? "hang" : OK,
  });
  dispatcher.add([row({ channel: "hang" }), row({ channel: "quick" })]);
  await clock.advance(3 * SECOND);
  dispatcher.add([row({ channel: "quick", check: "other" })]);
  await clock.advance(3 * SECOND);
  assert.deepEqual(sent.map(({ channel }) => channel), ["hang", "quick", "quick"]);
  await clock.advance(2 * MINUTE);
  assert.match(dispatcher.all[0]?.lastFailure ?? "", /no response within 60 s/);
});

Deno.test("add() resends a message that may have arrived unchanged, and later notifications after it", async () => {
  const { clock, dispatcher, sent } = dispatch({
    deliver: (_message, _channel, attempt) => attempt === 1 ? UNSURE : OK,
  });
  dispatcher.add([row({ check: "a" }), row({ check: "b" })]);
  await clock.advance(3 * SECOND);
  dispatcher.add([row({ check: "a", event: "recovery" })]);
  await clock.advance(5 * MINUTE);
  assert.deepEqual(sent.map(({ message }) => checksOf(message)), [["a", "b"], ["a", "b"], ["a"]]);
  const [first, again, last] = sent.map(({ message }) => message);
  assert.equal(again?.id, first?.id);
  assert.equal(last?.items[0]?.threadId, first?.id, "the recovery is threaded");
});

Deno.test("add() drops notifications that are stale for a channel, and any after a day, unless still true", async (t) => {
  const rows: Readonly<Record<string, readonly [options: DispatchOptions, hours: number, state: string]>> = {
    "still true after a day": [{}, 25, "pending"],
    "no longer true after a day": [{ holds: false }, 25, "dropped"],
    "still true, though stale": [{ staleAfterMs: 5 * MINUTE }, 1, "pending"],
    "stale": [{ staleAfterMs: 5 * MINUTE, holds: false }, 1, "dropped"],
  };
  await testRows(t, rows, async ([options, hours, state]) => {
    const { clock, dispatcher, events } = dispatch({ ...options, deliver: () => DOWN });
    dispatcher.add([row()]);
    await clock.advance(hours * HOUR);
    assert.equal(dispatcher.all[0]?.state, state);
    assert.equal(events.some(({ event }) => event === "dropped"), state === "dropped");
  });
});

Deno.test("add() drops a stale recovery whose problem was not sent", async () => {
  const { clock, dispatcher, sent } = dispatch({ staleAfterMs: 5 * MINUTE });
  const recovery = { ...row({ event: "recovery" }), missedProblem: row().notification };
  await clock.advance(10 * MINUTE);
  dispatcher.add([recovery, { ...recovery, id: "without", missedProblem: null, sequence: 999 }]);
  await clock.advance(MINUTE);
  const items = sent.flatMap(({ message }) => message.items);
  assert.deepEqual(items.map((item) => item.missedProblem), [null]);
});

Deno.test("add() drops notifications of which the check has no such channel, and their texts", async () => {
  const { clock, dispatcher, sent, events } = dispatch({ gone: ["mail"] });
  const long = { output: "filler", detail: "filler", summary: { html: "filler", json: "{}" } };
  dispatcher.add([{ ...row(), notification: { ...row().notification, ...long } }]);
  await clock.advance(1 * MINUTE);
  const [event] = events;
  assert.ok(event?.event === "dropped" && event.reason === "its check no longer has this channel");
  assert.deepEqual([sent, dispatcher.pending], [[], []]);
  assert.doesNotMatch(JSON.stringify(dispatcher.all), /filler/);
});

Deno.test("add() keeps the last dropped notification of each check and channel", () => {
  const { dispatcher, kept, adopt } = dispatch();
  for (const condition of ["warning", "critical", "unknown"] as const) {
    adopt([]);
    dispatcher.add([row({ condition }), row({ check: "other", condition })]);
    adopt(["mail"]);
  }
  assert.deepEqual(
    dispatcher.all.map(({ notification, state }) => [notification.check, notification.condition, state]),
    [["web", "unknown", "dropped"], ["other", "unknown", "dropped"]],
  );
  assert.deepEqual(keptIds(kept), dispatcher.all.map(({ id }) => id));
});

Deno.test("add() keeps notifications without check and channel for a day", async () => {
  const problem = { ...row(), attempts: 1, messageId: "m1" };
  const absent = { outbox: { notifications: [problem] }, gone: ["mail"], absent: ["web"] };
  const { clock, dispatcher, sent, kept, events, adopt } = dispatch(absent);
  await clock.advance(20 * HOUR);
  assert.deepEqual([sent, kept, events], [[], [], []]);
  assert.deepEqual([dispatcher.all, dispatcher.pending], [[problem], []]);
  adopt([]);
  await clock.advance(3 * SECOND);
  assert.deepEqual(sent.map(({ message }) => message.id), ["m1"]);
  const other = dispatch(absent);
  await other.clock.advance(26 * HOUR);
  assert.deepEqual(other.dispatcher.all.map(({ state }) => state), ["dropped"]);
});

Deno.test("reload() persists that a marker is uncertain once its check no longer has the channel", () => {
  const marker = { check: "web", channelKey: "mail", messageId: "m0", condition: "critical" } as const;
  const { kept, adopt } = dispatch({ gone: ["mail"], outbox: { markers: [{ ...marker, certain: true }] } });
  adopt(["mail"]);
  assert.deepEqual(kept.flatMap(({ markers }) => markers), [{ ...marker, certain: false }]);
});

/** Sends notifications to `mail`, which the config has no longer 3 seconds later; a test may queue others before. */
async function sendAndReload(
  notifications: readonly QueuedNotification[],
  { rekeyed, late = [], ...options }: DispatchOptions & {
    readonly rekeyed?: Readonly<Record<string, string>>;
    readonly late?: readonly QueuedNotification[];
  },
) {
  const all = dispatch(options);
  all.dispatcher.add(notifications);
  await all.clock.advance(3 * SECOND);
  all.dispatcher.add(late);
  all.adopt(["mail"], rekeyed);
  await all.clock.advance(3 * SECOND);
  return { ...all, ids: all.sent.map(({ message }) => message.id) };
}

Deno.test("reload() sends a message in progress to the new key, under the same id", async (t) => {
  await testRows(t, { "it arrives": OK, "it fails": DOWN, "it is rejected": REJECTED }, async (end) => {
    const { promise, resolve } = Promise.withResolvers<Delivery>();
    const { clock, dispatcher, sent, ids } = await sendAndReload([row()], {
      rekeyed: { "web mail": "other" },
      deliver: (_message, channel) => channel === "mail" ? promise : OK,
    });
    assert.deepEqual(sent.map(({ channel }) => channel), ["mail", "other"]);
    assert.equal(ids[1], ids[0]);
    resolve(end);
    await clock.advance(HOUR);
    assert.deepEqual([sent.length, dispatcher.all], [2, []]);
    assert.equal(dispatcher.markerOf("web", "other")?.condition, "critical");
  });
});

Deno.test("reload() counts a delivery of notifications that were dropped or left the config meanwhile", async (t) => {
  await testRows(t, { "dropped": [], "its check is gone": ["web"] }, async (absent) => {
    const { promise, resolve } = Promise.withResolvers<Delivery>();
    const { clock, dispatcher, kept } = await sendAndReload([row()], { absent, deliver: () => promise });
    resolve(OK);
    await clock.advance(3 * SECOND);
    assert.deepEqual([dispatcher.all, keptIds(kept)], [[], []]);
    const marker = dispatcher.markerOf("web", "mail");
    assert.deepEqual([marker?.condition, marker?.certain], ["critical", absent.length > 0]);
  });
});

Deno.test("reload() keeps the id of a message only if all of it moves to one channel", async () => {
  for (const [other, isKept] of [["other", true], ["elsewhere", false]] as const) {
    const { sent, ids } = await sendAndReload([row(), row({ check: "db" })], {
      late: [row({ check: "late" })],
      rekeyed: { "web mail": "other", "db mail": other, "late mail": "other" },
      deliver: (_message, channel) => channel === "mail" ? UNSURE : OK,
    });
    assert.equal(ids.filter((id) => id === ids[0]).length, isKept ? 2 : 1);
    const checks = sent.slice(1).flatMap(({ message }) => checksOf(message));
    assert.deepEqual(checks.toSorted(), ["db", "late", "web"]);
  }
});

Deno.test("reload() splits a message for a channel that does not batch", async (t) => {
  const cases: Readonly<Record<string, readonly [rows: readonly QueuedNotification[], isKept: boolean]>> = {
    "two checks": [[row(), row({ check: "db" })], false],
    "one notification": [[row()], true],
    "a problem and its end": [[row(), row({ event: "recovery" })], true],
  };
  await testRows(t, cases, async ([rows, isKept]) => {
    const { sent, ids: [first, ...others] } = await sendAndReload(rows, {
      single: ["pager"],
      rekeyed: { "web mail": "pager", "db mail": "pager" },
      deliver: (_message, channel) => channel === "mail" ? UNSURE : OK,
    });
    assert.ok(sent.slice(1).every(({ message }) => message.items.length === 1));
    assert.equal(new Set(others).size, isKept ? 1 : 2);
    assert.equal(others[0] === first, isKept);
  });
});

Deno.test("reload() shows each notification while its key changes", async () => {
  const seen: (readonly string[])[] = [];
  await sendAndReload([row()], {
    rekeyed: { "web mail": "other" },
    deliver: () => DOWN,
    persist: ({ removed }, dispatcher) => {
      if (removed.length > 0) seen.push(dispatcher.all.map(({ channelKey }) => channelKey));
    },
  });
  assert.deepEqual(seen, [["other"]]);
});

Deno.test("add() logs a rejection after a temporary failure, and delays no new check", async () => {
  const ends = [DOWN, REJECTED];
  const { clock, dispatcher, sent, events } = dispatch({ deliver: () => ends.shift() ?? OK });
  dispatcher.add([row()]);
  await clock.advance(20 * SECOND);
  assert.deepEqual(events.map((one) => one.event === "failed" && one.isRejected), [false, true]);
  dispatcher.add([row({ check: "other" })]);
  await clock.advance(3 * SECOND);
  assert.deepEqual(sent.slice(2).map(({ message }) => checksOf(message)), [["other"]]);
});

Deno.test("Dispatcher ignores a restored time that is over an hour in the future", async () => {
  for (const [aheadMs, dueMs] of [[30 * MINUTE, 30 * MINUTE], [5 * HOUR, 0]] as const) {
    const notifications = [{ ...row(), attempts: 3, nextAttemptAtMs: START + aheadMs }];
    const { clock, sent } = dispatch({ outbox: { notifications } });
    await clock.advance(HOUR);
    assert.deepEqual(sent.map(({ atMs }) => atMs), [dueMs]);
  }
});

Deno.test("drain() tries every message once, and returns in time", async (t) => {
  await t.step("a channel that works", async () => {
    const notifications = [{ ...row(), nextAttemptAtMs: START + HOUR, attempts: 3 }];
    const { clock, dispatcher, sent } = dispatch({ outbox: { notifications } });
    const drained = dispatcher.drain(START + MINUTE);
    await clock.advance(0);
    await drained;
    assert.deepEqual([sent.length, dispatcher.all], [1, []]);
  });
  await t.step("a channel that hangs", async () => {
    const { clock, dispatcher } = dispatch({ outbox: { notifications: [row()] }, deliver: () => "hang" });
    const drained = dispatcher.drain(START + 20 * SECOND);
    await clock.advance(21 * SECOND);
    await drained;
    const stopped = dispatcher.stop();
    await clock.advance(1);
    await stopped;
    assert.ok(dispatcher.all[0]?.messageId, "it may have arrived");
  });
});

Deno.test("add() backs off from a channel that is down, however long the queue is", async () => {
  const { clock, dispatcher, sent } = dispatch({ single: ["mail"], deliver: () => DOWN });
  dispatcher.add(Array.from({ length: 50 }, (_, index) => row({ check: `check ${index}` })));
  await clock.advance(1 * HOUR);
  assert.ok(sent.length < 15, `${sent.length} attempts in an hour`);
});

Deno.test("add() sends other notifications first if one keeps failing", async (t) => {
  const exceptBad = (failure: Delivery) => (message: Message) =>
    checksOf(message).includes("bad") ? failure : OK;
  await t.step("one at a time", async () => {
    const { clock, dispatcher, sent, events } = dispatch({ single: ["mail"], deliver: exceptBad(DOWN) });
    dispatcher.add([row({ check: "bad" }), row({ check: "a" }), row({ check: "b" })]);
    await clock.advance(2 * MINUTE);
    dispatcher.add([row({ check: "bad", event: "change", condition: "warning" }), row({ check: "c" })]);
    await clock.advance(61 * SECOND);
    const checks = sent.flatMap(({ message }) => checksOf(message));
    assert.deepEqual(checks.filter((check) => check !== "bad"), ["a", "b", "c"]);
    await clock.advance(3 * HOUR);
    assert.deepEqual(dispatcher.all.map(({ notification }) => notification.condition), ["warning"]);
    assert.deepEqual(events.flatMap((one) => one.event === "failed" ? [one.reason] : []), ["down"]);
    assert.ok(events.every((one) => one.event !== "delivered" || !one.isBack), "it is not well again");
  });
  await t.step("one that may have arrived", async () => {
    const { clock, dispatcher, sent } = dispatch({ deliver: exceptBad(UNSURE) });
    dispatcher.add([row({ check: "bad" }), row({ check: "with it" })]);
    await clock.advance(3 * HOUR);
    dispatcher.add([row({ check: "a" })]);
    await clock.advance(61 * SECOND);
    const messages = sent.map(({ message }) => checksOf(message).join());
    assert.deepEqual([...new Set(messages)], ["bad,with it", "a"], "it stays whole");
  });
  await t.step("a rejected batch that may have arrived, after an hour", async () => {
    const { clock, dispatcher, sent } = dispatch({
      deliver: (message, _channel, attempt) => attempt === 1 ? UNSURE : exceptBad(REJECTED)(message),
    });
    dispatcher.add(["a", "bad", "b"].map((check) => row({ check })));
    await clock.advance(30 * MINUTE);
    assert.equal(new Set(sent.map(({ message }) => message.id)).size, 1);
    await clock.advance(3 * HOUR);
    assert.deepEqual(dispatcher.all.map(({ notification }) => notification.check), ["bad"]);
  });
});

Deno.test("add() counts problems that recovered unsent if there are too many", async () => {
  let isDown = true;
  const { clock, dispatcher, sent, events, kept } = dispatch({ deliver: () => isDown ? DOWN : OK });
  for (let index = 0; index < 1010; index++) {
    const check = `check ${index % 7}`;
    dispatcher.add([row({ check })]);
    if (index === 500) await clock.advance(3 * SECOND);
    dispatcher.add([row({ check, event: "recovery" })]);
  }
  await clock.advance(SECOND);
  assert.deepEqual(keptIds(kept).toSorted(), dispatcher.all.map(({ id }) => id).toSorted());
  assert.equal(events.filter(({ event }) => event === "summarized").length, 1);
  const counted = kept.flatMap((change) => change.counted ?? []);
  isDown = false;
  const before = sent.length;
  await clock.advance(5 * MINUTE);
  const items = sent.slice(before).flatMap(({ message }) => message.items);
  assert.equal(items.length, 1000);
  for (const some of [counted, items]) {
    assert.equal(some.reduce((sum, { summarized }) => sum + summarized, 0), 10);
  }
});

Deno.test("Dispatcher merges notifications that a kill left unmerged", async () => {
  const problem = { ...row(), summarized: 4 };
  const { clock, sent, kept, events } = dispatch({
    outbox: { notifications: [problem, row({ event: "recovery" })] },
  });
  await clock.advance(SECOND);
  assert.deepEqual(kept.map(({ removed }) => removed), [[problem.id]]);
  await clock.advance(MINUTE);
  const items = sent.flatMap(({ message }) => message.items);
  assert.deepEqual(items.map(({ missedProblem, summarized }) => [missedProblem?.id, summarized]), [
    [problem.notification.id, 4],
  ]);
  assert.deepEqual(events.map(({ event }) => event), ["delivered"]);
});

Deno.test("Dispatcher counts accepted and dropped notifications, and failed attempts", async () => {
  const { clock, dispatcher, kept } = dispatch({
    deliver: (_message, _channel, attempt) => attempt === 1 ? DOWN : OK,
    gone: ["left"],
  });
  dispatcher.add([row({ check: "a" }), row({ check: "b" }), row({ channel: "left" })]);
  await clock.advance(HOUR);
  const counts = kept.flatMap(({ counted = [] }) => counted).map((one) =>
    [one.channelKey, one.sent, one.failedAttempts, one.dropped].join(" ")
  );
  assert.deepEqual(counts.toSorted(), ["left 0 0 1", "mail 0 1 0", "mail 2 0 0"]);
});

Deno.test("add() sends only while it owns the queue, and retries under the same id", async () => {
  let isOwner = false;
  const { clock, sent, kept } = dispatch({ outbox: { notifications: [row()] }, maySend: () => isOwner });
  await clock.advance(MINUTE);
  assert.equal(sent.length, 0);
  isOwner = true;
  await clock.advance(2 * SECOND);
  assert.deepEqual(sent.map(({ message }) => message.id), [kept[0]?.changed[0]?.messageId]);
});

Deno.test("release() resolves once the message in progress has its outcome, and sends nothing more", async () => {
  const problem = row();
  const delivered = Promise.withResolvers<Delivery>();
  const { clock, dispatcher, sent, kept } = dispatch({
    outbox: { notifications: [problem] },
    deliver: () => delivered.promise,
  });
  await clock.advance(3 * SECOND);
  const late = row({ check: "mail" });
  for (const twice of [late, late]) dispatcher.receive([twice]);
  assert.equal(dispatcher.pending.length, 2);
  let isReleased = false;
  const released = dispatcher.release("mail").then(() => isReleased = true);
  await clock.advance(30 * SECOND);
  assert.equal(isReleased, false);
  delivered.resolve(OK);
  await released;
  await clock.advance(MINUTE);
  assert.equal(sent.length, 1);
  assert.deepEqual(kept.at(-1)?.removed, [problem.id]);
  assert.deepEqual([dispatcher.pending, dispatcher.markers], [[], []]);
});

Deno.test("receive() removes recoveries and reminders without a problem that the channel was notified of", async (t) => {
  const recovery = row({ event: "recovery" });
  const missedProblem = row().notification;
  const rows: Readonly<Record<string, readonly [rows: readonly QueuedNotification[], sent: number]>> = {
    "a recovery": [[recovery], 0],
    "a recovery that has its problem with it": [[{ ...recovery, missedProblem }], 1],
    "a reminder while a problem is pending": [[row(), row({ event: "reminder" })], 1],
  };
  await testRows(t, rows, async ([notifications, count]) => {
    const { clock, dispatcher, sent, kept } = dispatch();
    dispatcher.receive(notifications);
    await clock.advance(MINUTE);
    assert.equal(sent.flatMap(({ message }) => message.items).length, count);
    assert.deepEqual(keptIds(kept), []);
  });
});
