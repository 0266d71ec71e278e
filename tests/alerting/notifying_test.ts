import assert from "node:assert/strict";
import type { Channel } from "../../src/domain/channel.ts";
import type { Check } from "../../src/domain/check.ts";
import type { Silence } from "../../src/domain/outbox.ts";
import { configOf, openDesk, START } from "./desk.ts";
import { testCheck } from "../support/checks.ts";
import { openFaultyStore } from "../support/faulty_store.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const CONSOLE: Channel = { kind: "console", key: "console", parameters: {} };

/** A file is touched for each notification, so a test sees where notifications went. */
function fileChannel(path: string): Channel {
  return { kind: "file_touch", key: path, parameters: { path } };
}

function withChannels(check: Check, notifications: readonly Channel[]): Check {
  return { ...check, notifications };
}

function silence(check: string | null): Silence {
  return {
    id: `of ${check}`,
    check,
    tag: null,
    fromMs: START,
    untilMs: START + HOUR,
    reason: "",
    kind: "silence",
    problemBeganAtMs: null,
  };
}

const ROUTER = testCheck("ok", { name: "router" });
const WEB = testCheck("ok", { name: "web", dependsOn: ["router"] });
const FREE = withChannels(testCheck("ok", { name: "free" }), [CONSOLE]);

Deno.test("suppressedBy() suppresses until a parent ran since the problem began", async () => {
  const { clock, notifying, observe, lines } = await openDesk([ROUTER, WEB]);
  assert.equal(notifying.suppressedBy(WEB, START), "dependency", "nobody has looked at the router");
  await observe(ROUTER, "ok");
  await clock.advance(MINUTE);
  await observe(WEB, "critical");
  assert.equal(notifying.suppressedBy(WEB, clock.wallMs()), "dependency", "the router may be down by now");
  await observe(ROUTER, "ok");
  assert.equal(notifying.suppressedBy(WEB, clock.wallMs()), null);
  await observe(WEB, "critical");
  await clock.advance(1);
  assert.equal(lines.length, 1);
});

Deno.test("suppressedBy() and dependenciesToRun() use only parents that run", async () => {
  const { clock, notifying, observe } = await openDesk([ROUTER, WEB]);
  const decide = (): unknown => [
    notifying.suppressedBy(WEB, clock.wallMs()),
    notifying.dependenciesToRun(WEB, clock.wallMs()).map(({ name }) => name),
  ];
  await observe(WEB, "critical");
  assert.deepEqual(decide(), ["dependency", ["router"]], "never run");
  await observe(ROUTER, "ok");
  assert.deepEqual(decide(), [null, []]);
  await observe(ROUTER, "critical");
  assert.deepEqual(decide(), ["dependency", []]);
  // It is inactive from now on, or the call is about others.
  notifying.reload(configOf([ROUTER, WEB], [WEB]));
  assert.deepEqual(decide(), [null, []]);
});

Deno.test("channelNames has the name that the user gave a channel, otherwise its receiver", async () => {
  const named: Channel = { ...fileChannel("/a"), key: '"chat"', name: "chat" };
  const { notifying } = await openDesk([{ ...testCheck("ok"), notifications: [named, fileChannel("/b")] }]);
  assert.deepEqual([...notifying.channelNames], [['"chat"', "chat"], ["/b", "file /b"]]);
});

Deno.test("refresh() reads silences, and keeps the last ones while the store fails", async () => {
  const { store, notifying } = await openDesk([FREE]);
  await store.addSilences([silence(null)]);
  assert.equal(notifying.suppressedBy(FREE, START), null, "nobody has read it yet");
  await notifying.refresh();
  assert.equal(notifying.suppressedBy(FREE, START), "silence");
  store.failure = "busy";
  await notifying.refresh();
  assert.equal(notifying.suppressedBy(FREE, START), "silence");
  assert.equal(notifying.suppressedBy(FREE, START + HOUR), null, "its end comes without being read");
  store.failure = null;
  await store.endSilences("all", START);
  await notifying.refresh();
  assert.equal(notifying.suppressedBy(FREE, START), null);
});

Deno.test("deciding() sends a recovery only to channels that were sent the problem", async () => {
  await withDirectory(async (directory) => {
    const file = fileChannel(`${directory}/told`);
    const both = withChannels(FREE, [CONSOLE, file]);
    const { clock, notifying, observe, drain, lines } = await openDesk([FREE]);
    await observe(FREE, "critical");
    await drain();
    notifying.reload(configOf([both]));
    await clock.advance(MINUTE);
    await observe(both, "ok");
    await drain();
    assert.deepEqual(lines.map((line) => / UTC ([A-Z]+)\b/.exec(line)?.[1]), ["CRITICAL", "OK"]);
    await assert.rejects(Deno.stat(`${directory}/told`), Deno.errors.NotFound);
    assert.deepEqual(notifying.queued, []);
    await observe(both, "critical");
    await drain();
    assert.ok((await Deno.stat(`${directory}/told`)).isFile, "the next problem is told there too");
  });
});

Deno.test("deciding() notifies a new channel of an ongoing problem, and the others not again", async () => {
  await withDirectory(async (directory) => {
    const both = withChannels(FREE, [CONSOLE, fileChannel(`${directory}/told`)]);
    const { notifying, observe, review, drain, lines } = await openDesk([FREE]);
    await observe(FREE, "critical");
    await drain();
    notifying.reload(configOf([both]));
    await review(both);
    await drain();
    assert.ok((await Deno.stat(`${directory}/told`)).isFile);
    assert.equal(lines.length, 1);
  });
});

Deno.test("deciding() continues the ids of persisted rows", async () => {
  const hopeless = withChannels(FREE, [fileChannel("/none/such/directory/told")]);
  const first = await openDesk([hopeless]);
  await first.observe(hopeless, "critical");
  await first.drain();
  await first.notifying.stop();
  const second = await openDesk([hopeless], { store: first.store, clock: first.clock });
  await second.observe(hopeless, "warning");
  await second.observe(hopeless, "ok");
  const sequences = second.notifying.queued.map((row) => row.sequence);
  assert.deepEqual(sequences, sequences.toSorted((one, other) => one - other));
  assert.equal(new Set(sequences).size, sequences.length);
  assert.equal(second.notifying.queued[0]?.notification.event, "problem");
  await second.notifying.stop();
});

Deno.test("send() delivers while the store is full, and keeps afterwards that it is done", async () => {
  const { store, repository, notifying, observe, drain, lines, troubles } = await openDesk([FREE]);
  store.failure = "full";
  await observe(FREE, "critical");
  await drain();
  assert.equal(lines.length, 1);
  assert.deepEqual(troubles, ["full"]);
  store.failure = null;
  await repository.flush();
  await notifying.stop();
  const { notifications: rows, markers: notified } = await store.outbox();
  assert.deepEqual(rows, [], "what arrived is not kept as waiting");
  assert.deepEqual(notified.map(({ check, channelKey }) => [check, channelKey]), [["free", "console"]]);
  const next = await openDesk([FREE], { store });
  await next.drain();
  assert.deepEqual(next.lines, []);
  await next.notifying.stop();
});

Deno.test("send() loses no recovery if a process terminates between the change and its queued notifications", async () => {
  const { store, repository, observe, drain, lines } = await openDesk([FREE]);
  store.failure = "full";
  await observe(FREE, "critical");
  await drain();
  assert.equal(lines.length, 1);
  // There is space again for the decided notifications, and the process is killed before anything else is persisted.
  store.failure = null;
  await repository.flush();
  const [sent] = (await store.outbox()).notifications;
  assert.equal(sent?.messageId, sent?.notification.id, "it may have arrived");
  const next = await openDesk([FREE], { store });
  await next.observe(FREE, "ok");
  await next.drain();
  assert.deepEqual(next.lines.map((line) => /(OK, recovered|CRITICAL): free/.exec(line)?.[0]), [
    "CRITICAL: free",
    "OK, recovered: free",
  ]);
  await next.notifying.stop();
});

Deno.test("send() persists undelivered notifications once, when a full store can be written again", async () => {
  await withDirectory(async (directory) => {
    const check = withChannels(FREE, [fileChannel(`${directory}/later/told`)]);
    const { clock, store, repository, notifying, observe, drain } = await openDesk([check]);
    store.failure = "full";
    await observe(check, "critical");
    await drain();
    assert.deepEqual(notifying.queued.map((row) => row.state), ["rejected"]);
    store.failure = null;
    await repository.flush();
    await notifying.stop();
    const { notifications: rows } = await store.outbox();
    assert.deepEqual(rows, notifying.queued);
    assert.equal(rows.length, 1);
    await Deno.mkdir(`${directory}/later`);
    const next = await openDesk([check], { store, clock });
    await next.drain();
    assert.ok((await Deno.stat(`${directory}/later/told`)).isFile);
    await next.notifying.stop();
    assert.deepEqual((await store.outbox()).notifications, []);
  });
});

Deno.test("reload() keeps the notification of an ongoing problem due that it drops", async (t) => {
  const channel = (directory: string): Check => withChannels(FREE, [fileChannel(`${directory}/there/told`)]);
  /** The parts that are missing from the config for a moment. */
  const vanishing: Readonly<Record<string, readonly Check[]>> = {
    "its channel": [withChannels(FREE, [])],
    "its channel, another in its place": [FREE],
    "the check": [],
  };
  for (const [name, others] of Object.entries(vanishing)) {
    for (const way of ["reload", "start"]) {
      await t.step(`${name}, by a ${way}`, () =>
        withDirectory(async (directory) => {
          const check = channel(directory);
          const arrives = async (): Promise<boolean> => {
            const came = await Deno.remove(`${directory}/there/told`).then(() => true, () => false);
            return came;
          };
          let desk = await openDesk([check]);
          const go = async (checks: readonly Check[]): Promise<void> => {
            if (way === "reload") return desk.notifying.reload(configOf(checks));
            await desk.notifying.stop();
            desk = await openDesk(checks, { clock: desk.clock, store: desk.store });
          };
          await desk.observe(check, "critical");
          await desk.drain();
          assert.deepEqual(desk.notifying.pending.map(({ state }) => state), ["rejected"]);
          await go(others);
          await desk.drain();
          assert.deepEqual(desk.notifying.pending, []);
          await go([check]);
          await Deno.mkdir(`${directory}/there`);
          await desk.observe(check, "critical");
          await desk.drain();
          assert.ok(await arrives(), "the problem");
          await desk.observe(check, "critical");
          await desk.drain();
          assert.ok(!await arrives(), "once");
          await desk.observe(check, "ok");
          await desk.drain();
          assert.ok(await arrives(), "the recovery");
          assert.deepEqual(desk.notifying.pending, []);
          await desk.notifying.stop();
        }));
    }
  }
});

Deno.test("reload() keeps a dropped recovery due", async () => {
  await withDirectory(async (directory) => {
    const check = withChannels(FREE, [fileChannel(`${directory}/there/told`)]);
    await Deno.mkdir(`${directory}/there`);
    const { notifying, observe, drain, events, clock } = await openDesk([check]);
    await observe(check, "critical");
    await drain();
    await Deno.remove(`${directory}/there`, { recursive: true });
    await clock.advance(MINUTE);
    await observe(check, "ok");
    await drain();
    notifying.reload(configOf([withChannels(FREE, [])]));
    assert.deepEqual(events.map(({ event }) => event), ["delivered", "failed", "dropped"]);
    assert.equal(notifying.queued[0]?.lastFailure, "its check no longer has this channel");
    notifying.reload(configOf([check]));
    await Deno.mkdir(`${directory}/there`);
    await clock.advance(MINUTE);
    await observe(check, "ok");
    assert.deepEqual(
      notifying.pending.map((
        { notification },
      ) => [notification.event, notification.previous, notification.problemBeganAtMs]),
      [["recovery", "critical", START]],
    );
    await drain();
    assert.ok((await Deno.stat(`${directory}/there/told`)).isFile);
  });
});

Deno.test("reload() moves the delivery markers of an edited channel", async () => {
  await withDirectory(async (directory) => {
    const before = withChannels(FREE, [fileChannel(`${directory}/before`)]);
    const { notifying, observe, review, drain, store, events } = await openDesk([before]);
    await observe(before, "critical");
    await drain();
    const after = withChannels(FREE, [fileChannel(`${directory}/after`)]);
    notifying.reload(configOf([after]));
    await review(after);
    await drain();
    await assert.rejects(Deno.stat(`${directory}/after`), Deno.errors.NotFound, "not the problem again");
    await observe(after, "ok");
    await drain();
    assert.ok((await Deno.stat(`${directory}/after`)).isFile, "its recovery");
    assert.deepEqual(events.map(({ event }) => event), ["delivered", "delivered"]);
    assert.deepEqual(
      await store.outbox().then(({ notifications: rows, markers: notified }) => [rows, notified]),
      [
        [],
        [],
      ],
    );
  });
});

Deno.test("reload() deletes the delivery markers of a channel that left the check, a day after the problem", async () => {
  const { notifying, observe, drain, store, clock } = await openDesk([FREE]);
  await observe(FREE, "critical");
  await drain();
  const bare = withChannels(FREE, []);
  notifying.reload(configOf([bare]));
  await clock.advance(48 * HOUR);
  notifying.reload(configOf([bare]));
  await observe(bare, "ok");
  notifying.reload(configOf([bare]));
  await notifying.persistPending();
  assert.equal((await store.outbox()).markers.length, 1, "it may come back");
  await clock.advance(25 * HOUR);
  notifying.reload(configOf([bare]));
  await notifying.persistPending();
  assert.equal((await store.outbox()).markers.length, 0);
});

Deno.test("catchUp() does not restore notifications that were sent while the store could not be written", async () => {
  const fresh = await openFaultyStore();
  const { store, notifying, observe, drain, lines } = await openDesk([FREE], { fresh });
  store.failure = "full";
  await observe(FREE, "critical");
  await drain();
  assert.equal(lines.length, 1);
  store.failure = "damaged";
  await observe(FREE, "critical");
  await notifying.persistPending();
  const { notifications: rows, markers: notified } = await fresh.outbox();
  assert.deepEqual([rows, notified.length], [[], 1]);
});

Deno.test("catchUp() writes pending notifications and markers to the replacement of a damaged store", async () => {
  const directory = await Deno.makeTempDir();
  const fresh = await openFaultyStore();
  const [notified, hopeless] = [fileChannel(`${directory}/told`), fileChannel("/none/such/directory/told")];
  const check = withChannels(FREE, [notified, hopeless]);
  const { store, repository, notifying, observe, drain } = await openDesk([check], { fresh });
  await observe(check, "critical");
  await drain();
  const kept = await store.outbox();
  assert.equal(kept.notifications.length + kept.markers.length, 3, "one is told that the other rejects it");
  store.failure = "damaged";
  await observe(check, "critical");
  await notifying.persistPending();
  assert.equal(repository.store, fresh);
  assert.deepEqual(await fresh.outbox(), kept);
  await notifying.stop();
  await Deno.remove(directory, { recursive: true });
});

Deno.test("reload() keeps the old secrets redacted in the outcome of a delivery in progress", async () => {
  const { promise, reject } = Promise.withResolvers<void>();
  const check = withChannels(FREE, [fileChannel("/told")]);
  const { clock, notifying, observe, events } = await openDesk([check], { touch: () => promise });
  await observe(check, "critical");
  await clock.advance(0);
  notifying.reload({ ...configOf([check]), redact: (text) => text });
  reject(new Error("swordfish"));
  await clock.advance(0);
  const [failed] = events;
  assert.equal(failed?.event === "failed" && failed.reason, 'cannot touch "/told": ***');
});

Deno.test("startNotifying() without notifications keeps persisted rows unchanged", async () => {
  const hopeless = withChannels(FREE, [fileChannel("/none/such/directory/told")]);
  const first = await openDesk([hopeless]);
  await first.observe(hopeless, "critical");
  await first.drain();
  await first.notifying.stop();
  const { notifications: rows } = await first.store.outbox();
  const mute = await openDesk([hopeless], { store: first.store, clock: first.clock, notifies: false });
  await mute.drain();
  await mute.clock.advance(2 * HOUR);
  await mute.notifying.stop();
  assert.deepEqual(mute.events, []);
  assert.deepEqual((await first.store.outbox()).notifications, rows);
});

async function withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "monitor_reporting_" });
  try {
    await use(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("send() drops a failed notification after a day if its check has another condition meanwhile", async () => {
  for (const condition of ["warning", "critical"] as const) {
    const check = withChannels(FREE, [fileChannel("/told")]);
    const { clock, notifying, observe, events } = await openDesk([check], {
      touch: () => Promise.reject(new Deno.errors.PermissionDenied()),
    });
    await observe(check, "warning");
    notifying.silence([{ ...silence(null), untilMs: START + 99 * HOUR }]);
    await observe(check, condition);
    await clock.advance(26 * HOUR);
    assert.equal(events.some(({ event }) => event === "dropped"), condition === "critical", condition);
    await notifying.stop();
  }
});
