/**
 * Random traces with channels that filter and fail, restarts, silences and acknowledgements: each channel gets the
 * notifications of the model, in order. With reloads that take channels away and bring them back, each gets only the
 * notifications that pass its filters, and was finally notified of the condition that passes them.
 */
import assert from "node:assert/strict";
import { isInWindow } from "../../src/alerting/maintenance_windows.ts";
import { type Notifying, startNotifying } from "../../src/alerting/notifying.ts";
import type { Channel, ChannelFilters } from "../../src/domain/channel.ts";
import type { Check } from "../../src/domain/check.ts";
import { type Condition, CONDITIONS, type ShownCondition } from "../../src/domain/condition.ts";
import type { Silence } from "../../src/domain/outbox.ts";
import type { ConditionChange } from "../../src/domain/store.ts";
import { openStateRepository, type StateRepository } from "../../src/state/state_repository.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { endMaintenance, silenceOf } from "../state/records.ts";
import { createRandom } from "../../testing/random.ts";
import { testCheck } from "../support/checks.ts";
import { openInMemoryStore } from "../../src/state/sqlite/in_memory_store.ts";
import { type Arrival, type ArrivedItem, createFlakySystem, type Mood } from "./flaky_channels.ts";
import {
  assertNoStrayDuplicate,
  assertNotifiedInOrder,
  itemsOf,
  lastArrivalsOf,
  withoutDuplicates,
} from "./received.ts";
import {
  createReferenceModel,
  type Decision,
  type ExpectedNotification,
  type Observed,
} from "./reference_model.ts";
import { campaign } from "../../testing/seed.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const AFTER_MS = 10 * MINUTE;
const STEP_COUNT = campaign(10_000);
const CHECK_COUNT = 6;
const SEEDS = (Deno.env.get("TRACE_SEEDS") ?? "1 2").split(" ").slice(0, campaign(10)).map(Number);
/** Every other quarter of an hour. */
const HOURS = Array.from({ length: 48 }, (_, half) => ({
  fromMinute: half * 30,
  toMinute: half * 30 + 15,
  timeZone: "UTC",
}));

/** By the name of the channel, which is its host or command. */
const FILTERS: Readonly<Record<string, ChannelFilters>> = {
  "all.example": {},
  "critical.example": { conditions: ["critical"] },
  "warning.example": { conditions: ["warning"] },
  "bad.example": { conditions: ["warning", "critical"] },
  "late.example": { afterMs: AFTER_MS },
  "late-critical.example": { afterMs: AFTER_MS, conditions: ["critical"] },
  "late-some.example": { afterMs: AFTER_MS, conditions: ["warning", "critical"] },
  "hours.example": { hours: HOURS },
  "problems.example": { events: ["problem"] },
  "others.example": { events: ["change", "recovery"] },
  "/critical": { conditions: ["critical"] },
  "/recoveries": { events: ["recovery"] },
};

for (const seed of SEEDS) {
  Deno.test(`startNotifying() sends each channel the notifications of the model after its filters, seed ${seed}`, async () => {
    const { arrivals, due, acknowledgements } = await runTrace(seed, { reloads: false });
    assert.ok(acknowledgements > 1, `only ${acknowledgements} problems were acknowledged`);
    for (const [channel, { events }] of Object.entries(FILTERS)) {
      const own = arrivals.filter((arrival) => arrival.channel === channel);
      const messages = withoutDuplicates(own);
      assertNoStrayDuplicate(messages);
      assert.ok(messages.length > 5, `${channel}: only ${messages.length} messages`);
      for (const [check, byChannel] of due) {
        assertNotifiedInOrder(itemsOf(messages, check), {
          due: byChannel.get(channel) ?? [],
          lastArrivals: lastArrivalsOf(own),
          events,
          where: `${channel}, ${check}`,
        });
      }
    }
  });

  Deno.test(`startNotifying() sends each channel the notifications that pass its filters, seed ${seed}`, async () => {
    const { checks, arrivals, confirmed, changes } = await runTrace(seed, { reloads: true });
    for (const [channel, filters] of Object.entries(FILTERS)) {
      const messages = withoutDuplicates(arrivals.filter((arrival) => arrival.channel === channel), {
        mayLack: true,
      });
      const items = messages.flatMap((message) => message.items)
        .toSorted((one, other) => Date.parse(one.decided_at) - Date.parse(other.decided_at));
      assert.ok(items.length > 10, `${channel}: only ${items.length} notifications`);
      for (const item of items) {
        assertPasses(item, { filters, changes, where: `${channel}: ${JSON.stringify(item)}` });
      }
      for (const [check, condition] of confirmed) {
        const last = items.findLast((item) => item.check === check);
        const known = last === undefined || last.event === "recovery" ? "ok" : last.condition;
        assert.ok(condition !== null, `${check} has run`);
        const isWanted = filters.conditions?.includes(condition) ?? true;
        const isOver = condition === "ok" || condition === "warning" && known === "critical";
        const has = checks.some(({ name, notifications }) =>
          name === check && notifications.some(({ key }) => key === channel)
        );
        if (!has || filters.events !== undefined || filters.hours !== undefined && condition !== "ok") {
          continue;
        }
        assert.equal(known, isWanted ? condition : isOver ? "ok" : known, `${channel}, ${check}: in the end`);
      }
    }
  });
}

function assertPasses(
  item: ArrivedItem,
  { filters, changes, where }: {
    readonly filters: ChannelFilters;
    readonly changes: Trace["changes"];
    readonly where: string;
  },
): void {
  const { conditions, events, hours, afterMs } = filters;
  const { missed_problem: missed } = item;
  for (
    const { event, condition, decided_at, problem_began_at } of missed === null ? [item] : [missed, item]
  ) {
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
  const own = [item, ...missed === null ? [] : [missed]].map(({ event }) => event);
  assert.ok(events === undefined || events.some((event) => own.includes(event)), `left out: ${where}`);
}

/** When the conditions that a channel gets began to be confirmed, one or another, as they are at a time. */
function beginOf(
  conditions: readonly Condition[],
  changes: readonly ConditionChange[],
  atMs: number,
): number {
  const until = changes.filter((change) => change.atMs <= atMs).toSorted((one, other) =>
    one.atMs - other.atMs
  );
  const isListed = (shown: ShownCondition): boolean => conditions.some((condition) => condition === shown);
  const last = until.findLast(({ from, to }) => !isListed(from) && isListed(to));
  return last?.atMs ?? assert.fail("it was never one of them");
}

interface Trace {
  readonly checks: readonly Check[];
  readonly arrivals: readonly Arrival[];
  /** In the end, of the checks that nothing suppresses then. */
  readonly confirmed: ReadonlyMap<string, Condition | null>;
  readonly acknowledgements: number;
  /** The notifications of the model, by check and channel. */
  readonly due: ReadonlyMap<string, ReadonlyMap<string, readonly ExpectedNotification[]>>;
  /** Of the confirmed conditions, by check. */
  readonly changes: ReadonlyMap<string, readonly ConditionChange[]>;
}

async function runTrace(seed: number, { reloads }: { readonly reloads: boolean }): Promise<Trace> {
  const { next: random } = createRandom(seed, "filters");
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] ?? assert.fail();
  const clock = createFakeClock();
  const store = await openInMemoryStore();
  const arrivals: Arrival[] = [];
  const bad = new Set<string>();
  let isHealed = false;
  const moodOf = (channel: string): Mood => {
    const good = { arrives: true, answer: channel.startsWith("/") ? 0 : 200, retryAfterSeconds: null };
    if (isHealed || random() > (bad.has(channel) ? 0.95 : 0.03)) return good;
    const answer = pick(["hang", "broken", channel.startsWith("/") ? 1 : 503] as const);
    return { ...good, answer, arrives: typeof answer !== "number" && random() < 0.5 };
  };
  let lastId = 0;
  const system = createFlakySystem({
    clock,
    random,
    randomId: () => `r${++lastId}`,
    moodOf,
    answerMs: () => Math.floor(random() * 400),
    onArrival: (arrival) => void arrivals.push(arrival),
  });
  const written = makeChecks();
  let checks = written;
  const fail = (error: unknown): never => {
    throw error;
  };
  const configOf = (): Parameters<typeof startNotifying>[0] => ({
    users: checks,
    running: checks,
    directory: "/",
    redact: (text) => text,
  });
  const start = async (): Promise<{ repository: StateRepository; notifying: Notifying }> => {
    const repository = await openStateRepository({
      store,
      onFailure: fail,
      reopen: fail,
      newId: system.randomId,
      hostName: "test-host",
    });
    const notifying = startNotifying(configOf(), {
      system,
      repository,
      kept: await store.outbox(),
      notifies: true,
      batchingMs: 2 * SECOND,
      writeLine: () => {},
      onEvent: () => {},
      onBug: fail,
    });
    return { repository, notifying };
  };
  let monitor = await start();
  const conditions = new Map<string, Condition>();
  let acknowledgements = 0;
  const model = createReferenceModel();
  const due = new Map(
    written.map((
      { name },
    ) => [name, new Map(Object.keys(FILTERS).map((key) => [key, [] as ExpectedNotification[]]))]),
  );
  const circumstancesOf = async (check: Check, nowMs: number): Promise<Omit<Observed, "condition">> => {
    const problemBeganAtMs = model.beganAtMs(check.name);
    const silences = await store.silences(nowMs);
    const applies = (kind: Silence["kind"], beganAtMs: number | null): boolean =>
      silences.some((silence) =>
        silence.kind === kind && silence.fromMs <= nowMs && nowMs < silence.untilMs &&
        silence.problemBeganAtMs === beganAtMs &&
        (silence.tag === null ? [null, check.name].includes(silence.check) : check.tags.includes(silence.tag))
      );
    const appliesToProblem = (kind: Silence["kind"]): boolean =>
      problemBeganAtMs !== null && applies(kind, problemBeganAtMs);
    return {
      nowMs,
      running: new Set(checks.map(({ name }) => name)),
      silenced: applies("silence", null) || applies("maintenance", null),
      silencedUntilOk: appliesToProblem("silence"),
      acknowledged: appliesToProblem("acknowledgement"),
    };
  };
  const expect = (check: Check, { byChannel }: Decision): void => {
    for (const [key, notification] of byChannel) due.get(check.name)?.get(key)?.push(notification);
  };
  const record = async (check: Check): Promise<void> => {
    const { repository, notifying } = monitor;
    await notifying.refresh();
    const nowMs = clock.wallMs();
    const condition = conditions.get(check.name) ?? "ok";
    expect(check, model.observe(check, { condition, ...await circumstancesOf(check, nowMs) }));
    const { queued } = repository.record({
      check,
      condition,
      output: condition,
      detail: "",
      performanceData: "",
      metrics: {},
      startedAtMs: nowMs,
      durationMs: 1,
    }, {
      nowMs,
      ...notifying.deciding(check, nowMs),
      plan: () => ({ atMs: nowMs + MINUTE, overdueAtMs: nowMs + 3 * MINUTE, missed: 0 }),
    });
    await repository.flush();
    notifying.send(queued);
  };
  const review = async (): Promise<void> => {
    const { repository, notifying } = monitor;
    await notifying.refresh();
    for (const check of checks) {
      const nowMs = clock.wallMs();
      expect(check, model.review(check, await circumstancesOf(check, nowMs)));
      const { queued } = repository.review(check, { nowMs, ...notifying.deciding(check, nowMs) });
      await repository.flush();
      notifying.send(queued);
    }
  };
  const annotate = async (id: string): Promise<void> => {
    const check = pick(checks);
    const fromMs = clock.wallMs();
    if (random() < 0.1) return await endMaintenance(store, fromMs);
    const kind = pick(["acknowledgement", "silence", "maintenance"] as const);
    const { problemBeganAtMs } = monitor.repository.recordOf(check.name, fromMs).condition;
    const endsWithProblem = problemBeganAtMs !== null &&
      (kind === "acknowledgement" || kind === "silence" && random() < 0.5);
    if (kind === "acknowledgement" && !endsWithProblem) return;
    if (kind === "acknowledgement") acknowledgements++;
    const isOfTag = kind === "maintenance" && random() < 0.5;
    await store.addSilences([silenceOf(id, {
      check: isOfTag || !endsWithProblem && random() < 0.1 ? null : check.name,
      tag: isOfTag ? pick(["even", "odd"]) : null,
      kind,
      problemBeganAtMs: endsWithProblem ? problemBeganAtMs : null,
      fromMs,
      untilMs: fromMs + 40 * MINUTE * random(),
    })]);
  };
  for (let step = 0; step < STEP_COUNT; step++) {
    await clock.advance(1 + Math.floor(random() * (random() < 0.03 ? 12 * MINUTE : 20 * SECOND)));
    for (const channel of Object.keys(FILTERS)) {
      if (random() < (bad.has(channel) ? 0.03 : 0.01) && !bad.delete(channel)) bad.add(channel);
    }
    if (reloads && random() < 0.01) {
      // Without some channels for a while, and with them again.
      checks = written.map((check) => ({
        ...check,
        notifications: random() < 0.5
          ? check.notifications
          : check.notifications.filter(() => random() < 0.7),
      }));
      monitor.notifying.reload(configOf());
    }
    if (random() < 0.005) {
      const stopped = monitor.notifying.stop();
      await clock.advance(0);
      await stopped;
      monitor = await start();
    }
    if (random() < 0.04) await annotate(`s${step}`);
    if (random() < 0.2) {
      await review();
      await clock.advance(1);
    }
    const check = pick(checks);
    const roll = random();
    if (roll > 0.6) conditions.set(check.name, roll > 0.8 ? "ok" : pick(CONDITIONS));
    await record(check);
  }
  isHealed = true;
  checks = written;
  monitor.notifying.reload(configOf());
  await endMaintenance(store, clock.wallMs());
  await store.endSilences("all", clock.wallMs());
  await clock.advance(3 * HOUR);
  for (let round = 0; round < 30; round++) {
    for (const check of checks) await record(check);
    await clock.advance(5 * MINUTE);
    await review();
  }
  await clock.advance(HOUR);
  const confirmed = new Map(
    checks.filter((check) => monitor.notifying.suppressedBy(check, clock.wallMs()) === null).map((
      { name },
    ) => [
      name,
      monitor.repository.recordOf(name, clock.wallMs()).condition.confirmed,
    ]),
  );
  assert.deepEqual(monitor.notifying.pending, [], "everything has gone in the end");
  const stopped = monitor.notifying.stop();
  await clock.advance(0);
  await stopped;
  const changes = new Map<string, readonly ConditionChange[]>();
  for (const { name } of checks) {
    changes.set(name, await store.changes(name, { sinceMs: -Infinity, limit: Infinity }));
  }
  return { checks, arrivals, confirmed, acknowledgements, changes, due };
}

function makeChecks(): readonly Check[] {
  const channels = Object.entries(FILTERS).map(([name, filters]): Channel =>
    name.startsWith("/")
      ? {
        kind: "command",
        key: name,
        parameters: { path: name, arguments: [], environment: {}, timeoutMs: 30 * SECOND },
        ...filters,
      }
      : {
        kind: "webhook",
        key: name,
        parameters: { target: `http://${name}/`, method: "POST", headers: {}, timeoutMs: 10 * SECOND },
        ...filters,
      }
  );
  return Array.from({ length: CHECK_COUNT }, (_, index) => ({
    ...testCheck("ok", {
      name: `check ${index}`,
      threshold: 1 + index % 2,
      recoveryThreshold: 1,
      annoy: index % 3 === 0 ? 5 * MINUTE : false,
      ...index % 2 === 1 && { within: 4 },
      ...index % 3 === 1 && { flapping: "once" as const },
    }),
    tags: [index % 2 === 0 ? "even" : "odd"],
    dependsOn: index === 4 ? ["check 0"] : index === 5 ? [{ any: ["check 0", "check 1"] }] : [],
    // Some checks have no channel that gets everything; those have no reminders.
    notifications: channels.filter(({ key }) => index % 3 !== 2 || key !== "all.example"),
  }));
}
