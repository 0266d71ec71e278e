/** Members on a real database of two servers, with a pooler, and everything between them. */
import { type Pooler, startPooler } from "./pooler.ts";
import { type DatabaseProxy, startDatabaseProxy } from "./database_proxy.ts";
import { DatabaseServer, SCHEMA } from "./database_server.ts";
import { FaultyMember } from "./members.ts";
import type { FaultTime, KeptCheck } from "./model.ts";
import type { Harness } from "../program.ts";
import { ROLE } from "../../support/postgres.ts";
import { startTruth, type Truth } from "./truth.ts";

/** The two servers, of which one is the primary and the other one its synchronous standby. */
export interface Database extends AsyncDisposable {
  readonly servers: readonly DatabaseServer[];
  /** Which of them is the primary. */
  primary: DatabaseServer;
  readonly standby: DatabaseServer;
}

/** The parts that can fail. */
export interface FaultyInstallation {
  readonly truth: Truth;
  readonly database: Database;
  readonly pooler: Pooler;
  readonly members: readonly FaultyMember[];
  /** The faults so far. */
  readonly faults: FaultTime[];
  /** The config that all members have. */
  readonly config: { version: number };
}

interface InstallationOptions {
  readonly harness: Harness;
  readonly members: number;
  readonly failOpenAfter: number;
}

const CHECKS = 12;

/** Starts everything. */
export async function withFaultyInstallation(
  { harness, members: count, failOpenAfter }: InstallationOptions,
  use: (installation: FaultyInstallation) => Promise<void>,
): Promise<void> {
  // The database runs as another user.
  await Deno.chmod(harness.directory, 0o755);
  await using truth = startTruth(Array.from({ length: CHECKS }, (_, index) => `web${index}`));
  await using database = await startDatabase(harness.directory);
  const proxies: DatabaseProxy[] = [];
  const proxyTo = (connect: () => Promise<Deno.Conn>): DatabaseProxy => {
    const proxy = startDatabaseProxy(connect);
    proxies.push(proxy);
    return proxy;
  };
  const connectTo = ({ socketPath }: DatabaseServer): Promise<Deno.Conn> =>
    Deno.connect({ transport: "unix", path: socketPath });
  try {
    const primary = proxyTo(() => connectTo(database.primary));
    await using pooler = await startPooler(harness.directory, primary.port);
    const members = ["a", "b", "c", "d", "e"].slice(0, count).map((name, index) => {
      const isPooled = index === POOLED;
      return new FaultyMember({
        harness,
        truth,
        name,
        failOpenAfter,
        hasClock: index === WITH_CLOCK,
        isPooled,
        proxies: isPooled
          ? [proxyTo(() => Deno.connect({ hostname: "127.0.0.1", port: pooler.port }))]
          : database.servers.map((server) => proxyTo(() => connectTo(server))),
      });
    });
    await use({ truth, database, pooler, members, faults: [], config: { version: 0 } });
  } finally {
    for (const proxy of proxies) await proxy[Symbol.asyncDispose]();
  }
}

/** The second member has its own clock, the third one uses the pooler. */
const WITH_CLOCK = 1;
const POOLED = 2;

async function startDatabase(directory: string): Promise<Database> {
  const servers = [
    await DatabaseServer.create(directory, "first"),
    await DatabaseServer.create(directory, "second"),
  ] as const;
  const [first, second] = servers;
  const database: Database = {
    servers,
    primary: first,
    get standby() {
      return database.primary === first ? second : first;
    },
    [Symbol.asyncDispose]: async () => {
      for (const server of servers) await server.kill();
    },
  };
  await first.initialize();
  await first.start();
  // Through a pooler, a member creates tables, but no schema.
  await first.query(`CREATE SCHEMA ${SCHEMA}`);
  await first.query(`ALTER ROLE ${ROLE} SET search_path = ${SCHEMA}`);
  await second.follow(first);
  await first.replicate();
  return database;
}

/** Reads the final data of the database. */
export async function readKept({ primary }: Database): Promise<readonly KeptCheck[]> {
  const [row] = await primary.query(
    `SELECT (SELECT coalesce(json_agg(found), '[]') FROM (
      SELECT name, condition::json->>'confirmed' AS confirmed,
        runs_ok + runs_unknown + runs_warning + runs_critical AS runs,
        (SELECT coalesce(sum(observed_ok + observed_unknown + observed_warning + observed_critical), 0) FROM rollups
          WHERE check_id = checks.id) AS summed,
        (SELECT coalesce(json_agg(json_build_object('from', from_condition, 'to', to_condition, 'output', output) ORDER BY id), '[]')
          FROM changes WHERE check_id = checks.id) AS changes
      FROM checks) AS found)::text AS kept`,
  );
  return JSON.parse(String(row?.["kept"])) as readonly KeptCheck[];
}

/** Returns how many notifications the database has that are to be sent. */
export async function countQueued({ primary }: Database): Promise<number> {
  const rows = await primary.query("SELECT count(*)::integer AS queued FROM outbox WHERE state <> 'dropped'");
  return Number(rows[0]?.["queued"]);
}
