/** Notifying with a fake clock and a store in memory, for tests that provide the results. */
import type { Check } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { StoreFailure } from "../../src/domain/store.ts";
import { openStateRepository, type StateRepository } from "../../src/state/state_repository.ts";
import type { DeliveryEvent } from "../../src/alerting/delivery_event.ts";
import { type Notifying, startNotifying } from "../../src/alerting/notifying.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { type FaultyStore, openFaultyStore } from "../support/faulty_store.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** When tests begin; wall time. */
export const START = 1_800_000_000_000;

/** Notifying and all around it. */
export interface Desk {
  readonly clock: FakeClock;
  readonly store: FaultyStore;
  readonly repository: StateRepository;
  readonly notifying: Notifying;
  /** The console channel's lines. */
  readonly lines: string[];
  readonly events: DeliveryEvent[];
  /** The failures of the store that the repository reported. */
  readonly troubles: (StoreFailure | null)[];
  /** Records a check result as the scheduler does, and sends its notifications. */
  observe(check: Check, condition: Condition): Promise<void>;
  /** Decides again without a result, as the scheduler does after a reload, and sends its notifications. */
  review(check: Check): Promise<void>;
  /** Tries each row once. */
  drain(): Promise<void>;
}

interface DeskOptions {
  readonly clock?: FakeClock;
  readonly store?: FaultyStore;
  readonly notifies?: boolean;
  /** Touches a file. @default the system's */
  readonly touch?: () => Promise<void>;
  /** Replaces a damaged store. @default none */
  readonly fresh?: FaultyStore;
}

/** Starts notifying for some checks. */
export async function openDesk(checks: readonly Check[], options: DeskOptions = {}): Promise<Desk> {
  const { clock = createFakeClock(START), store = await openFaultyStore(), notifies = true } = options;
  const lines: string[] = [];
  const events: DeliveryEvent[] = [];
  const troubles: (StoreFailure | null)[] = [];
  const repository = await openStateRepository({
    store,
    onFailure: (error) => void troubles.push(error?.failure ?? null),
    reopen: (error) => options.fresh === undefined ? Promise.reject(error) : Promise.resolve(options.fresh),
    newId: () => crypto.randomUUID(),
    hostName: "host",
  });
  const system = createMemorySystem();
  const files = options.touch === undefined ? system.files : { ...system.files, touch: options.touch };
  const notifying = startNotifying(configOf(checks), {
    system: { ...system, files, clock, random: () => 0.5 },
    repository,
    kept: await store.outbox(),
    notifies,
    batchingMs: 0,
    writeLine: (line) => void lines.push(line),
    onEvent: (event) => void events.push(event),
    onBug: (error) => {
      throw error;
    },
  });
  const observe = async (check: Check, condition: Condition): Promise<void> => {
    const nowMs = clock.wallMs();
    const entry = repository.record({
      check,
      condition,
      output: condition,
      detail: "",
      metrics: {},
      performanceData: "",
      startedAtMs: nowMs - 5,
      durationMs: 5,
    }, {
      nowMs,
      ...notifying.deciding(check, nowMs),
      plan: () => ({ atMs: nowMs + MINUTE, overdueAtMs: nowMs + 3 * MINUTE, missed: 0 }),
    });
    await repository.flush();
    notifying.send(entry.queued);
  };
  const review = async (check: Check): Promise<void> => {
    const nowMs = clock.wallMs();
    const entry = repository.review(check, { nowMs, ...notifying.deciding(check, nowMs) });
    await repository.flush();
    notifying.send(entry?.queued ?? []);
  };
  const drain = (): Promise<void> => notifying.drain(clock.wallMs() + HOUR);
  return { clock, store, repository, notifying, lines, events, troubles, observe, review, drain };
}

/** The config of some checks. */
export function configOf(
  checks: readonly Check[],
  running: readonly Check[] = checks,
): Parameters<typeof startNotifying>[0] {
  return { users: checks, running, directory: "/", redact: (text) => text.replaceAll("swordfish", "***") };
}
