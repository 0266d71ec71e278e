/** The least code that reads a monitor's state: as many rows, and what is done with them, but no thought about it. */
import { DatabaseSync } from "node:sqlite";

/** Prints a line for each check of a state. */
export function printChecks(path: string): void {
  using database = new DatabaseSync(path, { readOnly: true });
  const lines = database.prepare("SELECT * FROM checks ORDER BY id").all().map((row) => {
    const { settled } = JSON.parse(String(row["condition"]));
    const { output } = JSON.parse(String(row["last"]));
    return `${settled}  ${row["name"]}  ${output}\n`;
  });
  writeAll(new TextEncoder().encode(lines.join("")));
}

/** Prints what each check of a state went through, from its hourly and daily sums and its changes. */
export function sumHistory(path: string): void {
  using database = new DatabaseSync(path, { readOnly: true });
  const lines: string[] = [];
  for (const table of ["rollups", "changes"]) {
    const counts = new Map<unknown, number>();
    for (const { check_id: check } of database.prepare(`SELECT * FROM ${table}`).iterate()) {
      counts.set(check, (counts.get(check) ?? 0) + 1);
    }
    for (const [check, count] of counts) lines.push(`${check}  ${table} ${count}\n`);
  }
  writeAll(new TextEncoder().encode(lines.join("")));
}

function writeAll(bytes: Uint8Array): void {
  for (let from = 0; from < bytes.length;) from += Deno.stdout.writeSync(bytes.subarray(from));
}

/** How the rows of a state are posted. */
export interface PostOptions {
  /** Where to. */
  readonly target: string;
  /** How many go in one request. */
  readonly atATime: number;
  /** Whether they are marked in the state before, and removed from it after, each time on disk. */
  readonly isKept: boolean;
}

/** Posts the reports that wait in a state, one request after another, each over a fresh connection. */
export async function postRows(
  path: string,
  { target, atATime, isKept }: PostOptions,
): Promise<void> {
  using database = new DatabaseSync(path);
  // Otherwise nothing is on disk after a commit.
  database.exec("PRAGMA synchronous = FULL");
  const mark = database.prepare("UPDATE outbox SET message_id = ?, attempts = attempts + 1 WHERE id = ?");
  const remove = database.prepare("DELETE FROM outbox WHERE id = ?");
  const rows = database.prepare("SELECT * FROM outbox ORDER BY sequence").all();
  const change = (statement: typeof mark, ...values: readonly (readonly (string | number)[])[]): void => {
    database.exec("BEGIN IMMEDIATE");
    for (const value of values) statement.run(...value);
    database.exec("COMMIT");
  };
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  for (let from = 0; from < rows.length; from += atATime) {
    const batch = rows.slice(from, from + atATime);
    const reports = batch.map((row) => JSON.parse(String(row["report"])));
    const ids = batch.map((row) => Number(row["id"]));
    if (isKept) change(mark, ...ids.map((id) => [reports[0].id, id]));
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify(atATime === 1 ? reports[0] : { reports });
    const response = await fetch(target, { client, method: "POST", headers, body });
    await response.body?.cancel();
    if (response.status !== 200) throw new Error(`${target} answered ${response.status}`);
    if (isKept) change(remove, ...ids.map((id) => [id]));
  }
  client.close();
}
