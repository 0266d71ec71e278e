/**
 * Checks, their changes and roll-ups in PostgreSQL. A record is replaced only if it still has the version that this
 * process read or wrote last (compare-and-set), so that two processes never mix up their results.
 */
import type {
  CheckRecord,
  CheckUpdate,
  ConditionChange,
  RecentRuns,
  Rollup,
  RollupSum,
  Store,
  SumSpan,
} from "../../domain/store.ts";
import { columnText } from "../codec.ts";
import { nameIn, rollupOf, sumsOf, toRowLimit } from "../sqlite/sqlite_checks.ts";
import { FRESH_BYTES_MAX, packRun, RECENT_BYTES_MAX, unpackRuns } from "../recent_runs.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";
import { cutChange } from "../retention.ts";
import { CHANGES, CHECKS, OUTBOX, RECORDS, ROLLUPS } from "../tables.ts";
import type { PostgresClient } from "./postgres_client.ts";
import type { StatementResult } from "./postgres_connection.ts";
import { lastByKey, newRows, onConflict, toArrays } from "./postgres_tables.ts";
import { arrayText, joined, type Parameter } from "./protocol.ts";

const VERSIONS = ["version", "replaces"] as const;
const CHECK_VALUES = [...CHECKS.declared.map(({ name }) => name), ...VERSIONS].join(", ");

const WITHOUT_CHECK = ["check_id"];
const NAMED = [["name", "text"]] as const;
const ROLLUP_VALUES = ROLLUPS.declared.slice(1).map(({ name }) => name).join(", ");
const CHANGE_VALUES = CHANGES.declared.slice(1).map(({ name }) => name).join(", ");

const FIRST = firstParameters([
  CHECKS.declared.length + VERSIONS.length,
  ROLLUPS.declared.length,
  CHANGES.declared.length,
  1 + OUTBOX.declared.length,
]);

function firstParameters(counts: readonly number[]): readonly number[] {
  return counts.map((_, index) => counts.slice(0, index).reduce((sum, count) => sum + count, 1));
}

/**
 * Saves a batch and returns the names whose record had the expected version. Everything else is inserted for those alone.
 * Fresh runs move to their own table as in SQLite: the inner query reads them as they were before this statement.
 */
const SAVE = `WITH saved AS (
    INSERT INTO checks (${CHECK_VALUES})
    SELECT ${CHECK_VALUES} FROM ${newRows(CHECKS, { before: VERSIONS.map((name) => [name, "bigint"]) })}
    ORDER BY place
    ${
  onConflict(CHECKS).replace(
    "excluded.fresh_runs || checks.fresh_runs",
    `excluded.fresh_runs || CASE WHEN length(checks.fresh_runs) < ${FRESH_BYTES_MAX} THEN checks.fresh_runs ELSE '' END`,
  )
}, version = excluded.version, replaces = excluded.replaces
    WHERE checks.version = excluded.replaces
    RETURNING id, name),
  moved AS (
    INSERT INTO recent_runs (check_id, runs)
    SELECT id, runs FROM (SELECT id, (SELECT fresh_runs FROM checks WHERE checks.id = saved.id) AS runs FROM saved) AS old
    WHERE length(runs) >= ${FRESH_BYTES_MAX}
    ON CONFLICT (check_id) DO UPDATE SET runs = substr(excluded.runs || recent_runs.runs, 1, ${RECENT_BYTES_MAX})),
  added AS (
    INSERT INTO rollups (check_id, ${ROLLUP_VALUES})
    SELECT saved.id, ${prefixed(ROLLUP_VALUES)}
    FROM ${newRows(ROLLUPS, { first: FIRST[1] ?? 0, without: WITHOUT_CHECK, before: NAMED })}
    JOIN saved ON saved.name = new.name ORDER BY place ${onConflict(ROLLUPS)}),
  changed AS (
    INSERT INTO changes (check_id, ${CHANGE_VALUES})
    SELECT saved.id, ${prefixed(CHANGE_VALUES)}
    FROM ${newRows(CHANGES, { first: FIRST[2] ?? 0, without: WITHOUT_CHECK, before: NAMED })}
    JOIN saved ON saved.name = new.name ORDER BY place),
  queued AS (
    INSERT INTO outbox (${OUTBOX.columns})
    SELECT ${prefixed(OUTBOX.columns)} FROM ${newRows(OUTBOX, { first: FIRST[3] ?? 0, before: NAMED })}
    JOIN saved ON saved.name = new.name ORDER BY place ${onConflict(OUTBOX)})
  SELECT name FROM saved`;

function prefixed(columns: string): string {
  return columns.split(", ").map((column) => `new.${column}`).join(", ");
}

const SELECT_RECORDS = `SELECT ${RECORDS.columns}, version FROM checks ORDER BY id`;
const SELECT_SOME_RECORDS = `SELECT ${RECORDS.columns}, version FROM checks WHERE name = ANY($1::text[])`;

/** How many records are read at a time. */
const READ_MAX = 2_000;

/** A batch as it was sent; its repetition changes nothing more. */
interface Batch {
  readonly updates: readonly CheckUpdate[];
  /** The version that it gives to each record, by name. */
  readonly versions: ReadonlyMap<string, number>;
  readonly parameters: readonly Parameter[];
}

/** Reads and saves the records of checks, and caches the version of each. */
export class RecordWriter {
  readonly #client: PostgresClient;
  readonly #random: () => number;
  readonly #versions = new Map<string, number>();
  /** A batch whose commit is uncertain. */
  #uncertain: Batch | null = null;
  /** Records that other processes have written, until the caller receives them. */
  readonly #replaced = new Map<string, CheckRecord>();
  /** Saved parts of updates that the caller may bring again, because the save seemed to fail. */
  readonly #repeated = new Set<object | null>();

  /** `random` returns a number of 0 or more, below 1. */
  constructor(client: PostgresClient, random: () => number) {
    this.#client = client;
    this.#random = random;
  }

  async records(): Promise<readonly CheckRecord[]> {
    const { rows } = await this.#client.query(SELECT_RECORDS);
    this.#versions.clear();
    this.#note(rows);
    return rows.map(RECORDS.decode);
  }

  async readOthers(names: readonly string[]): Promise<readonly CheckRecord[]> {
    const records: CheckRecord[] = [];
    for await (const rows of this.#read(names)) records.push(...rows.map(RECORDS.decode));
    return records;
  }

  /** Reads some records. A later save of them expects that no other process has written them since. */
  async load(names: readonly string[]): Promise<readonly CheckRecord[]> {
    const records: CheckRecord[] = [];
    this.forget(names);
    for await (const rows of this.#read(names)) {
      this.#note(rows);
      records.push(...rows.map(RECORDS.decode));
    }
    return records;
  }

  /** In steps: many rows take long to decode, and heartbeats must not wait for it. */
  async *#read(names: readonly string[]): AsyncGenerator<StatementResult["rows"]> {
    for (let from = 0; from < names.length; from += READ_MAX) {
      const some = names.slice(from, from + READ_MAX);
      yield (await this.#client.query(SELECT_SOME_RECORDS, [toNames(some)])).rows;
    }
  }

  /** Saves updates, and returns the records that other processes have written meanwhile. */
  async save(updates: readonly CheckUpdate[]): Promise<readonly CheckRecord[]> {
    if (this.#uncertain !== null) {
      const earlier = this.#uncertain;
      await this.#send(earlier);
      for (const { rollup, change } of earlier.updates) this.#repeated.add(rollup).add(change);
    }
    const fresh = updates.filter(({ record }) => !this.#replaced.has(record.name))
      .map((update) => withoutRepeated(update, this.#repeated));
    const batch = { versions: this.#versions, random: this.#random };
    if (fresh.length > 0) await this.#send(toBatch(fresh, batch));
    this.#repeated.clear();
    const replaced = [...this.#replaced.values()];
    this.#replaced.clear();
    return replaced;
  }

  forget(names: readonly string[]): void {
    for (const name of names) this.#versions.delete(name);
  }

  /** Returns the cached version of a record; `null` if it was never read. */
  versionOf(name: string): number | null {
    return this.#versions.get(name) ?? null;
  }

  #note(rows: StatementResult["rows"]): void {
    for (const row of rows) this.#versions.set(nameIn(row), Number(row["version"]));
  }

  async #send(batch: Batch): Promise<void> {
    this.#uncertain = batch;
    const { rows } = await this.#client.query(SAVE, batch.parameters);
    const saved = new Set(rows.map(nameIn));
    for (const name of saved) this.#versions.set(name, batch.versions.get(name) ?? 0);
    const others = [...batch.versions.keys()].filter((name) => !saved.has(name));
    if (others.length > 0) {
      const { rows: present } = await this.#client.query(SELECT_SOME_RECORDS, [toNames(others)]);
      this.#note(present);
      const foreign = present.filter((row) => row["version"] !== batch.versions.get(nameIn(row)));
      for (const row of foreign) this.#replaced.set(nameIn(row), RECORDS.decode(row));
    }
    // Not before: without the versions, a batch that was saved at an earlier attempt would seem to be another's.
    this.#uncertain = null;
  }
}

function withoutRepeated(update: CheckUpdate, repeated: ReadonlySet<object | null>): CheckUpdate {
  const { rollup, change } = update;
  return {
    ...update,
    rollup: rollup === null || repeated.has(rollup) ? null : rollup,
    change: change === null || repeated.has(change) ? null : change,
  };
}

/** The counter of a version is above so many random bits, so that two processes never make the same one. */
const RANDOM_RANGE = 2 ** 20;

function nextVersion(version: number, random: () => number): number {
  return (Math.floor(version / RANDOM_RANGE) + 1) * RANDOM_RANGE + Math.floor(random() * RANDOM_RANGE);
}

function toBatch(
  updates: readonly CheckUpdate[],
  { versions, random }: { readonly versions: ReadonlyMap<string, number>; readonly random: () => number },
): Batch {
  const byName = Map.groupBy(updates, ({ record }) => record.name);
  // Always in the same order, so that two processes don't wait for each other; new ones as they come.
  const known = [...byName.keys()].filter((name) => versions.has(name)).sort();
  const names = [...known, ...[...byName.keys()].filter((name) => !versions.has(name))];
  const next = new Map(names.map((name) => [name, nextVersion(versions.get(name) ?? 0, random)]));
  const checks = names.map((name) => {
    const own = byName.get(name) ?? [];
    const runs = own.length === 1
      ? packRun(own[0]?.rollup ?? null)
      : joined(own.toReversed().map(({ rollup }) => packRun(rollup)));
    const record = own.at(-1)?.record ?? unreachable();
    const check = { ...record, freshRuns: runs.subarray(0, RECENT_BYTES_MAX) };
    return [next.get(name), versions.get(name) ?? 0, ...CHECKS.encode(check)];
  });
  const rollups = [...byName].flatMap(([name, own]) =>
    mergedRollups(own).map((rollup) =>
      ROLLUPS.encode({ ...rollup, checkId: 0 }).with(0, columnText.encode(name))
    )
  );
  const changes = updates.flatMap(({ change, record: { name } }) => {
    if (change === null) return [];
    return [CHANGES.encode({ ...cutChange(change), checkId: 0 }).with(0, columnText.encode(name))];
  });
  const queued = lastByKey(
    updates.flatMap(({ queued, record: { name } }) => queued.map((row) => ({ name, row }))),
    ({ row }) => row.id,
  ).map(({ name, row }) => [columnText.encode(name), ...OUTBOX.encode(row)]);
  return {
    updates,
    versions: next,
    parameters: [
      ...toArrays(checks, VERSIONS.length + CHECKS.declared.length),
      ...toArrays(rollups, ROLLUPS.declared.length),
      ...toArrays(changes, CHANGES.declared.length),
      ...toArrays(queued, 1 + OUTBOX.declared.length),
    ],
  };
}

function unreachable(): never {
  throw new Error("A group has a member");
}

/** One roll-up for each hour: a statement can't merge into a row twice. */
function mergedRollups(updates: readonly CheckUpdate[]): readonly Omit<Rollup, "name">[] {
  const merged = new Map<number, Omit<Rollup, "name">>();
  for (const { rollup } of updates) {
    if (rollup === null) continue;
    const added = rollupOf(rollup);
    const before = merged.get(added.startMs);
    merged.set(
      added.startMs,
      before === undefined ? added : {
        ...added,
        observed: sum(before.observed, added.observed),
        lastedMs: sum(before.lastedMs, added.lastedMs),
        durationTotalMs: before.durationTotalMs + added.durationTotalMs,
        durationMaxMs: Math.max(before.durationMaxMs, added.durationMaxMs),
        failedStreakMax: Math.max(before.failedStreakMax, added.failedStreakMax),
      },
    );
  }
  return [...merged.values()];
}

function sum(one: Rollup["observed"], other: Rollup["observed"]): Rollup["observed"] {
  return {
    ok: one.ok + other.ok,
    unknown: one.unknown + other.unknown,
    warning: one.warning + other.warning,
    critical: one.critical + other.critical,
  };
}

const OF_NAME = "check_id = (SELECT id FROM checks WHERE name = $1)";

const SELECT_CHANGES = `SELECT ${CHANGES.columns} FROM changes
  WHERE ${OF_NAME} AND at_ms >= $2 AND at_ms <= $3 ORDER BY at_ms DESC, id DESC LIMIT $4::bigint OFFSET $5::bigint`;

/** Implements `changes()` of the store. */
export async function readChanges(
  client: PostgresClient,
  name: string,
  { sinceMs, limit, from = { atMs: Infinity, skip: 0 } }: Parameters<Store["changes"]>[1],
): Promise<readonly ConditionChange[]> {
  const values = [columnText.encode(name), sinceMs, from.atMs, toRowLimit(limit), from.skip];
  const { rows } = await client.query(SELECT_CHANGES, values);
  return rows.map((row) => {
    const { checkId: _, ...change } = CHANGES.decode(row);
    return { name, ...change };
  });
}

const SELECT_ROLLUPS = `SELECT ${ROLLUPS.columns} FROM rollups
  WHERE ${OF_NAME} AND start_ms + span_ms > $2 ORDER BY start_ms, span_ms DESC`;

/** Implements `rollups()` of the store. */
export async function readRollups(
  client: PostgresClient,
  name: string,
  sinceMs: number,
): Promise<readonly Rollup[]> {
  const { rows } = await client.query(SELECT_ROLLUPS, [columnText.encode(name), sinceMs]);
  return rows.map((row) => {
    const { checkId: _, ...rollup } = ROLLUPS.decode(row);
    return { name, ...rollup };
  });
}

const FAILED = "observed_unknown + observed_warning + observed_critical";
const START: Readonly<Record<SumSpan, string>> = {
  hour: "start_ms",
  day: `floor(start_ms / ${DAY_MS}) * ${DAY_MS}`,
  check: "min(start_ms)",
};

function selectSums(each: SumSpan): string {
  return `SELECT name, json_agg(json_build_array(start_ms, runs, failed, streak, ok, unknown, warning, critical, duration))::text AS sums
    FROM (SELECT checks.name AS name, ${
    START[each]
  } AS start_ms, sum(observed_ok + ${FAILED}) AS runs, sum(${FAILED}) AS failed,
        max(failed_streak_max) AS streak, sum(lasted_ok_ms) AS ok, sum(lasted_unknown_ms) AS unknown,
        sum(lasted_warning_ms) AS warning, sum(lasted_critical_ms) AS critical, sum(rollups.duration_total_ms) AS duration
      FROM checks JOIN rollups ON rollups.check_id = checks.id
      WHERE checks.name = ANY($1::text[]) AND start_ms > $2::float8 - ${DAY_MS} AND start_ms + span_ms > $2 AND start_ms <= $3
        AND span_ms IN (${each === "hour" ? "" : `${DAY_MS}, `}${HOUR_MS})
      GROUP BY checks.name${each === "check" ? "" : `, ${START[each]}`}) AS sums
    GROUP BY name`;
}

/** Implements `rollupSums()` of the store. */
export async function readRollupSums(
  client: PostgresClient,
  names: readonly string[],
  { sinceMs, untilMs, each }: Parameters<Store["rollupSums"]>[1],
): Promise<readonly RollupSum[]> {
  const { rows } = await client.query(selectSums(each), [toNames(names), sinceMs, untilMs]);
  return rows.flatMap(sumsOf);
}

const SELECT_RECENT = `SELECT name, substr(fresh_runs || coalesce(runs, ''), 1, ${RECENT_BYTES_MAX}) AS recent
  FROM checks LEFT JOIN recent_runs ON recent_runs.check_id = checks.id
  WHERE name = ANY($1::text[]) AND (fresh_runs <> '' OR runs IS NOT NULL)`;

/** Implements `recentRuns()` of the store. */
export async function readRecentRuns(
  client: PostgresClient,
  names: readonly string[],
): Promise<readonly RecentRuns[]> {
  const { rows } = await client.query(SELECT_RECENT, [toNames(names)]);
  return rows.map((row) => ({ name: nameIn(row), runs: unpackRuns(row["recent"]) }));
}

function toNames(names: readonly string[]): string {
  return arrayText([...new Set(names)].map(columnText.encode));
}
