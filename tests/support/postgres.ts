/** A PostgreSQL server of the test's own, in a temporary directory. */
import { createRealClock } from "../../testing/real_clock.ts";
import { requiredPermissions, runChild, startChild, tool } from "../../testing/tools.ts";
import type { DatabaseTarget } from "../../src/domain/connections.ts";
import type { PostgresPlace } from "../../src/domain/postgres_place.ts";
import type { PostgresClientOptions } from "../../src/state/postgres/postgres_client.ts";
import { type PostgresStoreOptions } from "../../src/state/postgres/postgres_store.ts";
import { createConnections } from "../../src/system/tcp/connections.ts";
import { inTime, until } from "../life/in_time.ts";

/** A running server; disposing of it removes it. */
export interface PostgresServer extends AsyncDisposable {
  readonly directory: string;
  /** Its socket. */
  readonly target: DatabaseTarget;
  /** A place on it, a schema of its own unless one is given. */
  place(members?: Partial<PostgresPlace>): PostgresPlace;
  /** Ends it as a crash does, and starts it again. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** How a server is started. */
export interface PostgresServerOptions {
  /** Lines of `postgresql.conf`. */
  readonly settings?: readonly string[];
  /** The text of `pg_hba.conf`. @default everybody may log in */
  readonly access?: string;
  /** Files in the data directory, by name. */
  readonly files?: Readonly<Record<string, string>>;
}

/** What a test needs that starts a server. */
export const POSTGRES: { readonly ignore: boolean } = requiredPermissions("initdb", "postgres");

/** The role that owns everything. */
export const ROLE = "monitor";

const PORT = 5432;

/** The numbers of schemas; a name is never used twice. */
let schemas = 0;

/** Starts a server on a socket. The server refuses to run as root, so root starts it as the user of the package. */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const directory = await Deno.makeTempDir({ prefix: "monitor-pg-" });
  const data = `${directory}/data`;
  const owner = Deno.uid() === 0 ? await ownerOfPackage() : null;
  if (owner !== null) await Deno.chown(directory, owner.userId, owner.groupId);
  const commandLine = (name: "initdb" | "postgres", args: readonly string[]): [string, readonly string[]] =>
    owner === null ? [tool(name), args] : [tool("setpriv"), [
      `--reuid=${owner.userId}`,
      `--regid=${owner.groupId}`,
      "--clear-groups",
      "--",
      tool(name),
      ...args,
    ]];
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
  for (const [name, text] of Object.entries(options.files ?? {})) {
    await Deno.writeTextFile(`${data}/${name}`, text, { mode: 0o600 });
    if (owner !== null) await Deno.chown(`${data}/${name}`, owner.userId, owner.groupId);
  }
  if (options.access !== undefined) await Deno.writeTextFile(`${data}/pg_hba.conf`, options.access);
  const settings = [
    "fsync = off",
    "logging_collector = on",
    "listen_addresses = ''",
    `unix_socket_directories = '${directory}'`,
    ...options.settings ?? [],
  ];
  await Deno.writeTextFile(`${data}/postgresql.conf`, settings.join("\n"), { append: true });
  const args = commandLine("postgres", ["-D", data]);
  let child = await startServer(args, data);
  const target = { socketPath: `${directory}/.s.PGSQL.${PORT}` };
  return {
    directory,
    target,
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
    kill: async () => {
      child.kill("SIGQUIT");
      await inTime("the end of the server", child.status);
    },
    start: async () => void (child = await startServer(args, data)),
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGQUIT");
      await inTime("the end of the server", child.status);
      await Deno.remove(directory, { recursive: true });
    },
  };
}

const LIMIT_MS = 300_000;

/** Starts the server and waits until it takes connections. Its log is a file in the data directory. */
async function startServer(
  [path, args]: readonly [string, readonly string[]],
  data: string,
): Promise<Deno.ChildProcess> {
  // A file that a killed server left says "ready", too.
  await Deno.remove(`${data}/postmaster.pid`).catch(() => {});
  const child = startChild(path, args, { cwd: "/", stdout: "null", stderr: "null", limitMs: LIMIT_MS });
  await until("the server to start", () => {
    try {
      return Deno.readTextFileSync(`${data}/postmaster.pid`).split("\n")[7]?.trim() === "ready";
    } catch {
      return false;
    }
  });
  return child;
}

async function ownerOfPackage(): Promise<{ readonly userId: number; readonly groupId: number }> {
  const line = /^postgres:[^:]*:(\d+):(\d+):/m.exec(await Deno.readTextFile("/etc/passwd"));
  if (line === null) throw new Error("There is no user postgres, which comes with Debian's package");
  return { userId: Number(line[1]), groupId: Number(line[2]) };
}

/** What a client needs of this machine. */
export function clientOptions(): PostgresClientOptions {
  const clock = createRealClock();
  return { clock, connections: createConnections(clock), randomId: () => crypto.randomUUID() };
}

/** What a store needs. */
export function storeOptions(members: Partial<PostgresStoreOptions> = {}): PostgresStoreOptions {
  return { ...clientOptions(), random: () => Math.random(), access: "own", ...members };
}

/** Starts one server for all tests of a module, unless PostgreSQL is missing. */
export function sharedPostgres(options?: PostgresServerOptions): () => PostgresServer {
  let server: PostgresServer | null = null;
  if (!POSTGRES.ignore) {
    Deno.test.beforeAll(async () => void (server = await startPostgres(options)));
    Deno.test.afterAll(async () => await server?.[Symbol.asyncDispose]());
  }
  return () => {
    if (server === null) throw new Error("The server runs while tests run");
    return server;
  };
}
