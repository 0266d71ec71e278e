/**
 * The database that several members share, in memory: the tables of SQLite, and what PostgreSQL has in addition. Each
 * method is one transaction, done at once. Its clock is its own.
 */
import {
  CHECK_INS_FOR_MS,
  type HeartbeatReply,
  type KnownNotification,
  type LocationResult,
  type MemberHeartbeat,
  type MemberStatus,
  type QueueRow,
  RECEIVED_MAX,
  RECEIVED_READ_MAX,
  type ReceivedBatch,
  SHARING_MAX,
  type StoredLocationResult,
  type TakenQueue,
} from "../../src/domain/membership.ts";
import type { Clock } from "../../src/domain/clock.ts";
import type { DeliveryMarker, OutboxChange, QueuedNotification, SentOpen } from "../../src/domain/outbox.ts";
import type { ReportBatch } from "../../src/domain/reports.ts";
import type { Store } from "../../src/domain/store.ts";
import { DAY_MS } from "../../src/shared/time_units.ts";
import { columnText } from "../../src/state/codec.ts";
import type { RecordBatch, VersionedRecord } from "../../src/state/record_writer.ts";
import { createDatabaseStore } from "../../src/state/sqlite/database_store.ts";
import { SELECT_MARKERS } from "../../src/state/sql/outbox_and_jobs.ts";
import { keepUpdates } from "../../src/state/sqlite/sqlite_checks.ts";
import { openConnection, type SqliteConnection } from "../../src/state/sqlite/sqlite_connection.ts";
import type { Row } from "../../src/state/sql/table_declaration.ts";
import {
  CHANNEL_COUNTS,
  DELIVERIES,
  DELIVERY_MARKERS,
  OUTBOX,
  RECORDS,
  WHOLE,
} from "../../src/state/sql/tables.ts";

/** Of its server, as messages name it. */
const URL = "postgres://memory";

const CREATE: readonly string[] = [
  // An id is never used twice.
  ...WHOLE.map((sql) => sql.replace("id INTEGER PRIMARY KEY,", "id INTEGER PRIMARY KEY AUTOINCREMENT,")),
  "ALTER TABLE checks ADD COLUMN version INTEGER NOT NULL DEFAULT 0",
  "ALTER TABLE outbox ADD COLUMN received_token INTEGER",
  "ALTER TABLE outbox ADD COLUMN received_call INTEGER",
];

const SELECT_VERSIONED = `SELECT ${RECORDS.columns}, version FROM checks`;
const SELECT_SHARING = `${SELECT_VERSIONED}
  WHERE EXISTS (SELECT 1 FROM json_each(?) WHERE instr(last, value) > 0)
  ORDER BY instr(last, '"suspected":[]') > 0, next_run_at_ms DESC NULLS LAST, name LIMIT ${SHARING_MAX}`;
const SELECT_UNCERTAIN = "SELECT DISTINCT check_name FROM delivery_markers WHERE certain = 0";
const SELECT_QUEUE = `SELECT id, ${OUTBOX.columns} FROM outbox WHERE state <> 'dropped'`;

interface StoredMember {
  readonly heartbeat: MemberHeartbeat;
  readonly beatAtMs: number;
}

interface StoredResult {
  readonly result: LocationResult & { readonly runs: number };
  readonly endedAtMs: number;
}

interface StoredBatch {
  readonly id: number;
  readonly agent: string;
  readonly batch: ReportBatch;
  readonly atMs: number;
}

type CheckChannel = Pick<DeliveryMarker, "check" | "channelKey">;

export class MemoryDatabase {
  readonly #connection: SqliteConnection;
  /** The parts that are no different if several processes share them. */
  readonly base: Store;
  /** Whether a process has made them. */
  hasTables = false;
  readonly #clock: Pick<Clock, "wallMs">;
  #stepMs = 0;
  readonly #members = new Map<string, StoredMember>();
  readonly #queues = new Map<string, QueueRow>();
  readonly #results = new Map<string, StoredResult>();
  readonly #checkIns = new Map<string, number>();
  #lastId = 0;
  #received: readonly StoredBatch[] = [];

  private constructor(connection: SqliteConnection, clock: Pick<Clock, "wallMs">) {
    this.#connection = connection;
    this.base = this.store();
    this.#clock = clock;
  }

  static async open(clock: Pick<Clock, "wallMs">): Promise<MemoryDatabase> {
    const connection = await openConnection(":memory:", { readOnly: false });
    connection.execute(CREATE);
    return new MemoryDatabase(connection, clock);
  }

  /** Sets its clock forward, or back. */
  step(ms: number): void {
    this.#stepMs += ms;
  }

  close(): void {
    this.#connection.close();
  }

  /** Returns another store of these parts, which prunes by itself. */
  store(): Store {
    return createDatabaseStore(this.#connection, URL);
  }

  /** Reads some rows. */
  rows(sql: string, ...values: readonly string[]): readonly Row[] {
    return this.#connection.all(sql, ...values);
  }

  /** Returns the outputs that a check's condition changed with, in the order in which they were stored. */
  changesOf(name: string): readonly string[] {
    const sql =
      "SELECT output FROM changes JOIN checks ON checks.id = check_id WHERE name = ? ORDER BY changes.id";
    return this.#connection.all(sql, columnText.encode(name))
      .map((row) => columnText.decode(row["output"], "output"));
  }

  /** Returns some records, or all. */
  records(names: readonly string[] | null): readonly VersionedRecord[] {
    const rows = names === null
      ? this.#connection.all(`${SELECT_VERSIONED} ORDER BY id`)
      : this.#connection.all(
        `${SELECT_VERSIONED} WHERE name IN (SELECT value FROM json_each(?))`,
        JSON.stringify(names.map(columnText.encode)),
      );
    return rows.map(versionedIn);
  }

  /** Returns the records of checks whose last run depended on one of some attributes. */
  sharing(attributes: readonly string[]): readonly VersionedRecord[] {
    const words = attributes.map((attribute) => JSON.stringify(attribute));
    return this.#connection.all(SELECT_SHARING, JSON.stringify(words)).map(versionedIn);
  }

  saveRecords({ updates, versions }: RecordBatch): ReadonlySet<string> {
    return this.#connection.transaction(() => {
      const saved = new Set<string>();
      for (const [name, { version, replaces }] of versions) {
        const key = columnText.encode(name);
        const present = this.#connection.first("SELECT version FROM checks WHERE name = ?", key);
        if (present !== undefined && present["version"] !== replaces) continue;
        saved.add(name);
        const own = updates.filter(({ record }) => record.name === name);
        keepUpdates(this.#connection, own.map((update) => ({ ...update, queued: [] })));
        this.#connection.run("UPDATE checks SET version = ? WHERE name = ?", version, key);
      }
      for (const { record, queued } of updates) {
        if (saved.has(record.name)) { for (const one of queued) this.#keepQueued(one); }
      }
      return saved;
    });
  }

  beat(
    own: Omit<MemberHeartbeat, "count">,
    isFirst: boolean,
    silences: HeartbeatReply["silences"],
  ): HeartbeatReply {
    const present = this.#members.get(own.host)?.heartbeat;
    const isSuperseded = present !== undefined && present.id !== own.id && !isFirst;
    // As it was before this heartbeat.
    const reply = {
      isSuperseded,
      members: [...this.#members.values()].map(({ heartbeat }) => heartbeat),
      queues: [...this.#queues.values()],
      silences,
      uncertain: this.#connection.all(SELECT_UNCERTAIN)
        .map((row) => columnText.decode(row["check_name"], "check_name")),
      checkIns: [...this.#checkIns].flatMap(([job, atMs]) =>
        this.#nowMs() - atMs < CHECK_INS_FOR_MS ? [{ job, atMs }] : []
      ),
      received: [...Map.groupBy(this.#received, ({ agent }) => agent)].map(([agent, batches]) => ({
        agent,
        last: batches.at(-1)?.id ?? 0,
        count: batches.length,
      })),
    };
    if (isSuperseded) return reply;
    const heartbeat = { ...own, count: (present?.count ?? 0) + 1 };
    this.#members.set(own.host, { heartbeat, beatAtMs: this.#nowMs() });
    return reply;
  }

  async keepJobRun(...[name, run, nowMs]: Parameters<Store["keepJobRun"]>): Promise<void> {
    await this.base.keepJobRun(name, run, nowMs);
    if (run.end === null) return;
    this.#checkIns.set(name, Math.max(this.#nowMs(), (this.#checkIns.get(name) ?? -Infinity) + 1));
  }

  leave({ host, id }: Pick<MemberHeartbeat, "host" | "id">): void {
    if (this.#members.get(host)?.heartbeat.id === id) this.#members.delete(host);
  }

  members(): readonly MemberStatus[] {
    return [...this.#members.values()].map(({ heartbeat, beatAtMs }) => ({
      ...structuredClone(heartbeat),
      silentForMs: this.#nowMs() - beatAtMs,
      channelKeys: [...this.#queues.values()].filter(({ owner }) => owner === heartbeat.id)
        .map(({ channelKey }) => channelKey).sort(),
    })).sort((one, other) => one.host < other.host ? -1 : 1);
  }

  take({ channelKey, token }: QueueRow, owner: string): TakenQueue | null {
    const present = this.#queues.get(channelKey) ?? { channelKey, owner: null, token: 0 };
    this.#queues.set(channelKey, present);
    if (present.token !== token) return null;
    const queue = { channelKey, owner, token: token + 1 };
    this.#queues.set(channelKey, queue);
    const key = columnText.encode(channelKey);
    const count = this.#connection.first(
      `SELECT ${CHANNEL_COUNTS.columns} FROM channel_counts WHERE channel_key = ?`,
      key,
    );
    const sending = this.#connection.first(
      "SELECT id FROM outbox WHERE channel_key = ? AND message_id IS NOT NULL AND state <> 'dropped'",
      key,
    );
    return {
      queue,
      markers: this.#markers().filter((marker) => marker.channelKey === channelKey),
      limitUse: count === undefined ? null : CHANNEL_COUNTS.decode(count).limitUse,
      isSending: sending !== undefined,
    };
  }

  giveBack({ channelKey, owner, token }: QueueRow): void {
    if (this.#isOwned({ channelKey, owner, token })) {
      this.#queues.set(channelKey, { channelKey, owner: null, token });
    }
  }

  /** The most notifications that are received at a time. */
  static readonly RECEIVED_MAX = 1_000;

  receive(queues: readonly QueueRow[], call: number): readonly QueuedNotification[] {
    return this.#connection.transaction(() => {
      const rows = queues.filter((queue) => this.#isOwned(queue)).flatMap(({ channelKey, token }) =>
        this.#connection.all(
          `${SELECT_QUEUE} AND channel_key = ? AND (received_token IS NOT ? OR received_call = ?)`,
          columnText.encode(channelKey),
          token,
          call,
        ).map((row) => ({ id: Number(row["id"]), token, row }))
      ).sort((one, other) => one.id - other.id).slice(0, MemoryDatabase.RECEIVED_MAX);
      for (const { id, token } of rows) {
        this.#connection.run(
          "UPDATE outbox SET received_token = ?, received_call = ? WHERE id = ?",
          token,
          call,
          id,
        );
      }
      return rows.map(({ row }) => inDatabaseOrder(row));
    });
  }

  /** Returns the markers of some checks. */
  markersOf(checks: readonly string[]): readonly DeliveryMarker[] {
    const names = new Set(checks);
    return this.#markers().filter(({ check }) => names.has(check));
  }

  change(change: OutboxChange, queues: readonly QueueRow[]): ReadonlySet<string> {
    const { changed, removed, delivered = [], markers, cleared, notices = [], counted = [], logged = [] } =
      change;
    const { sentOpen } = change;
    return this.#connection.transaction(() => {
      const owned = new Set(
        queues.filter((queue) => this.#isOwned(queue)).map(({ channelKey }) => channelKey),
      );
      const isOwned = ({ channelKey }: Pick<QueueRow, "channelKey">): boolean => owned.has(channelKey);
      const unordered = new Set(sentOpen === undefined ? [] : delivered);
      const moved = new Set(
        removed.filter((id) => !unordered.has(id)).flatMap((id) => this.#delete(id, isOwned)).map((
          { notification },
        ) => notification.id),
      );
      const sent = new Set(
        this.#inOrder(delivered).flatMap((id) => this.#delete(id)).map((
          { notification: { check }, channelKey },
        ) => keyOf({ check, channelKey })),
      );
      const counts = (marker: CheckChannel): boolean => isOwned(marker) || sent.has(keyOf(marker));
      for (const notice of notices) this.#insertMoved(notice);
      const mine = new Map(changed.filter(isOwned).map((queued) => [queued.id, queued]));
      for (const queued of mine.values()) if (!this.#update(queued)) this.#insertMoved(queued);
      for (const queued of changed) {
        if (!isOwned(queued) && moved.has(queued.notification.id)) this.#insertMoved(queued);
      }
      const uncertain = new Set(
        sentOpen === undefined ? [] : this.#markers().filter(({ certain }) => !certain).map(keyOf),
      );
      const ended = cleared.filter(counts);
      for (const marker of ended) {
        if (uncertain.has(keyOf(marker))) continue;
        const { check, channelKey } = marker;
        const sql = "DELETE FROM delivery_markers WHERE check_name = ? AND channel_key = ?";
        this.#connection.run(sql, columnText.encode(check), columnText.encode(channelKey));
      }
      const kept = markers.filter(counts);
      for (const marker of kept) {
        this.#setMarker({ ...marker, certain: marker.certain && !uncertain.has(keyOf(marker)) });
      }
      const noted = new Set([...ended, ...kept].map(keyOf));
      const foreign = new Map(
        (sentOpen ?? []).filter((sent) => !noted.has(keyOf(sent))).map((sent) => [keyOf(sent), sent]),
      );
      for (const sent of foreign.values()) this.#noteSentOpen(sent);
      for (const count of counted) {
        const row = isOwned(count) ? count : { ...count, limitUse: null };
        this.#connection.run(CHANNEL_COUNTS.upsert, ...CHANNEL_COUNTS.encode(row));
      }
      for (const one of logged) {
        if (one.outcome === "dropped" && !isOwned(one)) continue;
        this.#connection.run(`${DELIVERIES.insert} ON CONFLICT DO NOTHING`, ...DELIVERIES.encode(one));
      }
      return owned;
    });
  }

  pendingChannels(): readonly string[] {
    return [...new Set(this.#queued().map(({ channelKey }) => channelKey))];
  }

  known(names: readonly string[]): readonly KnownNotification[] {
    const checks = new Set(names);
    const known = new Map<string, KnownNotification>(
      this.#markers().filter(({ check }) => checks.has(check)).map((marker) => [keyOf(marker), marker]),
    );
    for (const { notification: { check, event, condition: last }, channelKey } of this.#queued()) {
      if (!checks.has(check)) continue;
      const condition = event === "recovery" ? "ok" : last;
      known.set(keyOf({ check, channelKey }), { check, channelKey, condition, certain: true });
    }
    return [...known.values()];
  }

  saveLocationResults(results: readonly (LocationResult & { readonly ageMs: number })[]): void {
    for (const { ageMs, ...result } of structuredClone(results)) {
      const key = JSON.stringify([result.check, result.location]);
      const runs = (this.#results.get(key)?.result.runs ?? 0) + 1;
      this.#results.set(key, { result: { ...result, runs }, endedAtMs: this.#nowMs() - ageMs });
    }
  }

  locationResults(checks: readonly string[]): readonly StoredLocationResult[] {
    const names = new Set(checks);
    return [...this.#results.values()].filter(({ result }) => names.has(result.check)).map((
      { result, endedAtMs },
    ) => ({ ...structuredClone(result), ageMs: Math.max(0, this.#nowMs() - endedAtMs) }));
  }

  keepReceived(agent: string, batch: ReportBatch): boolean {
    if (this.#received.filter((one) => one.agent === agent).length >= RECEIVED_MAX) return false;
    const stored = { id: ++this.#lastId, agent, batch: structuredClone(batch), atMs: this.#nowMs() };
    this.#received = [...this.#received, stored];
    return true;
  }

  received(agent: string): readonly ReceivedBatch[] {
    return this.#received.filter((one) => one.agent === agent).slice(0, RECEIVED_READ_MAX)
      .map(({ id, batch, atMs }) => ({
        id,
        batch: structuredClone(batch),
        ageMs: Math.max(0, this.#nowMs() - atMs),
      }));
  }

  deleteReceived(ids: readonly number[]): void {
    this.#received = this.#received.filter(({ id }) => !ids.includes(id));
  }

  /** Forgets what is old by its own clock. */
  prune(): void {
    const nowMs = this.#nowMs();
    for (const [host, { beatAtMs }] of this.#members) {
      if (beatAtMs < nowMs - DAY_MS) this.#members.delete(host);
    }
    const ids = new Set([...this.#members.values()].map(({ heartbeat: { id } }) => id));
    for (const [key, { owner }] of this.#queues) {
      const has = "SELECT id FROM outbox WHERE channel_key = ?";
      if (owner !== null && ids.has(owner)) continue;
      if (this.#connection.first(has, columnText.encode(key)) === undefined) this.#queues.delete(key);
    }
    for (const [key, { endedAtMs }] of this.#results) {
      if (endedAtMs < nowMs - 30 * DAY_MS) this.#results.delete(key);
    }
    this.#received = this.#received.filter(({ atMs }) => atMs >= nowMs - 30 * DAY_MS);
  }

  #nowMs(): number {
    return this.#clock.wallMs() + this.#stepMs;
  }

  #isOwned({ channelKey, owner, token }: QueueRow): boolean {
    const present = this.#queues.get(channelKey);
    return present !== undefined && present.owner === owner && present.token === token;
  }

  #queued(): readonly QueuedNotification[] {
    return this.#connection.all(`${SELECT_QUEUE} ORDER BY id`).map(inDatabaseOrder);
  }

  #markers(): readonly DeliveryMarker[] {
    return this.#connection.all(SELECT_MARKERS).map(DELIVERY_MARKERS.decode);
  }

  #setMarker(marker: DeliveryMarker): void {
    this.#connection.run(DELIVERY_MARKERS.upsert, ...DELIVERY_MARKERS.encode(marker));
  }

  /** Returns those of some ids that have overtaken no notification of their check. */
  #inOrder(ids: readonly string[]): readonly string[] {
    const delivered = new Set(ids);
    const behind = new Set<string>();
    return ids.length === 0 ? [] : this.#queued().filter((queued) => {
      const { id, channelKey, messageId, missedProblem, notification: { check } } = queued;
      const isMerged = messageId === null && missedProblem !== null;
      if (!delivered.has(id) || isMerged) behind.add(keyOf({ check, channelKey }));
      return delivered.has(id) && !behind.has(keyOf({ check, channelKey }));
    }).map(({ id }) => id);
  }

  /** Returns the notification, unless it was deleted before, or does not count. */
  #delete(
    id: string,
    counts: (queued: QueuedNotification) => boolean = () => true,
  ): readonly QueuedNotification[] {
    const key = columnText.encode(id);
    const row = this.#connection.first(`SELECT ${OUTBOX.columns} FROM outbox WHERE key = ?`, key);
    const queued = row === undefined ? null : OUTBOX.decode(row);
    if (queued === null || !counts(queued)) return [];
    this.#connection.run("DELETE FROM outbox WHERE key = ?", key);
    return [queued];
  }

  /** Returns whether it was there. */
  #update(queued: QueuedNotification): boolean {
    const sql = "SELECT id, sequence FROM outbox WHERE key = ?";
    const present = this.#connection.first(sql, columnText.encode(queued.id));
    if (present !== undefined) {
      this.#keepQueued({ ...queued, sequence: Number(present["sequence"]) });
    }
    return present !== undefined;
  }

  /** A notification that was attempted before is not inserted: another member has delivered it. */
  #insertMoved(queued: QueuedNotification): void {
    if (queued.attempts === 0 && queued.state === "pending") this.#keepQueued(queued);
  }

  #keepQueued(queued: QueuedNotification): void {
    this.#connection.run(OUTBOX.upsert, ...OUTBOX.encode(queued));
  }

  #noteSentOpen(sent: SentOpen): void {
    const known = this.#markers().find((marker) => keyOf(marker) === keyOf(sent));
    if (known !== undefined) {
      this.#setMarker({ ...known, certain: known.certain && known.condition === sent.condition });
    } else if (sent.condition !== "ok") this.#setMarker({ ...sent, certain: false });
  }
}

/** The order in which they were saved. */
function inDatabaseOrder(row: Row): QueuedNotification {
  return { ...OUTBOX.decode(row), sequence: Number(row["id"]) };
}

function keyOf({ check, channelKey }: CheckChannel): string {
  return JSON.stringify([check, channelKey]);
}

function versionedIn(row: Row): VersionedRecord {
  return { record: RECORDS.decode(row), version: Number(row["version"]) };
}
