/**
 * The records of checks in a database that several processes share. A record is replaced only if it still has the
 * version that this process read or wrote last (compare-and-set), so that two processes never mix up their results.
 */
import type { CheckRecord, CheckUpdate } from "../domain/store.ts";
import { hashId } from "../shared/hash.ts";
import type { NotificationFacts } from "../domain/outbox.ts";
import type { SharedStore } from "../domain/membership.ts";
import type { StoreMachine } from "../domain/stores.ts";

export interface VersionedRecord {
  readonly record: CheckRecord;
  readonly version: number;
}

export interface VersionedRecords {
  /** Returns all records, in the order in which their checks were first persisted. */
  all(): Promise<readonly VersionedRecord[]>;
  some(names: readonly string[]): Promise<readonly VersionedRecord[]>;
  /** Returns the records of checks whose last run depended on one of these, see `SHARING_MAX`. */
  sharing(attributes: readonly string[]): Promise<readonly VersionedRecord[]>;
  /**
   * Saves a batch as one, and returns the names whose record had the expected version, or was missing. Of the others
   * nothing is saved. The repetition of a batch changes nothing more.
   */
  save(batch: RecordBatch): Promise<ReadonlySet<string>>;
}

export interface RecordBatch {
  readonly updates: readonly CheckUpdate[];
  /** The version that it gives to each record, and the one that it replaces, by name; 0: none is known. */
  readonly versions: ReadonlyMap<string, { readonly version: number; readonly replaces: number }>;
}

const READ_MAX = 1_000;

/** Reads and saves the records of checks, and caches the version of each. */
export class RecordWriter {
  readonly #records: VersionedRecords;
  readonly #random: () => number;
  readonly #versions = new Map<string, number>();
  /** Of each record, the version with its last result: this process may have saved a later one without any. */
  readonly #decided = new Map<string, { readonly version: number; readonly ofResult: number }>();
  /** A batch whose commit is uncertain. */
  #uncertain: RecordBatch | null = null;
  /** Records that other processes have written, until the caller receives them. */
  readonly #replaced = new Map<string, CheckRecord>();
  /**
   * Saved parts of updates that the caller may bring again, because the save seemed to fail; of notifications the ids.
   * Another process may have delivered these by then.
   */
  readonly #repeated = new Set<object | string | null>();

  /** `random` returns a number of 0 or more, below 1. */
  constructor(records: VersionedRecords, random: () => number) {
    this.#records = records;
    this.#random = random;
  }

  async records(): Promise<readonly CheckRecord[]> {
    const all = await this.#records.all();
    this.#versions.clear();
    return this.#note(all);
  }

  async readOthers(
    names: readonly string[],
    attributes: readonly string[] = [],
  ): Promise<readonly CheckRecord[]> {
    const records = attributes.length === 0 ? [] : [...await this.#records.sharing(attributes)];
    for await (const some of this.#read(names)) records.push(...some);
    return records.map(({ record }) => asShared(record));
  }

  /** Reads some records. A later save of them expects that no other process has written them since. */
  async load(names: readonly string[]): Promise<readonly CheckRecord[]> {
    const records: CheckRecord[] = [];
    this.forget(names);
    for await (const some of this.#read(names)) records.push(...this.#note(some));
    return records;
  }

  /** In steps: many rows take long to decode, and heartbeats must not wait for it. */
  async *#read(names: readonly string[]): AsyncGenerator<readonly VersionedRecord[]> {
    for (let from = 0; from < names.length; from += READ_MAX) {
      yield await this.#records.some(names.slice(from, from + READ_MAX));
    }
  }

  /** Saves updates, and returns the records that other processes have written meanwhile. */
  async save(updates: readonly CheckUpdate[]): Promise<readonly CheckRecord[]> {
    if (this.#uncertain !== null) {
      const earlier = this.#uncertain;
      await this.#send(earlier);
      for (const { rollup, change, queued, journal } of earlier.updates) {
        this.#repeated.add(rollup).add(change);
        if (journal !== undefined) this.#repeated.add(journal);
        for (const { id } of queued) this.#repeated.add(id);
      }
    }
    const fresh = updates.filter(({ record }) => !this.#replaced.has(record.name))
      .map((update) => withoutRepeated(update, this.#repeated));
    if (fresh.length > 0) await this.#send(toBatch(fresh, this.#versions, this.#random));
    this.#repeated.clear();
    const replaced = [...this.#replaced.values()];
    this.#replaced.clear();
    return replaced;
  }

  forget(names: readonly string[]): void {
    for (const name of names) this.#versions.delete(name);
  }

  /** Returns the cached version of a record's last result; `null` if it was never read. */
  versionOf(name: string): number | null {
    return this.#versions.has(name) ? this.#decided.get(name)?.ofResult ?? null : null;
  }

  #note(some: readonly VersionedRecord[]): readonly CheckRecord[] {
    for (const { record: { name }, version } of some) {
      this.#versions.set(name, version);
      if (this.#decided.get(name)?.version !== version) {
        this.#decided.set(name, { version, ofResult: version });
      }
    }
    return some.map(({ record }) => asShared(record));
  }

  async #send(batch: RecordBatch): Promise<void> {
    this.#uncertain = batch;
    const saved = await this.#records.save(batch);
    const results = new Set(batch.updates.filter(hasResult).map(({ record }) => record.name));
    for (const name of saved) {
      const { version = 0 } = batch.versions.get(name) ?? {};
      const ofResult = results.has(name) ? version : this.#decided.get(name)?.ofResult ?? version;
      this.#versions.set(name, version);
      this.#decided.set(name, { version, ofResult });
    }
    const others = [...batch.versions.keys()].filter((name) => !saved.has(name));
    if (others.length > 0) {
      const present = await this.#records.some(others);
      this.#note(present);
      const foreign = present.filter(({ record, version }) =>
        version !== batch.versions.get(record.name)?.version
      );
      for (const { record } of foreign) this.#replaced.set(record.name, asShared(record));
    }
    // Not before: without the versions, a batch that was saved at an earlier attempt would seem to be another's.
    this.#uncertain = null;
  }
}

function hasResult({ rollup, change, queued }: CheckUpdate): boolean {
  return (rollup?.condition ?? null) !== null || change !== null || queued.length > 0;
}

/** Another process may have written it, by its own clock. */
function asShared(record: CheckRecord): CheckRecord {
  return { ...record, isShared: true };
}

function withoutRepeated(update: CheckUpdate, repeated: ReadonlySet<object | string | null>): CheckUpdate {
  const { journal, ...others } = update;
  const { rollup, change, queued } = others;
  return {
    ...others,
    ...journal !== undefined && !repeated.has(journal) && { journal },
    queued: queued.filter(({ id }) => !repeated.has(id)),
    rollup: rollup === null || repeated.has(rollup) ? null : rollup,
    change: change === null || repeated.has(change) ? null : change,
  };
}

function toBatch(updates: readonly CheckUpdate[], known: ReadonlyMap<string, number>, random: () => number) {
  const all = [...new Set(updates.map(({ record }) => record.name))];
  // Always in the same order, so that two processes don't wait for each other; new ones as they come.
  const names = [...all.filter((name) => known.has(name)).sort(), ...all.filter((name) => !known.has(name))];
  const versions = names.map((name) => {
    const replaces = known.get(name) ?? 0;
    const version = (Math.floor(replaces / RANDOM_RANGE) + 1) * RANDOM_RANGE +
      Math.floor(random() * RANDOM_RANGE);
    return [name, { version, replaces }] as const;
  });
  return { updates, versions: new Map(versions) };
}

/** The counter of a version is above so many random bits, so that two processes never make the same one. */
const RANDOM_RANGE = 2 ** 20;

// The ids of notifications in a shared state. Before a record is saved, its version identifies the one it replaces.
// So another process that makes the same decision from the same record, since the first one died or could not save,
// derives the same id, and a receiver drops the duplicate.

/** Returns the function that makes an id. Of one version, it makes other ids for later notifications. */
export function createNotificationIds(
  { versionOf, randomId }: Pick<SharedStore, "versionOf"> & Pick<StoreMachine, "randomId">,
): (facts: NotificationFacts) => string {
  const last = new Map<string, { readonly version: number; readonly count: number }>();
  return ({ check, condition }) => {
    const version = versionOf(check);
    // Another installation may begin with the same check.
    if (version === null) return randomId();
    const before = last.get(check);
    const count = before?.version === version ? before.count + 1 : 1;
    last.set(check, { version, count });
    return hashId(JSON.stringify([check, version, count, condition]));
  };
}
