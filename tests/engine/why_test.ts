/**
 * Explanation and decision never differ: in random histories, what is named holds the notification back, each part of it
 * is needed, and nothing else is. The settings are changed in the real config, and the real decision is asked.
 */
import assert from "node:assert/strict";
import {
  type Cause,
  explainChannel,
  explainReminder,
  type Explanation,
  type WhyOptions,
} from "../../src/engine/why.ts";
import { lastNotified } from "../../src/engine/queued_notifications.ts";
import type { Channel, ChannelFilters } from "../../src/domain/channel.ts";
import type { Check } from "../../src/domain/check.ts";
import { CONDITIONS, type ConditionState } from "../../src/domain/condition.ts";
import type { CheckRecord } from "../../src/domain/store.ts";
import { initialState } from "../../src/condition/condition_state.ts";
import { bareUpdate } from "../../src/state/write_behind.ts";
import type { Silence } from "../../src/domain/outbox.ts";
import { createRandom, type Random } from "../../testing/random.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { endMaintenance, silenceOf } from "../state/records.ts";
import { testCheck } from "../support/checks.ts";
import { createRehearsalStore } from "../../src/rehearsal/rehearsal_world.ts";
import { openFaultyStore } from "../support/faulty_store.ts";
import { configOf, type Desk, openDesk, START } from "./desk.ts";

const MINUTE = 60_000;
/** Windows of the day at which a desk begins. */
const START_MINUTE = START % (24 * 60 * MINUTE) / MINUTE;
const HISTORIES = campaign(200, 30);
/** Windows in every other quarter of the hours of a history. */
const QUARTERS = Array.from({ length: 6 }, (_, half) => ({
  fromMinute: START_MINUTE + half * 30,
  toMinute: START_MINUTE + half * 30 + 15,
  timeZone: "UTC",
}));
const FILTERS = [
  {},
  { conditions: ["critical"] },
  { conditions: ["warning", "unknown"] },
  { afterMs: 10 * MINUTE },
  { hours: QUARTERS },
  { hours: QUARTERS, outsideHours: "never" },
  { hours: QUARTERS, afterMs: 5 * MINUTE, conditions: ["critical"] },
  { events: ["recovery"] },
  { afterMs: 5 * MINUTE, events: ["problem"] },
] as const satisfies readonly ChannelFilters[];

function channelOf(key: string, filters: ChannelFilters): Channel {
  return { kind: "console", key, parameters: {}, ...filters };
}

const ROUTER: Check = { ...testCheck("ok", { name: "router" }), notifications: [] };

interface Played {
  readonly desk: Desk;
  readonly check: Check;
  readonly channel: Channel;
  readonly explanation: Explanation;
  /** The record before its last result. */
  readonly before: ConditionState;
}

/** Plays the history of a number, the same each time, and explains its end. */
async function play(number: number, reminders: Check["reminders"] = false): Promise<Played> {
  const random = createRandom(testSeed(), `why ${number}`);
  const channel = channelOf("filtered", random.pick(FILTERS as unknown as [ChannelFilters]));
  const check: Check = {
    ...testCheck("ok", { name: "web", threshold: random.pick([1, 1, 3]) }),
    recoveryThreshold: random.pick([1, 1, 2]),
    reminders,
    flapping: random.oneIn(3) ? "all" : "once",
    ...random.oneIn(3) && { dependsOn: ["router"] },
    maintenanceWindows: random.oneIn(3) ? QUARTERS : [],
    notifications: [channelOf("all", {}), channel],
  };
  const desk = await openDesk([check, ROUTER], { store: await openFaultyStore(createRehearsalStore()) });
  const steps = 3 + random.below(25);
  let before = initialState();
  for (let step = 0; step < steps; step++) {
    await desk.clock.advance(Math.ceil(random.below(6)) * MINUTE);
    if (random.oneIn(6)) await addSilence(desk, random);
    if (random.oneIn(9)) await desk.store.endSilences("all", desk.clock.wallMs());
    await desk.engine.refresh();
    if (check.dependsOn?.length > 0 && random.oneIn(2)) {
      await desk.observe(ROUTER, random.pick(["ok", "ok", "critical"]));
    }
    before = desk.repository.recordOf("web", desk.clock.wallMs()).condition;
    await desk.observe(check, random.pick(CONDITIONS as unknown as ["ok"]));
    await desk.drain();
  }
  return { desk, check, channel, before, explanation: await explain(desk, check, channel) };
}

async function addSilence({ store, clock, repository }: Desk, random: Random): Promise<void> {
  const fromMs = clock.wallMs();
  const { problemBeganAtMs } = repository.recordOf("web", fromMs).condition;
  const kind = random.pick<Silence["kind"]>(["silence", "acknowledgement", "maintenance"]);
  const isOfProblem = kind === "acknowledgement" || kind === "silence" && random.oneIn(2);
  if (isOfProblem && problemBeganAtMs === null) return;
  await store.addSilences([silenceOf(`${kind} ${fromMs}`, {
    check: "web",
    kind,
    problemBeganAtMs: isOfProblem ? problemBeganAtMs : null,
    fromMs,
    untilMs: fromMs + 20 * MINUTE,
  })]);
}

async function explain(desk: Desk, check: Check, channel: Channel): Promise<Explanation> {
  return explainChannel(channel, await whyOptions(desk, check));
}

async function whyOptions({ store, repository, clock }: Desk, check: Check): Promise<WhyOptions> {
  const nowMs = clock.wallMs();
  const { markers } = await store.outbox();
  return {
    check,
    record: repository.recordOf("web", nowMs),
    silences: await store.silences(nowMs),
    running: new Map([["web", check], ["router", ROUTER]]),
    stateOf: (name) => repository.recordOf(name, nowMs).condition,
    lastNotifiedOf: ({ key }) =>
      lastNotified(null, markers.find((one) => one.check === "web" && one.channelKey === key) ?? null),
    nowMs,
  };
}

/** Removes some causes from the config and the state, decides again, and returns what the channel is sent. */
async function eventWithout(
  causes: readonly Cause[],
  { desk, check, channel, before }: Played,
  isAgain = false,
): Promise<string | null> {
  const { engine, store, repository, clock } = desk;
  const nowMs = clock.wallMs();
  const has = (...kinds: readonly Cause["kind"][]): boolean =>
    causes.some(({ kind }) => kinds.includes(kind));
  const { conditions, afterMs, hours, events, ...rest } = channel;
  const filters = {
    ...conditions !== undefined && !has("conditions") && { conditions },
    ...afterMs !== undefined && !has("after") && { afterMs },
    ...hours !== undefined && !has("hours") && { hours },
    ...events !== undefined && !has("events") && { events },
  };
  const changed: Check = {
    ...check,
    ...has("threshold", "recovery_threshold") && { threshold: 1, recoveryThreshold: 1 },
    ...has("depends_on") && { dependsOn: [] },
    ...has("flapping") && { flapping: "all" as const },
    ...has("maintenance") && { maintenanceWindows: [] },
    notifications: [channelOf("all", {}), { ...rest, ...filters } as Channel],
  };
  const ids = new Set(causes.flatMap((cause) => "silence" in cause ? [cause.silence.id] : []));
  const kept = (await store.silences(nowMs)).filter(({ id, kind }) =>
    !ids.has(id) && !(kind === "maintenance" && has("maintenance"))
  );
  await store.endSilences("all", nowMs);
  await endMaintenance(store, nowMs);
  await store.addSilences(kept);
  await engine.refresh();
  engine.reload(configOf([changed, ROUTER]));
  const isConfirmed = has("threshold", "recovery_threshold");
  if (isConfirmed) repository.keep(bareUpdate(withoutLast(repository.recordOf("web", nowMs), before)));
  if (has("recovering")) {
    const record = repository.recordOf("web", nowMs);
    const condition = { ...record.condition, observed: record.condition.confirmed };
    repository.keep(bareUpdate({ ...record, condition }));
  }
  const queued = isConfirmed || isAgain
    ? desk.record(changed, repository.recordOf("web", nowMs).last?.condition ?? "ok")
    : engine.review(changed, nowMs).queued;
  const row = queued.find(({ channelKey }) => channelKey === "filtered");
  const isExcluded = filters.events?.includes(row?.notification.event as "problem") === false;
  return row === undefined || isExcluded ? null : row.notification.event;
}

/** Returns a record without its last result, which is repeated. */
function withoutLast(record: CheckRecord, before: ConditionState): CheckRecord {
  const { atLeast, atMost, recent, sinceLowered, flappingSinceMs } = before;
  return {
    ...record,
    condition: { ...record.condition, atLeast, atMost, recent, sinceLowered, flappingSinceMs },
  };
}

Deno.test("what is named holds a notification back, and nothing else does", async () => {
  const seen = new Map<string, number>();
  for (let number = 0; number < HISTORIES; number++) {
    const played = await play(number);
    const { event, causes } = played.explanation;
    const kinds = causes.map(({ kind }) => kind).join(", ");
    const where = `history ${number}: ${event} ${kinds}`;
    assert.equal(await eventWithout(causes, played), event, where);
    for (const cause of causes.length > 1 ? causes : []) {
      const others = causes.filter((one) => one !== cause);
      assert.equal(await eventWithout(others, await play(number)), null, `${where} without ${cause.kind}`);
    }
    for (const { kind } of causes) seen.set(kind, (seen.get(kind) ?? 0) + 1);
  }
  assert.ok(seen.size >= 7, `only ${[...seen.keys()].join(", ")}`);
});

Deno.test("each cause of explainReminder() suppresses the reminder, which is sent in time without a cause", async () => {
  const POLICIES = [true, 7 * MINUTE, [2 * MINUTE, 30 * MINUTE]] as const;
  const seen = new Map<string, number>();
  for (let number = 0; number < HISTORIES; number++) {
    const policy = POLICIES[number % POLICIES.length] ?? true;
    /** The reminder of the history at its time. */
    const playOn = async () => {
      const played = await play(number, policy);
      const { desk, check, channel } = played;
      const reminder = explainReminder(channel, await whyOptions(desk, check));
      if (reminder !== null) await desk.clock.advance(reminder.dueAtMs - desk.clock.wallMs());
      return { played, causes: reminder?.causes ?? null };
    };
    const { played, causes } = await playOn();
    if (causes === null) continue;
    const where = `history ${number}: ${causes.map(({ kind }) => kind).join(", ")}`;
    assert.equal(await eventWithout(causes, played, true), "reminder", where);
    for (const cause of causes) {
      const others = causes.filter((one) => one !== cause);
      const without = await eventWithout(others, (await playOn()).played, true);
      assert.equal(without, null, `${where} without ${cause.kind}`);
    }
    const [kind = "none"] = causes.map((cause) => cause.kind);
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
  }
  assert.ok(seen.size >= 3, `only ${[...seen.keys()].join(", ")}`);
});
