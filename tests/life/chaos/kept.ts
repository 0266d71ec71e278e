/** Compares the contents of the state with the results of the checks. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { CONDITIONS } from "../../../src/domain/condition.ts";
import { type FakeCheck, type Model, type ModelChange, observe, type Shown } from "./model.ts";

/** The state between two rounds. */
export interface Kept {
  /** Of each check that ran: token of the last run, confirmed and notified condition, runs by condition, roll-ups. */
  readonly checks: ReadonlyMap<string, string>;
  /** The changes since the last look, in order. */
  readonly changes: readonly ModelChange[];
  /** The last change, for the next look. */
  readonly lastChangeId: number;
}

/** Reads the records of some checks; of the changes those after the last call. `null` if there is none. */
export function readKept(
  path: string,
  lastChangeId: number,
  checks: readonly FakeCheck[],
): Kept | null {
  if (!isThere(path)) return null;
  // Read-only: the journal left by a kill is for the next monitor to handle.
  using database = new DatabaseSync(path, { readOnly: true });
  if (Number(database.prepare("PRAGMA user_version").get()?.["user_version"]) === 0) return null;
  assert.equal(database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"], "ok");
  const names = new Set<unknown>(checks.map(({ name }) => name));
  const rows = database.prepare(
    `SELECT name, condition, last, runs_ok, runs_unknown, runs_warning, runs_critical,
      (SELECT sum(observed_ok) || ' ' || sum(observed_unknown) || ' ' || sum(observed_warning) || ' ' ||
        sum(observed_critical) FROM rollups WHERE check_id = checks.id) AS rolled
    FROM checks WHERE last IS NOT NULL`,
  ).all().filter(({ name }) => names.has(name));
  const changes = database.prepare(
    `SELECT changes.id, name, from_condition, to_condition, output FROM changes
    JOIN checks ON checks.id = check_id WHERE changes.id > ? ORDER BY changes.id`,
  ).all(lastChangeId).filter(({ name }) => names.has(name));
  return {
    checks: new Map(rows.map((row) => {
      const { confirmed, notified } = JSON.parse(String(row["condition"]));
      const runs = CONDITIONS.map((condition) => Number(row[`runs_${condition}`]));
      const { output } = JSON.parse(String(row["last"]));
      return [
        String(row["name"]),
        describe({ output, confirmed, notified, runs, rolled: String(row["rolled"]) }),
      ];
    })),
    changes: changes.map((row) =>
      ({
        check: String(row["name"]),
        from: String(row["from_condition"]),
        to: String(row["to_condition"]),
        token: String(row["output"]),
      }) as ModelChange
    ),
    lastChangeId: Number(changes.at(-1)?.["id"] ?? lastChangeId),
  };
}

/** The counts of a process, and whether it may have stored only the first of them. */
export interface Counted {
  readonly results: readonly Shown[];
  /** It was killed, or has logged that the state could not be written. */
  readonly mayLackLast: boolean;
}

/** The outcome of the results of a round. */
export interface Settlement {
  readonly model: Model;
  /** Of each process the first results, as many as were kept. */
  readonly keptCounts: readonly number[];
  readonly changes: readonly ModelChange[];
  /** The changes that each process may have sent from memory: those that it decided and did not store. */
  readonly unkept: readonly ModelChange[];
}

/**
 * Finds how much of the results of some processes, one after the other, was stored: all of a process that exited
 * normally, the first so many of another one, and nothing else.
 *
 * @throws {assert.AssertionError} If the state does not follow from any such results.
 */
export function settleRound(
  before: Model,
  kept: Kept | null,
  { processes, checks }: { readonly processes: readonly Counted[]; readonly checks: readonly FakeCheck[] },
): Settlement {
  const found = search(before, kept, { processes, checks });
  if (found !== null) return found;
  const all = observe(before, processes.flatMap(({ results }) => results), checks);
  assert.deepEqual(
    { checks: kept?.checks, changes: kept?.changes },
    { checks: describeModel(all.model), changes: all.changes },
    "the state is not what follows from the first results of each process; shown beside what follows from all",
  );
  throw new Error("the search has overlooked that all was kept");
}

function search(
  before: Model,
  kept: Kept | null,
  { processes, checks }: { readonly processes: readonly Counted[]; readonly checks: readonly FakeCheck[] },
): Settlement | null {
  const [first, ...others] = processes;
  if (first === undefined) {
    if (!isSame(before, kept)) return null;
    return { model: before, keptCounts: [], changes: [], unkept: [] };
  }
  const least = first.mayLackLast ? 0 : first.results.length;
  for (let count = first.results.length; count >= least; count--) {
    const part = observe(before, first.results.slice(0, count), checks);
    const keptChanges = kept?.changes ?? [];
    const expected = keptChanges.slice(0, part.changes.length);
    if (JSON.stringify(expected) !== JSON.stringify(part.changes)) continue;
    const restKept = kept === null ? null : { ...kept, changes: keptChanges.slice(part.changes.length) };
    const rest = search(part.model, restKept, { processes: others, checks });
    if (rest === null) continue;
    const unkept = observe(part.model, first.results.slice(count), checks).changes;
    return {
      model: rest.model,
      keptCounts: [count, ...rest.keptCounts],
      changes: [...part.changes, ...rest.changes],
      unkept: [...unkept, ...rest.unkept],
    };
  }
  return null;
}

function isSame(model: Model, kept: Kept | null): boolean {
  const expected = describeModel(model);
  if (kept === null) return expected.size === 0;
  return kept.changes.length === 0 && kept.checks.size === expected.size &&
    [...expected].every(([name, text]) => kept.checks.get(name) === text);
}

function describeModel(model: Model): ReadonlyMap<string, string> {
  return new Map([...model].flatMap(([name, { lastToken, confirmed, runs }]) => {
    if (lastToken === null) return [];
    const counts = CONDITIONS.map((condition) => runs[condition]);
    return [[
      name,
      describe({
        output: lastToken,
        confirmed: confirmed === "pending" ? null : confirmed,
        notified: confirmed === "pending" ? "ok" : confirmed,
        runs: counts,
        rolled: counts.join(" "),
      }),
    ]];
  }));
}

interface Described {
  readonly output: string;
  readonly confirmed: string | null;
  readonly notified: string;
  readonly runs: readonly number[];
  readonly rolled: string;
}

function describe({ output, confirmed, notified, runs, rolled }: Described): string {
  return `${output} ${confirmed}, notified ${notified}, runs ${runs.join(" ")}, rolled up ${rolled}`;
}

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).size > 0;
  } catch {
    return false;
  }
}
