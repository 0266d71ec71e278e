/** PgBouncer as a transaction pooler before whichever server is the primary. */
import { databaseCommand, databaseUser, giveToDatabaseUser } from "../../../testing/postgres_server.ts";
import { startChild } from "../../../testing/tools.ts";
import { ROLE } from "../../support/postgres.ts";

/** A running pooler. */
export interface Pooler extends AsyncDisposable {
  readonly port: number;
  /** Ends it as a crash does, and starts it again. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** Starts a pooler that connects to a port of this machine. */
export async function startPooler(parent: string, databasePort: number): Promise<Pooler> {
  const directory = `${parent}/pooler`;
  await Deno.mkdir(directory);
  await giveToDatabaseUser(directory);
  let port = 0;
  let child: Deno.ChildProcess | null = null;
  const tryToStart = async (): Promise<boolean> => {
    const path = `${directory}/pgbouncer.ini`;
    await Deno.writeTextFile(path, configOf(port, databasePort));
    const command = databaseCommand(await databaseUser(), "pgbouncer", ["--quiet", path]);
    const started = startChild(...command, {
      cwd: "/",
      stdin: "null",
      stdout: "null",
      stderr: "null",
      limitMs: LIMIT_MS,
    });
    if (!await listens(port, started)) return false;
    child = started;
    return true;
  };
  const start = async (): Promise<void> => {
    for (let tries = 0; tries < TRIES; tries++) if (await tryToStart()) return;
    throw new Error(`pgbouncer does not start in ${directory}`);
  };
  for (let tries = 0; child === null && tries < TRIES; tries++) {
    port = freePort();
    await tryToStart();
  }
  if (child === null) throw new Error(`pgbouncer does not start in ${directory}`);
  const kill = async (): Promise<void> => {
    child?.kill("SIGKILL");
    await child?.status;
    child = null;
  };
  return { port, kill, start, [Symbol.asyncDispose]: kill };
}

const LIMIT_MS = 4 * 3_600_000;
const START_MS = 10_000;
/** Another process may take the port before. */
const TRIES = 5;

function configOf(port: number, databasePort: number): string {
  return `[databases]
* = host=127.0.0.1 port=${databasePort} user=${ROLE}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
server_login_retry = 1
server_connect_timeout = 3
`;
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Waits until something listens there; `false` if the process ended. */
async function listens(port: number, child: Deno.ChildProcess): Promise<boolean> {
  let hasEnded = false;
  child.status.then(() => hasEnded = true);
  for (const end = performance.now() + START_MS; performance.now() < end && !hasEnded;) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return !hasEnded;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  if (!hasEnded) child.kill("SIGKILL");
  await child.status;
  return false;
}
