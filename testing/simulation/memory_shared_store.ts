/**
 * The shared state in memory, as one process reaches it: over two connections, which are slow, break, or lose what
 * was said. It repeats what failed as the client of PostgreSQL does.
 */
import type { Clock } from "../../src/domain/clock.ts";
import type { HeartbeatStore, SharedState, SharedStore } from "../../src/domain/membership.ts";
import { StoreError } from "../../src/domain/store.ts";
import type { SharedStoreOptions } from "../../src/domain/stores.ts";
import { NO_REPORTS } from "../../src/state/no_store.ts";
import { RecordWriter } from "../../src/state/record_writer.ts";
import { SenderQueues } from "../../src/state/postgres/sender_queues.ts";
import { MemoryDatabase } from "./memory_database.ts";

/** What happens to a request and its reply. */
export interface Exchange {
  /** How long the request takes to the database, and the reply back. */
  readonly requestMs: number;
  readonly replyMs: number;
  /**
   * - `request`: the database never gets it.
   * - `reply`: it is done, and the process doesn't know.
   */
  readonly lost?: "request" | "reply";
  /** Whether the process is not told that it is lost: it waits until its timeout. @default false */
  readonly isSilent?: boolean;
}

/** The server of a database. Time goes on for it when a process is paused, or ends. */
export class MemoryServer {
  readonly database: MemoryDatabase;
  readonly clock: Pick<Clock, "after">;
  /** Each start of it has another number. */
  #run = 1;
  #isRunning = true;
  #stalled: PromiseWithResolvers<void> | null = null;

  constructor(database: MemoryDatabase, clock: Pick<Clock, "after">) {
    this.database = database;
    this.clock = clock;
  }

  /** Changes with each start; `null`: it does not run. */
  get run(): number | null {
    return this.#isRunning ? this.#run : null;
  }

  /** Terminates it: its connections break, and what it has not done by now is never done. */
  kill(): void {
    this.#isRunning = false;
  }

  start(): void {
    this.#isRunning = true;
    this.#run++;
  }

  /** Does nothing for a while; requests wait. */
  stall(): void {
    this.#stalled ??= Promise.withResolvers();
  }

  resume(): void {
    this.#stalled?.resolve();
    this.#stalled = null;
  }

  /** Resolves once it goes on. */
  async awake(): Promise<void> {
    while (this.#stalled !== null) await this.#stalled.promise;
  }
}

export async function createMemoryServer(clock: Clock): Promise<MemoryServer> {
  return new MemoryServer(await MemoryDatabase.open(clock), clock);
}

interface ConnectOptions {
  readonly server: MemoryServer;
  /** The clock of the process. */
  readonly clock: Clock;
  random(): number;
  /** Asked for each exchange; `null`: at once, and always fine. */
  exchange(): Exchange | null;
  /** Calls back in the process after a delay; never if it ends before. @default its clock */
  receive?(delayMs: number, callback: () => void): void;
}

const TIMEOUT_MS = 15_000;
const HEARTBEAT_TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 5_000;
const ATTEMPTS_MAX = 4;
const BACKOFF_MS = 250;
const BACKOFF_MS_MAX = 2_000;
/** Exchanges until a connection can be used, and of a transaction in addition to its statements. */
const CONNECT_EXCHANGES = 3;
const TRANSACTION = 2;

class LostError extends Error {}

/** Opens the state for one process. */
export async function connectToMemory(
  options: ConnectOptions,
  { access, waiting }: SharedStoreOptions,
): Promise<Pick<SharedState, "store" | "openHeartbeats">> {
  const client = new MemoryClient(options, TIMEOUT_MS);
  const prepare = async (): Promise<void> => {
    await client.query(() => {
      if (access === "read" && !options.server.database.hasTables) {
        throw new StoreError("cannot read state: there is none yet; run the checks first", "missing");
      }
      options.server.database.hasTables = true;
    });
  };
  let opening: Promise<void> | null = prepare();
  try {
    await opening;
  } catch (error) {
    if (waiting === undefined || !(error instanceof StoreError) || error.failure !== "unreachable") {
      throw error;
    }
    waiting.onUnreachable(error);
    opening = null;
  }
  const open = (): Promise<void> =>
    opening ??= prepare().catch((error) => {
      opening = null;
      throw error;
    });
  return {
    store: createStore(client, { ...options, open }),
    openHeartbeats: () =>
      createHeartbeats(new MemoryClient(options, HEARTBEAT_TIMEOUT_MS), { ...options, open }),
  };
}

interface StoreOptions extends ConnectOptions {
  open(): Promise<void>;
}

function createHeartbeats(client: MemoryClient, { server, clock, open }: StoreOptions): HeartbeatStore {
  const { database } = server;
  return {
    beat: async (own, isFirst) => {
      await open();
      return await client.query(async () =>
        database.beat(own, isFirst, await database.base.silences(clock.wallMs()))
      );
    },
    leave: (own) => client.query(() => database.leave(own)),
    close: () => Promise.resolve(client.close()),
  };
}

function createStore(
  client: MemoryClient,
  { server: { database }, random, open }: StoreOptions,
): SharedStore {
  const { base } = database;
  const pruner = database.store();
  const query = async <T>(execute: () => T | Promise<T>): Promise<T> => {
    client.assertOpen();
    await open();
    return await client.query(execute);
  };
  const transaction = async <T>(statements: number, execute: () => T | Promise<T>): Promise<T> => {
    client.assertOpen();
    await open();
    return await client.work(TRANSACTION + statements, execute);
  };
  const writer = new RecordWriter({
    all: () => query(() => database.records(null)),
    some: (names) => query(() => database.records(names)),
    sharing: (attributes) => query(() => database.sharing(attributes)),
    save: (batch) => query(() => database.saveRecords(batch)),
  }, random);
  const queues = new SenderQueues({
    take: (queue, owner) => transaction(5, () => database.take(queue, owner)),
    giveBack: (queue) => query(() => database.giveBack(queue)),
    receive: async (own, call) => {
      const notifications = await query(() => database.receive(own, call));
      const checks = notifications.map(({ notification: { check } }) => check);
      const markers = checks.length === 0 ? [] : await query(() => database.markersOf(checks));
      return { notifications, markers };
    },
    change: (change, own) => transaction(3, () => database.change(change, own)),
  });
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
  return {
    ...NO_REPORTS,
    records: () => inTurn(() => writer.records()),
    load: (names) => inTurn(() => writer.load(names)),
    save: (updates) => inTurn(async () => (client.assertOpen(), await writer.save(updates))),
    readOthers: (...wanted) => writer.readOthers(...wanted),
    versionOf: (name) => writer.versionOf(name),
    changes: (name, options) => query(() => base.changes(name, options)),
    latestChanges: (names, limit) => query(() => base.latestChanges(names, limit)),
    rollups: (name, sinceMs) => query(() => base.rollups(name, sinceMs)),
    rollupSums: (names, options) => query(() => base.rollupSums(names, options)),
    metricHours: (names, span) => query(() => base.metricHours(names, span)),
    recentRuns: (names) => query(() => base.recentRuns(names)),
    journal: (names, span) => query(() => base.journal(names, span)),
    outbox: () => transaction(3, () => base.outbox()),
    changeOutbox: (change) =>
      queues.isShared || change.sentOpen !== undefined
        ? queues.change(change)
        : transaction(3, () => base.changeOutbox(change)),
    deliveries: (options) => query(() => base.deliveries(options)),
    members: () => query(() => database.members()),
    known: (names) => transaction(2, () => database.known(names)),
    pendingChannels: () => query(() => database.pendingChannels()),
    takeQueue: (queue, owner) => queues.take(queue, owner),
    giveBackQueue: (queue) => queues.giveBack(queue),
    receive: (some) => queues.receive(some),
    owns: (channelKey) => queues.owns(channelKey),
    open: () => query(() => {}),
    saveLocationResults: (results) => query(() => database.saveLocationResults(results)),
    locationResults: (checks) => query(() => database.locationResults(checks)),
    keepReceived: (agent, batch) => query(() => database.keepReceived(agent, batch)),
    received: (agent) => query(() => database.received(agent)),
    deleteReceived: (ids) => query(() => database.deleteReceived(ids)),
    silences: (nowMs) => query(() => base.silences(nowMs)),
    addSilences: (silences) => query(() => base.addSilences(silences)),
    endSilences: (checks, nowMs) => query(() => base.endSilences(checks, nowMs)),
    keepAction: (action, silences) => transaction(2, () => base.keepAction(action, silences)),
    actions: (check) => query(() => base.actions(check)),
    job: (name, nowMs) => query(() => base.job(name, nowMs)),
    keepJobRun: (name, run, nowMs) => transaction(3, () => database.keepJobRun(name, run, nowMs)),
    monitorRun: () => query(() => base.monitorRun()),
    keepMonitorRun: (run) => query(() => base.keepMonitorRun(run)),
    queuedSummary: () => query(() => base.queuedSummary()),
    queueSummary: (summary, before, queued) =>
      transaction(2, () => base.queueSummary(summary, before, queued)),
    prune: async (nowMs, journalMs) => {
      const progress = await transaction(10, () => {
        database.prune();
        return pruner.prune(nowMs, journalMs);
      });
      writer.forget(progress.forgotten);
      return progress;
    },
    close: () => Promise.resolve(client.close()),
  };
}

/** A connection. It does one unit of work after the other, and repeats one whose outcome is unknown. */
class MemoryClient {
  readonly #options: ConnectOptions;
  readonly #timeoutMs: number;
  #last: Promise<unknown> = Promise.resolve();
  /** The run of the server that it is connected to; `null`: it is not connected. */
  #run: number | null = null;
  #failure: { readonly error: StoreError; readonly retryAtMs: number; readonly delayMs: number } | null =
    null;
  #isClosed = false;

  constructor(options: ConnectOptions, timeoutMs: number) {
    this.#options = options;
    this.#timeoutMs = timeoutMs;
  }

  close(): void {
    this.#isClosed = true;
  }

  assertOpen(): void {
    if (this.#isClosed) throw new StoreError("cannot use state: it was closed", "other");
  }

  query<T>(execute: () => T | Promise<T>): Promise<T> {
    return this.work(1, execute);
  }

  /** Does something with the last of so many exchanges: behind the units before it. */
  work<T>(exchanges: number, execute: () => T | Promise<T>): Promise<T> {
    const turn = this.#last.then(() => this.#attempt(exchanges, execute));
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #attempt<T>(exchanges: number, execute: () => T | Promise<T>): Promise<T> {
    for (let triesLeft = ATTEMPTS_MAX - 1;; triesLeft--) {
      await this.#connect();
      try {
        for (let count = 1; count < exchanges; count++) await this.#exchange(() => {}, this.#timeoutMs);
        return await this.#exchange(execute, this.#timeoutMs);
      } catch (error) {
        if (!(error instanceof LostError)) throw error;
        this.#run = null;
        if (this.#isClosed || triesLeft === 0) throw unreachable(error.message);
      }
    }
  }

  async #connect(): Promise<void> {
    if (this.#isClosed) throw unreachable("it was closed");
    if (this.#run !== null) return;
    const { clock, server } = this.#options;
    if (this.#failure !== null && clock.monotonicMs() < this.#failure.retryAtMs) throw this.#failure.error;
    try {
      for (let count = 0; count < CONNECT_EXCHANGES; count++) {
        this.#run = server.run;
        await this.#exchange(() => {}, CONNECT_TIMEOUT_MS);
      }
      this.#failure = null;
    } catch (error) {
      if (!(error instanceof LostError)) throw error;
      this.#run = null;
      const delayMs = Math.min(2 * (this.#failure?.delayMs ?? BACKOFF_MS / 2), BACKOFF_MS_MAX);
      this.#failure = {
        error: unreachable(error.message),
        retryAtMs: clock.monotonicMs() + delayMs,
        delayMs,
      };
      throw this.#failure.error;
    }
  }

  async #exchange<T>(execute: () => T | Promise<T>, timeoutMs: number): Promise<T> {
    const { clock, server, exchange, receive = clock.after } = this.#options;
    const run = this.#run;
    const passage = exchange();
    if (passage === null) return await execute();
    const { requestMs, replyMs, lost, isSilent = false } = passage;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const lose = (): void => {
      if (!isSilent) receive(replyMs, () => reject(new LostError("connection closed by the server")));
    };
    const arrive = async (): Promise<void> => {
      await server.awake();
      if (run === null || server.run !== run || lost === "request") return lose();
      try {
        const value = await execute();
        if (lost === "reply" || server.run !== run) return lose();
        receive(replyMs, () => resolve(value));
      } catch (error) {
        receive(replyMs, () => reject(error));
      }
    };
    const cancel = clock.after(
      timeoutMs,
      () => reject(new LostError(`no response within ${timeoutMs / 1000} s`)),
    );
    server.clock.after(requestMs, () => void arrive());
    try {
      return await promise;
    } finally {
      cancel();
    }
  }
}

function unreachable(reason: string): StoreError {
  return new StoreError(`cannot use state "postgres://memory": ${reason}`, "unreachable");
}
