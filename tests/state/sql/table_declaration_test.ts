import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { list, number, object, text, UnreadableRowError } from "../../../src/state/codec.ts";
import { SqliteConnection } from "../../../src/state/sqlite/sqlite_connection.ts";
import {
  blob,
  counts,
  integer,
  integerOrNull,
  jsonField,
  jsonFieldOrNull,
  real,
  string,
  stringOrNull,
  table,
} from "../../../src/state/sql/table_declaration.ts";
import { HOSTILE_TEXTS } from "../hostile.ts";

const NO_COUNTS = { ok: 0, unknown: 0, warning: 0, critical: 0 };

Deno.test("table() stores and returns every kind of field", () => {
  const all = table("everything", {
    name: string("name"),
    note: stringOrNull("note"),
    count: integer("count"),
    limit: integerOrNull("maximum"),
    share: real("share"),
    runs: counts((condition) => `runs_${condition}`),
    bytes: blob("bytes"),
    tags: jsonField("tags", list(text)),
    place: jsonFieldOrNull("place", object({ line: number })),
  }, { unique: ["name"] });
  using opened = openInMemory();
  const { connection } = opened;
  connection.execute([all.create]);
  const rows = HOSTILE_TEXTS.map((name, index) => ({
    name,
    note: index === 0 ? null : name,
    count: index,
    limit: index === 0 ? null : -index,
    share: index / 3,
    runs: { ...NO_COUNTS, warning: index },
    bytes: new Uint8Array([index, 0]),
    tags: [name],
    place: index === 0 ? null : { line: index },
  }));
  for (const row of rows) connection.run(all.insert, ...all.encode(row));
  const kept = connection.all(`SELECT ${all.columns} FROM everything ORDER BY id`).map(all.decode);
  assert.deepEqual(kept, rows);
});

Deno.test("an upsert merges a row as each of its columns declares", () => {
  const sums = table("sums", {
    key: string("key"),
    last: integer("last"),
    first: integer("first", { merge: "keep" }),
    total: integer("total", { merge: "add" }),
    most: integer("most", { merge: "max" }),
    least: integer("least", { merge: "min" }),
    runs: counts((condition) => condition, { merge: "add" }),
    bytes: blob("bytes", { merge: "prepend" }),
  }, { unique: ["key"] });
  using opened = openInMemory();
  const { connection } = opened;
  connection.execute([sums.create]);
  for (const count of [5, 3]) {
    const [first, bytes] = [count, new Uint8Array([count])];
    const row = { key: "a", last: count, first, total: count, most: count, least: count, bytes };
    connection.run(sums.upsert, ...sums.encode({ ...row, runs: { ...NO_COUNTS, ok: count } }));
  }
  assert.deepEqual(connection.all(`SELECT ${sums.columns} FROM sums`).map(sums.decode), [{
    key: "a",
    last: 3,
    first: 5,
    total: 8,
    most: 5,
    least: 3,
    runs: { ...NO_COUNTS, ok: 8 },
    bytes: new Uint8Array([3, 5]),
  }]);
  assert.equal(sums.aggregates, "sum(total), max(most), sum(ok), sum(unknown), sum(warning), sum(critical)");
});

Deno.test("object() encodes only declared keys, and rejects other types", () => {
  const codec = object({ line: number, file: text });
  const declared = { line: 1, file: "a" };
  const value = { ...declared, secret: "hunter2" };
  assert.deepEqual(codec.encode(value), declared);
  for (const stored of [null, 7, [], { line: "1", file: "a" }, { line: 1 }]) {
    assert.throws(() => codec.decode(stored, "place"), UnreadableRowError);
  }
});

function openInMemory(): Disposable & { readonly connection: SqliteConnection } {
  const connection = new SqliteConnection(new DatabaseSync(":memory:"));
  return { connection, [Symbol.dispose]: () => connection.close() };
}
