/** An engine with a fake clock and a store in memory, for tests that provide the results. */
import type { Check } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { QueuedNotification } from "../../src/domain/outbox.ts";
import { openStateRepository, type StateRepository } from "../../src/state/state_repository.ts";
import type { DeliveryEvent } from "../../src/engine/queue_state.ts";
import type { NotifyingConfig } from "../../src/engine/configured_channels.ts";
import { Engine } from "../../src/engine/engine.ts";
import { type Sender, startSender } from "../../src/engine/sender.ts";
import { SharedSender, type SharedSenderOptions } from "../../src/members/shared_sender.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { type FaultyStore, openFaultyStore } from "../support/faulty_store.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** When tests begin; wall time. */
export const START = 1_800_000_000_000;

/** An engine and all around it. */
export interface Desk {
  readonly clock: FakeClock;
  readonly store: FaultyStore;
  readonly repository: StateRepository;
  readonly engine: Engine;
  readonly sender: Sender;
  /** The console channel's lines. */
  readonly lines: string[];
  /** The files that were touched: nothing else happens to them. */
  readonly touched: string[];
  readonly events: DeliveryEvent[];
  /** Records a check result as the scheduler does, and returns its notifications. */
  record(check: Check, condition: Condition): readonly QueuedNotification[];
  /** The same, and sends them. */
  observe(check: Check, condition: Condition): Promise<void>;
  /** Tries each row once. */
  drain(): Promise<void>;
}

interface DeskOptions {
  readonly store?: FaultyStore;
  /** Called before a file is touched. */
  readonly touch?: (path: string) => Promise<void> | void;
  readonly member?: SharedSenderOptions["member"];
  /** Replaces a damaged store. @default none */
  readonly fresh?: FaultyStore;
}

/** Opens a desk for some checks. */
export async function openDesk(checks: readonly Check[], options: DeskOptions = {}): Promise<Desk> {
  const { store = await openFaultyStore() } = options;
  const clock = createFakeClock(START);
  const lines: string[] = [];
  const events: DeliveryEvent[] = [];
  const touched: string[] = [];
  const memory = createMemorySystem();
  const touch = async (path: string): Promise<void> => {
    await options.touch?.(path);
    touched.push(path);
  };
  const system = { ...memory, files: { ...memory.files, touch }, clock, random: () => 0.5 };
  const repository = await openStateRepository({
    store,
    onFailure: () => {},
    reopen: (error) => options.fresh === undefined ? Promise.reject(error) : Promise.resolve(options.fresh),
  });
  const sending = {
    system,
    repository,
    kept: await store.outbox(),
    notifies: true,
    batchingMs: 0,
    writeLine: (line: string) => void lines.push(line),
    onEvent: (event: DeliveryEvent) => void events.push(event),
    onBug: (error: unknown) => {
      throw error;
    },
  };
  const { member } = options;
  const sender = member === undefined
    ? startSender(configOf(checks), sending)
    : new SharedSender(configOf(checks), { ...sending, member });
  const engine = new Engine(checks, { repository, sender, newId: system.randomId, hostName: "host" });
  const record = (check: Check, condition: Condition): readonly QueuedNotification[] => {
    const nowMs = clock.wallMs();
    const result = {
      check,
      condition,
      output: condition,
      detail: "",
      metrics: {},
      performanceData: "",
      startedAtMs: nowMs,
      durationMs: 0,
    };
    return engine.record({
      result,
      plan: () => ({ atMs: nowMs + MINUTE, overdueAtMs: nowMs + 3 * MINUTE, missed: 0 }),
    }, nowMs).queued;
  };
  const observe = async (check: Check, condition: Condition): Promise<void> => {
    const queued = record(check, condition);
    await repository.flush();
    sender.send(queued);
  };
  const drain = (): Promise<void> => sender.drain(clock.wallMs() + HOUR);
  return { clock, store, repository, engine, sender, lines, touched, events, record, observe, drain };
}

/** The config of some checks. */
export function configOf(checks: readonly Check[], running: readonly Check[] = checks): NotifyingConfig {
  return {
    users: checks,
    named: [],
    running,
    directory: "/",
    redact: (text) => text.replaceAll("swordfish", "***"),
    pageUrl: null,
    hasActions: false,
    commonCauses: true,
    timeZone: () => "UTC",
  };
}
