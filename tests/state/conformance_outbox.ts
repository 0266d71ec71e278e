/** The behavior of every store for notifications, delivery markers, and silences. */
import assert from "node:assert/strict";
import type { DeliveryMarker, QueuedNotification, Silence } from "../../src/domain/outbox.ts";
import type { Store } from "../../src/domain/store.ts";
import { pruneAll, type StoreTest } from "./conformance.ts";
import { HOSTILE_TEXTS } from "./hostile.ts";
import { DAY_MS, HOUR_MS } from "../../src/shared/time_units.ts";
import {
  actionOf,
  changeOf,
  countOf,
  deliveryOf,
  markerOf,
  notificationOf,
  NOW_MS,
  outboxChangeOf,
  queuedOf,
  recordOf,
  recordsIn,
  silenceOf,
  updateOf,
} from "./records.ts";
import { testRows } from "../support/rows.ts";

/** Registers this part of the suite. */
export function testOutbox(test: StoreTest): void {
  test("keeps every member of a row, saved with its record or by itself", async (store) => {
    const notification = notificationOf("web", { title: null, output: "", decidedAtMs: NOW_MS + 0.1 });
    const none = { lastFailure: null, firstFailedAtMs: null, messageId: null };
    const events = (["problem", "change", "recovery", "reminder"] as const).map((event, index) =>
      queuedOf(event, 2 + index, { notification: notificationOf("web", { event }) })
    );
    const states = (["pending", "rejected", "dropped"] as const).map((state, index) =>
      queuedOf(state, 6 + index, { state, nextAttemptAtMs: NOW_MS + 0.3 })
    );
    const rows = [queuedOf("bare", 1, { notification, attempts: 0, ...none }), ...events, ...states];
    await store.save([updateOf("web", { queued: rows.slice(0, 5) })]);
    await store.changeOutbox(outboxChangeOf({ changed: rows.slice(5) }));
    assert.deepEqual((await store.outbox()).notifications, rows);
  });

  test("queues a summary once, with its rows", async (store) => {
    const first = { schedule: "0 8 * * mon Europe/Zürich", scheduledMs: NOW_MS + 0.5 };
    const next = { ...first, scheduledMs: NOW_MS + 7 * DAY_MS };
    const rows = [1, 2].map((sequence) =>
      queuedOf(`summary ${sequence}`, sequence, {
        notification: notificationOf("summary", {
          event: "summary",
          summary: { html: "<p>ä</p>", json: '{"sentence":"all were up"}' },
          token: "0a1b",
        }),
      })
    );
    assert.equal(await store.queuedSummary(), null);
    assert.equal(await store.queueSummary(next, first, rows), false, "there was none before");
    assert.equal(await store.queueSummary(first, null, []), true);
    assert.deepEqual(await store.queuedSummary(), first);
    assert.equal(await store.queueSummary(next, null, rows), false, "there was one before");
    for (const other of [{ ...first, scheduledMs: NOW_MS }, { ...first, schedule: "@daily UTC" }]) {
      assert.equal(await store.queueSummary(next, other, rows), false, "it was another one");
    }
    assert.deepEqual((await store.outbox()).notifications, []);
    assert.deepEqual(await Promise.all([1, 2].map(() => store.queueSummary(next, first, rows))), [
      true,
      false,
    ]);
    assert.deepEqual(await store.queuedSummary(), next);
    assert.deepEqual((await store.outbox()).notifications, rows);
  });

  test("tells rows by sequence, whatever order they came in", async (store) => {
    const row = (sequence: number): QueuedNotification => queuedOf(`row ${sequence}`, sequence);
    await store.save([updateOf("b", { queued: [row(30), row(4)] }), updateOf("a", { queued: [row(100)] })]);
    await store.changeOutbox(outboxChangeOf({ changed: [row(5), row(2 ** 40), row(1)] }));
    assert.deepEqual(await sequencesIn(store), [1, 4, 5, 30, 100, 2 ** 40]);
  });

  test("puts a row in the place of the one of its id", async (store) => {
    await store.save([updateOf("web", { queued: [queuedOf("a", 1), queuedOf("b", 2)] })]);
    const changed: QueuedNotification = {
      ...queuedOf("a", 3),
      notification: notificationOf("other", { id: "other", event: "recovery", condition: "ok" }),
      missedProblem: notificationOf("other", { id: "missed" }),
      summarized: 3,
      channelKey: "other",
      channelName: "another channel",
      state: "rejected",
      attempts: 9,
      nextAttemptAtMs: NOW_MS + 1,
      lastFailure: null,
      firstFailedAtMs: null,
      messageId: null,
    };
    await store.changeOutbox(outboxChangeOf({ changed: [queuedOf("a", 1, { attempts: 8 }), changed] }));
    assert.deepEqual((await store.outbox()).notifications, [queuedOf("b", 2), changed]);
    await store.save([updateOf("web", { queued: [queuedOf("a", 1)] })]);
    assert.deepEqual((await store.outbox()).notifications, [queuedOf("a", 1), queuedOf("b", 2)]);
  });

  test("removes the rows that are done and no others", async (store) => {
    await store.save([updateOf("web", { queued: [..."abcd"].map((id, index) => queuedOf(id, index)) })]);
    const changed = [queuedOf("c", 2, { attempts: 3 })];
    await store.changeOutbox(outboxChangeOf({ changed, removed: ["a", "c", "a", "never there"] }));
    assert.deepEqual(await sequencesIn(store), [1, 3]);
  });

  test("keeps what each channel was notified of for each check", async (store) => {
    const marks: readonly DeliveryMarker[] = [
      markerOf("web"),
      markerOf("web", { channelKey: "webhook", condition: "warning", certain: false }),
      markerOf("other", { condition: "unknown" }),
      // Nothing that is put together from these may be taken for something else.
      markerOf("b a", { channelKey: "c" }),
      markerOf("a", { channelKey: "c b" }),
    ];
    await store.changeOutbox(outboxChangeOf({ markers: marks }));
    assert.deepEqual((await store.outbox()).markers, marks);

    const again = markerOf("web", { messageId: "message-2", condition: "ok" });
    await store.changeOutbox(outboxChangeOf({
      markers: [again],
      cleared: [{ check: "web", channelKey: "webhook" }, { check: "other", channelKey: "webhook" }],
    }));
    assert.deepEqual((await store.outbox()).markers, [again, ...marks.slice(2)]);
  });

  test("gives every text of a row, a mark and a silence back unchanged, and each names one of them", async (store) => {
    const notificationWith = (text: string) =>
      notificationOf(text, { id: text, title: text, output: text, detail: text, hostName: text });
    // The long one is removed first.
    const texts = HOSTILE_TEXTS.toReversed();
    const rows = texts.map((text, index) =>
      queuedOf(text, index, {
        notification: notificationWith(text),
        channelKey: text,
        channelName: text,
        lastFailure: text,
        messageId: text,
      })
    );
    const marked = texts.map((text) => markerOf(text, { channelKey: text, messageId: text }));
    const counts = texts.slice(1).map((text) => countOf(text, { channelName: text }));
    const silences = texts.map((text) => silenceOf(text, { check: text, reason: text }));
    await store.save([updateOf("web", { queued: rows })]);
    await store.changeOutbox(outboxChangeOf({ markers: marked, counted: counts }));
    await store.addSilences(silences);
    for (const [index, text] of texts.entries()) {
      const [notifications, markers] = [rows.slice(index), marked.slice(index)];
      assert.deepEqual(await store.outbox(), { notifications, markers, counts });
      assert.deepEqual(await store.silences(NOW_MS), silences.slice(index));
      const cleared = [{ check: text, channelKey: text }];
      await store.changeOutbox(outboxChangeOf({ removed: [text], cleared }));
      assert.equal(await store.endSilences([text], NOW_MS), 1);
    }
  });

  test("adds up what is counted of a channel, and calls it what it was called last", async (store) => {
    await store.changeOutbox(outboxChangeOf({ counted: [countOf("email"), countOf("webhook")] }));
    const more = countOf("email", {
      channelName: "renamed",
      sent: 1,
      failedAttempts: 0,
      dropped: 3,
      summarized: 0,
    });
    await store.changeOutbox(outboxChangeOf({ counted: [more, { ...more, countedAtMs: NOW_MS - 1 }] }));
    assert.deepEqual((await store.outbox()).counts, [
      countOf("email", { channelName: "renamed", sent: 7, failedAttempts: 2, dropped: 7 }),
      countOf("webhook"),
    ]);
  });

  test("logs deliveries, and returns those of some checks in a span of time", async (store) => {
    const bare = {
      ...{ missedProblem: null, messageId: null, answer: "", messageSize: 0, summarized: 0, cause: null },
    };
    const events = ["problem", "change", "recovery", "reminder", "summary", "rehearsal"] as const;
    const logged = [
      ...events.map((event, index) => deliveryOf("web", { id: event, event, atMs: NOW_MS + index })),
      deliveryOf("web", { outcome: "rejected", atMs: NOW_MS + 10 }),
      deliveryOf("mail", { ...bare, outcome: "dropped", atMs: NOW_MS + 11.5 }),
      ...HOSTILE_TEXTS.map((text, index) =>
        deliveryOf(text, {
          ...{ id: text, channelKey: text, channelName: text, answer: text, messageId: text },
          atMs: NOW_MS + 20 + index,
        })
      ),
    ];
    await store.changeOutbox(outboxChangeOf({ logged: logged.toReversed() }));
    // A transaction is repeated if its outcome is unknown.
    await store.changeOutbox(outboxChangeOf({ logged: logged.slice(0, 3) }));
    assert.deepEqual(await store.deliveries(EVER), logged);
    for (const name of ["mail", ...HOSTILE_TEXTS]) {
      const own = logged.filter(({ check }) => check === name);
      assert.deepEqual(await store.deliveries({ ...EVER, checks: [name, name, "nobody"] }), own);
    }
    assert.deepEqual(await store.deliveries({ ...EVER, checks: [] }), []);
    const span = { sinceMs: NOW_MS + 1, untilMs: NOW_MS + 10 };
    assert.deepEqual(await store.deliveries({ ...span, checks: ["web", "mail"] }), logged.slice(1, 7));
    const caused = await store.deliveries({ ...EVER, checks: ["web", "mail"], haveCause: true });
    assert.deepEqual(caused, logged.slice(0, 7));
  });

  test("forgets logged deliveries with the results of their time", async (store) => {
    const logged = [deliveryOf("old", { atMs: NOW_MS - 90 * DAY_MS - 1 }), deliveryOf("new")];
    await store.changeOutbox(outboxChangeOf({ logged }));
    await store.prune(NOW_MS, 200 * DAY_MS);
    assert.equal((await store.deliveries(EVER)).length, 2);
    await pruneAll(store, NOW_MS);
    assert.deepEqual(await store.deliveries(EVER), logged.slice(1));
  });

  test("replaces the use of a limit, and keeps it if an addition has none", async (store) => {
    const first = { sentAtMs: [NOW_MS - 2, NOW_MS - 1.5], limitedUntilMs: NOW_MS + HOUR_MS };
    const second = { sentAtMs: [], limitedUntilMs: null };
    const read = async () => (await store.outbox()).counts.map(({ limitUse }) => limitUse);
    await store.changeOutbox(outboxChangeOf({ counted: [countOf("sms"), countOf("email")] }));
    assert.deepEqual(await read(), [null, null]);
    await store.changeOutbox(outboxChangeOf({ counted: [countOf("sms", { limitUse: first })] }));
    await store.changeOutbox(outboxChangeOf({ counted: [countOf("sms")] }));
    assert.deepEqual(await read(), [first, null]);
    const twice = [countOf("sms", { limitUse: first }), countOf("sms", { limitUse: second }), countOf("sms")];
    await store.changeOutbox(outboxChangeOf({ counted: twice }));
    assert.deepEqual(await read(), [second, null]);
  });

  test("tells the silences that are not over, the one that ends first first", async (store) => {
    const over = silenceOf("over", { untilMs: NOW_MS });
    const brief = silenceOf("brief", { untilMs: NOW_MS + 0.5 });
    const all = silenceOf("all", { check: null, untilMs: NOW_MS + 1000, reason: "" });
    const second = silenceOf("second", { untilMs: NOW_MS + 1000 });
    const later = silenceOf("later", { fromMs: NOW_MS + HOUR_MS, untilMs: NOW_MS + 2 * HOUR_MS });
    await store.addSilences([later, all, over]);
    await store.addSilences([second, brief]);
    const silences = [over, brief, all, second, later];
    for (const [ended, ms] of [[0, -1], [1, 0], [2, 1], [4, 1000], [5, 2 * HOUR_MS]] as const) {
      assert.deepEqual(await store.silences(NOW_MS + ms), silences.slice(ended));
    }
  });

  test("puts a silence in the place of the one of its id, also one that has ended", async (store) => {
    await store.addSilences([silenceOf("a"), silenceOf("b")]);
    const longer: Silence = {
      ...silenceOf("a"),
      check: null,
      fromMs: 5,
      untilMs: NOW_MS + DAY_MS,
      reason: "longer",
      problemBeganAtMs: NOW_MS - DAY_MS,
    };
    await store.addSilences([silenceOf("a", { reason: "twice" }), longer]);
    assert.deepEqual(await store.silences(NOW_MS), [silenceOf("b"), longer]);
    await store.addSilences([{ ...longer, untilMs: NOW_MS }]);
    assert.deepEqual(await store.silences(NOW_MS), [silenceOf("b")]);
  });

  test("ends silences at once and counts them", async (store, t) => {
    const kept = [
      silenceOf("over", { untilMs: NOW_MS }),
      silenceOf("one of web"),
      silenceOf("another of web", { fromMs: NOW_MS + 5000 }),
      silenceOf("of other", { check: "other" }),
      silenceOf("of null", { check: "null" }),
      silenceOf("of all", { check: null }),
    ];
    const maintenance = [
      silenceOf("maintenance of web", { kind: "maintenance" }),
      silenceOf("maintenance of a tag", { kind: "maintenance", check: null, tag: "front" }),
    ];
    const ids = kept.slice(1).map(({ id }) => id);
    const without = (...ended: readonly string[]): readonly string[] =>
      ids.filter((id) => !ended.includes(id));
    const table: Readonly<Record<string, readonly [(string | null)[] | "all", left: readonly string[]]>> = {
      "of a check": [["web"], without("one of web", "another of web")],
      "of some checks, named twice": [["other", "null", "other"], without("of other", "of null")],
      "of all checks at once": [[null], without("of all")],
      "of a check that has none": [["unknown", "over", "all"], ids],
      "of nothing": [[], ids],
      "all there are": ["all", []],
    };
    await testRows(t, table, async ([checks, left]) => {
      await store.addSilences([...kept, ...maintenance]);
      assert.equal(await store.endSilences(checks, NOW_MS), ids.length - left.length);
      const found = await store.silences(NOW_MS);
      const isMaintenance = ({ kind }: Silence): boolean => kind === "maintenance";
      assert.deepEqual(found.filter(isMaintenance).toSorted(byId), maintenance.toSorted(byId));
      const foundIds = found.filter((silence) => !isMaintenance(silence)).map(({ id }) => id);
      assert.deepEqual(foundIds.toSorted(), left.toSorted());
      assert.equal(await store.endSilences(checks, NOW_MS), 0);
    });
  });

  test("records an action with its silences, and returns those of a check", async (store) => {
    const silence = silenceOf("a", { by: "Ada from 192.0.2.7" });
    const first = actionOf("1", { untilMs: silence.untilMs, note: "deploy\0 \u2028" });
    const second = actionOf("2", { action: "run", atMs: first.atMs + 1 });
    await store.keepAction(second, []);
    await store.keepAction(first, [silence]);
    await store.keepAction(first, [silence]);
    await store.keepAction(actionOf("3", { check: "other" }), []);
    assert.deepEqual(await store.actions("web"), [first, second]);
    assert.deepEqual(await store.actions("absent"), []);
    assert.deepEqual(await store.silences(NOW_MS), [silence]);
  });

  test("forgets actions with the results of their time", async (store) => {
    const actions = [1, 0].map((ms) => actionOf(`${ms}`, { atMs: NOW_MS - 90 * DAY_MS - ms }));
    for (const action of actions) await store.keepAction(action, []);
    await pruneAll(store, NOW_MS);
    assert.deepEqual(await store.actions("web"), actions.slice(1));
  });

  test("forgets rows 7 days after they were given up", async (store, t) => {
    const weekMs = 7 * DAY_MS;
    const old = { nextAttemptAtMs: NOW_MS - weekMs - 1, firstFailedAtMs: 0 };
    const table: Readonly<Record<string, readonly [fields: Partial<QueuedNotification>, isKept: boolean]>> = {
      "7 days ago": [{ nextAttemptAtMs: NOW_MS - weekMs, firstFailedAtMs: 0 }, true],
      "longer ago": [old, false],
      "first failed 7 days ago, due long before": [{ ...old, firstFailedAtMs: NOW_MS - weekMs }, true],
      "not dropped, however old": [{ ...old, state: "pending" }, true],
      "rejected, however old": [{ ...old, state: "rejected" }, true],
    };
    await testRows(t, table, async ([fields, isKept], name) => {
      const row = queuedOf(name, 1, { state: "dropped", ...fields });
      await store.changeOutbox(outboxChangeOf({ changed: [row] }));
      await pruneAll(store, NOW_MS);
      assert.deepEqual((await store.outbox()).notifications, isKept ? [row] : []);
      await store.changeOutbox(outboxChangeOf({ removed: [name] }));
    });
  });

  test("forgets changes and the counts of a channel after 400 days", async (store) => {
    const atMs = NOW_MS - 400 * DAY_MS;
    const changes = [atMs - 1, atMs].map((ms) => changeOf("web", ms));
    const counted = [atMs - 1, atMs].map((countedAtMs) => countOf(`at ${countedAtMs}`, { countedAtMs }));
    await store.save(changes.map((change) => updateOf("web", { change })));
    await store.changeOutbox(outboxChangeOf({ counted }));
    await pruneAll(store, NOW_MS);
    assert.deepEqual(await store.changes("web", { sinceMs: 0, limit: 9 }), changes.slice(1));
    assert.deepEqual((await store.outbox()).counts, counted.slice(1));
  });

  test("deletes silences after their end, with the retention of results", async (store) => {
    const young = silenceOf("young", { untilMs: NOW_MS - 90 * DAY_MS });
    const old = silenceOf("old", { untilMs: NOW_MS - 90 * DAY_MS - 1 });
    const running = silenceOf("running", { fromMs: 0 });
    await store.addSilences([young, old, running]);
    await pruneAll(store, NOW_MS);
    assert.deepEqual(await store.silences(-Infinity), [young, running]);
    assert.equal(await store.endSilences("all", NOW_MS), 1);
    for (const days of [90, 91]) await pruneAll(store, NOW_MS + days * DAY_MS + 1);
    assert.deepEqual(await store.silences(-Infinity), []);
  });

  test("deletes what was notified of a check with the check, and sends its rows nevertheless", async (store) => {
    const row = queuedOf("a", 1, { notification: notificationOf("left") });
    await store.save([
      updateOf("left", { record: recordOf("left", { seenAtMs: NOW_MS - 31 * DAY_MS }), queued: [row] }),
      updateOf("web"),
    ]);
    const marked = [
      markerOf("left"),
      markerOf("web"),
      markerOf("left", { channelKey: "webhook" }),
      markerOf("never kept"),
    ];
    await store.changeOutbox(outboxChangeOf({ markers: marked }));
    await store.addSilences([silenceOf("a", { check: "left" })]);
    await pruneAll(store, NOW_MS);
    assert.deepEqual(await store.outbox(), { notifications: [row], markers: [markerOf("web")], counts: [] });
    assert.equal((await store.silences(NOW_MS)).length, 1);
  });

  test("finishes pruning however many rows and silences there are", async (store) => {
    const numbers = [...Array(2500).keys()];
    const changed = numbers.map((index) =>
      queuedOf(`row ${index}`, index, {
        state: "dropped",
        nextAttemptAtMs: index === 7 ? NOW_MS : 0,
        firstFailedAtMs: 0,
      })
    );
    await store.changeOutbox(outboxChangeOf({ changed }));
    await store.addSilences(numbers.map((index) => silenceOf(`silence ${index}`, { untilMs: index })));
    await store.save([updateOf("old", { record: recordOf("old", { seenAtMs: 0 }) })]);
    await pruneAll(store, NOW_MS);
    assert.deepEqual(await sequencesIn(store), [7]);
    assert.deepEqual(await store.silences(-Infinity), []);
    assert.deepEqual(await recordsIn(store), []);
  });
}

async function sequencesIn(store: Store): Promise<readonly number[]> {
  return (await store.outbox()).notifications.map(({ sequence }) => sequence);
}

function byId(one: Silence, other: Silence): number {
  return one.id.localeCompare(other.id);
}

const EVER = { sinceMs: -Infinity, untilMs: Infinity };
