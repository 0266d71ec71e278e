/** A PostgreSQL server of one's own, in a temporary directory. */
import type { DatabaseTarget } from "../src/domain/connections.ts";
import type { PostgresPlace } from "../src/domain/stores.ts";
import type { PostgresClientOptions } from "../src/state/postgres/postgres_client.ts";
import { createConnections } from "../src/system/tcp/connections.ts";
import { createRealClock } from "./real_clock.ts";
import { runChild, startChild, tool } from "./tools.ts";

/** A running server; disposing of it removes it. */
export interface PostgresServer extends AsyncDisposable {
  readonly directory: string;
  /** Its socket. */
  readonly target: DatabaseTarget;
  /** Its port on loopback, if it has a certificate. */
  readonly port: number;
  /** Returns the address of a new schema on it, unless one is given. */
  place(members?: Partial<PostgresPlace>): PostgresPlace;
  /** Ends it as a crash does, and starts it again. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

export interface PostgresServerOptions {
  /** Lines of `postgresql.conf`. */
  readonly settings?: readonly string[];
  /** The text of `pg_hba.conf`. @default everybody may log in */
  readonly access?: string;
  /** With it, the server listens on loopback, too. */
  readonly certificate?: { readonly cert: string; readonly key: string };
}

/** The role that owns everything. */
export const ROLE = "monitor";

const PORT = 5432;

/** The numbers of schemas; a name is never used twice. */
let schemas = 0;

/** Starts a server on a socket. The server cannot run as root, so root starts it as the user of the package. */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const directory = await Deno.makeTempDir({ dir: "/tmp", prefix: "monitor-pg-" });
  const data = `${directory}/data`;
  const owner = await databaseUser();
  await giveToDatabaseUser(directory);
  const commandLine = (name: "initdb" | "postgres", args: readonly string[]): DatabaseCommand =>
    databaseCommand(owner, name, args);
  const made = await runChild(
    ...commandLine("initdb", [
      `--pgdata=${data}`,
      `--username=${ROLE}`,
      "--auth=trust",
      "--encoding=UTF8",
      "--locale=C.UTF-8",
      "--no-sync",
    ]),
    { cwd: "/" },
  );
  if (!made.success) throw new Error(`initdb failed: ${made.stderr}`);
  const { certificate } = options;
  for (const [name, text] of certificate === undefined ? [] : Object.entries(certificate)) {
    await Deno.writeTextFile(`${data}/${name}.pem`, text, { mode: 0o600 });
    await giveToDatabaseUser(`${data}/${name}.pem`);
  }
  if (options.access !== undefined) await Deno.writeTextFile(`${data}/pg_hba.conf`, options.access);
  const settings = [
    "fsync = off",
    ...certificate === undefined ? ["listen_addresses = ''"] : [
      "listen_addresses = '127.0.0.1'",
      "ssl = on",
      "ssl_cert_file = 'cert.pem'",
      "ssl_key_file = 'key.pem'",
    ],
    `unix_socket_directories = '${directory}'`,
    ...options.settings ?? [],
  ];
  await Deno.writeTextFile(`${data}/postgresql.conf`, settings.join("\n"), { append: true });
  const start = (onPort: number): Promise<Deno.ChildProcess | null> =>
    startServer(commandLine("postgres", ["-D", data, "-p", String(onPort)]), data);
  let port = PORT;
  let started: Deno.ChildProcess | null = null;
  for (let tries = 0; started === null && tries < TRIES; tries++) {
    if (certificate !== undefined) port = freePort();
    started = await start(port);
  }
  if (started === null) throw new Error(`postgres does not start in ${directory}`);
  let child: Deno.ChildProcess = started;
  let isRunning = true;
  const kill = async (): Promise<void> => {
    if (isRunning) child.kill("SIGQUIT");
    isRunning = false;
    await child.status;
  };
  const target = { socketPath: `${directory}/.s.PGSQL.${port}` };
  return {
    directory,
    target,
    port,
    place: (members = {}) => ({
      targets: [target],
      database: "postgres",
      user: ROLE,
      password: null,
      schema: `test ${++schemas}`,
      prepare: true,
      url: "postgres://test",
      ...members,
    }),
    kill,
    start: async () => {
      child = await start(port) ?? child;
      isRunning = true;
    },
    [Symbol.asyncDispose]: async () => {
      await kill();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** Longer than an hour of a soak. */
const LIMIT_MS = 2 * 3_600_000;
const START_MS = 180_000;
const LOOK_EVERY_MS = 20;

/** Another process may take a free port before the server does. */
const TRIES = 5;

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Starts the server and waits until it accepts connections; `null` if it exits before. */
export async function startServer(
  [path, args]: DatabaseCommand,
  data: string,
): Promise<Deno.ChildProcess | null> {
  // A file that a killed server left contains "ready", too.
  await Deno.remove(`${data}/postmaster.pid`).catch(() => {});
  const child = startChild(path, args, { cwd: "/", stdout: "null", stderr: "null", limitMs: LIMIT_MS });
  let hasEnded = false;
  child.status.then(() => hasEnded = true);
  for (const end = performance.now() + START_MS; !isReady(data);) {
    if (hasEnded) return null;
    if (performance.now() > end) throw new Error(`postgres does not get ready: ${path} ${args.join(" ")}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return child;
}

/** The eighth line of the file has the state of the server. */
function isReady(data: string): boolean {
  try {
    const state = Deno.readTextFileSync(`${data}/postmaster.pid`).split("\n")[7]?.trim();
    return state === "ready" || state === "standby";
  } catch {
    return false;
  }
}

/** A user and a group. */
interface DatabaseUser {
  readonly userId: number;
  readonly groupId: number;
}

/** A command of the database and its arguments. */
export type DatabaseCommand = readonly [path: string, args: readonly string[]];

/** Returns the user for commands of the database, which cannot run as root; `null`: this process is not root. */
export async function databaseUser(): Promise<DatabaseUser | null> {
  if (Deno.uid() !== 0) return null;
  const line = /^postgres:[^:]*:(\d+):(\d+):/m.exec(await Deno.readTextFile("/etc/passwd"));
  if (line === null) throw new Error("There is no user postgres, which comes with Debian's package");
  return { userId: Number(line[1]), groupId: Number(line[2]) };
}

/** Returns the command line that runs a command as that user. */
export function databaseCommand(
  user: DatabaseUser | null,
  name: Parameters<typeof tool>[0],
  args: readonly string[],
): DatabaseCommand {
  if (user === null) return [tool(name), args];
  const { userId, groupId } = user;
  const rights = [`--reuid=${userId}`, `--regid=${groupId}`, "--clear-groups"];
  return [tool("setpriv"), [...rights, "--", tool(name), ...args]];
}

/** Makes that user the owner of a file or a directory. */
export async function giveToDatabaseUser(path: string): Promise<void> {
  const user = await databaseUser();
  if (user !== null) await Deno.chown(path, user.userId, user.groupId);
}

/** Returns the options of a client on this machine. */
export function clientOptions(): PostgresClientOptions {
  const clock = createRealClock();
  return { clock, connections: createConnections(clock), randomId: () => crypto.randomUUID() };
}
