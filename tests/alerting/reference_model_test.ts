/**
 * Long random traces through the repository and the outbox, with channels that filter, that fail in every way, and
 * that are edited in the config at times, restarts, silences and acknowledgements. If only URLs are edited, each
 * channel gets the notifications of a simple model of the rules, in order. With channels and checks that come and go,
 * each gets only what passes its filters, and was finally notified of the condition that passes them.
 */
import assert from "node:assert/strict";
import { isInWindow } from "../../src/alerting/maintenance_windows.ts";
import type { DeliveryEvent } from "../../src/alerting/delivery_event.ts";
import type { Channel, ChannelFilters } from "../../src/domain/channel.ts";
import type { Check } from "../../src/domain/check.ts";
import { type Condition, CONDITIONS } from "../../src/domain/condition.ts";
import type { Silence } from "../../src/domain/outbox.ts";
import type { ConditionChange } from "../../src/domain/store.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { createRandom, type Random } from "../../testing/random.ts";
import { campaign } from "../../testing/seed.ts";
import { endMaintenance, silenceOf } from "../state/records.ts";
import { testCheck } from "../support/checks.ts";
import { openFaultyStore } from "../support/faulty_store.ts";
import { configOf, openDesk } from "./desk.ts";
import { type Arrival, type ArrivedItem, createFlakySystem, type Mood } from "./flaky_channels.ts";
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
const STEP_COUNT = campaign(15_000);
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

/** The others may be absent from the config for a while. */
const LASTING = ["check 0", "check 1", "check 2", "check 3"];

for (const seed of SEEDS) {
  Deno.test(`startNotifying() sends each channel the notifications of the model, in order, seed ${seed}`, async () => {
    const { arrivals, due, events, acknowledgements, edits } = await runTrace(seed, moveChannels);
    assert.ok(acknowledgements > 1, `only ${acknowledgements} problems were acknowledged`);
    assert.ok(edits > 3, `only ${edits} times were channels other ones`);
    assert.deepEqual(events.filter(({ event }) => event === "dropped"), []);
    const ids = new Set(arrivals.map(({ channel, messageId }) => `${channel} ${messageId}`));
    assert.ok(arrivals.length - ids.size > 10, "few duplicates: the channels fail too seldom");
    const missed = arrivals.flatMap(({ items }) => items).filter((item) => item.missed_problem !== null);
    assert.ok(missed.length > 10, `only ${missed.length} problems ended before they were notified`);
    for (const [channel, filters] of Object.entries(FILTERS)) {
      const own = arrivals.filter((arrival) => arrival.channel === channel);
      const messages = withoutDuplicates(own);
      assertNoStrayDuplicate(messages);
      assert.ok(messages.length > 5, `${channel}: only ${messages.length} messages`);
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

  Deno.test(`startNotifying() sends each channel what passes its filters, whatever is edited, seed ${seed}`, async () => {
    const { arrivals, due, events, changes, confirmed, decided } = await runTrace(seed, chooseChannels);
    const dropped = events.flatMap((event) => event.event === "dropped" ? event.notifications : []);
    assert.ok(dropped.length > 5, `only ${dropped.length} notifications were dropped`);
    /** Messages that certainly arrived. */
    const taken = new Set(
      events.flatMap((event) => event.event === "delivered" ? event.notifications.map(({ id }) => id) : []),
    );
    for (const [channel, filters] of Object.entries(FILTERS)) {
      const messages = withoutDuplicates(arrivals.filter((arrival) => arrival.channel === channel), {
        mayLack: true,
      });
      assert.ok(messages.length > 5, `${channel}: only ${messages.length} messages`);
      for (const [check, condition] of confirmed) {
        const where = `${channel}, ${check}`;
        const items = itemsOf(messages, check);
        let lastMs = -Infinity;
        let mayKnowProblem = false;
        for (const item of items) {
          assertPasses(item, { filters, changes, where: `${where}: ${JSON.stringify(item)}` });
          for (const { condition, decided_at, problem_began_at, event } of notificationsOf(item)) {
            // The config no longer had the check: no result decides that.
            if (isUncheckedEnd({ event, condition })) continue;
            const atMs = Date.parse(decided_at);
            const known = decided.get(`${check} ${atMs}`);
            assert.equal(known?.condition, condition, `${where}: invented`);
            if (event !== "recovery") assert.equal(known.beganAtMs, Date.parse(problem_began_at), where);
            // A recovery that was dropped and is sent again has the time of the first.
            assert.ok(atMs >= lastMs, `${where}: out of order`);
            lastMs = atMs;
          }
          if (item.event !== "recovery") mayKnowProblem = true;
          else {
            // A dropped notification may have arrived at an attempt, since the sender cannot detect it.
            const mayHaveArrived = dropped.some(({ notification, channelKey, attempts }) =>
              notification.check === check && channelKey === channel && attempts > 0 &&
              notification.decidedAtMs < Date.parse(item.decided_at)
            );
            const isOfProblem: boolean = mayKnowProblem || mayHaveArrived || item.missed_problem !== null;
            assert.ok(isOfProblem || filters.events !== undefined, `${where}: of no problem`);
            if (taken.has(`${item.id}-${channel}`)) mayKnowProblem = false;
          }
        }
        if (due.get(check)?.has(channel) !== true) continue;
        const last = items.at(-1);
        const known = last === undefined || last.event === "recovery" ? "ok" : last.condition;
        const isWanted = filters.conditions?.includes(condition) ?? true;
        const isOver = condition === "ok" || condition === "warning" && known === "critical";
        if (filters.events !== undefined || filters.hours !== undefined && condition !== "ok") continue;
        assert.equal(known, isWanted ? condition : isOver ? "ok" : known, `${where}: in the end`);
      }
    }
  });
}

function isUncheckedEnd({ event, condition }: Pick<ArrivedItem, "event" | "condition">): boolean {
  return event === "recovery" && condition === "unknown";
}

function assertPasses(
  item: ArrivedItem,
  { filters: { conditions, events, hours, afterMs }, changes, where }: {
    readonly filters: ChannelFilters;
    readonly changes: Trace["changes"];
    readonly where: string;
  },
): void {
  const all = notificationsOf(item);
  for (const { event, condition, decided_at, problem_began_at } of all) {
    if (isUncheckedEnd({ event, condition })) continue;
    const isListed = conditions?.includes(condition as Condition) ?? condition !== "ok";
    assert.equal(isListed, event !== "recovery", where);
    if (event === "recovery") continue;
    const decidedAtMs = Date.parse(decided_at);
    assert.ok(hours === undefined || isInWindow(hours, decidedAtMs), `outside the hours: ${where}`);
    if (event !== "problem" || afterMs === undefined) continue;
    const beganAtMs = conditions === undefined
      ? Date.parse(problem_began_at)
      : beginOf(conditions, changes.get(item.check) ?? [], decidedAtMs);
    assert.ok(decidedAtMs - beganAtMs >= afterMs, `too early: ${where}`);
  }
  // Of a problem that recovered unsent, either event counts.
  const isWanted = events === undefined || all.some(({ event }) => events.some((one) => one === event));
  assert.ok(isWanted, `left out: ${where}`);
}

/** When the conditions that a channel gets began to be confirmed, one or another, as they are at a time. */
function beginOf(
  conditions: readonly Condition[],
  changes: readonly ConditionChange[],
  atMs: number,
): number {
  const isListed = (shown: string): boolean => conditions.some((condition) => condition === shown);
  const last = changes.filter((change) => change.atMs <= atMs)
    .toSorted((one, other) => one.atMs - other.atMs)
    .findLast(({ from, to }) => !isListed(from) && isListed(to));
  return last?.atMs ?? assert.fail("it was never one of them");
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

interface Trace {
  readonly arrivals: readonly Arrival[];
  readonly events: readonly DeliveryEvent[];
  readonly acknowledgements: number;
  /** How often the config was edited. */
  readonly edits: number;
  /** The notifications of the model, by check and channel. */
  readonly due: ReadonlyMap<string, ReadonlyMap<string, readonly ExpectedNotification[]>>;
  /** The state of the model by check and time of a decision. */
  readonly decided: ReadonlyMap<string, { readonly condition: Condition; readonly beganAtMs: number | null }>;
  /** The confirmed conditions in the end, of the checks that nothing suppresses then. */
  readonly confirmed: ReadonlyMap<string, Condition>;
  /** Of the confirmed conditions, by check. */
  readonly changes: ReadonlyMap<string, readonly ConditionChange[]>;
}

/** Returns checks with other channels, or fewer checks. */
type Edit = (checks: readonly Check[], random: Random) => readonly Check[];

/** The config has some at other URLs: they are other channels for the monitor, and the same receivers. */
const moveChannels: Edit = (checks, { below }) => {
  const places = new Map(Object.keys(FILTERS).map((name) => [name, Math.floor(below(3))]));
  return checks.map((check) => ({
    ...check,
    notifications: check.notifications.map((channel) => ({
      ...channel,
      key: `${channel.key} ${places.get(channel.key)}`,
    })),
  }));
};

/** Some checks are there, with some of their channels or all of them. */
const chooseChannels: Edit = (checks, { next }) =>
  checks.filter(({ name }) => LASTING.includes(name) || next() < 0.8).map((check) => ({
    ...check,
    notifications: next() < 0.3 ? check.notifications : check.notifications.filter(() => next() < 0.6),
  }));

async function runTrace(seed: number, edit: Edit): Promise<Trace> {
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
  const editChecks = (): void => {
    checks = edit(written, random);
    edits++;
  };
  let desk = await openDesk(checks, { clock, store, system, batchingMs: 2 * SECOND });
  const restart = async (): Promise<void> => {
    await settle(clock, desk.notifying.stop());
    assert.deepEqual(desk.troubles, []);
    events.push(...desk.events);
    // A start does not detect that a channel was edited.
    if (edit === chooseChannels && next() < 0.5) editChecks();
    desk = await openDesk(checks, { clock, store, system, batchingMs: 2 * SECOND });
    forgetEnded();
  };
  /** Checks that left begin again if a channel knew of their problem. */
  const forgetEnded = (): void => {
    for (const { name } of written) {
      if (checks.some((check) => check.name === name)) continue;
      const { confirmed, observed } = desk.repository.recordOf(name, clock.wallMs()).condition;
      if (confirmed === null && observed === null) model.forget(name);
    }
  };
  const conditions = new Map<string, Condition>();
  const model = createReferenceModel();
  const decided = new Map<string, { readonly condition: Condition; readonly beganAtMs: number | null }>();
  const due = new Map(written.map(({ name, notifications }) => {
    const none = notifications.map(({ key }) => [key, [] as ExpectedNotification[]] as const);
    return [name, new Map(none)];
  }));
  const circumstancesOf = async ({ name, tags }: Check): Promise<Omit<Observed, "condition">> => {
    await desk.notifying.refresh();
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
    const known = { condition: model.confirmed(name), beganAtMs: model.beganAtMs(name) };
    decided.set(`${name} ${clock.wallMs()}`, known);
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
      editChecks();
      desk.notifying.reload(configOf(checks));
      forgetEnded();
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
  if (edit === chooseChannels) {
    checks = written;
    desk.notifying.reload(configOf(checks));
  }
  await endMaintenance(store, clock.wallMs());
  await store.endSilences("all", clock.wallMs());
  await clock.advance(3 * HOUR);
  for (let round = 0; round < 30; round++) {
    for (const check of checks) await record(check);
    await clock.advance(5 * MINUTE);
    await review();
  }
  await clock.advance(HOUR);
  const unsuppressed = checks.filter((check) => desk.notifying.suppressedBy(check, clock.wallMs()) === null);
  const confirmed = new Map(unsuppressed.map(({ name }) => [name, model.confirmed(name)]));
  assert.deepEqual(desk.notifying.pending, [], "everything has gone in the end");
  await settle(clock, desk.notifying.stop());
  events.push(...desk.events);
  const changes = new Map<string, readonly ConditionChange[]>();
  for (const { name } of checks) {
    changes.set(name, await store.changes(name, { sinceMs: -Infinity, limit: Infinity }));
  }
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
    decided,
    confirmed,
    changes,
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

interface Moods {
  moodOf(channel: string): Mood;
  /** May change the behavior of a channel. */
  change(): void;
  /** All is well from now on. */
  heal(): void;
}

function createMoods({ next, below, pick }: Random): Moods {
  const bad = new Set<string>();
  let isHealed = false;
  return {
    moodOf: (channel) => {
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
    change: () => {
      // No rejection lasts an hour, after which a message that may have arrived is no longer kept whole.
      for (const channel of Object.keys(FILTERS)) {
        if (next() < (bad.has(channel) ? 0.08 : 0.02) && !bad.delete(channel)) bad.add(channel);
      }
    },
    heal: () => void (isHealed = true),
  };
}
