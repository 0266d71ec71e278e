/** The last result of each check at each of its locations, in PostgreSQL. */
import type { LocationResult, StoredLocationResult } from "../../domain/membership.ts";
import { columnText } from "../codec.ts";
import { LOCATION_RESULTS } from "./member_tables.ts";
import type { PostgresClient } from "./postgres_client.ts";
import { newRows, toArrays } from "./postgres_tables.ts";
import { arrayText } from "./protocol.ts";

/** `runs` marks a result as new. The age comes from the member that recorded it, whatever its clock shows. */
const SAVE = `INSERT INTO location_results (${LOCATION_RESULTS.columns}, ended_at)
  SELECT ${LOCATION_RESULTS.columns}, clock_timestamp() - make_interval(secs => age_ms / 1000)
  FROM ${newRows(LOCATION_RESULTS, { before: [["age_ms", "float8"]] })} ORDER BY place
  ON CONFLICT (check_name, location) DO UPDATE SET runs = location_results.runs + 1, result = excluded.result, trace = excluded.trace, ended_at = excluded.ended_at`;

/** Saves results, at most one of each check and location. */
export async function saveLocationResults(
  client: PostgresClient,
  results: readonly (LocationResult & { readonly ageMs: number })[],
): Promise<void> {
  // In the same order in all members, to avoid deadlocks.
  const rows = results.toSorted((one, other) => one.check < other.check ? -1 : 1)
    .map((result) => [result.ageMs, ...LOCATION_RESULTS.encode({ ...result, runs: 1 })]);
  await client.query(SAVE, toArrays(rows, 1 + LOCATION_RESULTS.declared.length));
}

const SELECT =
  `SELECT ${LOCATION_RESULTS.columns}, extract(epoch FROM clock_timestamp() - ended_at)::float8 * 1000 AS age_ms
  FROM location_results WHERE check_name = ANY($1::text[])`;

/** Returns the results of some checks, in no order. */
export async function readLocationResults(
  client: PostgresClient,
  checks: readonly string[],
): Promise<readonly StoredLocationResult[]> {
  const { rows } = await client.query(SELECT, [arrayText([...new Set(checks)].map(columnText.encode))]);
  return rows.map((row) => ({ ...LOCATION_RESULTS.decode(row), ageMs: Math.max(0, Number(row["age_ms"])) }));
}
