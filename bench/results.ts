/**
 * What earlier runs found, so that a run can be held against them. A file holds the last result of each benchmark by
 * its name, with the machine it was measured on.
 */
import type { Machine } from "./machine.ts";
import type { Row } from "./row.ts";

/** What one run of a benchmark found. */
export interface BenchmarkResult {
  /** When it ended, ISO 8601 in UTC. */
  readonly measuredAt: string;
  /** On what. */
  readonly machine: Machine;
  /** How busy that was in the minute before it began: processes that ran or wanted to. */
  readonly loadAverage: number;
  /** What was found. */
  readonly rows: readonly Row[];
}

/** Results by the names of their benchmarks. */
export type Results = Readonly<Record<string, BenchmarkResult>>;

/**
 * Reads a file of results; without one there are none.
 *
 * @throws {Error} If it is there and cannot be used.
 */
export async function readResults(path: string): Promise<Results> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return {};
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`Cannot read results "${path}": it is not JSON; remove it to go on without`);
  }
}

/** Adds results to those of a file; of other benchmarks what was there stays. */
export async function addResults(path: string, results: Results): Promise<void> {
  const all = { ...await readResults(path), ...results };
  const temporary = `${path}.tmp`;
  await Deno.writeTextFile(temporary, `${JSON.stringify(all, shorten, 2)}\n`);
  await Deno.rename(temporary, path);
}

/** More digits than anybody measures only make two files differ. */
const DIGITS = 4;

function shorten(_name: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(DIGITS)) : value;
}

/** A row beside what was found earlier. */
export interface ComparedRow extends Row {
  /** The earlier value; `null` where there is none, or none that says anything about this one. */
  readonly earlier: number | null;
}

/**
 * Sets rows beside those of an earlier result that have the same name and unit. On another machine a time or a size
 * says nothing; a ratio does.
 */
export function compareRows(
  rows: readonly Row[],
  earlier: BenchmarkResult | null,
  machine: Machine,
): readonly ComparedRow[] {
  const isSame = earlier !== null && isSameMachine(earlier.machine, machine);
  return rows.map((row) => {
    const before = earlier?.rows.find(({ name, unit }) => name === row.name && unit === row.unit);
    const says = before !== undefined && (isSame || row.unit === "×");
    return { ...row, earlier: says ? before.value : null };
  });
}

/** Whether two results were measured on the same hardware and form of program; versions may differ. */
export function isSameMachine(one: Machine, other: Machine): boolean {
  return one.processor === other.processor && one.cores === other.cores &&
    one.memoryGigabytes === other.memoryGigabytes && one.target === other.target &&
    one.programs === other.programs;
}
