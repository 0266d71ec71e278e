/**
 * Tries everything that a locked-down executable for one config must not be able to do, and a few things that it
 * must; prints the outcome of each as JSON. It is compiled with exactly the permissions of that config.
 */
import { exec } from "node:child_process";
import { createSocket } from "node:dgram";
import { readFileSync } from "node:fs";
import { opendir } from "node:fs/promises";
import { connect } from "node:net";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";

/** Where the attempts are made. */
export interface Place {
  /** The directory of the config; there is a file `neighbour` and a symlink `link` to the script in it. */
  readonly directory: string;
  /** The config. */
  readonly config: string;
  /** The state. */
  readonly state: string;
  /** The script that may be run. */
  readonly script: string;
  /** Where the request may go. */
  readonly webPort: number;
  /** A server that nothing may be sent to. */
  readonly otherPort: number;
  /** The id of a process that must not be signalled. */
  readonly processId: number;
}

/** The outcome of each attempt: `done`, or the class and the text of the error. */
export type Outcomes = Readonly<Record<string, string>>;

const place = JSON.parse(Deno.args[0] ?? "{}") as Place;
const { directory, config, state, script, webPort, otherPort, processId } = place;
const neighbour = `${directory}/neighbour`;
const options = { stdin: "null", stdout: "null", stderr: "null", clearEnv: true } as const;

/** Forbidden attempts; each fails by itself if it is rejected. */
const FORBIDDEN: Readonly<Record<string, () => unknown>> = {
  "read a system file": () => Deno.readTextFile("/etc/passwd"),
  "read the file next to the config": () => Deno.readFile(neighbour),
  "read it through node": () => readFileSync(neighbour),
  "open it": () => Deno.open(neighbour),
  "look at it": () => Deno.stat(neighbour),
  "look at the symlink": () => Deno.lstat(`${directory}/link`),
  "read the symlink": () => Deno.readLink(`${directory}/link`),
  "list the directory": () => [...Deno.readDirSync(directory)],
  "list it through node": () => opendir(directory),
  "ask for a real path": () => Deno.realPath("/etc"),
  "list changes of the directory": () => Deno.watchFs(directory).close(),
  "import from a server": () => import(`http://127.0.0.1:${otherPort}/module.js`),
  "make a function of a text": () => new Function("return 1")(),
  "open another database": () => new DatabaseSync(`${directory}/other.sqlite`).close(),
  "attach another database": () => withState((database) => database.exec(`ATTACH '${neighbour}' AS other`)),
  "copy the state away": () =>
    withState((database) => database.exec(`VACUUM INTO '${directory}/copy.sqlite'`)),
  "load an extension": () => new DatabaseSync(state, { allowExtension: true }).loadExtension(neighbour),
  "change the config": () => Deno.writeTextFile(config, "{}", { append: true }),
  "write next to it": () => Deno.writeTextFile(`${directory}/new`, ""),
  "make a directory": () => Deno.mkdir(`${directory}/new`),
  "make a temporary file": () => Deno.makeTempFile(),
  "remove a file": () => Deno.remove(neighbour),
  "move the state away": () => Deno.rename(state, `${directory}/moved`),
  "link the state": () => Deno.link(state, `${directory}/linked`),
  "make a symlink": () => Deno.symlink("/etc/passwd", `${directory}/symlink`),
  "change a mode": () => Deno.chmod(config, 0o777),
  "change the script": () => Deno.writeTextFile(script, "#!/bin/sh\n"),
  "set a file's time": () => Deno.utime(neighbour, 0, 0),
  "connect to another port": () => Deno.connect({ hostname: "127.0.0.1", port: otherPort }),
  "connect to another address": () => Deno.connect({ hostname: "127.0.0.2", port: webPort }),
  "connect through node": () => connected(otherPort),
  "connect with TLS": () => Deno.connectTls({ hostname: "127.0.0.1", port: otherPort }),
  "request from another port": () => fetch(`http://127.0.0.1:${otherPort}/`),
  "follow a redirect there": () => fetch(`http://localhost:${webPort}/redirect`),
  "open a web socket": () => opened(new WebSocket(`ws://127.0.0.1:${otherPort}/`)),
  "listen": () => Deno.listen({ port: 0 }),
  "send a datagram": () => sendDatagram(otherPort),
  "connect to a unix socket": () => Deno.connect({ transport: "unix", path: "/run/dbus/system_bus_socket" }),
  "ask the DNS": () => Deno.resolveDns("example.org", "A"),
  "run a shell": () => new Deno.Command("/bin/sh", { ...options, args: ["-c", "true"] }).output(),
  "run a shell through node": () =>
    new Promise((resolve, reject) => exec("true", (error) => error ? reject(error) : resolve("ran"))),
  "run the script by a symlink": () => new Deno.Command(`${directory}/link`, options).output(),
  "run a command by its bare name": () => new Deno.Command("true", options).output(),
  "run itself": () => new Deno.Command(Deno.execPath(), options).output(),
  "run the script with a library of ours": () =>
    new Deno.Command(script, { ...options, env: { LD_PRELOAD: neighbour } }).output(),
  "signal another process": () => Deno.kill(processId, "SIGTERM"),
  "read a variable": () => Deno.env.get("FORBIDDEN_VARIABLE"),
  "read all variables": () => Deno.env.toObject(),
  "read a variable through node": () => process.env["FORBIDDEN_VARIABLE"],
  "set a variable": () => Deno.env.set("FORBIDDEN_VARIABLE", "x"),
  "list the network interfaces": () => Deno.networkInterfaces(),
  "ask for the system's release": () => Deno.osRelease(),
  "ask for the load": () => Deno.loadavg(),
  "read the process's own facts": () => Deno.readTextFile("/proc/self/environ"),
  "call a foreign function": () => Deno.dlopen("libc.so.6", {}),
};

/** Allowed attempts, without which the failures above would prove nothing. */
const ALLOWED: Readonly<Record<string, () => unknown>> = {
  "read the config": () => Deno.readTextFile(config),
  "open the state": () => withState((database) => database.exec("SELECT 1")),
  "request the page": () => fetch(`http://localhost:${webPort}/`).then((response) => response.text()),
  "run the script": () => new Deno.Command(script, options).output(),
};

function withState(use: (database: DatabaseSync) => unknown): unknown {
  const database = new DatabaseSync(state);
  try {
    return use(database);
  } finally {
    database.close();
  }
}

function connected(port: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
}

function opened(socket: WebSocket): Promise<unknown> {
  return new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error("refused"));
  });
}

function sendDatagram(port: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = createSocket("udp4");
    socket.once("error", reject);
    // The runtime throws it asynchronously.
    for (const type of ["error", "unhandledrejection"] as const) {
      globalThis.addEventListener(type, (event) => {
        event.preventDefault();
        reject("error" in event ? event.error : event.reason);
      }, { once: true });
    }
    socket.send("x", port, "127.0.0.1", (error) => error ? reject(error) : resolve("sent"));
  });
}

async function outcomes(attempts: Readonly<Record<string, () => unknown>>): Promise<Outcomes> {
  const found: Record<string, string> = {};
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      await attempt();
      found[name] = "done";
    } catch (error) {
      found[name] = error instanceof Error ? `${error.name}: ${error.message.split("\n")[0]}` : String(error);
    }
  }
  return found;
}

if (import.meta.main) {
  console.log(JSON.stringify({ forbidden: await outcomes(FORBIDDEN), allowed: await outcomes(ALLOWED) }));
  Deno.exit(0);
}
