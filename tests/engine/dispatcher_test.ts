import assert from "node:assert/strict";
import type { Delivery, Message } from "../../src/domain/delivery.ts";
import type { OutboxChange, QueuedNotification } from "../../src/domain/outbox.ts";
import { type Rows, testRows } from "../support/rows.ts";
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

Deno.test("add() drops notifications that are stale for a channel, and any after a day, unless still true", async (t) => {
  const rows: Rows<[options: DispatchOptions, hours: number, state: string]> = {
    "still true after a day": [{}, 25, "pending"],
    "no longer true after a day": [{ holds: false }, 25, "dropped"],
    "still true, though stale": [{ staleAfterMs: 5 * MINUTE }, 1, "pending"],
    "stale": [{ staleAfterMs: 5 * MINUTE, holds: false }, 1, "dropped"],
    "its check has left the config": [{ gone: ["mail"], absent: ["web"], holds: false }, 20, "pending"],
    "its check has left the config for a day": [{ gone: ["mail"], absent: ["web"] }, 26, "dropped"],
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

Deno.test("reload() keeps the id of a message only if all of it moves to one channel that accepts it", async (t) => {
  const two = [row(), row({ check: "db" })];
  const rows: Rows<[rows: readonly QueuedNotification[], other: string, single: string, isKept: boolean]> = {
    "to one channel": [two, "other", "", true],
    "to two": [two, "elsewhere", "", false],
    "to one that does not batch": [two, "other", "other", false],
    "one notification": [[row()], "", "other", true],
    "a problem and its end": [[row(), row({ event: "recovery" })], "", "other", true],
  };
  await testRows(t, rows, async ([notifications, other, single, isKept]) => {
    const { sent, ids } = await sendAndReload(notifications, {
      late: [row({ check: "late" })],
      single: [single],
      rekeyed: { "web mail": "other", "db mail": other, "late mail": "other" },
      deliver: (_message, channel) => channel === "mail" ? UNSURE : OK,
    });
    assert.equal(ids.filter((id) => id === ids[0]).length, isKept ? 2 : 1);
    const checks = new Set([...notifications.map(({ notification }) => notification.check), "late"]);
    const later = sent.slice(1).flatMap(({ message }) => checksOf(message));
    assert.deepEqual(later.toSorted(), [...checks].toSorted());
  });
});

Deno.test("Dispatcher ignores a restored time that is over an hour in the future", async () => {
  for (const [aheadMs, dueMs] of [[30 * MINUTE, 30 * MINUTE], [5 * HOUR, 0]] as const) {
    const notifications = [{ ...row(), attempts: 3, nextAttemptAtMs: START + aheadMs }];
    const { clock, sent } = dispatch({ outbox: { notifications } });
    await clock.advance(HOUR);
    assert.deepEqual(sent.map(({ atMs }) => atMs), [dueMs]);
  }
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

Deno.test("Dispatcher logs what was accepted, rejected for the first time, or dropped", async () => {
  const { clock, dispatcher, kept, sent } = dispatch({
    gone: ["left"],
    deliver: (_message, _channel, attempt) =>
      attempt === 1
        ? DOWN
        : attempt < 5
        ? { ...REJECTED, reason: "x".repeat(300) }
        : { delivered: true, note: "one is unknown" },
  });
  const missed = {
    ...row({ check: "b", event: "recovery" }),
    missedProblem: row().notification,
    summarized: 3,
  };
  dispatcher.add([row({ check: "a" }), missed, row({ channel: "left" })]);
  await clock.advance(HOUR);
  const logged = kept.flatMap(({ logged = [] }) => logged);
  const shown = logged.map(({ outcome, check, messageSize, answer }) =>
    [outcome, check, messageSize, answer].join(" ")
  );
  const cut = `${"x".repeat(253)}…`;
  assert.deepEqual(shown, [
    "dropped web 0 its check no longer has this channel",
    `rejected b 2 ${cut}`,
    `rejected a 2 ${cut}`,
    "accepted a 1 one is unknown",
    "accepted b 1 one is unknown",
  ]);
  const { messageId, atMs, ...last } = logged.at(-1) ?? assert.fail();
  assert.equal(messageId, sent.at(-1)?.message.id);
  assert.equal(atMs, START + (sent.at(-1)?.atMs ?? 0));
  assert.deepEqual(last, {
    cause: null,
    ...{ outcome: "accepted", answer: "one is unknown", messageSize: 1, id: missed.id, check: "b" },
    ...{ channelKey: "mail", channelName: "mail", event: "recovery", condition: "ok", decidedAtMs: START },
    ...{ missedProblem: "critical", summarized: 3, firstFailedAtMs: START + 2 * SECOND },
  });
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
  const rows: Rows<[rows: readonly QueuedNotification[], sent: number]> = {
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
