import assert from "node:assert/strict";
import { StoreError } from "../../src/domain/store.ts";
import { createNotificationIds, RecordWriter, type VersionedRecords } from "../../src/state/record_writer.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { MemoryDatabase } from "../../testing/simulation/memory_database.ts";
import { DAY_MS, HOUR_MS } from "../../src/shared/time_units.ts";
import { journalOf, NOW_MS, queuedOf, recordOf, updateOf } from "./records.ts";

/** The connection of a writer, which breaks before it does something, or after it. */
class Breaking implements VersionedRecords {
  readonly #database: MemoryDatabase;
  breaks: (what: "all" | "some" | "save", when: "before" | "after") => boolean = () => false;

  constructor(database: MemoryDatabase) {
    this.#database = database;
  }

  all() {
    return this.#do("all", () => this.#database.records(null));
  }

  some(names: readonly string[]) {
    return this.#do("some", () => this.#database.records(names));
  }

  sharing(attributes: readonly string[]) {
    return Promise.resolve(this.#database.sharing(attributes));
  }

  save(batch: Parameters<VersionedRecords["save"]>[0]) {
    return this.#do("save", () => this.#database.saveRecords(batch));
  }

  // deno-lint-ignore require-await -- errors become rejections
  async #do<T>(what: "all" | "some" | "save", work: () => T): Promise<T> {
    const fail = (when: "before" | "after"): void => {
      if (this.breaks(what, when)) throw new StoreError("connection closed", "unreachable");
    };
    fail("before");
    const value = work();
    fail("after");
    return value;
  }
}

function test(
  name: string,
  use: (parts: {
    readonly writer: RecordWriter;
    readonly connection: Breaking;
    readonly other: RecordWriter;
    readonly database: MemoryDatabase;
  }) => Promise<void>,
): void {
  Deno.test(name, async () => {
    const database = await MemoryDatabase.open(createRealClock());
    let number = 0;
    const random = (): number => (number = (number + 0.37) % 1);
    const connection = new Breaking(database);
    const writer = new RecordWriter(connection, random);
    const other = new RecordWriter(new Breaking(database), random);
    await other.save([updateOf("web"), updateOf("mail")]);
    await writer.load(["web", "mail"]);
    try {
      await use({ writer, connection, other, database });
    } finally {
      database.close();
    }
  });
}

test("versionOf() stays that of the last result, so that ids do, until another process saves", async ({ writer, other }) => {
  const version = writer.versionOf("web");
  const bare = updateOf("web");
  await writer.save([bare]);
  await writer.load(["web"]);
  await writer.save([bare]);
  assert.equal(writer.versionOf("web"), version);
  await writer.save([updateOf("web", { queued: [queuedOf("id", 1)] })]);
  const saved = writer.versionOf("web");
  await other.load(["web"]);
  await other.save([bare]);
  await writer.load(["web"]);
  assert.equal(new Set([version, saved, writer.versionOf("web")]).size, 3);
});

test("save() takes a record for its own if the connection broke after it was saved", async (parts) => {
  const { writer, connection, other } = parts;
  await other.save([updateOf("mail")]);
  connection.breaks = (what) => what === "some";
  await assert.rejects(writer.save([updateOf("web"), updateOf("mail")]), /connection closed/);
  connection.breaks = () => false;
  const replaced = await writer.save([updateOf("web")]);
  assert.deepEqual(replaced.map(({ name }) => name), ["mail"]);
  assert.deepEqual(await writer.save([updateOf("web")]), []);
});

test("save() returns a record of another process after a failure in between, too", async (parts) => {
  const { writer, connection, other } = parts;
  await other.save([updateOf("mail")]);
  connection.breaks = (what) => what === "save";
  await assert.rejects(writer.save([updateOf("mail")]), /connection closed/);
  let saves = 0;
  connection.breaks = (what, when) => what === "save" && when === "before" && ++saves === 2;
  await assert.rejects(writer.save([updateOf("mail"), updateOf("web")]), /connection closed/);
  connection.breaks = () => false;
  const replaced = await writer.save([updateOf("mail"), updateOf("web")]);
  assert.deepEqual(replaced.map(({ name }) => name), ["mail"]);
});

test("save() adds nothing twice that was saved although its reply was lost", async (parts) => {
  const { writer, connection, database } = parts;
  const { blocks: [journal = assert.fail()] } = journalOf([...Array(40).keys()].map((index) => ({
    endedAtMs: NOW_MS + index * DAY_MS,
  })));
  const record = recordOf("web", { missedRuns: 7, journal: null });
  const update = updateOf("web", { record, queued: [queuedOf("a", 1)], journal });
  connection.breaks = (what, when) => what === "save" && when === "after";
  await assert.rejects(writer.save([update]), /connection closed/);
  const { notifications: [queued] } = await database.base.outbox();
  assert.equal(queued?.id, "a");
  // Another member delivers it meanwhile.
  database.change({ changed: [], removed: ["a"], delivered: ["a"], markers: [], cleared: [] }, []);
  connection.breaks = () => false;
  assert.deepEqual(await writer.save([update]), []);
  assert.deepEqual((await database.base.outbox()).notifications, []);
  assert.deepEqual((await database.base.records()).map(({ missedRuns }) => missedRuns).sort(), [2, 7]);
  await writer.save([updateOf("web")]);
  const [{ rows } = assert.fail()] = await database.base.journal(["web"], {
    sinceMs: NOW_MS + HOUR_MS,
    untilMs: Infinity,
  });
  assert.equal(new Set(rows.map(({ firstMs }) => firstMs)).size, rows.length, "no block is there twice");
});

function make(versions: Readonly<Record<string, number>>) {
  let made = 0;
  return createNotificationIds({
    versionOf: (check) => versions[check] ?? null,
    randomId: () => `random ${++made}`,
  });
}

Deno.test("processes derive one id of a decision from one record, and another of each other decision", () => {
  const versions: Record<string, number> = { web: 7, mail: 7 };
  const newId = make(versions);
  const ids = [
    newId({ check: "web", condition: "critical" }),
    newId({ check: "mail", condition: "critical" }),
    newId({ check: "web", condition: "ok" }),
    newId({ check: "web", condition: "critical" }),
  ];
  assert.match(ids[0] ?? "", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.equal(make({ web: 7 })({ check: "web", condition: "critical" }), ids[0]);
  versions["web"] = 8;
  ids.push(newId({ check: "web", condition: "critical" }));
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(newId({ check: "new", condition: "ok" }), "random 1", "nothing of it is stored");
});
