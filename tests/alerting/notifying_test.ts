import assert from "node:assert/strict";
import type { Channel } from "../../src/domain/channel.ts";
import type { Check } from "../../src/domain/check.ts";
import { silenceOf } from "../state/records.ts";
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

const FREE = withChannels(testCheck("ok", { name: "free" }), [CONSOLE]);
const HOPELESS = withChannels(FREE, [fileChannel("/hopeless")]);
const SILENCE = silenceOf("all", { check: null, fromMs: START, untilMs: START + HOUR });

async function touch(path: string): Promise<void> {
  if (path === "/hopeless") await Promise.reject(new Deno.errors.NotFound());
}

Deno.test("suppressedBy() and dependenciesToRun() use only parents that run", async () => {
  const [router, web] = [testCheck("ok", { name: "router" }), testCheck("ok", { dependsOn: ["router"] })];
  const { notifying, observe } = await openDesk([router, web]);
  await observe(web, "critical");
  assert.equal(notifying.suppressedBy(web, START), "dependency");
  assert.deepEqual(notifying.dependenciesToRun(web, START), [router]);
  notifying.reload(configOf([router, web], [web]));
  assert.equal(notifying.suppressedBy(web, START), null);
  assert.deepEqual(notifying.dependenciesToRun(web, START), []);
});

Deno.test("channelNames has the name that the user gave a channel, otherwise its receiver", async () => {
  const named: Channel = { ...fileChannel("/a"), key: '"chat"', name: "chat" };
  const { notifying } = await openDesk([{ ...testCheck("ok"), notifications: [named, fileChannel("/b")] }]);
  assert.deepEqual([...notifying.channelNames], [['"chat"', "chat"], ["/b", "file /b"]]);
});

Deno.test("refresh() reads silences, and keeps the last ones while the store fails", async () => {
  const { store, notifying } = await openDesk([FREE]);
  await store.addSilences([SILENCE]);
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

Deno.test("deciding() notifies a new channel of an ongoing problem, and the others not again", async () => {
  const both = withChannels(FREE, [CONSOLE, fileChannel("/notified")]);
  const { notifying, observe, review, drain, lines, touched } = await openDesk([FREE]);
  await observe(FREE, "critical");
  await drain();
  notifying.reload(configOf([both]));
  await review(both);
  await drain();
  assert.deepEqual([touched, lines.length], [["/notified"], 1]);
});

Deno.test("deciding() continues the ids of persisted rows", async () => {
  const first = await openDesk([HOPELESS], { touch });
  await first.observe(HOPELESS, "critical");
  await first.drain();
  await first.notifying.stop();
  const second = await openDesk([HOPELESS], { store: first.store, clock: first.clock });
  await second.observe(HOPELESS, "warning");
  await second.observe(HOPELESS, "ok");
  const sequences = second.notifying.queued.map((row) => row.sequence);
  assert.deepEqual(sequences, sequences.toSorted((one, other) => one - other));
  assert.equal(new Set(sequences).size, sequences.length);
  assert.equal(second.notifying.queued[0]?.notification.event, "problem");
  await second.notifying.stop();
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
  const fresh = await openFaultyStore();
  const check = withChannels(FREE, [fileChannel("/notified"), ...HOPELESS.notifications]);
  const { store, repository, notifying, observe, drain } = await openDesk([check], { fresh, touch });
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
});

Deno.test("reload() keeps the old secrets redacted in the outcome of a delivery in progress", async () => {
  const { promise, reject } = Promise.withResolvers<void>();
  const check = withChannels(FREE, [fileChannel("/notified")]);
  const { clock, notifying, observe, events } = await openDesk([check], { touch: () => promise });
  await observe(check, "critical");
  await clock.advance(0);
  notifying.reload({ ...configOf([check]), redact: (text) => text });
  reject(new Error("swordfish"));
  await clock.advance(0);
  const [failed] = events;
  assert.equal(failed?.event === "failed" && failed.reason, 'cannot touch "/notified": ***');
});

Deno.test("startNotifying() without notifications keeps persisted rows unchanged", async () => {
  const first = await openDesk([HOPELESS], { touch });
  await first.observe(HOPELESS, "critical");
  await first.drain();
  await first.notifying.stop();
  const { notifications: rows } = await first.store.outbox();
  const mute = await openDesk([HOPELESS], { store: first.store, clock: first.clock, notifies: false });
  await mute.drain();
  await mute.clock.advance(2 * HOUR);
  await mute.notifying.stop();
  assert.deepEqual(mute.events, []);
  assert.deepEqual((await first.store.outbox()).notifications, rows);
});

Deno.test("send() drops a failed notification after a day if its check has another condition meanwhile", async () => {
  for (const condition of ["warning", "critical"] as const) {
    const { clock, notifying, observe, events } = await openDesk([HOPELESS], { touch });
    await observe(HOPELESS, "warning");
    notifying.silence([{ ...SILENCE, untilMs: START + 99 * HOUR }]);
    await observe(HOPELESS, condition);
    await clock.advance(26 * HOUR);
    assert.equal(events.some(({ event }) => event === "dropped"), condition === "critical", condition);
    await notifying.stop();
  }
});
