import { createPostgresRecords } from "../src/state/postgres/postgres_checks.ts";
import { RecordWriter } from "../src/state/record_writer.ts";
import { PostgresClient } from "../src/state/postgres/postgres_client.ts";
import { openPostgresStore } from "../src/state/postgres/postgres_store.ts";
import type { Parameter } from "../src/shared/postgres/protocol.ts";
import { clientOptions, startPostgres } from "../testing/postgres_server.ts";
import { missingTools } from "../testing/tools.ts";
import { updateOf } from "./kept_state.ts";
import { benchMembers, benchTakeOver } from "./members_bench.ts";
import { measureInTurn, median, millisecondsText } from "./measure.ts";
import type { Row } from "./row.ts";
import type { Workplace } from "./workplace.ts";

const RESULTS = 1_000;
const ROUNDS = 40;
const AIM = 1.6;
const INTERVAL_MS = 60_000;

/** Measures the cost of a state in PostgreSQL. */
export async function benchShared(workplace: Workplace): Promise<readonly Row[]> {
  if (missingTools().includes("postgres")) {
    return [{ name: SAVE_NAME, value: null, unit: "×", note: "PostgreSQL is not installed" }];
  }
  return [await benchSave(workplace), await benchMembers(workplace), await benchTakeOver(workplace)];
}

const SAVE_NAME = "a save of 1,000 results, next to the bare statement";

async function benchSave({ effort }: Workplace): Promise<Row> {
  await using server = await startPostgres();
  const place = server.place();
  const store = await openPostgresStore(place, { ...clientOptions(), random: Math.random, access: "own" });
  const client = new PostgresClient(place, clientOptions());
  const makeStatement = statementMaker(client);
  const rounds = { saved: 0, bare: 0 };
  const { saved, bare } = await measureInTurn(effort.rounds(ROUNDS), {
    saved: () => {
      const results = resultsOf("saved", ++rounds.saved);
      return timeOf(() => store.save(results));
    },
    bare: async () => timeOf(await makeStatement(resultsOf("bare", ++rounds.bare))),
  });
  client.close();
  await store.close();
  const [savedMs, bareMs] = [median(saved), median(bare)];
  const note = `${millisecondsText(savedMs)}, the bare statement ${millisecondsText(bareMs)}`;
  return { name: SAVE_NAME, value: savedMs / bareMs, unit: "×", aim: AIM, note };
}

/** A result of each check, one minute after the round before. */
function resultsOf(prefix: string, round: number): ReturnType<typeof updateOf>[] {
  const atMs = Date.UTC(2026, 0, 1) + round * INTERVAL_MS;
  return Array.from(
    { length: RESULTS },
    (_, index) =>
      updateOf(`${prefix} ${index}`, { atMs, intervalMs: INTERVAL_MS, nextRunAtMs: atMs + INTERVAL_MS }),
  );
}

/** Returns a function that builds the statement of a save without sending it. */
function statementMaker(
  client: PostgresClient,
): (results: ReturnType<typeof resultsOf>) => Promise<() => Promise<unknown>> {
  let sent: readonly [sql: string, parameters: readonly Parameter[]] = ["", []];
  let rows: readonly { readonly name: string }[] = [];
  const recording: Pick<PostgresClient, "query"> = {
    query: (sql, parameters = []) => {
      sent = [sql, parameters];
      return Promise.resolve({ columns: [], rows, count: rows.length });
    },
  };
  const writer = new RecordWriter(createPostgresRecords(recording as PostgresClient), Math.random);
  return async (results) => {
    rows = results.map(({ record: { name } }) => ({ name }));
    await writer.save(results);
    const [sql, parameters] = sent;
    return () => client.query(sql, parameters);
  };
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}
