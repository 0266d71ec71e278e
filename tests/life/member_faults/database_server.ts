/** One PostgreSQL server that fails: it is killed, stopped, restarted, or replaces another one. */
import { clientOptions, ROLE } from "../../support/postgres.ts";
import {
  databaseCommand,
  databaseUser,
  giveToDatabaseUser,
  startServer,
} from "../../../testing/postgres_server.ts";
import { runChild, tool } from "../../../testing/tools.ts";
import { PostgresClient } from "../../../src/state/postgres/postgres_client.ts";
import type { PostgresPlace } from "../../../src/domain/postgres_place.ts";
import type { Row } from "../../../src/state/sql/table_declaration.ts";
import { createMovableClock, type MovableClock } from "./clock.ts";

/** The schema of the members. */
export const SCHEMA = "faults";

/** Settings of each server. Without `fsync` a killed server loses nothing: the machine goes on. */
const SETTINGS = [
  "fsync=off",
  "listen_addresses=",
  "max_connections=60",
  "shared_buffers=16MB",
  "wal_retrieve_retry_interval=200ms",
  // In its directory, where nothing is left of a server that was killed.
  "dynamic_shared_memory_type=mmap",
];

/** The differences between servers. */
interface Role {
  /** The socket of its primary; `null`: it is one. */
  readonly follows: string | null;
  /** Whether it waits for a standby with each commit. */
  readonly isReplicated: boolean;
}

/** See the top of the file. */
export class DatabaseServer {
  readonly #directory: string;
  readonly clock: MovableClock;
  #child: Deno.ChildProcess | null = null;

  private constructor(directory: string, clock: MovableClock) {
    this.#directory = directory;
    this.clock = clock;
  }

  /** Creates a directory for a server, with its own clock. */
  static async create(parent: string, name: string): Promise<DatabaseServer> {
    const directory = `${parent}/${name}`;
    await Deno.mkdir(directory);
    await giveToDatabaseUser(directory);
    return new DatabaseServer(
      directory,
      createMovableClock(`${directory}/clock`, { seconds: 0, moves: "wall" }),
    );
  }

  /** The path of its socket. */
  get socketPath(): string {
    return `${this.#directory}/.s.PGSQL.5432`;
  }

  /** Whether it was started, and not ended. */
  get isRunning(): boolean {
    return this.#child !== null;
  }

  /** Makes an empty database. */
  async initialize(): Promise<void> {
    const options = ["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"];
    await this.#run("initdb", [`--pgdata=${this.#data}`, `--username=${ROLE}`, ...options]);
    await Deno.writeTextFile(`${this.#data}/postgresql.conf`, "include 'role.conf'\n", { append: true });
  }

  /** Makes a copy of another server, and follows it. */
  async follow(primary: DatabaseServer): Promise<void> {
    await Deno.remove(this.#data, { recursive: true }).catch(() => {});
    const from = `host=${primary.#directory} user=${ROLE}`;
    await this.#run("pg_basebackup", [
      `--pgdata=${this.#data}`,
      `--dbname=${from}`,
      "--checkpoint=fast",
      "--no-sync",
    ]);
    await this.#write("standby.signal", "");
    await this.#become({ follows: primary.#directory, isReplicated: false });
    await this.start();
  }

  /** Starts it and waits until it accepts connections. */
  async start(): Promise<void> {
    // A killed server leaves its lock.
    await Deno.remove(`${this.socketPath}.lock`).catch(() => {});
    const args = ["-D", this.#data, "-k", this.#directory, ...SETTINGS.flatMap((one) => ["-c", one])];
    const variables = Object.entries(this.clock.environment).map(([name, value]) => `${name}=${value}`);
    // Not before it is that user's process: the library makes files that are its own.
    const command = databaseCommand(await databaseUser(), "env", [...variables, tool("postgres"), ...args]);
    this.#child = await startServer(command, this.#data);
    if (this.#child === null) throw new Error(`postgres does not start in ${this.#directory}`);
  }

  /** Ends all its processes at once, as a machine does that loses power, but for its disk. */
  async kill(): Promise<void> {
    const processes = this.#processes();
    this.#signal("SIGKILL", processes);
    await this.#child?.status;
    if (this.#child !== null) forgetClock(this.#child.pid);
    this.#child = null;
    while (processes.some(isProcess)) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** Ends it as its administrator does. */
  async stop(): Promise<void> {
    this.#child?.kill("SIGINT");
    await this.#child?.status;
    this.#child = null;
  }

  /** Stops all its processes; `resume` continues them. */
  pause(): void {
    this.#signal("SIGSTOP", this.#processes());
  }

  resume(): void {
    this.#signal("SIGCONT", this.#processes());
  }

  /** Promotes it to the primary. */
  async promote(): Promise<void> {
    await this.#become({ follows: null, isReplicated: false });
    await this.#write("promote", "");
    this.#child?.kill("SIGUSR1");
    await this.#until("SELECT 1 WHERE NOT pg_is_in_recovery()");
  }

  /** Makes each commit wait for its standby from now on, once that has caught up. */
  async replicate(): Promise<void> {
    await this.#until("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'");
    await this.#become({ follows: null, isReplicated: true });
    this.#child?.kill("SIGHUP");
    await this.#until("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
  }

  /** Runs a statement. */
  async query(sql: string): Promise<readonly Row[]> {
    const client = new PostgresClient(this.#place, clientOptions());
    try {
      return (await client.query(sql)).rows;
    } finally {
      client.close();
    }
  }

  get #data(): string {
    return `${this.#directory}/data`;
  }

  get #place(): PostgresPlace {
    const target = { socketPath: this.socketPath };
    const who = { database: "postgres", user: ROLE, password: null, schema: SCHEMA };
    return { ...who, targets: [target], prepare: true, url: "postgres://test" };
  }

  async #become({ follows, isReplicated }: Role): Promise<void> {
    await this.#write(
      "role.conf",
      [
        `synchronous_standby_names = '${isReplicated ? "*" : ""}'`,
        ...follows === null ? [] : [`primary_conninfo = 'host=${follows} user=${ROLE}'`],
      ].join("\n") + "\n",
    );
  }

  async #write(name: string, text: string): Promise<void> {
    await Deno.writeTextFile(`${this.#data}/${name}`, text, { mode: 0o600 });
    await giveToDatabaseUser(`${this.#data}/${name}`);
  }

  async #run(name: "initdb" | "pg_basebackup", args: readonly string[]): Promise<void> {
    const { success, stderr } = await runChild(...databaseCommand(await databaseUser(), name, args), {
      cwd: "/",
    });
    if (!success) throw new Error(`${name} failed: ${stderr}`);
    if (name === "initdb") await this.#become({ follows: null, isReplicated: false });
  }

  async #until(sql: string): Promise<void> {
    for (const end = performance.now() + READY_MS; performance.now() < end;) {
      const rows = await this.query(sql).catch(() => []);
      if (rows.length > 0) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`not in time: ${sql}`);
  }

  #processes(): readonly number[] {
    if (this.#child === null) return [];
    const { pid } = this.#child;
    const children = Deno.readTextFileSync(`/proc/${pid}/task/${pid}/children`).trim();
    return [pid, ...children === "" ? [] : children.split(" ").map(Number)];
  }

  #signal(name: Deno.Signal, processes: readonly number[]): void {
    for (const pid of processes) {
      try {
        Deno.kill(pid, name);
      } catch {
        // It has ended.
      }
    }
  }
}

const READY_MS = 30_000;

/** Removes the leftovers of libfaketime for a process that was killed. */
function forgetClock(pid: number): void {
  for (const name of [`sem.faketime_sem_${pid}`, `faketime_shm_${pid}`]) {
    try {
      Deno.removeSync(`/dev/shm/${name}`);
    } catch {
      // It was removed.
    }
  }
}

function isProcess(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(Deno.readTextFileSync(`/proc/${pid}/status`));
  } catch {
    return false;
  }
}
