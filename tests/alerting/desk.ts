/** Notifying with a fake clock and a store in memory, for tests that provide the results. */
import type { Check } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { StoreFailure } from "../../src/domain/store.ts";
import type { QueuedNotification } from "../../src/domain/outbox.ts";
import type { System } from "../../src/domain/system.ts";
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
  /** The files that were touched: nothing else happens to them. */
  readonly touched: string[];
  readonly events: DeliveryEvent[];
  /** The failures of the store that the repository reported. */
  readonly troubles: (StoreFailure | null)[];
  /** Records a check result as the scheduler does, and returns its notifications. */
  record(check: Check, condition: Condition): readonly QueuedNotification[];
  /** The same, and sends them. */
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
  /** Parts of the system. @default those of one in memory */
  readonly system?: Partial<System>;
  /** Called before a file is touched. */
  readonly touch?: (path: string) => Promise<void> | void;
  readonly member?: Parameters<typeof startNotifying>[1]["member"];
  /** @default 0 */
  readonly batchingMs?: number;
  /** Replaces a damaged store. @default none */
  readonly fresh?: FaultyStore;
}

/** Starts notifying for some checks. */
export async function openDesk(checks: readonly Check[], options: DeskOptions = {}): Promise<Desk> {
  const { clock = createFakeClock(START), store = await openFaultyStore(), notifies = true } = options;
  const lines: string[] = [];
  const events: DeliveryEvent[] = [];
  const troubles: (StoreFailure | null)[] = [];
  const touched: string[] = [];
  const memory = createMemorySystem();
  const touch = async (path: string): Promise<void> => {
    await options.touch?.(path);
    touched.push(path);
  };
  const files = { ...memory.files, touch };
  const system = { ...memory, files, clock, random: () => 0.5, ...options.system };
  const repository = await openStateRepository({
    store,
    onFailure: (error) => void troubles.push(error?.failure ?? null),
    reopen: (error) => options.fresh === undefined ? Promise.reject(error) : Promise.resolve(options.fresh),
    newId: system.randomId,
    hostName: "host",
  });
  const notifying = startNotifying(configOf(checks), {
    system,
    repository,
    kept: await store.outbox(),
    notifies,
    batchingMs: options.batchingMs ?? 0,
    ...options.member !== undefined && { member: options.member },
    writeLine: (line) => void lines.push(line),
    onEvent: (event) => void events.push(event),
    onBug: (error) => {
      throw error;
    },
  });
  const record = (check: Check, condition: Condition): readonly QueuedNotification[] => {
    const nowMs = clock.wallMs();
    return repository.record({
      check,
      condition,
      output: condition,
      detail: "",
      metrics: {},
      performanceData: "",
      startedAtMs: nowMs,
      durationMs: 0,
    }, {
      nowMs,
      ...notifying.deciding(check, nowMs),
      plan: () => ({ atMs: nowMs + MINUTE, overdueAtMs: nowMs + 3 * MINUTE, missed: 0 }),
    }).queued;
  };
  const observe = async (check: Check, condition: Condition): Promise<void> => {
    const queued = record(check, condition);
    await repository.flush();
    notifying.send(queued);
  };
  const review = async (check: Check): Promise<void> => {
    const nowMs = clock.wallMs();
    const entry = repository.review(check, { nowMs, ...notifying.deciding(check, nowMs) });
    await repository.flush();
    notifying.send(entry?.queued ?? []);
  };
  const drain = (): Promise<void> => notifying.drain(clock.wallMs() + HOUR);
  return {
    clock,
    store,
    repository,
    notifying,
    lines,
    touched,
    events,
    troubles,
    record,
    observe,
    review,
    drain,
  };
}

/** The config of some checks. */
export function configOf(
  checks: readonly Check[],
  running: readonly Check[] = checks,
): Parameters<typeof startNotifying>[0] {
  return {
    users: checks,
    named: [],
    running,
    directory: "/",
    redact: (text) => text.replaceAll("swordfish", "***"),
  };
}
