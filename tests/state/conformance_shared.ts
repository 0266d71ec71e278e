/** The behavior of every store that several processes share, beyond that of any store. */
import assert from "node:assert/strict";
import {
  type HeartbeatStore,
  type QueueRow,
  RECEIVED_MAX,
  RECEIVED_READ_MAX,
  type SharedStore,
} from "../../src/domain/membership.ts";
import type { ReportBatch } from "../../src/domain/reports.ts";
import { DAY_MS } from "../../src/shared/time_units.ts";
import { pruneAll } from "./conformance.ts";
import {
  beatOf,
  countOf,
  deliveryOf,
  endOf,
  notificationOf,
  queuedOf,
  recordOf,
  resultOf,
  silenceOf,
  updateOf,
} from "./records.ts";

/** An empty database. */
export interface SharedDatabase {
  /** Connects as another process does. */
  open(): Promise<SharedStore>;
  openHeartbeats(): HeartbeatStore;
}

const CHANNEL = "webhook 1";
const EVER = { sinceMs: -Infinity, untilMs: Infinity };
const QUEUE: QueueRow = { channelKey: CHANNEL, owner: null, token: 0 };
const UNSENT = {
  missedProblem: null,
  channelKey: CHANNEL,
  attempts: 0,
  messageId: null,
  state: "pending",
} as const;
const NOTHING = { changed: [], removed: [], markers: [], cleared: [] };
const SENT = { check: "web", channelKey: CHANNEL, messageId: "m", condition: "critical" } as const;
const MARKER = { ...SENT, certain: true };
const MEMBER = { host: "a", id: "1", config: "c", active: "c", location: null, looks: [] };

/** A problem of a check in the queue. */
function problem(check: string, members = {}) {
  return queuedOf(`id of ${check}`, 1, {
    ...UNSENT,
    notification: notificationOf(check, { event: "problem" }),
    ...members,
  });
}

async function queueProblem(store: SharedStore, check: string): Promise<void> {
  assert.deepEqual(await store.save([updateOf(check, { queued: [problem(check)] })]), []);
}

/** Takes the queue for a member, and returns what it receives. */
async function own(store: SharedStore, owner: string) {
  const queue = await take(store, owner);
  const { notifications } = await store.receive([queue]);
  const [received = assert.fail()] = notifications;
  return { queue, received, notifications };
}

async function take(store: SharedStore, owner: string, token = 0): Promise<QueueRow> {
  const taken = await store.takeQueue({ ...QUEUE, token }, owner);
  assert.ok(taken !== null);
  return taken.queue;
}

const RESULT = resultOf({
  condition: "critical",
  output: "refused\0",
  locations: [{ location: "fra", condition: null, output: "control", durationMs: 12.5 }],
});

const BATCH: ReportBatch = {
  version: 1,
  stream: "s",
  process: "1",
  waiting: 3,
  dropped: 1,
  results: [{
    sequence: 7,
    check: "web\0",
    condition: "critical",
    output: "refused\0",
    detail: "",
    performanceData: "",
    metrics: { percent: 99.5 },
    durationMs: 1.5,
    lateMs: null,
    ageMs: 12,
    nextRunInMs: 60_000,
    overdueInMs: 180_000,
    awaits: "checks",
    isInterrupted: true,
  }],
};

/**
 * The notifications that a member sent while the state was unreachable, by those that others had sent to the channel.
 */
const SENT_OPEN = [
  { known: null, sent: "critical", kept: ["critical", false] },
  { known: "critical", sent: "critical", kept: ["critical", true] },
  { known: "warning", sent: "critical", kept: ["warning", false] },
  { known: "critical", sent: "ok", kept: ["critical", false] },
  { known: null, sent: "ok", kept: null },
] as const;

/** Registers the suite for one kind of database. */
export function testSharedStore(
  symbol: string,
  withDatabase: (use: (database: SharedDatabase) => Promise<void>) => Promise<void>,
  options: Partial<Deno.TestDefinition> = {},
): void {
  const test = (sentence: string, use: (database: SharedDatabase) => Promise<void>): void =>
    Deno.test({ ...options, name: `${symbol}: ${sentence}`, fn: () => withDatabase(use) });

  test("beat() returns all members, queues and silences, and rejects an older process of a host", async ({ open, openHeartbeats }) => {
    const store = await open();
    const heartbeats = openHeartbeats();
    const nowMs = Date.now();
    const silence = silenceOf("s", { check: null, tag: "front", fromMs: nowMs, untilMs: nowMs + 60_000 });
    const looks = [{ sequence: 7, check: 'we"b\0', why: "failing" } as const];
    const other = { ...MEMBER, host: "b\0", id: "2", location: "fra", looks };
    const newer = { ...MEMBER, id: "newer" };
    try {
      assert.deepEqual(await heartbeats.beat(MEMBER, true), {
        isSuperseded: false,
        members: [],
        queues: [],
        silences: [],
        uncertain: [],
        checkIns: [],
        received: [],
      });
      await heartbeats.beat(other, true);
      await heartbeats.beat(MEMBER, false);
      await store.addSilences([silence]);
      await take(store, "1");
      const reply = await heartbeats.beat(MEMBER, false);
      assert.deepEqual(reply.members.toSorted((one, other) => one.count - other.count), [
        { ...other, count: 1 },
        { ...MEMBER, count: 2 },
      ]);
      assert.deepEqual(reply.queues, [{ ...QUEUE, owner: "1", token: 1 }]);
      assert.deepEqual(reply.silences, [silence]);
      assert.equal((await heartbeats.beat(newer, true)).isSuperseded, false);
      assert.equal((await heartbeats.beat(MEMBER, false)).isSuperseded, true);
      await heartbeats.leave(MEMBER);
      assert.equal((await heartbeats.beat(newer, false)).members.length, 2);
      await heartbeats.leave(newer);
      const { members } = await heartbeats.beat({ ...MEMBER, host: "c" }, true);
      assert.deepEqual(members.map(({ host }) => host), ["b\0"]);
    } finally {
      await heartbeats.close();
    }
  });

  test("beat() returns jobs of which an end was just recorded, with another time for each", async ({ open, openHeartbeats }) => {
    const store = await open();
    const heartbeats = openHeartbeats();
    const checkIns = async () => (await heartbeats.beat(MEMBER, true)).checkIns;
    try {
      await store.keepJobRun("begun", beatOf("1"), Date.now());
      assert.deepEqual(await checkIns(), []);
      // By the clock of the database, whatever the others show.
      await store.keepJobRun("job\0", beatOf("2", endOf()), 0);
      const [first = assert.fail()] = await checkIns();
      assert.equal(first.job, "job\0");
      assert.deepEqual(await checkIns(), [first]);
      await store.keepJobRun("job\0", beatOf("3", endOf()), 0);
      const [second] = await checkIns();
      assert.ok((second?.atMs ?? 0) > first.atMs);
    } finally {
      await heartbeats.close();
    }
  });

  test("readOthers() returns the checks whose last run depended on an attribute: those that suspect something, then those that run last", async ({ open }) => {
    const store = await open();
    const saveOne = async (name: string, nextRunAtMs: number, suspected: string[], worked: string[]) => {
      const last = resultOf({ attributes: { suspected, worked }, output: '"host a.test"\\' });
      await store.save([{ ...updateOf(name), record: recordOf(name, { last, nextRunAtMs }) }]);
    };
    const words = ["host a.test", 'file system 9:/"\\é\0'];
    await saveOne("early", 1, [], words);
    await saveOne("late", 2, [], words);
    await saveOne('we"b\0', 1, words, []);
    await saveOne("longer", 3, ["host a.test.example"], ["a.test"]);
    await store.save([updateOf("unknown")]);
    const found = async (names: readonly string[], attributes: readonly string[]) =>
      (await store.readOthers(names, attributes)).map(({ name }) => name);
    for (const word of words) assert.deepEqual(await found([], [word]), ['we"b\0', "late", "early"]);
    assert.deepEqual(await found([], ["host a.test.example", "none"]), ["longer"]);
    assert.deepEqual(
      new Set(await found(["unknown"], ["host a.test.example"])),
      new Set(["unknown", "longer"]),
    );
  });

  test("saveLocationResults() keeps the last result of each check and location, with its age", async ({ open }) => {
    const [one, other] = [await open(), await open()];
    const fra = { check: "web\0", location: "fra", result: RESULT, trace: "GET /" };
    const nyc = { ...fra, location: "nyc", result: { ...RESULT, condition: "ok" } as const };
    await one.saveLocationResults([{ ...fra, ageMs: 0 }, { ...fra, check: "mail", ageMs: 0 }]);
    await other.saveLocationResults([{ ...nyc, ageMs: 60_000 }]);
    await one.saveLocationResults([{ ...fra, result: { ...RESULT, output: "" }, ageMs: 5_000 }]);
    const rows = (await other.locationResults(["web\0", "none", "web\0"]))
      .toSorted((a, b) => a.location < b.location ? -1 : 1);
    assert.deepEqual(rows.map(({ ageMs: _, ...row }) => row), [
      { ...fra, result: { ...RESULT, output: "" }, runs: 2 },
      { ...nyc, runs: 1 },
    ]);
    const ages = rows.map(({ ageMs }) => ageMs);
    assert.ok(
      ages.every((ageMs, index) => ageMs >= (index === 0 ? 5_000 : 60_000) && ageMs < 90_000),
      `${ages}`,
    );
    assert.deepEqual(await other.locationResults([]), []);
  });

  test("keepReceived() stores batches of an agent in order, until they are too many, and beat() has the last one", async ({ open, openHeartbeats }) => {
    const [one, other] = [await open(), await open()];
    const heartbeats = openHeartbeats();
    const heard = async () => (await heartbeats.beat(MEMBER, true)).received;
    try {
      assert.deepEqual(await one.received("nas"), []);
      assert.equal(await one.keepReceived("n", BATCH), true);
      assert.equal(await one.keepReceived("nas", BATCH), true);
      assert.equal(await other.keepReceived("nas", { ...BATCH, process: "2" }), true);
      const [first = assert.fail(), second = assert.fail()] = await other.received("nas");
      assert.deepEqual([first.batch, second.batch], [BATCH, { ...BATCH, process: "2" }]);
      assert.ok(first.id < second.id && first.ageMs >= 0 && first.ageMs < DAY_MS);
      const [last] = (await heard()).filter(({ agent }) => agent === "nas");
      assert.deepEqual(last, { agent: "nas", last: second.id, count: 2 });
      await other.deleteReceived([first.id]);
      await other.deleteReceived([first.id]);
      assert.deepEqual((await one.received("nas")).map(({ id }) => id), [second.id]);
      assert.equal((await heard()).length, 2);
      const empty = { ...BATCH, results: [] };
      for (let count = 1; count < RECEIVED_MAX; count++) {
        assert.equal(await one.keepReceived("nas", empty), true);
      }
      assert.equal(await one.keepReceived("nas", empty), false);
      assert.equal((await one.received("nas")).length, RECEIVED_READ_MAX);
      assert.equal(await one.keepReceived("n", empty), true);
    } finally {
      await heartbeats.close();
    }
  });

  test("prune() forgets results at a location after 30 days", async ({ open }) => {
    const store = await open();
    const results = [29, 31].map((days) => ({
      check: `${days} days`,
      location: "fra",
      result: RESULT,
      trace: "",
      ageMs: days * DAY_MS,
    }));
    await store.saveLocationResults(results);
    await pruneAll(store, Date.now());
    const left = await store.locationResults(results.map(({ check }) => check));
    assert.deepEqual(left.map(({ check }) => check), ["29 days"]);
  });

  test("prune() forgets a queue of a dead owner only once it is empty, so that no token comes twice", async ({ open }) => {
    const [dead, next] = [await open(), await open()];
    await queueProblem(dead, "web");
    const { queue } = await own(dead, "dead");
    await pruneAll(next, Date.now());
    const taken = await next.takeQueue(queue, "next");
    assert.equal(taken?.queue.token, 2);
    const { notifications: [received] } = await next.receive([taken.queue]);
    assert.equal(received?.id, "id of web");
    await next.changeOutbox({ ...NOTHING, removed: ["id of web"] });
    await pruneAll(next, Date.now());
    assert.equal((await dead.takeQueue(QUEUE, "dead"))?.queue.token, 1);
  });

  test("takeQueue() gives a queue to one of several, by the token that was read", async ({ open }) => {
    const stores = await Promise.all([open(), open(), open()]);
    const taken = await Promise.all(stores.map((store, index) => store.takeQueue(QUEUE, `member ${index}`)));
    assert.equal(taken.filter((one) => one !== null).length, 1);
    assert.equal(stores.filter((store) => store.owns(CHANNEL)).length, 1);
    const [queue] = taken.flatMap((one) => one?.queue ?? []);
    assert.equal(queue?.token, 1);
  });

  test("receive() returns each notification once to the owner, in the order of saving, and all to the next one", async ({ open }) => {
    const [one, other] = [await open(), await open()];
    await queueProblem(other, "web");
    await queueProblem(one, "mail");
    const queue = await take(one, "one");
    const checks = async (store: SharedStore, row: QueueRow) =>
      (await store.receive([row])).notifications.map(({ notification: { check } }) => check);
    assert.deepEqual(await checks(one, queue), ["web", "mail"]);
    assert.deepEqual(await checks(one, queue), []);
    await queueProblem(other, "dns");
    assert.deepEqual(await checks(one, queue), ["dns"]);
    const next = await take(other, "other", queue.token);
    assert.deepEqual(await checks(one, queue), []);
    assert.deepEqual(await checks(other, next), ["web", "mail", "dns"]);
  });

  test("changeOutbox() changes, merges, drops and moves nothing in a queue that another member has taken", async ({ open }) => {
    const [one, other] = [await open(), await open()];
    await queueProblem(one, "web");
    await queueProblem(one, "mail");
    const { queue, received: web, notifications: [, mail = assert.fail()] } = await own(one, "one");
    await take(other, "other", queue.token);
    const sending = { attempts: 1, messageId: "m" };
    const before = await other.outbox();
    await one.changeOutbox({ ...NOTHING, changed: [{ ...web, ...sending }] });
    assert.equal(one.owns(CHANNEL), false);
    const merged = { ...mail, missedProblem: web.notification, ...sending };
    const moved = { ...web, id: "moved", channelKey: "another" };
    await one.changeOutbox({ ...NOTHING, changed: [merged, moved], removed: [web.id] });
    assert.deepEqual(await other.outbox(), before);
  });

  test("changeOutbox() counts a delivery before the queue was lost, unless the next owner has delivered it", async ({ open }) => {
    const [one, other] = [await open(), await open()];
    await queueProblem(one, "web");
    const { queue, received: { id } } = await own(one, "one");
    const delivered = { ...NOTHING, removed: [id], delivered: [id], markers: [MARKER] };
    const next = await take(other, "other", queue.token);
    await one.changeOutbox(delivered);
    assert.deepEqual(await other.outbox(), { notifications: [], markers: [MARKER], counts: [] });
    await other.changeOutbox({ ...NOTHING, cleared: [MARKER] });
    await one.changeOutbox(delivered);
    assert.deepEqual((await other.outbox()).markers, []);
    await other.giveBackQueue(next);
    assert.equal((await other.takeQueue({ ...QUEUE, token: next.token }, "one"))?.isSending, false);
  });

  test("changeOutbox() leaves what overtook others of its check without a claim, to be sent again behind them", async ({ open }) => {
    const [one, other] = [await open(), await open()];
    const queued = (id: string, check: string) =>
      problem(check, { id, notification: notificationOf(check, { id, event: "problem" }) });
    await one.save([
      updateOf("web", { queued: [queued("first", "web"), queued("second", "web")] }),
      updateOf("mail", { queued: [queued("third", "mail")] }),
    ]);
    await take(other, "other");
    const ids = ["second", "third"];
    await one.changeOutbox({ ...NOTHING, removed: ids, delivered: ids, sentOpen: [SENT] });
    assert.deepEqual((await one.outbox()).notifications.map(({ id }) => id), ["first", "second"]);
  });

  test("changeOutbox() never brings back what another member has delivered", async ({ open }) => {
    const [one, other] = [await open(), await open()];
    await queueProblem(one, "web");
    const { received } = await own(one, "one");
    await other.changeOutbox({ ...NOTHING, removed: [received.id] });
    await one.changeOutbox({ ...NOTHING, changed: [{ ...received, attempts: 1, messageId: "m" }] });
    assert.deepEqual((await one.outbox()).notifications, []);
  });

  test("changeOutbox() logs what was sent without a claim, but no drop", async ({ open }) => {
    const [cutOff, other] = [await open(), await open()];
    await take(other, "other");
    const logged = (["accepted", "rejected", "dropped"] as const).map((outcome, index) =>
      deliveryOf("web", { outcome, channelKey: CHANNEL, atMs: index })
    );
    await cutOff.changeOutbox({ ...NOTHING, logged, sentOpen: [SENT] });
    assert.deepEqual(await other.deliveries(EVER), logged.slice(0, 2));
    const drop = { ...problem("web"), state: "dropped" } as const;
    await other.changeOutbox({ ...NOTHING, changed: [drop], logged });
    assert.deepEqual(await cutOff.deliveries(EVER), logged);
  });

  for (const { known, sent, kept } of SENT_OPEN) {
    test(`changeOutbox() keeps that ${sent} was sent without a claim after ${known ?? "nothing"}`, async ({ open }) => {
      const [cutOff, other] = [await open(), await open()];
      await take(other, "other");
      const markers = known === null ? [] : [{ ...MARKER, condition: known }];
      await other.changeOutbox({ ...NOTHING, markers });
      const mine = { ...SENT, messageId: "n", condition: sent };
      await cutOff.changeOutbox({
        ...NOTHING,
        changed: [{ ...problem("web"), attempts: 1, messageId: "n" }],
        removed: ["id of web"],
        delivered: ["id of web"],
        markers: sent === "ok" ? [] : [{ ...mine, certain: true }],
        cleared: sent === "ok" ? [SENT] : [],
        sentOpen: [mine],
      });
      const { notifications, markers: present } = await other.outbox();
      assert.deepEqual(notifications, []);
      assert.deepEqual(
        present.map(({ condition, certain }) => [condition, certain]),
        kept === null ? [] : [kept],
      );
    });
  }

  for (const condition of ["critical", "ok"] as const) {
    test(`changeOutbox() keeps what is uncertain when ${condition} was sent, too, without a claim`, async ({ open }) => {
      const [owner, other] = [await open(), await open()];
      await take(owner, "owner");
      await owner.changeOutbox({ ...NOTHING, markers: [MARKER] });
      // The owner sent an older recovery of a check of the other one.
      await owner.changeOutbox({ ...NOTHING, sentOpen: [{ ...SENT, condition: "ok" }] });
      await queueProblem(other, "web");
      const sent = { ...SENT, messageId: "n", condition };
      await other.changeOutbox({
        ...NOTHING,
        removed: ["id of web"],
        delivered: ["id of web"],
        markers: condition === "ok" ? [] : [{ ...sent, certain: true }],
        cleared: condition === "ok" ? [SENT] : [],
        sentOpen: [sent],
      });
      const { notifications, markers } = await owner.outbox();
      assert.deepEqual(notifications, []);
      assert.deepEqual(markers.map(({ condition, certain }) => [condition, certain]), [["critical", false]]);
    });
  }

  test("takeQueue() says whether a message may be on its way, and what the channel was told", async ({ open }) => {
    const [one, other] = [await open(), await open()];
    await queueProblem(one, "web");
    const { queue, received } = await own(one, "one");
    const markers = [{ ...MARKER, check: "mail" }];
    await one.changeOutbox({ ...NOTHING, changed: [{ ...received, attempts: 1, messageId: "m" }], markers });
    const taken = await other.takeQueue(queue, "other");
    assert.deepEqual([taken?.isSending, taken?.markers], [true, markers]);
  });

  test("takeQueue() returns the use of the limit, which only the owner changes", async ({ open }) => {
    const [store, other] = [await open(), await open()];
    const use = (ms: number) => ({ sentAtMs: [ms], limitedUntilMs: null });
    const counted = (ms: number) => ({ ...NOTHING, counted: [countOf(CHANNEL, { limitUse: use(ms) })] });
    const queue = await take(store, "one");
    await store.changeOutbox(counted(1));
    const taken = await other.takeQueue(queue, "other");
    assert.deepEqual(taken?.limitUse, use(1));
    await other.changeOutbox(counted(2));
    await store.changeOutbox(counted(3));
    const [count] = (await store.outbox()).counts;
    assert.deepEqual(count?.limitUse, use(2));
    assert.equal(count?.sent, 15, "the counts of both are added up");
  });

  test("known() returns what waits for a channel, otherwise what it was told", async ({ open }) => {
    const store = await open();
    await take(store, "one");
    const markers = ["web", "mail", "dns"].map((check) => ({ ...MARKER, check, certain: check !== "mail" }));
    await store.changeOutbox({ ...NOTHING, markers });
    await queueProblem(store, "web");
    const recovery = queuedOf("over", 9, {
      channelKey: CHANNEL,
      notification: notificationOf("over", { event: "recovery", condition: "warning" }),
    });
    await store.save([updateOf("over", { queued: [recovery] })]);
    const known = await store.known(["web", "mail", "gone", "over"]);
    assert.deepEqual(
      known.map(({ check, condition, certain }) => `${check} ${condition} ${certain}`).sort(),
      ["mail critical false", "over ok true", "web critical true"],
    );
  });
}
