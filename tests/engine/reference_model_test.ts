/**
 * Long random traces through the repository and the outbox, with channels that filter, that fail in every way, and
 * that have other URLs at times, restarts, silences and acknowledgements. Each channel gets the notifications of a
 * simple model of the rules, in order.
 */
import assert from "node:assert/strict";
import type { DeliveryEvent } from "../../src/engine/queue_state.ts";
import type { Channel, ChannelFilters } from "../../src/domain/channel.ts";
import type { Check } from "../../src/domain/check.ts";
import { type Condition, CONDITIONS } from "../../src/domain/condition.ts";
import type { Silence } from "../../src/domain/outbox.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { createRandom, type Random } from "../../testing/random.ts";
import { campaign } from "../../testing/seed.ts";
import { endMaintenance, silenceOf } from "../state/records.ts";
import { testCheck } from "../support/checks.ts";
import { openFaultyStore } from "../support/faulty_store.ts";
import { configOf, openDesk } from "./desk.ts";
import { type Arrival, createFlakySystem, type Mood } from "./flaky_channels.ts";
import {
  assertNoStrayDuplicate,
  assertNotifiedInOrder,
  itemsOf,
  lastArrivalsOf,
  notificationsOf,
  withoutDuplicates,
} from "./received.ts";
import {
  createReferenceModel,
  type Decision,
  type ExpectedNotification,
  type Observed,
} from "./reference_model.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const AFTER_MS = 10 * MINUTE;
const STEP_COUNT = campaign(3_000, 300);
const CHECK_COUNT = 9;
const SEEDS = (Deno.env.get("TRACE_SEEDS") ?? "1 2 3").split(" ").slice(0, campaign(10)).map(Number);
/** Every other quarter of an hour. */
const HOURS = Array.from({ length: 48 }, (_, half) => ({
  fromMinute: half * 30,
  toMinute: half * 30 + 15,
  timeZone: "UTC",
}));

/** By the host or command of the channel. `steady` never rejects; a command accepts one item at a time. */
const FILTERS: Readonly<Record<string, ChannelFilters>> = {
  "steady.example": {},
  "moody.example": {},
  "/command": {},
  "critical.example": { conditions: ["critical"] },
  "warning.example": { conditions: ["warning"] },
  "bad.example": { conditions: ["warning", "critical"] },
  "late.example": { afterMs: AFTER_MS },
  "late-critical.example": { afterMs: AFTER_MS, conditions: ["critical"] },
  "late-some.example": { afterMs: AFTER_MS, conditions: ["warning", "critical"] },
  "hours.example": { hours: HOURS },
  "never.example": { hours: HOURS, outsideHours: "never" },
  "late-hours.example": { hours: HOURS, afterMs: AFTER_MS },
  "problems.example": { events: ["problem"] },
  "others.example": { events: ["change", "recovery"] },
  "/critical": { conditions: ["critical"] },
  "/recoveries": { events: ["recovery"] },
};

for (const seed of SEEDS) {
  Deno.test(`startNotifying() sends each channel the notifications of the model, in order, seed ${seed}`, async () => {
    const { arrivals, due, events, acknowledgements, edits } = await runTrace(seed);
    assert.ok(acknowledgements > campaign(1, 0), `only ${acknowledgements} problems were acknowledged`);
    assert.ok(edits > campaign(3, 0), `only ${edits} times were channels other ones`);
    assert.deepEqual(events.filter(({ event }) => event === "dropped"), []);
    const ids = new Set(arrivals.map(({ channel, messageId }) => `${channel} ${messageId}`));
    assert.ok(arrivals.length - ids.size > campaign(10, 1), "few duplicates: the channels fail too seldom");
    const missed = arrivals.flatMap(({ items }) => items).filter((item) => item.missed_problem !== null);
    assert.ok(
      missed.length > campaign(10, 0),
      `only ${missed.length} problems ended before they were notified`,
    );
    for (const [channel, filters] of Object.entries(FILTERS)) {
      const own = arrivals.filter((arrival) => arrival.channel === channel);
      const messages = withoutDuplicates(own);
      assertNoStrayDuplicate(messages);
      assert.ok(messages.length > campaign(5, 0), `${channel}: only ${messages.length} messages`);
      for (const [check, byChannel] of due) {
        assertNotifiedInOrder(itemsOf(messages, check), {
          due: byChannel.get(channel) ?? [],
          lastArrivals: lastArrivalsOf(own),
          events: filters.events,
          where: `${channel}, ${check}`,
        });
      }
      if (channel === "steady.example") assertGatheredInOrder(messages);
    }
  });
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

/** Returns checks with some channels at other URLs: they are other channels for the monitor, and the same receivers. */
function moveChannels(checks: readonly Check[], { below }: Random): readonly Check[] {
  const places = new Map(Object.keys(FILTERS).map((name) => [name, Math.floor(below(3))]));
  return checks.map((check) => ({
    ...check,
    notifications: check.notifications.map((channel) => ({
      ...channel,
      key: `${channel.key} ${places.get(channel.key)}`,
    })),
  }));
}

async function runTrace(seed: number) {
  const random = createRandom(seed, "model");
  const { next, below, pick } = random;
  const clock = createFakeClock();
  const store = await openFaultyStore();
  const arrivals: Arrival[] = [];
  const events: DeliveryEvent[] = [];
  const moods = createMoods(random);
  let lastId = 0;
  const system = createFlakySystem({
    clock,
    random: next,
    randomId: () => `r${++lastId}`,
    moodOf: moods.moodOf,
    answerMs: () => Math.floor(below(400)),
    onArrival: (arrival) => void arrivals.push(arrival),
  });
  const written = makeChecks();
  let checks = written;
  let edits = 0;
  let desk = await openDesk(checks, { clock, store, system, batchingMs: 2 * SECOND });
  const restart = async (): Promise<void> => {
    await settle(clock, desk.sender.stop());
    assert.deepEqual(desk.troubles, []);
    events.push(...desk.events);
    desk = await openDesk(checks, { clock, store, system, batchingMs: 2 * SECOND });
  };
  const conditions = new Map<string, Condition>();
  const model = createReferenceModel();
  const due = new Map(written.map(({ name, notifications }) => {
    const none = notifications.map(({ key }) => [key, [] as ExpectedNotification[]] as const);
    return [name, new Map(none)];
  }));
  const circumstancesOf = async ({ name, tags }: Check): Promise<Omit<Observed, "condition">> => {
    await desk.engine.refresh();
    const nowMs = clock.wallMs();
    const beganAtMs = model.beganAtMs(name);
    const silences = await store.silences(nowMs);
    const applies = (kind: Silence["kind"], problemBeganAtMs: number | null): boolean =>
      silences.some((silence) =>
        silence.kind === kind && silence.fromMs <= nowMs && nowMs < silence.untilMs &&
        silence.problemBeganAtMs === problemBeganAtMs &&
        (silence.tag === null ? [null, name].includes(silence.check) : tags.includes(silence.tag))
      );
    return {
      nowMs,
      running: new Set(checks.map(({ name }) => name)),
      silenced: applies("silence", null) || applies("maintenance", null),
      silencedUntilOk: beganAtMs !== null && applies("silence", beganAtMs),
      acknowledged: beganAtMs !== null && applies("acknowledgement", beganAtMs),
    };
  };
  const expect = ({ name }: Check, decision: Decision): void => {
    for (const [key, notification] of decision) due.get(name)?.get(key)?.push(notification);
  };
  /** The model knows the checks as they were written. */
  const ofModel = (check: Check): Check => written.find(({ name }) => name === check.name) ?? check;
  const record = async (check: Check): Promise<void> => {
    const condition = conditions.get(check.name) ?? "ok";
    expect(check, model.observe(ofModel(check), { condition, ...await circumstancesOf(check) }));
    await desk.observe(check, condition);
  };
  const review = async (): Promise<void> => {
    for (const check of checks) {
      expect(check, model.review(ofModel(check), await circumstancesOf(check)));
      await desk.review(check);
    }
  };
  let acknowledgements = 0;
  const annotate = async (id: string): Promise<void> => {
    const check = pickOne(checks, random);
    const fromMs = clock.wallMs();
    if (next() < 0.1) return await endMaintenance(store, fromMs);
    if (next() < 0.1) return void await store.endSilences("all", fromMs);
    const kind = pick<Silence["kind"]>(["acknowledgement", "silence", "maintenance"]);
    const beganAtMs = desk.repository.recordOf(check.name, fromMs).condition.problemBeganAtMs;
    const endsWithProblem = beganAtMs !== null &&
      (kind === "acknowledgement" || kind === "silence" && next() < 0.5);
    if (kind === "acknowledgement" && !endsWithProblem) return;
    if (kind === "acknowledgement") acknowledgements++;
    const isOfTag = kind === "maintenance" && next() < 0.5;
    await store.addSilences([silenceOf(id, {
      check: isOfTag || !endsWithProblem && next() < 0.1 ? null : check.name,
      tag: isOfTag ? pick(["even", "odd"]) : null,
      kind,
      problemBeganAtMs: endsWithProblem ? beganAtMs : null,
      fromMs,
      untilMs: fromMs + 40 * MINUTE * next(),
    })]);
  };
  for (let step = 0; step < STEP_COUNT; step++) {
    await clock.advance(1 + Math.floor(below(next() < 0.03 ? 12 * MINUTE : 20 * SECOND)));
    moods.change();
    if (next() < 0.01) {
      checks = moveChannels(written, random);
      edits++;
      desk.engine.reload(configOf(checks));
    }
    if (next() < 0.005) await restart();
    if (next() < 0.04) await annotate(`s${step}`);
    if (next() < 0.2) {
      await review();
      await clock.advance(1);
    }
    const check = pickOne(checks, random);
    const roll = next();
    if (roll > 0.6) conditions.set(check.name, roll > 0.8 ? "ok" : pickOne(CONDITIONS, random));
    await record(check);
  }
  moods.heal();
  await endMaintenance(store, clock.wallMs());
  await store.endSilences("all", clock.wallMs());
  await clock.advance(3 * HOUR);
  for (let round = 0; round < campaign(30, 10); round++) {
    for (const check of checks) await record(check);
    await clock.advance(5 * MINUTE);
    await review();
  }
  await clock.advance(HOUR);
  assert.deepEqual(desk.sender.pending, [], "everything has gone in the end");
  await settle(clock, desk.sender.stop());
  events.push(...desk.events);
  return {
    // The model has no notices about channels.
    arrivals: arrivals.map((arrival) => ({
      ...arrival,
      items: arrival.items.filter(({ check }) => !check.startsWith("channel ")),
    })).filter(({ items }) => items.length > 0),
    events,
    acknowledgements,
    edits,
    due,
  };
}

/** A stop may wait for the clock. */
async function settle(clock: FakeClock, ending: Promise<void>): Promise<void> {
  await clock.advance(0);
  await ending;
}

function makeChecks(): readonly Check[] {
  const channels = Object.entries(FILTERS).map(([name, filters]): Channel => ({
    ...name.startsWith("/")
      ? {
        kind: "command",
        parameters: { path: name, arguments: [], environment: {}, timeoutMs: 30 * SECOND },
      }
      : {
        kind: "webhook",
        parameters: { target: `http://${name}/`, method: "POST", headers: {}, timeoutMs: 10 * SECOND },
      },
    key: name,
    ...filters,
  }));
  return Array.from({ length: CHECK_COUNT }, (_, index) => ({
    ...testCheck("ok", {
      name: `check ${index}`,
      threshold: 1 + index % 3,
      recoveryThreshold: 1 + (index >> 1) % 2,
      flapping: "all",
      reminders:
        ([5 * MINUTE, false, false, true, false, false, [2 * MINUTE, 10 * MINUTE]] as const)[index] ??
          false,
      ...index % 2 === 1 && { within: 4 },
    }),
    tags: [index % 2 === 0 ? "even" : "odd"],
    dependsOn: index === 4
      ? ["check 0"]
      : index === 5
      ? [{ any: ["check 0", "check 1"] }]
      : index === 7
      ? ["check 2", "check 4"]
      : [],
    // Some checks have no channel that gets everything; those have no reminders.
    notifications: channels.filter(({ key }) =>
      index % 3 !== 2 || Object.keys(FILTERS[key] ?? {}).length > 0
    ),
  }));
}

function pickOne<T>(values: readonly T[], { below }: Random): T {
  return values[Math.floor(below(values.length))] ?? assert.fail("nothing to pick from");
}

function createMoods({ next, below, pick }: Random) {
  const bad = new Set<string>();
  let isHealed = false;
  return {
    moodOf: (channel: string): Mood => {
      const isCommand = channel.startsWith("/");
      const good: Mood = { arrives: true, answer: isCommand ? 0 : 200, retryAfterSeconds: null };
      if (isHealed || next() >= (bad.has(channel) ? 0.95 : 0.05)) return good;
      const isRejecting = channel === "moody.example" || channel === "/command";
      const refusals = isRejecting ? [isCommand ? 77 : 404] : [];
      const passing = isCommand ? [1] : [503, 429, 500];
      const answer = pick<Mood["answer"]>(["hang", "broken", "broken", ...passing, ...passing, ...refusals]);
      return {
        arrives: typeof answer !== "number" && next() < 0.5,
        answer,
        retryAfterSeconds: answer === 429 ? Math.floor(below(300)) : null,
      };
    },
    /** May change the behavior of a channel. */
    change: () => {
      // No rejection lasts an hour, after which a message that may have arrived is no longer kept whole.
      for (const channel of Object.keys(FILTERS)) {
        if (next() < (bad.has(channel) ? 0.08 : 0.02) && !bad.delete(channel)) bad.add(channel);
      }
    },
    /** All is well from now on. */
    heal: () => void (isHealed = true),
  };
}
