import assert from "node:assert/strict";
import type { Channel } from "../../src/domain/channel.ts";
import type { Check } from "../../src/domain/check.ts";
import { silenceOf } from "../state/records.ts";
import { configOf, openDesk, START } from "./desk.ts";
import { testCheck } from "../support/checks.ts";
import { openFaultyStore } from "../support/faulty_store.ts";
import type { ActionRun, Condition } from "../../src/domain/condition.ts";
import { runAction } from "../../src/engine/run_action.ts";
import { newRecord } from "../../src/state/record_cache.ts";
import { checkOf } from "../../testing/builders.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

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

Deno.test("refresh() reads silences, and keeps the last ones while the store fails", async () => {
  const { store, engine } = await openDesk([FREE]);
  await store.addSilences([SILENCE]);
  assert.equal(engine.suppressedBy(FREE, START), null, "it was not read yet");
  await engine.refresh();
  assert.equal(engine.suppressedBy(FREE, START), "silence");
  store.failure = "busy";
  await engine.refresh();
  assert.equal(engine.suppressedBy(FREE, START), "silence");
  assert.equal(engine.suppressedBy(FREE, START + HOUR), null, "its end comes without being read");
  store.failure = null;
  await store.endSilences("all", START);
  await engine.refresh();
  assert.equal(engine.suppressedBy(FREE, START), null);
});

Deno.test("reload() deletes the delivery markers of a channel that left the check, a day after the problem", async () => {
  const { engine, sender, observe, drain, store, clock } = await openDesk([FREE]);
  await observe(FREE, "critical");
  await drain();
  const bare = withChannels(FREE, []);
  engine.reload(configOf([bare]));
  await clock.advance(48 * HOUR);
  engine.reload(configOf([bare]));
  await observe(bare, "ok");
  engine.reload(configOf([bare]));
  await sender.persistPending();
  assert.equal((await store.outbox()).markers.length, 1, "it may come back");
  await clock.advance(25 * HOUR);
  engine.reload(configOf([bare]));
  await sender.persistPending();
  assert.equal((await store.outbox()).markers.length, 0);
});

Deno.test("persistPending() writes an outcome that could not be written before", async () => {
  const { store, sender, observe, drain } = await openDesk([FREE]);
  await observe(FREE, "critical");
  store.failure = "full";
  await drain();
  store.failure = null;
  await sender.persistPending();
  const { notifications, markers } = await store.outbox();
  assert.deepEqual([notifications, markers.length], [[], 1]);
});

Deno.test("catchUp() writes what is pending to the replacement of a damaged store, and not what was sent", async () => {
  const fresh = await openFaultyStore();
  const check = withChannels(FREE, [fileChannel("/notified"), ...HOPELESS.notifications]);
  const { store, sender, observe, drain, touched } = await openDesk([check], { fresh, touch });
  store.failure = "full";
  await observe(check, "critical");
  await drain();
  store.failure = "damaged";
  await observe(check, "critical");
  await sender.persistPending();
  const { notifications, markers } = await fresh.outbox();
  const pending = notifications.map(({ channelKey, notification }) => `${channelKey} ${notification.check}`);
  assert.deepEqual(pending, ["/hopeless free", "/notified channel file /hopeless"]);
  assert.deepEqual([touched, markers.length], [["/notified"], 1]);
  await sender.stop();
});

Deno.test("reload() keeps the old secrets redacted in the outcome of a delivery in progress", async () => {
  const { promise, reject } = Promise.withResolvers<void>();
  const check = withChannels(FREE, [fileChannel("/notified")]);
  const { clock, engine, observe, events } = await openDesk([check], { touch: () => promise });
  await observe(check, "critical");
  await clock.advance(0);
  engine.reload({ ...configOf([check]), redact: (text) => text });
  reject(new Error("swordfish"));
  await clock.advance(0);
  const [failed] = events;
  assert.equal(failed?.event === "failed" && failed.reason, 'cannot touch "/notified": ***');
});

Deno.test("send() drops a failed notification after a day if its check has another condition meanwhile", async () => {
  for (const condition of ["warning", "critical"] as const) {
    const { clock, sender, observe, events } = await openDesk([HOPELESS], { touch });
    await observe(HOPELESS, "warning");
    sender.silence([{ ...SILENCE, untilMs: START + 99 * HOUR }]);
    await observe(HOPELESS, condition);
    await clock.advance(26 * HOUR);
    assert.equal(events.some(({ event }) => event === "dropped"), condition === "critical", condition);
    await sender.stop();
  }
});

Deno.test("record() writes a reminder at once, because it is sent only after it is persisted", async () => {
  const check = { ...FREE, reminders: true };
  const { record, observe, drain, repository } = await openDesk([check]);
  await observe(check, "critical");
  await drain();
  assert.equal(record(check, "critical")[0]?.notification.event, "reminder");
  assert.equal(repository.isUrgent, true);
});

const BEGUN: ActionRun = { atMs: 1_000, endedAtMs: null, outcome: "none", reason: "" };
const CHECK = checkOf("test", { condition: "critical", output: "" });

async function outcomeWith(observed: Condition, actions: readonly ActionRun[]): Promise<string> {
  const action = {
    ...{ path: "/bin/fix", arguments: [], environment: {} },
    ...{ after: 1, atMost: 2, timeoutMs: 1, settleMs: 1 },
  };
  const record = newRecord("web", 0);
  const condition = { ...record.condition, observed, actions };
  const options = {
    system: { ...createMemorySystem(), processes: { run: () => Promise.reject(new Error("it started")) } },
    repository: { isWritable: true, recordOf: () => ({ ...record, condition }), keep: () => {} },
    directory: "/",
    signal: new AbortController().signal,
  };
  try {
    const ended = await runAction({ ...CHECK, action }, BEGUN, options);
    return ended === null ? "another decision" : `${ended.outcome}: ${ended.reason}`;
  } catch (error) {
    return String(error);
  }
}

Deno.test("runAction() starts nothing that is not due any more once others have ended", async () => {
  assert.equal(await outcomeWith("critical", [BEGUN]), "Error: it started");
  assert.equal(await outcomeWith("critical", []), "another decision");
  assert.equal(await outcomeWith("ok", [BEGUN]), "not_started: the check is not critical any more");
  assert.equal(
    await outcomeWith("critical", [BEGUN, { ...BEGUN, atMs: 2_000 }]),
    "not_started: a later run began before",
  );
});
