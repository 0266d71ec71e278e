/** Measures the load of several members and their PostgreSQL on one machine, and the duration of a failover. */
import type { Clock } from "../src/domain/clock.ts";
import { DEAD_AFTER_MS, type SharedStore } from "../src/domain/membership.ts";
import { Member } from "../src/members/member.ts";
import type { MemberParts } from "../src/members/member_parts.ts";
import { openHeartbeats } from "../src/state/postgres/postgres_members.ts";
import { PostgresClient } from "../src/state/postgres/postgres_client.ts";
import { openPostgresStore } from "../src/state/postgres/postgres_store.ts";
import { openStateRepository } from "../src/state/state_repository.ts";
import { clientOptions, type PostgresServer, startPostgres } from "../testing/postgres_server.ts";
import { endChild, startChild } from "./children.ts";
import { updateOf } from "./kept_state.ts";
import { readUsage } from "./process_usage.ts";
import type { Row } from "./row.ts";
import type { Workplace } from "./workplace.ts";

const MEMBERS = 5;
const PER_SECOND = 5_000;
const WARM_UP_SECONDS = 15;
const SECONDS = 30;
const RATE_AIM = 1.05;
/** A timeout for statements while the server is busy. */
const PATIENT_MS = 120_000;

/** Runs five members whose checks have 5,000 results a second together. */
export async function benchMembers({ directory, programs, effort }: Workplace): Promise<Row> {
  await using server = await startPostgres();
  const count = effort.isShort ? PER_SECOND / 10 : PER_SECOND;
  const schema = "members_bench";
  const config = `${directory}/members.json`;
  const checks = Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`check ${index}`, GOOD]),
  );
  const { database, user } = server.place();
  const state = { postgres: { hosts: [server.directory], database, user, schema } };
  const defaults = { schedule: { regular_interval: 1 } };
  await Deno.writeTextFile(config, JSON.stringify({ defaults, state, checks }));
  const client = new PostgresClient(server.place({ schema }), { ...clientOptions(), timeoutMs: PATIENT_MS });
  const members = Array.from({ length: MEMBERS }, (_, index) =>
    startChild(
      [...programs.best.commands.monitor, "check", "--config", config, "--member", `member ${index}`],
      { stdout: "null", stderr: "null" },
    ));
  try {
    await seconds(WARM_UP_SECONDS);
    const before = await takeReading(client, { server, members });
    await seconds(effort.seconds(SECONDS));
    const after = await takeReading(client, { server, members });
    const lasted = after.atMs - before.atMs;
    const share = (one: number, other: number): string => `${Math.round(100 * (other - one) / lasted)} %`;
    const rate = 1000 * (after.runs - before.runs) / lasted;
    const note = `${Math.round(rate)} saved; of a core, PostgreSQL takes ${
      share(before.serverMs, after.serverMs)
    }, the members ${share(before.membersMs, after.membersMs)}; ${
      Math.round((after.walBytes - before.walBytes) / (after.runs - before.runs))
    } B of WAL a result`;
    const name = `${MEMBERS} members, ${count} results/s planned, next to those saved`;
    return { name, value: count / rate, unit: "×", aim: RATE_AIM, note };
  } finally {
    client.close();
    for (const member of members) await endChild(member, 10_000);
  }
}

const GOOD = { kind: "test", parameters: { condition: "ok" } };

interface Reading {
  readonly atMs: number;
  readonly runs: number;
  readonly walBytes: number;
  readonly serverMs: number;
  readonly membersMs: number;
}

async function takeReading(
  client: PostgresClient,
  { server, members }: { readonly server: PostgresServer; readonly members: readonly Deno.ChildProcess[] },
): Promise<Reading> {
  const [row] = (await client.query(
    "SELECT sum(runs_ok) AS runs, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS wal FROM checks",
  )).rows;
  return {
    atMs: performance.now(),
    runs: Number(row?.["runs"]),
    walBytes: Number(row?.["wal"]),
    serverMs: sumOfCpu(serverProcesses(server)),
    membersMs: sumOfCpu(members.map(({ pid }) => pid)),
  };
}

function sumOfCpu(processes: readonly number[]): number {
  return processes.reduce((sum, id) => sum + readUsage(id).cpuMs, 0);
}

/** The server and its processes, which stay as long as their connections. */
function serverProcesses({ directory }: PostgresServer): readonly number[] {
  const [id = ""] = Deno.readTextFileSync(`${directory}/data/postmaster.pid`).split("\n");
  const children = Deno.readTextFileSync(`/proc/${id}/task/${id}/children`).trim().split(" ");
  return [id, ...children].map(Number);
}

const CHECKS = 100_000;
const BATCH = 1_000;
const TAKE_OVER_AIM = 1.6;

/** Kills one of two members that has 100,000 checks, and waits until the other one runs them. */
export async function benchTakeOver({ effort }: Workplace): Promise<Row> {
  await using server = await startPostgres();
  const place = server.place();
  const options = { ...clientOptions(), random: Math.random };
  const open = (): Promise<SharedStore> => openPostgresStore(place, { ...options, access: "own" });
  const names = Array.from(
    { length: effort.isShort ? BATCH : 2 * CHECKS },
    (_, index) => `check ${index}`,
  );
  const stores = [await open(), await open()] as const;
  for (let from = 0; from < names.length; from += BATCH) {
    const some = names.slice(from, from + BATCH);
    const times = { atMs: Date.now(), intervalMs: 60_000, nextRunAtMs: Date.now() + 60_000 };
    await stores[0].save(some.map((name) => updateOf(name, times)));
  }
  let isDead = false;
  const stopping: Clock = {
    ...options.clock,
    after: (delayMs, callback) => options.clock.after(delayMs, () => isDead ? undefined : callback()),
  };
  const start = (store: SharedStore, host: string, clock: Clock) =>
    startMember(store, { host, clock, names, openHeartbeats: () => openHeartbeats(place, options) });
  const dying = await start(stores[0], "dying", stopping);
  const staying = await start(stores[1], "staying", options.clock);
  const isPart = (share: number): boolean => share > 0 && share < names.length;
  await Promise.all([dying.spreadTo(isPart), staying.spreadTo(isPart)]);
  const taken = names.filter((name) => dying.member.runs(name));
  const startMs = performance.now();
  isDead = true;
  await staying.spreadTo((share) => share === names.length);
  const takeOverMs = performance.now() - startMs;
  await staying.member.leave();
  const loadStartMs = performance.now();
  await stores[1].load(taken);
  const loadMs = performance.now() - loadStartMs;
  await dying.close();
  for (const store of stores) await store.close();
  return {
    name: `failover of ${taken.length} checks, next to ${DEAD_AFTER_MS / 1000} s and the bare load`,
    value: takeOverMs / (DEAD_AFTER_MS + loadMs),
    unit: "×",
    aim: TAKE_OVER_AIM,
    note: `${(takeOverMs / 1000).toFixed(1)} s, the bare load ${Math.round(loadMs)} ms`,
  };
}

interface StartedMember {
  readonly member: Member;
  /** Resolves once its share of the checks has some size. */
  spreadTo(isReached: (share: number) => boolean): Promise<void>;
  close(): Promise<void>;
}

/** A member without channels. */
const NO_QUEUES: MemberParts["sender"] = {
  know: async (checks, read) => void await read(checks),
  forget: () => {},
  take: () => {},
  receive: () => {},
  release: () => Promise.resolve(),
  silence: () => {},
  failOpen: () => {},
  failClosed: () => Promise.resolve(true),
  attemptTimeoutMs: () => 0,
};

async function startMember(
  store: SharedStore,
  { host, clock, names, openHeartbeats }: {
    readonly host: string;
    readonly clock: Clock;
    readonly names: readonly string[];
    openHeartbeats(): ReturnType<typeof import("../src/state/postgres/postgres_members.ts").openHeartbeats>;
  },
): Promise<StartedMember> {
  const heartbeats = openHeartbeats();
  const repository = await openStateRepository({
    store,
    onFailure: () => {},
    reopen: (error) => Promise.reject(error),
  });
  let look = (): void => {};
  const member = new Member({
    host,
    id: crypto.randomUUID(),
    location: null,
    work: {
      configHash: "config",
      checks: names.map((name) => ({ name, dependsOn: [], parameters: { condition: "ok", output: "" } })),
      channelKeys: [],
      showsAll: false,
    },
    failOpenAfterMs: Infinity,
    heartbeats,
    store,
    clock,
    onEvent: () => {},
    onSuperseded: () => {},
    onBug: (error) => {
      throw error;
    },
  });
  await member.join({
    repository,
    sender: NO_QUEUES,
    scheduler: { spread: () => look(), runGroupsOf: () => {} },
    located: null,
    reports: null,
  });
  const share = (): number => names.filter((name) => member.runs(name)).length;
  return {
    member,
    spreadTo: (isReached) =>
      new Promise((resolve) => {
        look = () => isReached(share()) && resolve();
        look();
      }),
    close: () => heartbeats.close(),
  };
}

function seconds(count: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1000 * count));
}
