import { initialState } from "../condition/condition_state.ts";
import type { CheckRecord } from "../domain/store.ts";
import type { RunAttributes } from "../domain/check.ts";

/** A check that nothing else changes is noted as seen so often. */
const SEEN_EVERY_MS = 24 * 3_600_000;

/**
 * The records of all checks. Invariant: a record is equal to the stored one after the pending updates, if there are any.
 * So decisions never wait for the store.
 */
export class RecordCache {
  readonly #records: Map<string, CheckRecord>;
  readonly attributes = new AttributeIndex();

  constructor(records: readonly CheckRecord[]) {
    this.#records = new Map(records.map((record) => [record.name, record]));
    for (const { name, last } of records) this.attributes.replace(name, undefined, last?.attributes);
  }

  /** The record of a check; a new one if it never ran. */
  get(name: string, nowMs: number): CheckRecord {
    return this.#records.get(name) ?? newRecord(name, nowMs);
  }

  set(record: CheckRecord): void {
    const before = this.#records.get(record.name)?.last?.attributes;
    this.attributes.replace(record.name, before, record.last?.attributes);
    this.#records.set(record.name, record);
  }

  /** Returns all records, in the order in which their checks were first recorded. */
  all(): readonly CheckRecord[] {
    return [...this.#records.values()];
  }

  /** Notes that the config has these checks, for those not seen in the last day, and returns their new records. */
  see(names: ReadonlySet<string>, nowMs: number): readonly CheckRecord[] {
    const seen = this.all().filter((record) => names.has(record.name) && isLongUnseen(record, nowMs))
      .map((record) => ({ ...record, seenAtMs: nowMs }));
    seen.forEach((record) => this.set(record));
    return seen;
  }

  /** Drops checks that the store has pruned, except those that were seen meanwhile. */
  forget(names: readonly string[], nowMs: number): void {
    for (const name of names) {
      const record = this.get(name, nowMs);
      if (!isLongUnseen(record, nowMs)) continue;
      this.attributes.replace(name, record.last?.attributes, undefined);
      this.#records.delete(name);
    }
  }
}

/** Whether the presence of a check is to be recorded; a time in the future came from a wrong clock. */
function isLongUnseen({ seenAtMs }: CheckRecord, nowMs: number): boolean {
  return Math.abs(nowMs - seenAtMs) > SEEN_EVERY_MS;
}

export function newRecord(name: string, nowMs: number): CheckRecord {
  return {
    name,
    condition: initialState(),
    last: null,
    failing: null,
    nextRunAtMs: null,
    overdueAtMs: null,
    missedRuns: 0,
    runs: { ok: 0, unknown: 0, warning: 0, critical: 0 },
    durationTotalMs: 0,
    seenAtMs: nowMs,
    journal: null,
    durationHistory: null,
    metricHour: null,
    metricHistory: null,
  };
}

/** Which checks share an attribute of their last runs. */
export class AttributeIndex {
  readonly #checks = new Map<string, Set<string>>();
  readonly #suspected = new Map<string, Set<string>>();
  readonly #suspecting = new Set<string>();
  #version = 0;

  /** Replaces the attributes of a check; most runs have those of the run before. */
  replace(check: string, before: RunAttributes | undefined, after: RunAttributes | undefined): void {
    if (before === after) return;
    const suspected = after?.suspected ?? [];
    const isChanged = suspected.length > 0 !== this.#suspecting.has(check);
    if (isChanged) this.#version++;
    if (suspected.length > 0) this.#suspecting.add(check);
    else this.#suspecting.delete(check);
    move(this.#suspected, check, before?.suspected ?? [], suspected);
    move(this.#checks, check, wordsOf(before), wordsOf(after));
  }

  /** Returns the checks whose last run depended on an attribute, whether or not it worked. */
  checksWith(attribute: string): ReadonlySet<string> {
    return this.#checks.get(attribute) ?? NONE;
  }

  suspectingWith(attribute: string): ReadonlySet<string> {
    return this.#suspected.get(attribute) ?? NONE;
  }

  /** Another number once a check has begun, or ended, to have a suspect. */
  get version(): number {
    return this.#version;
  }

  get suspecting(): ReadonlySet<string> {
    return this.#suspecting;
  }
}

const NONE: ReadonlySet<string> = new Set();

function move(
  sets: Map<string, Set<string>>,
  check: string,
  old: readonly string[],
  now: readonly string[],
): void {
  if (old.length === now.length && old.every((word, index) => word === now[index])) return;
  for (const word of old) {
    const checks = sets.get(word);
    checks?.delete(check);
    if (checks?.size === 0) sets.delete(word);
  }
  for (const word of now) sets.getOrInsertComputed(word, () => new Set()).add(check);
}

function wordsOf(attributes: RunAttributes | undefined): readonly string[] {
  return attributes === undefined ? [] : [...attributes.worked, ...attributes.suspected];
}
