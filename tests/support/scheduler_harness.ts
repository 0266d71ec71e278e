import assert from "node:assert/strict";
import { entriesOf } from "../../src/checks/registry.ts";
import type { Check } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import { Engine, type EngineSender } from "../../src/engine/engine.ts";
import type { Notification } from "../../src/domain/outbox.ts";
import type { Store, StoreError } from "../../src/domain/store.ts";
import type { Decided } from "../../src/engine/decide.ts";
import { openStateRepository } from "../../src/state/state_repository.ts";
import { createLimiters } from "../../src/scheduler/run_checks.ts";
import { openInMemoryStore } from "../../src/state/sqlite/sqlite_store.ts";
import { type ScheduledConfig, Scheduler, type SchedulerEvent } from "../../src/scheduler/scheduler.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { createFakeTargets, type FakeResponse } from "../../testing/fake_targets.ts";
import { createProgramSystem, type FakeRun } from "./fake_commands.ts";

/** One result as tests look at it. */
export interface SeenRun {
  readonly name: string;
  readonly check: Check;
  readonly condition: Condition;
  readonly startedAtMs: number;
  readonly lateMs: number;
  readonly entry: Decided;
}

/** A scheduler on a fake clock, and its events. */
export interface SchedulerHarness {
  readonly clock: FakeClock;
  readonly store: Store;
  readonly scheduler: Scheduler;
  readonly events: readonly SchedulerEvent[];
  /** The results so far, of one check where a name is given. */
  runs(name?: string): readonly SeenRun[];
  notifications(): readonly Notification[];
  starts(name: string): readonly number[];
  reload(checks: readonly Check[]): void;
  /** Stops the scheduler, which then waits for nothing any more. */
  end(): Promise<void>;
}

export interface SchedulerHarnessOptions {
  /** A clock that runs already: a restart goes on with that of the harness before. */
  readonly clock?: FakeClock;
  readonly store?: Store;
  readonly limits?: Parameters<typeof createLimiters>[0];
  /** Returns the response of an HTTP target. @default 200 after 20 ms */
  respond?(target: string, nowMs: number): FakeResponse | "hang";
  /** Called when a request has completed or was aborted. */
  ended?(target: string): void;
  /** Returns the run of a command, by the name of the check. @default ok after 20 ms */
  runFakeCommand?(name: string, nowMs: number): FakeRun;
  /** Reads the silences again before a failure is recorded. @default at once */
  refresh?(): Promise<void>;
  /** Opens a store in the place of a damaged one. */
  reopen?(error: StoreError): Promise<Store>;
}

export async function startHarness(
  checks: readonly Check[],
  options: SchedulerHarnessOptions = {},
): Promise<SchedulerHarness> {
  // The fake clock does not wait for module loading.
  await Promise.all([entriesOf(checks), import("../../src/scheduler/trace/trace_run.ts")]);
  const clock = options.clock ?? createFakeClock();
  const store = options.store ?? await openInMemoryStore();
  const events: SchedulerEvent[] = [];
  const repository = await openStateRepository({
    store,
    onFailure: () => {},
    reopen: options.reopen ?? (() => openInMemoryStore()),
  });
  const scheduled = (some: readonly Check[]): ScheduledConfig => ({
    checks: some,
    directory: "/",
    redact: (text) => text,
  });
  const respond = options.respond ?? (() => ({ status: 200, afterMs: 20 }));
  const { requests } = createFakeTargets(clock, respond, (target) => options.ended?.(target));
  const runFakeCommand = options.runFakeCommand ?? (() => ({ condition: "ok", afterMs: 20 }) as const);
  const notifications = (): readonly Notification[] =>
    events.flatMap((event) => event.event === "notification" ? [event.notification] : []);
  const sender: EngineSender = {
    notifies: true,
    queued: [],
    silences: [],
    isAlone: false,
    isOvertaken: () => false,
    lastNotifiedOf: (check) => ({
      conditions: [repository.recordOf(check, clock.wallMs()).condition.notified],
      isPending: false,
    }),
    nameOf: () => "channel",
    textMaxOf: () => ({ output: 100, detail: 100 }),
    sequence: 0,
    decided: () => {},
    send: () => {},
    refresh: options.refresh ?? (() => Promise.resolve()),
    reload: () => {},
  };
  const scheduler = new Scheduler(scheduled(checks), {
    system: { ...createProgramSystem(clock, runFakeCommand), requests },
    jobs: null,
    repository,
    limiters: createLimiters(options.limits ?? { process: 4, network: 60 }),
    engine: new Engine(checks, {
      repository,
      sender,
      newId: () => crypto.randomUUID(),
      hostName: "test-host",
    }),
    onEvent: (event) => void events.push(event),
    onBug: (error) => {
      throw error;
    },
  });
  const runs = (name?: string): readonly SeenRun[] =>
    events.flatMap((event) => {
      if (event.event !== "result" || (name !== undefined && event.result.check.name !== name)) return [];
      const { result: { check, condition, startedAtMs }, lateMs, entry } = event;
      return [{ name: check.name, check, condition, startedAtMs, lateMs, entry }];
    });
  return {
    clock,
    store,
    scheduler,
    events,
    runs,
    notifications,
    starts: (name) => runs(name).map(({ startedAtMs }) => startedAtMs),
    reload: (some) => scheduler.reload(scheduled(some)),
    end: async () => {
      const stopped = scheduler.stop(0);
      await clock.advance(1);
      await stopped;
      assert.strictEqual(clock.timers, 0, "no timer is left");
      assert.deepStrictEqual(scheduler.running, []);
    },
  };
}
