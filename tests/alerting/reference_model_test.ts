/**
 * Long random traces through the repository and the outbox, with channels that fail in every way and are edited in
 * the config at times, restarts and silences: per channel and in order, the received notifications are those of a
 * simple model of the rules.
 */
import assert from "node:assert/strict";
import type { Channel } from "../../src/domain/channel.ts";
import type { Check } from "../../src/domain/check.ts";
import { type Condition, CONDITIONS } from "../../src/domain/condition.ts";
import type { QueuedNotification } from "../../src/domain/outbox.ts";
import type { Store } from "../../src/domain/store.ts";
import type { System } from "../../src/domain/system.ts";
import { openStateRepository, type StateRepository } from "../../src/state/state_repository.ts";
import type { DeliveryEvent } from "../../src/alerting/delivery_event.ts";
import { type Notifying, startNotifying } from "../../src/alerting/notifying.ts";
import { endMaintenance } from "../state/records.ts";
import { openInMemoryStore } from "../../src/state/sqlite/in_memory_store.ts";
import { testCheck } from "../support/checks.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { type Arrival, createFlakySystem, type Mood } from "./flaky_channels.ts";
import {
  assertNoStrayDuplicate,
  assertNotifiedInOrder,
  itemsOf,
  lastArrivalsOf,
  notificationsOf,
  withoutDuplicates,
} from "./received.ts";
import { createReferenceModel, type Decision, type ExpectedNotification } from "./reference_model.ts";
import { campaign } from "../../testing/seed.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const CHECK_COUNT = 20;
/** For each seed. */
/** In more, notifications would become old enough to be dropped. */
const RESULT_COUNT = Math.min(campaign(30_000), 10_000);
const SEEDS = (Deno.env.get("TRACE_SEEDS") ?? "1 2 3").split(" ").slice(0, campaign(10)).map(Number);

for (const seed of SEEDS) {
  Deno.test(`startNotifying() sends each channel the notifications of the model, in order, seed ${seed}`, async () => {
    const { expected, arrivals, events, waiting, checks, editCount } = await runTrace(seed, {
      edit: moveChannels,
      editsAtStart: false,
    });
    assert.ok(editCount > 10, `only ${editCount} times were channels other ones`);
    assert.deepEqual(waiting, [], "everything has gone in the end");
    assert.deepEqual(events.filter(({ event }) => event === "dropped"), []);
    assert.ok(expected.length > RESULT_COUNT / 20, `only ${expected.length} notifications were due`);
    const duplicates = arrivals.length -
      new Set(arrivals.map(({ channel, messageId }) => `${channel} ${messageId}`)).size;
    assert.ok(duplicates > 10, `only ${duplicates} twins: the channels fail too seldom`);
    const missed = arrivals.flatMap(({ items }) => items).filter((item) => item.missed_problem !== null);
    assert.ok(missed.length > 10, `only ${missed.length} problems ended before they were notified`);
    for (const channel of CHANNEL_NAMES) {
      const own = arrivals.filter((arrival) => arrival.channel === channel);
      const first = withoutDuplicates(own);
      const lastArrivals = lastArrivalsOf(own);
      assertNoStrayDuplicate(first);
      for (
        const check of checks.filter(({ notifications }) => notifications.some(({ key }) => key === channel))
      ) {
        const due = expected.filter((notification) => notification.check === check.name);
        assertNotifiedInOrder(itemsOf(first, check.name), {
          due,
          lastArrivals,
          where: `${channel}, ${check.name}`,
        });
      }
    }
    const steady = withoutDuplicates(arrivals.filter(({ channel }) => channel === "steady.example"));
    assertGatheredInOrder(steady);
  });

  Deno.test(`startNotifying() notifies each channel of the final condition after random events, seed ${seed}`, async () => {
    const { news, arrivals, events, waiting, lastChecks, confirmed } = await runTrace(seed, {
      edit: chooseChannels,
      editsAtStart: true,
    });
    /** Messages that certainly arrived. */
    const taken = new Set(
      events.flatMap((event) => event.event === "delivered" ? event.notifications.map(({ id }) => id) : []),
    );
    const dropped = events.flatMap((event) => event.event === "dropped" ? event.notifications : []);
    assert.ok(dropped.length > 20, `only ${dropped.length} notifications were dropped`);
    assert.deepEqual(waiting, [], "everything has gone in the end");
    const byTime = new Map(news.map((one) => [`${one.check} ${one.decidedAtMs}`, one]));
    for (const channel of CHANNEL_NAMES) {
      const messages = withoutDuplicates(arrivals.filter((arrival) => arrival.channel === channel), {
        mayLack: true,
      });
      for (const { name } of writtenNames(news)) {
        const items = itemsOf(messages, name);
        let lastMs = -Infinity;
        let mayKnowProblem = false;
        for (const item of items) {
          for (const { condition, decided_at, problem_began_at, event } of notificationsOf(item)) {
            // The config no longer had the check: no result decides that.
            if (isUncheckedEnd({ event, condition })) continue;
            const decided = byTime.get(`${name} ${Date.parse(decided_at)}`);
            assert.equal(decided?.condition, condition, `${channel}, ${name}: invented`);
            if (event !== "recovery") {
              assert.equal(decided.problemBeganAtMs, Date.parse(problem_began_at));
            }
            // A recovery that was dropped and is sent again has the time of the first.
            assert.ok(decided.decidedAtMs >= lastMs, `${channel}, ${name}: out of order`);
            lastMs = decided.decidedAtMs;
          }
          if (item.event !== "recovery") mayKnowProblem = true;
          else {
            // A dropped notification may have arrived at an attempt, since the sender cannot detect it.
            const mayHaveArrived = dropped.some(({ notification, channelKey, attempts }) =>
              notification.check === name && channelKey === channel && attempts > 0 &&
              notification.decidedAtMs < Date.parse(item.decided_at)
            );
            assert.ok(
              mayKnowProblem || mayHaveArrived || item.missed_problem !== null,
              `${channel}, ${name}: of no problem`,
            );
            if (taken.has(`${item.id}-${channel}`)) mayKnowProblem = false;
          }
        }
        const check = lastChecks.find((one) => one.name === name);
        if (check?.notifications.every(({ key }) => key !== channel) ?? true) continue;
        const now = confirmed.get(name);
        if (now !== undefined) {
          const last = items.at(-1);
          const condition = last === undefined || isUncheckedEnd(last) ? "ok" : last.condition;
          assert.equal(condition, now, `${channel}, ${name}: the end`);
        }
      }
    }
  });
}

function isUncheckedEnd(
  { event, condition }: { readonly event: string; readonly condition: string },
): boolean {
  return event === "recovery" && condition === "unknown";
}

function writtenNames(news: Trace["news"]): readonly { readonly name: string }[] {
  return [...new Set(news.map(({ check }) => check))].map((name) => ({ name }));
}

interface Trace {
  /** As they were in the beginning. */
  readonly checks: readonly Check[];
  /** How often channels were other ones in the config. */
  readonly editCount: number;
  readonly expected: readonly ExpectedNotification[];
  /** All notifications that a channel may have been sent. */
  readonly news: readonly NonNullable<Decision["news"]>[];
  readonly arrivals: readonly Arrival[];
  readonly events: readonly DeliveryEvent[];
  readonly waiting: readonly string[];
  /** As they are in the end. */
  readonly lastChecks: readonly Check[];
  /** The final condition of each; not of those whose notifications a dependency suppresses. */
  readonly confirmed: ReadonlyMap<string, Condition>;
}

/** `steady` never rejects; `command` accepts one item at a time. */
const CHANNEL_NAMES = ["steady.example", "moody.example", "/command"] as const;

interface TraceOptions {
  /** Returns checks with other channels than before, or fewer checks. */
  edit(checks: readonly Check[], random: () => number): readonly Check[];
  /** Whether there are edits before a start too; only a reload detects edits. */
  readonly editsAtStart: boolean;
}

async function runTrace(seed: number, { edit, editsAtStart }: TraceOptions): Promise<Trace> {
  const random = createRandom(seed);
  const clock = createFakeClock();
  const store = await openInMemoryStore();
  const arrivals: Arrival[] = [];
  const events: DeliveryEvent[] = [];
  const writtenChecks = makeChecks(random);
  let checks = writtenChecks;
  let editCount = 0;
  const editChecks = (): void => {
    checks = edit(writtenChecks, random);
    editCount++;
  };
  const moods = createMoods(random);
  let lastId = 0;
  const system = createFlakySystem({
    clock,
    random,
    randomId: () => `r${++lastId}`,
    moodOf: moods.moodOf,
    answerMs: () => Math.floor(random() * 400),
    onArrival: (arrival) => void arrivals.push(arrival),
  });
  const model = createReferenceModel();
  const expected: ExpectedNotification[] = [];
  const news: NonNullable<Decision["news"]>[] = [];
  const confirmed = new Map<string, Condition>();
  const conditions = new Map<string, Condition>();
  let monitor = await startMonitor({
    checks,
    system,
    store,
    clock,
    onEvent: (event) => void events.push(event),
  });
  const look = async (check: Check, condition: Condition): Promise<void> => {
    const nowMs = clock.wallMs();
    await monitor.notifying.refresh();
    const silenced = (await store.silences(nowMs)).some((silence) =>
      silence.check === null || silence.check === check.name
    );
    conditions.set(check.name, condition);
    await observe(check, { condition, nowMs, ...monitor });
    const running = new Set(checks.map(({ name }) => name));
    const decision = model.observe({ ...check, notifications: [] }, { condition, nowMs, silenced, running });
    if (decision.notification !== null) expected.push(decision.notification);
    if (decision.news !== null) news.push(decision.news);
    if (decision.news === null) confirmed.delete(check.name);
    else confirmed.set(check.name, decision.news.condition);
  };
  const startMs = clock.wallMs();
  for (let index = 0; index < RESULT_COUNT; index++) {
    await clock.advance(1 + Math.floor(random() * (random() < 0.02 ? 3 * MINUTE : 5 * SECOND)));
    moods.change();
    if (random() < 0.004) {
      editChecks();
      monitor.notifying.reload(configOf(checks));
    }
    if (random() < 0.003) {
      await settleWhile(clock, monitor.notifying.stop());
      if (editsAtStart && random() < 0.5) editChecks();
      monitor = await startMonitor({
        checks,
        system,
        store,
        clock,
        onEvent: (event) => void events.push(event),
      });
    }
    const check = pick(checks, random);
    if (random() < 0.01) {
      await changeSilences(store, check, { random, nowMs: clock.wallMs(), id: `s${index}` });
    }
    await look(check, nextCondition(conditions.get(check.name) ?? "ok", random));
  }
  assert.ok(clock.wallMs() - startMs < 20 * HOUR, "nothing is old enough to be given up");
  moods.heal();
  await clock.advance(3 * HOUR);
  // The last dropped notification is due at the next check result.
  await endMaintenance(store, clock.wallMs());
  await store.endSilences("all", clock.wallMs());
  for (let round = 0; round < 4; round++) {
    for (const check of checks) await look(check, conditions.get(check.name) ?? "ok");
    await clock.advance(10 * MINUTE);
  }
  const isWaiting = ({ state, notification: { check } }: QueuedNotification): boolean =>
    state !== "dropped" && !isNotice(check);
  const waiting = monitor.notifying.queued.filter(isWaiting).map((row) => `${row.id}: ${row.lastFailure}`);
  await settleWhile(clock, monitor.notifying.stop());
  const kept = (await store.outbox()).notifications.filter(isWaiting).map((row) => row.id);
  return {
    checks: writtenChecks,
    lastChecks: checks,
    editCount,
    expected,
    news,
    confirmed,
    arrivals: arrivals.map((arrival) => ({
      ...arrival,
      items: arrival.items.filter(({ check }) => !isNotice(check)),
    })).filter(({ items }) => items.length > 0),
    events,
    waiting: [...waiting, ...kept],
  };
}

/** The model has no notices about channels. */
function isNotice(check: string): boolean {
  return check.startsWith("channel ");
}

interface Monitor {
  readonly repository: StateRepository;
  readonly notifying: Notifying;
}

interface MonitorOptions {
  readonly checks: readonly Check[];
  readonly system: System;
  readonly store: Store;
  readonly clock: FakeClock;
  onEvent(event: DeliveryEvent): void;
}

async function startMonitor({ checks, system, store, onEvent }: MonitorOptions): Promise<Monitor> {
  const fail = (error: unknown): never => {
    throw error;
  };
  const repository = await openStateRepository({
    store,
    onFailure: fail,
    reopen: fail,
    newId: system.randomId,
    hostName: "test-host",
  });
  const notifying = startNotifying(configOf(checks), {
    system,
    repository,
    kept: await store.outbox(),
    notifies: true,
    batchingMs: 2 * SECOND,
    writeLine: () => {},
    onEvent,
    onBug: fail,
  });
  return { repository, notifying };
}

function configOf(checks: readonly Check[]): Parameters<typeof startNotifying>[0] {
  return { users: checks, running: checks, directory: "/", redact: (text) => text };
}

async function observe(
  check: Check,
  { repository, notifying, condition, nowMs }: Monitor & {
    readonly condition: Condition;
    readonly nowMs: number;
  },
): Promise<void> {
  const result = {
    check,
    condition,
    output: `it is ${condition}`,
    detail: "",
    performanceData: "",
    metrics: {},
    startedAtMs: nowMs,
    durationMs: 1,
  };
  const { queued } = repository.record(result, {
    nowMs,
    ...notifying.deciding(check, nowMs),
    plan: () => ({ atMs: nowMs + MINUTE, overdueAtMs: nowMs + 3 * MINUTE, missed: 0 }),
  });
  await repository.flush();
  notifying.send(queued);
}

/** A stop may wait for the clock. */
async function settleWhile(clock: FakeClock, ending: Promise<void>): Promise<void> {
  await clock.advance(0);
  await ending;
}

async function changeSilences(
  store: Store,
  { name }: Check,
  { random, nowMs, id }: { readonly random: () => number; readonly nowMs: number; readonly id: string },
): Promise<void> {
  if (random() < 0.4) {
    await endMaintenance(store, nowMs);
    return void await store.endSilences("all", nowMs);
  }
  const check = random() < 0.1 ? null : name;
  await store.addSilences([{
    id,
    check,
    tag: null,
    fromMs: nowMs,
    untilMs: nowMs + 20 * MINUTE * random(),
    reason: "",
    kind: random() < 0.5 ? "silence" : "maintenance",
    problemBeganAtMs: null,
  }]);
}

function makeChecks(random: () => number): readonly Check[] {
  const webhook = (host: string): Channel => ({
    kind: "webhook",
    key: host,
    parameters: { target: `http://${host}/`, method: "POST", headers: {}, timeoutMs: 10 * SECOND },
  });
  const channels: readonly Channel[] = [webhook("steady.example"), webhook("moody.example"), {
    kind: "command",
    key: "/command",
    parameters: { path: "/command", arguments: [], environment: {}, timeoutMs: 30 * SECOND },
  }];
  return Array.from({ length: CHECK_COUNT }, (_, index) => ({
    ...testCheck("ok", {
      name: `check ${index}`,
      threshold: 1 + Math.floor(random() * 3),
      recoveryThreshold: 1 + Math.floor(random() * 3),
      annoy: ([true, 5 * MINUTE, [2 * MINUTE, 10 * MINUTE], false] as const)[index % 5] ?? false,
      ...index % 4 === 1 && { within: 5 },
      dependsOn: index % 4 === 3 ? [`check ${index - 1}`, `check ${index - 3}`] : [],
    }),
    notifications: channels.filter((_channel, place) =>
      index % 3 !== 2 || place !== index % CHANNEL_NAMES.length
    ),
  }));
}

/** The config has some at other URLs: they are other channels for the monitor, and the same receivers. */
function moveChannels(checks: readonly Check[], random: () => number): readonly Check[] {
  const addresses = new Map(CHANNEL_NAMES.map((name) => [name as string, Math.floor(random() * 3)]));
  return checks.map((check) => ({
    ...check,
    notifications: check.notifications.map((channel) => ({
      ...channel,
      key: `${channel.key} ${addresses.get(channel.key)}`,
    })),
  }));
}

/** Some checks are there, with any channels. */
function chooseChannels(checks: readonly Check[], random: () => number): readonly Check[] {
  const channels = [...new Set(checks.flatMap(({ notifications }) => notifications))];
  return checks.filter(() => random() < 0.9)
    .map((check) => ({ ...check, notifications: channels.filter(() => random() < 0.5) }));
}

interface Moods {
  moodOf(channel: string): Mood;
  /** May change the behavior of a channel. */
  change(): void;
  /** All is well from now on. */
  heal(): void;
}

function createMoods(random: () => number): Moods {
  const fine: Mood = { arrives: true, answer: 200, retryAfterSeconds: null };
  const isBad = new Map<string, boolean>();
  let isHealed = false;
  const badMood = (channel: string): Mood => {
    const refusals = channel === "steady.example" ? [] : [channel.startsWith("/") ? 77 : 404];
    const passing = channel.startsWith("/") ? [1] : [503, 429, 500];
    const answer = pick(["hang", "broken", "broken", ...passing, ...passing, ...refusals] as const, random);
    const isAnswered = typeof answer === "number";
    return {
      arrives: !isAnswered && random() < 0.5,
      answer,
      retryAfterSeconds: answer === 429 ? Math.floor(random() * 300) : null,
    };
  };
  return {
    moodOf: (channel) => {
      const good: Mood = channel.startsWith("/") ? { ...fine, answer: 0 } : fine;
      if (isHealed) return good;
      return random() < (isBad.get(channel) === true ? 0.95 : 0.05) ? badMood(channel) : good;
    },
    change: () => {
      for (const channel of CHANNEL_NAMES) {
        const turns = isBad.get(channel) === true ? 0.02 : 0.008;
        if (random() < turns) isBad.set(channel, isBad.get(channel) !== true);
      }
    },
    heal: () => void (isHealed = true),
  };
}

/** Returns the same condition in most cases. */
function nextCondition(condition: Condition, random: () => number): Condition {
  const roll = random();
  return roll < 0.75 ? condition : roll < 0.88 ? "ok" : pick(CONDITIONS, random);
}

function pick<T>(values: readonly T[], random: () => number): T {
  return values[Math.floor(random() * values.length)] ?? assert.fail("nothing to pick from");
}

/** Mulberry32 (Tommy Ettinger). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Asserts that without rejections, hardly any message has a notification that was decided before that of an earlier
 * message: only one that was retried often comes after others.
 */
function assertGatheredInOrder(arrivals: readonly Arrival[]): void {
  let newestMs = 0;
  let late = 0;
  for (const { items } of arrivals) {
    const times = items.flatMap(notificationsOf).map(({ decided_at }) => Date.parse(decided_at));
    if (Math.min(...times) <= newestMs) late++;
    newestMs = Math.max(newestMs, ...times);
  }
  assert.ok(late <= arrivals.length / 100, `${late} of ${arrivals.length} messages were out of order`);
}
