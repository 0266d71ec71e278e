/**
 * Members on a real database under random faults, compared with the truth: each state of a target (a period) has a
 * status of its own. `MEMBER_FAULTS_SECONDS` sets the duration; without it, as in the default suite, this is no test.
 * `MEMBER_FAULTS_SEED` repeats a run, as far as the machine does; `MEMBER_FAULTS` names the faults, separated by commas.
 */
import assert from "node:assert/strict";
import { PostgresClient } from "../../src/state/postgres/postgres_client.ts";
import { databaseCommand, databaseUser, giveToDatabaseUser } from "../../testing/postgres_server.ts";
import { createRandom, type Random } from "../../testing/random.ts";
import { testSeed } from "../../testing/seed.ts";
import { startChild, testWith } from "../../testing/tools.ts";
import { compareWithTruth } from "../simulation/members_truth.ts";
import { closeQuietly, startServer, type Visitor } from "../support/http_servers.ts";
import { clientOptions, type PostgresServer, ROLE, startPostgres } from "../support/postgres.ts";
import { until } from "./in_time.ts";
import { type Installation, withInstallation } from "./installation.ts";
import type { Program } from "./program.ts";

const SECONDS = Number(Deno.env.get("MEMBER_FAULTS_SECONDS") ?? 0);
const SEED = Number(Deno.env.get("MEMBER_FAULTS_SEED") ?? testSeed());
const ONLY = (Deno.env.get("MEMBER_FAULTS") ?? "").split(",").filter((name) => name !== "");
const ROUND_FAULTS = 10;
const ROUND_SECONDS_MIN = 20;
/** Members fail open soon in every other round. */
const FAIL_OPEN_SECONDS = [60, 4];

if (SECONDS > 0) {
  testWith("initdb", "pgbouncer", "postgres")(
    "members notify each problem once and in order, whatever fails",
    async () => {
      const random = createRandom(SEED, "member faults");
      const endMs = performance.now() + 1_000 * SECONDS;
      for (let round = 0; round === 0 || performance.now() + 1_000 * ROUND_SECONDS_MIN < endMs; round++) {
        const failOpenAfter = FAIL_OPEN_SECONDS[round % FAIL_OPEN_SECONDS.length] ?? 60;
        await using server = await startPostgres({ settings: ["max_connections = 60"] });
        await withInstallation(
          async (installation) => {
            try {
              await new Round(installation, random, server).run(endMs);
            } catch (error) {
              throw new Error(`seed ${SEED}, round ${round}: ${error}\n${installation.describe()}`);
            }
          },
          server,
          { failOpenAfter },
        );
      }
    },
  );
}

/** What happens to a member, or to all through the database. */
type Fault = (round: Round, member: Member) => Promise<void>;

const FAULTS: Readonly<Record<string, Fault>> = {
  "member killed": async (round, member) => {
    member.program.signal("SIGKILL");
    await round.pause(8_000);
    round.start(member);
  },
  "member leaves": async (round, member) => {
    member.program.signal("SIGTERM");
    const { code, stderr } = await member.program.end();
    assert.equal(code, 0, stderr);
    round.start(member);
  },
  "member stopped": async (round, member) => {
    member.program.signal("SIGSTOP");
    await round.pause(11_000, 10_000);
    member.program.signal("SIGCONT");
  },
  "network cut": (round, member) => round.break([member], "cut"),
  "network black hole": (round, member) => round.break([member], "black hole"),
  "network slow": (round, member) => round.break([member], "slow"),
  "replies lost": (round) => round.break(round.members, "loses replies"),
  "database stalls": (round) => round.break(round.members, "black hole"),
  "database killed": async (round) => {
    await round.server.kill();
    await round.pause(6_000);
    await round.server.start();
  },
};

interface Member {
  readonly name: string;
  readonly network: Network;
  readonly args: readonly string[];
  program: Program;
}

/** An even period is ok. */
const FIRST_STATUS = { ok: 207, critical: 507 } as const;
/** Guaranteed after the death of a member, in addition to the interval of a second. */
const TAKEN_OVER_MS = 7_000;
/** After an outage a member connects again within the longest backoff, and counts heartbeats again. */
const RECONNECTED_MS = 8_000 + 3_500;

class Round {
  readonly members: Member[] = [];
  readonly #faults: { readonly fromMs: number; readonly toMs: number; readonly isOutage: boolean }[] = [];
  readonly #periods = new Map<string, number>();
  readonly #runsMs = new Map<string, number[]>();

  constructor(readonly installation: Installation, readonly random: Random, readonly server: PostgresServer) {
    const { names, targets } = installation;
    for (const name of names) {
      this.#runsMs.set(name, []);
      this.#turn(name, 0);
    }
    targets.onRun = (name) => void this.#runsMs.get(name)?.push(performance.now());
  }

  async run(endMs: number): Promise<void> {
    const { names, place } = this.installation;
    await using pooler = await startPooler(this.server, place.schema);
    const count = 2 + Math.floor(this.random.below(4));
    for (const [index, name] of ["a", "b", "c", "d", "e"].slice(0, count).entries()) {
      // The third member uses the pooler.
      const path = index === 2 ? pooler.path : `${this.server.directory}/.s.PGSQL.${this.server.port}`;
      const network = new Network(path, this.random);
      const pool = `postgres://${ROLE}@127.0.0.1:${network.port}/postgres?prepare=false&schema=${
        encodeURIComponent(place.schema)
      }`;
      const member = { name, network, args: index === 2 ? ["--state", pool] : [] } as unknown as Member;
      this.members.push(member);
      this.start(member);
    }
    const hasRun = (): boolean => [...this.#runsMs.values()].every(({ length }) => length > 0);
    await until("the first runs", hasRun);
    const fromMs = performance.now();
    const pauses = notePauses();
    let timer = setTimeout(
      function turn(round: Round) {
        round.#turn(round.random.pick(names as [string]));
        timer = setTimeout(turn, round.random.below(2_000), round);
      },
      0,
      this,
    );
    try {
      await this.#failInTurns(endMs);
    } finally {
      clearTimeout(timer);
    }
    for (const parity of [1, 0]) await this.#turnAll(parity);
    const toMs = performance.now();
    clearInterval(pauses.timer);
    await until("the end of the queue", this.installation.isQueueEmpty);
    for (const { program } of this.members) program.signal("SIGTERM");
    for (const { program, network } of this.members) {
      const { code, stderr } = await program.end();
      assert.equal(code, 0, stderr);
      await network.close();
    }
    assert.deepEqual([...await this.#differences(), ...this.#gaps(fromMs, toMs, pauses.sumMs)], []);
  }

  start(member: Member): void {
    const environment = { DATABASE_HOST: `127.0.0.1:${member.network.port}` };
    member.program = this.installation.start(member.name, member.args, environment);
  }

  async break(members: readonly Member[], kind: NetworkKind): Promise<void> {
    for (const { network } of members) network.become(kind);
    await this.pause(8_000);
    for (const { network } of members) network.become("fine");
  }

  /** Waits for some time. */
  pause(toMs: number, fromMs = 0): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, fromMs + this.random.below(toMs - fromMs)));
  }

  async #failInTurns(endMs: number): Promise<void> {
    const kinds = Object.entries(FAULTS).filter(([name]) => ONLY.length === 0 || ONLY.includes(name));
    for (let count = 0; count < ROUND_FAULTS && performance.now() < endMs; count++) {
      const [name, fault] = this.random.pick(kinds as [typeof kinds[number]]);
      const member = this.random.pick(this.members as [Member]);
      console.log(`  ${new Date().toISOString()} ${name} (${member.name})`);
      const fromMs = performance.now();
      await fault(this, member);
      this.#faults.push({ fromMs, toMs: performance.now(), isOutage: /database|replies/.test(name) });
      await this.pause(4_000);
    }
  }

  #turn(name: string, period = this.#periodOf(name) + 1): void {
    this.#periods.set(name, period);
    const first = period % 2 === 0 ? FIRST_STATUS.ok : FIRST_STATUS.critical;
    this.installation.targets.statuses.set(name, first + Math.floor(period / 2));
  }

  #periodOf(name: string): number {
    return this.#periods.get(name) ?? 0;
  }

  /** Makes all targets succeed or fail, and waits until the last notification of each check matches. */
  async #turnAll(parity: number): Promise<void> {
    const { names, hook, describe } = this.installation;
    for (const name of names) if (this.#periodOf(name) % 2 !== parity) this.#turn(name);
    const isNotified = (name: string): boolean =>
      hook.posts.flatMap(({ notifications }) => notifications)
        .findLast(({ check }) => check === name)?.event === (parity === 0 ? "recovery" : "problem");
    await until("each last notification", () => names.every(isNotified), { describe });
  }

  async #differences(): Promise<readonly string[]> {
    const { names, hook, store, describe } = this.installation;
    const differences: string[] = [];
    for (const name of names) {
      const changes = await store.changes(name, { sinceMs: 0, limit: 10_000 });
      differences.push(...compareWithTruth({
        name,
        decided: changes.toReversed().map(periodIn),
        posts: hook.posts.flatMap(({ notifications }) => notifications),
        present: this.#periodOf(name),
        hasFailedOpen: describe().includes("sending notifications of own checks without it"),
        periodIn,
      }));
    }
    return differences;
  }

  /** Returns the times without a run of a check that are longer than guaranteed, given the faults meanwhile. */
  #gaps(fromMs: number, toMs: number, pausedMs: number): readonly string[] {
    return [...this.#runsMs].flatMap(([name, runsMs]) => {
      const times = [fromMs, ...runsMs.filter((ms) => ms > fromMs && ms < toMs), toMs];
      return times.slice(1).flatMap((endMs, index) => {
        const beginMs = times[index] ?? 0;
        const meanwhile = this.#faults.filter((one) =>
          one.fromMs < endMs && one.toMs > beginMs - (one.isOutage ? RECONNECTED_MS : TAKEN_OVER_MS)
        );
        const outageMs = meanwhile.filter(({ isOutage }) => isOutage)
          .reduce((sum, one) => sum + one.toMs - one.fromMs + RECONNECTED_MS, 0);
        const members = meanwhile.filter(({ isOutage }) => !isOutage).length;
        const allowedMs = 1_000 + TAKEN_OVER_MS * Math.max(1, members) + outageMs + pausedMs;
        const gapMs = Math.round(endMs - beginMs);
        return gapMs > allowedMs ? [`${name} did not run for ${gapMs} ms, ${allowedMs} at most`] : [];
      });
    });
  }
}

function periodIn({ output }: { readonly output: string }): number {
  const status = Number(/\b[25]\d\d\b/.exec(output)?.[0]);
  return status < 500 ? 2 * (status - FIRST_STATUS.ok) : 2 * (status - FIRST_STATUS.critical) + 1;
}

/** Sums the times in which this process did not run: then the machine was busy, and the members were late, too. */
function notePauses(): { sumMs: number; readonly timer: number } {
  let lastMs = performance.now();
  const pauses = {
    sumMs: 0,
    timer: setInterval(() => {
      const pausedMs = performance.now() - lastMs;
      if (pausedMs > 300) pauses.sumMs += 2 * pausedMs;
      lastMs += pausedMs;
    }, 100),
  };
  return pauses;
}

type NetworkKind = "fine" | "cut" | "black hole" | "slow" | "loses replies";

/** The network between a member and the database; what a black hole took arrives afterwards, as TCP repeats it. */
class Network {
  readonly #gate = startServer((visitor) => this.#meet(visitor));
  readonly #open = new Set<Deno.Conn>();
  #kind: NetworkKind = "fine";
  #changed = Promise.withResolvers<void>();

  constructor(readonly path: string, readonly random: Random) {}

  get port(): number {
    return this.#gate.port;
  }

  become(kind: NetworkKind): void {
    this.#kind = kind;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
    if (kind === "cut") this.#open.forEach(closeQuietly);
  }

  async close(): Promise<void> {
    this.become("cut");
    await this.#gate[Symbol.asyncDispose]();
  }

  async #meet({ connection: client }: Visitor): Promise<void> {
    this.#open.add(client);
    try {
      if (this.#kind === "cut") return;
      const server = await Deno.connect({ transport: "unix", path: this.path });
      this.#open.add(server);
      await Promise.allSettled([this.#carry(client, server, false), this.#carry(server, client, true)]);
      this.#open.delete(server);
      closeQuietly(server);
    } finally {
      this.#open.delete(client);
    }
  }

  async #carry(from: Deno.Conn, to: Deno.Conn, isReply: boolean): Promise<void> {
    try {
      for await (const chunk of from.readable) {
        while (this.#kind === "black hole") await this.#changed.promise;
        if (this.#kind === "slow") await new Promise((done) => setTimeout(done, this.random.below(750)));
        if (isReply && this.#kind === "loses replies" && this.random.oneIn(4)) break;
        for (let rest = chunk; rest.length > 0;) rest = rest.subarray(await to.write(rest));
      }
    } finally {
      closeQuietly(to);
    }
  }
}

/** Starts PgBouncer as a transaction pooler on a socket. A role uses its own schema there. */
async function startPooler(
  { directory }: PostgresServer,
  schema: string,
): Promise<AsyncDisposable & { readonly path: string }> {
  const client = new PostgresClient(
    { ...POOLED, targets: [{ socketPath: `${directory}/.s.PGSQL.5432` }], schema },
    clientOptions(),
  );
  await client.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
  await client.query(`ALTER ROLE ${ROLE} SET search_path = "${schema}"`);
  client.close();
  const pool = `${directory}/pool`;
  await Deno.mkdir(pool);
  await giveToDatabaseUser(pool);
  await Deno.writeTextFile(
    `${pool}/pgbouncer.ini`,
    `[databases]\n* = host=${directory} user=${ROLE}\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = ${pool}\n` +
      "auth_type = any\npool_mode = transaction\nserver_login_retry = 1\n",
  );
  const command = databaseCommand(await databaseUser(), "pgbouncer", ["--quiet", `${pool}/pgbouncer.ini`]);
  const child = startChild(...command, { cwd: "/", stdout: "null", stderr: "null", limitMs: 4 * 3_600_000 });
  const path = `${pool}/.s.PGSQL.6432`;
  await until("PgBouncer to listen", () => Deno.lstat(path).then(() => true, () => false));
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await child.status;
    },
  };
}

const POOLED = { database: "postgres", user: ROLE, password: null, prepare: true, url: "postgres://test" };
