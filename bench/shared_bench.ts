import { createRecordWriter } from "../src/state/postgres/postgres_checks.ts";
import { PostgresClient } from "../src/state/postgres/postgres_client.ts";
import { openPostgresStore } from "../src/state/postgres/postgres_store.ts";
import { arrayText, type Parameter } from "../src/state/postgres/protocol.ts";
import { clientOptions, startPostgres } from "../testing/postgres_server.ts";
import { missingTools } from "../testing/tools.ts";
import { updateOf } from "./kept_state.ts";
import { measureInTurn, median, millisecondsText } from "./measure.ts";
import type { Row } from "./row.ts";
import type { Workplace } from "./workplace.ts";

const RESULTS = 1_000;
const ROUNDS = 40;
const AIM = 1.6;
const INTERVAL_MS = 60_000;

/** What a state in PostgreSQL costs next to the bare statements over the same client. */
export async function benchShared({ effort }: Workplace): Promise<readonly Row[]> {
  const name = "a save of 1,000 results";
  if (missingTools().includes("postgres")) {
    return [{ name, value: null, unit: "×", note: "PostgreSQL is not installed" }];
  }
  await using server = await startPostgres();
  const place = server.place();
  const store = await openPostgresStore(place, { ...clientOptions(), random: Math.random, access: "own" });
  const client = new PostgresClient(place, clientOptions());
  const statement = await recordSave(client);
  let round = 0;
  const { saved, bare } = await measureInTurn(effort.rounds(ROUNDS), {
    saved: () => {
      const results = resultsOf("saved", ++round);
      return timeOf(() => store.save(results));
    },
    bare: () => timeOf(() => statement()),
  });
  client.close();
  await store.close();
  const [savedMs, bareMs] = [median(saved), median(bare)];
  const note = `${millisecondsText(savedMs)}, the bare statement ${millisecondsText(bareMs)}`;
  return [{ name, value: savedMs / bareMs, unit: "×", aim: AIM, note }];
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

/** Records the statement of a save, and returns what sends it again as if it were the next one. */
async function recordSave(client: PostgresClient): Promise<() => Promise<unknown>> {
  const sent: (readonly [sql: string, parameters: readonly Parameter[]])[] = [];
  const recording: Pick<PostgresClient, "query"> = {
    query: (sql, parameters = []) => {
      sent.push([sql, parameters]);
      return client.query(sql, parameters);
    },
  };
  await createRecordWriter(recording as PostgresClient, Math.random).save(resultsOf("bare", 0));
  const [sql = "", [versions, , ...others] = []] = sent[0] ?? [];
  let before = versions ?? "";
  let next = 2 ** 40;
  return () => {
    const after = arrayText(Array.from({ length: RESULTS }, () => ++next));
    const parameters = [after, before, ...others];
    before = after;
    return client.query(sql, parameters);
  };
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}
