/** The rows and the statements that every database has alike, and how they are made and read. */
import { type Condition, type ConditionCounts, CONDITIONS } from "../../domain/condition.ts";
import type {
  CheckJournal,
  CheckStore,
  ConditionChange,
  NamedMetricHour,
  RecentRun,
  Rollup,
  RollupEntry,
  RollupSum,
  SumSpan,
} from "../../domain/store.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";
import { histogramOf, NO_RUNS } from "../../shared/histograms.ts";
import { addSums, NO_COUNTS, NO_SUMS } from "../availability.ts";
import { bytes, columnText, json, list, nullable, number, UnreadableRowError } from "../codec.ts";
import { journalRows } from "../journal.ts";
import { limitsAt, RECENT_RUNS_MAX, startOf } from "../retention.ts";
import { type Row, type StoredValue, type Table, unpackPairs } from "./table_declaration.ts";
import { CHANGES, DURATION_COLUMNS, METRIC_SUMS, ROLLUPS } from "./tables.ts";

/** The roll-ups of one run: that of its hour, the last one, and those that the time since the run before is in. */
export function rollupsOf(entry: RollupEntry): readonly Omit<Rollup, "name">[] {
  const { atMs, condition, durationMs, lasted, lastedMs, lastedUntilMs = atMs, failedStreak, metrics } =
    entry;
  const startMs = startOf(atMs, HOUR_MS);
  return [
    ...piecesBefore(entry, Math.min(startMs, lastedUntilMs)).map((piece) => ({
      ...NO_SUMS,
      ...piece,
      observed: NO_COUNTS,
      metrics: null,
    })),
    {
      startMs,
      spanMs: HOUR_MS,
      observed: condition === null ? NO_COUNTS : only(condition, 1),
      lastedMs: only(lasted, Math.max(0, Math.min(lastedMs, lastedUntilMs - startMs))),
      durationTotalMs: durationMs,
      durationMaxMs: durationMs,
      failedStreakMax: failedStreak,
      durations: condition === null ? NO_RUNS : histogramOf(durationMs),
      metrics: metrics ?? null,
    },
  ];
}

/** Divides the time before an hour as retention does: by days where roll-ups are of days, and not before all of them. */
function piecesBefore(
  { atMs, lasted, lastedMs, lastedUntilMs = atMs, storedAtMs = atMs }: RollupEntry,
  endMs: number,
) {
  const { dailyMs, rollupEndMs } = limitsAt(storedAtMs);
  const pieces: Pick<Rollup, "startMs" | "spanMs" | "lastedMs">[] = [];
  let fromMs = Math.max(lastedUntilMs - lastedMs, rollupEndMs);
  while (fromMs < endMs) {
    const spanMs = fromMs < dailyMs ? DAY_MS : HOUR_MS;
    const startMs = startOf(fromMs, spanMs);
    const untilMs = Math.min(startMs + spanMs, endMs);
    pieces.push({ startMs, spanMs, lastedMs: only(lasted, untilMs - fromMs) });
    fromMs = untilMs;
  }
  return pieces;
}

function only(condition: Condition, count: number): ConditionCounts {
  return { ...NO_COUNTS, [condition]: count };
}

/** A database treats a negative limit as none, and accepts no infinite one. */
function toRowLimit(limit: number): number {
  return Math.min(Math.max(0, Math.floor(limit)), Number.MAX_SAFE_INTEGER);
}

export function nameIn(row: Row): string {
  return columnText.decode(row["name"], "name");
}

/** Returns the change of a check in a row, which has its name if that is not given. */
function changeIn(row: Row, name: string = nameIn(row)): ConditionChange {
  const { checkId: _, ...change } = CHANGES.decode(row);
  return { name, ...change };
}

/** Returns the measured values in a row of a name, `start_ms` and `metrics`. */
function metricHourIn(row: Row): NamedMetricHour {
  return {
    name: nameIn(row),
    startMs: number.decode(row["start_ms"], "start_ms"),
    sums: json(METRIC_SUMS).decode(row["metrics"], "metrics"),
  };
}

/** Returns the journals in rows of name, `results` of a block, and `record`; those of a check are together, in order. */
function journalsOf(rows: readonly Row[], span: Parameters<typeof journalRows>[2]): readonly CheckJournal[] {
  return [...Map.groupBy(rows, nameIn)].map(([name, ofCheck]) => ({
    name,
    rows: journalRows(
      ofCheck.flatMap((row) => BLOCK.decode(row["results"], "results") ?? []),
      BLOCK.decode(ofCheck[0]?.["record"], "journal"),
      span,
    ),
  })).filter((journal) => journal.rows.length > 0);
}

const BLOCK = nullable(bytes);

const FAILED = "observed_unknown + observed_warning + observed_critical";

/** What roll-ups have, in the order of packed sums: a name, how it is added up, and its value. */
const SUMMED: readonly (readonly [name: string, sum: "sum" | "max", value: string])[] = [
  ["runs", "sum", `observed_ok + ${FAILED}`],
  ["failed", "sum", FAILED],
  ["streak", "max", "failed_streak_max"],
  ...CONDITIONS.map((condition) => [condition, "sum", `lasted_${condition}_ms`] as const),
  ["duration", "sum", "rollups.duration_total_ms"],
  ["longest", "max", "duration_max_ms"],
  ...DURATION_COLUMNS.map((column) => [column, "sum", column] as const),
];

const SUMMED_NAMES = SUMMED.map(([name]) => name).join(", ");

const SUMS = SUMMED.map(([name, sum, value]) => `${sum}(${value}) AS ${name}`).join(", ");

/** For each roll-up, a list of its start and what is summed. */
const PACKED_SUMS = json(list(list(nullable(number))));

/** Returns the sums in a row of a name and its packed sums, the oldest first; those that begin together are added. */
function sumsOf(row: Row): readonly RollupSum[] {
  const name = nameIn(row);
  const sums = new Map<number, RollupSum>();
  for (const values of PACKED_SUMS.decode(row["sums"], "sums")) {
    const [startMs = 0, runs = 0, failedRuns = 0, failedStreakMax = 0, ...times] = values.map((value) =>
      value ?? 0
    );
    const [ok = 0, unknown = 0, warning = 0, critical = 0, ...rest] = times;
    const [durationTotalMs = 0, durationMaxMs = 0, ...pairs] = rest;
    const durations = unpackPairs(pairs);
    const lastedMs = { ok, unknown, warning, critical };
    const before = sums.get(startMs);
    const one = {
      name,
      startMs,
      runs: runs + (before?.runs ?? 0),
      failedRuns: failedRuns + (before?.failedRuns ?? 0),
      ...{ failedStreakMax, lastedMs, durationTotalMs, durationMaxMs, durations },
    };
    sums.set(startMs, before === undefined ? one : addSums(one, before));
  }
  return [...sums.values()].sort((one, other) => one.startMs - other.startMs);
}

// The last runs of a check, packed, the last one first. A run takes eleven bytes: its end, in whole milliseconds (6),
// its condition (1), its duration (4, a float).
// In a database each result writes the record of its check, so only the latest runs are in the record; as they become
// many they move to a separate row. With all 50 in the record three times as much would be written.

const RUN_BYTES = 11;
const HIGH = 2 ** 32;

/** How many bytes are kept of a check. */
export const RECENT_BYTES_MAX: number = RECENT_RUNS_MAX * RUN_BYTES;

/** From so many bytes on fresh runs move. */
export const FRESH_BYTES_MAX: number = 10 * RUN_BYTES;

/** A run that is being packed: a buffer for each would cost more than all else of it. */
const SCRATCH = new Uint8Array(RUN_BYTES);
const SCRATCH_VIEW = new DataView(SCRATCH.buffer);

/** Packs runs in order of time, the last one first; `null`, for no run, takes no bytes. */
export function packRuns(entries: readonly (RollupEntry | null)[]): Uint8Array {
  const packed = new Uint8Array(entries.length * RUN_BYTES);
  let end = 0;
  for (const entry of entries.toReversed()) {
    if (entry === null || entry.condition === null) continue;
    const endedAtMs = Math.floor(entry.atMs);
    SCRATCH_VIEW.setInt16(0, Math.floor(endedAtMs / HIGH));
    SCRATCH_VIEW.setUint32(2, endedAtMs - Math.floor(endedAtMs / HIGH) * HIGH);
    SCRATCH_VIEW.setUint8(6, CONDITIONS.indexOf(entry.condition));
    SCRATCH_VIEW.setFloat32(7, entry.durationMs);
    packed.set(SCRATCH, end);
    end += RUN_BYTES;
  }
  return end === packed.length ? packed : packed.subarray(0, end);
}

/** Unpacks runs, the last one first. Throws an {@linkcode UnreadableRowError} if they are none. */
function unpackRuns(runs: unknown): readonly RecentRun[] {
  if (!(runs instanceof Uint8Array) || runs.length % RUN_BYTES !== 0) {
    throw new UnreadableRowError('"recent" of a row is not a list of runs');
  }
  const view = new DataView(runs.buffer, runs.byteOffset, runs.length);
  return Array.from({ length: runs.length / RUN_BYTES }, (_, index) => unpackRun(view, index * RUN_BYTES));
}

function unpackRun(view: DataView, offset: number): RecentRun {
  const condition = CONDITIONS[view.getUint8(offset + 6)];
  if (condition === undefined) throw new UnreadableRowError('"recent" of a row names no condition');
  return {
    endedAtMs: view.getInt16(offset) * HIGH + view.getUint32(offset + 2),
    condition,
    // A float has seven digits; further ones are not part of the duration.
    durationMs: Math.round(view.getFloat32(offset + 7) * 1000) / 1000,
  };
}

// Statements. Names and keys in them are encoded as column text.

export type Statement = readonly [sql: string, parameters: readonly StoredValue[]];

/** Some work on a database: it yields statements, one after the other, and gets the rows that each returns. */
export type Work<T> = Generator<Statement, T, readonly Row[]>;

/** Runs some statements, and returns the rows of the last one. */
export function* each(statements: readonly Statement[]): Work<readonly Row[]> {
  let rows: readonly Row[] = [];
  for (const statement of statements) rows = yield statement;
  return rows;
}

/** How a database writes statements, and runs them. */
export interface Dialect {
  /** The parameter at a place; the first one is 1. */
  parameter(place: number): string;
  /** A query of the names in the parameter at a place. */
  namesIn(place: number): string;
  /** One parameter of several names. */
  listOf(names: readonly string[]): string;
  /** The checks with the names in the parameter at a place, each found by its name. */
  checksIn(place: number): string;
  /** Joins a table whose rows are found by those before it. */
  readonly join: string;
  /** The type of bytes. */
  readonly bytes: string;
  /** The start of the day in UTC that `start_ms` is in. */
  readonly startOfDay: string;
  /** Many rows of some columns, as one list of lists in JSON. */
  packed(columns: string): string;
  /** Inserts rows, or merges them into those with the same unique columns, which no two of them may have. */
  upserts<T>(table: Table<T>, rows: readonly T[], returning?: string): readonly Statement[];
  /** Inserts those rows that are not there. */
  additions<T>(table: Table<T>, rows: readonly T[], returning?: string): readonly Statement[];
  /** Reads all rows of a table, in the order of their ids. */
  all(rows: Readonly<Record<"table" | "columns", string>>): Work<readonly Row[]>;
  select<T>(sql: string, parameters: readonly StoredValue[], read: (row: Row) => T): Promise<readonly T[]>;
  /** Does some work as one transaction; it may be repeated. To read, all of it sees the same state. */
  transact<T>(action: "read" | "write", work: () => Work<T>): Promise<T>;
}

/** The journals of so many checks are read at a time: a response has a limit, and each may have a megabyte. */
const JOURNALS_MAX = 50;

/** What reads roll-ups, measured values, last runs and journals of many checks: a join from the names on. */
function readsOfMany({ parameter, checksIn, join, bytes, startOfDay, packed }: Dialect) {
  const checks = checksIn(1);
  // No span is longer than a day, and the key begins with the start: so only rows that may end late enough are read.
  const rollups = `FROM ${checks} ${join} rollups ON rollups.check_id = checks.id
    WHERE rollups.start_ms > CAST(${parameter(2)} AS DOUBLE PRECISION) - ${DAY_MS}
      AND rollups.start_ms + rollups.span_ms > ${parameter(2)} AND rollups.start_ms <= ${parameter(3)}`;
  const asTheyAre = `SELECT checks.id AS id, checks.name AS name, start_ms,
    ${SUMMED.map(([name, , value]) => `${value} AS ${name}`).join(", ")} ${rollups}`;
  const sums = (selected: string): string =>
    `SELECT name, ${
      packed(`start_ms, ${SUMMED_NAMES}`)
    } AS sums FROM (${selected}) AS sums GROUP BY id, name`;
  const summed = (startMs: string): string =>
    `SELECT checks.id AS id, checks.name AS name, ${startMs} AS start_ms, ${SUMS} ${rollups}`;
  const ofHours = `AND span_ms = ${HOUR_MS}`;
  return {
    /**
     * The roll-ups that end after a time and do not begin after another, as one row a check: its name, and a list of
     * lists of start, runs, failed ones, the longest streak of those, and the sums that `sumsOf` reads. Roll-ups of days
     * as they are, those of hours added up to days, in no order; that takes half the time of a row for each, and of
     * adding up days again. Or one sum a check, or the roll-ups of hours alone.
     */
    sums: {
      hour: sums(`${asTheyAre} ${ofHours}`),
      day: sums(`${asTheyAre} AND span_ms = ${DAY_MS}
        UNION ALL ${summed(startOfDay)} ${ofHours} GROUP BY checks.id, ${startOfDay}`),
      check: sums(`${summed("min(start_ms)")} GROUP BY checks.id`),
    } satisfies Record<SumSpan, string>,
    metrics: `SELECT checks.name AS name, start_ms, metrics ${rollups} ${ofHours} AND metrics IS NOT NULL`,
    recent: `SELECT name, substr(CAST(fresh_runs || coalesce(runs, CAST('' AS ${bytes})) AS ${bytes}),
        1, ${RECENT_BYTES_MAX}) AS recent
      FROM ${checks} LEFT JOIN recent_runs ON recent_runs.check_id = checks.id
      WHERE fresh_runs <> CAST('' AS ${bytes}) OR runs IS NOT NULL`,
    /** The blocks from a time on, in order, each with the record; without any, only that. */
    journal: `SELECT name, results, checks.journal AS record
      FROM ${checks} LEFT JOIN journal ON journal.check_id = checks.id AND last_ms >= ${parameter(2)}
      WHERE checks.journal IS NOT NULL ORDER BY checks.id, last_ms`,
  };
}

export function createCheckReads(dialect: Dialect): Omit<CheckStore, "records" | "save"> {
  const { parameter, namesIn, listOf, select } = dialect;
  const { sums, metrics, recent, journal } = readsOfMany(dialect);
  const ofName = `check_id = (SELECT id FROM checks WHERE name = ${parameter(1)})`;
  const selectChanges = `SELECT ${CHANGES.columns} FROM changes
    WHERE ${ofName} AND at_ms >= ${parameter(2)} AND at_ms <= ${parameter(3)}
    ORDER BY at_ms DESC, id DESC LIMIT ${parameter(4)} OFFSET ${parameter(5)}`;
  // The inner query needs the index alone.
  const selectLatestChanges = `SELECT (SELECT name FROM checks WHERE checks.id = check_id) AS name,
      check_id, at_ms, from_condition, to_condition, output, '' AS trace
    FROM changes WHERE id IN (
      SELECT changes.id FROM changes WHERE check_id IN (SELECT id FROM checks WHERE name IN (${namesIn(1)}))
      ORDER BY at_ms DESC, id DESC LIMIT ${parameter(2)})
    ORDER BY at_ms DESC, id DESC`;
  const selectRollups = `SELECT ${ROLLUPS.columns} FROM rollups
    WHERE ${ofName} AND start_ms + span_ms > ${parameter(2)} ORDER BY start_ms, span_ms DESC`;
  const once = (names: readonly string[]): string => listOf([...new Set(names)].map(columnText.encode));
  return {
    changes: (name, { sinceMs, limit, from = { atMs: Infinity, skip: 0 } }) => {
      const values = [columnText.encode(name), sinceMs, from.atMs, toRowLimit(limit), from.skip];
      return select(selectChanges, values, (row) => changeIn(row, name));
    },
    latestChanges: (names, limit) =>
      select(selectLatestChanges, [once(names), toRowLimit(limit)], (row) => changeIn(row)),
    rollups: (name, sinceMs) =>
      select(selectRollups, [columnText.encode(name), sinceMs], (row) => {
        const { checkId: _, ...rollup } = ROLLUPS.decode(row);
        return { name, ...rollup };
      }),
    rollupSums: async (names, { sinceMs, untilMs, each }) =>
      (await select(sums[each], [once(names), sinceMs, untilMs], sumsOf)).flat(),
    metricHours: (names, { sinceMs, untilMs }) =>
      select(metrics, [once(names), sinceMs, untilMs], metricHourIn),
    recentRuns: (names) =>
      select(recent, [once(names)], (row) => ({ name: nameIn(row), runs: unpackRuns(row["recent"]) })),
    journal: async (names, span) => {
      const journals: CheckJournal[] = [];
      const all = [...new Set(names)];
      for (let from = 0; from < all.length; from += JOURNALS_MAX) {
        const values = [once(all.slice(from, from + JOURNALS_MAX)), span.sinceMs];
        journals.push(...journalsOf(await select(journal, values, (row) => row), span));
      }
      return journals;
    },
  };
}
