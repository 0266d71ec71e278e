import { fileURLToPath } from "node:url";
import { startPostgres } from "../../testing/postgres_server.ts";
import { monitorCommand } from "../../testing/source.ts";
import { startChild } from "../../testing/tools.ts";
import { judge, type Sample, SAMPLES } from "./samples.ts";

const CHECKS = 30;
/** Half of the time, all targets fail. */
const FLAPS_EVERY_MS = 60_000;
const REPORT_MEMORY = fileURLToPath(new URL("report_memory.ts", import.meta.url));
const LOOK_EVERY_MS = 1_000;
/** A service that takes longer than planned has stopped. */
const LATE_MS = 600_000;

interface ServiceOptions {
  readonly what: string;
  readonly args: readonly string[];
  /** The key of the config. */
  readonly state: unknown;
}

/**
 * Runs three members that share a state in PostgreSQL, and a service with its own in SQLite: 30 checks a second apart,
 * whose targets fail every other minute, with a notification of each change.
 *
 * @throws {Error} If the memory in use of one of them grows after the first fifth, or one ends.
 */
export async function soakServices({ minutes }: { readonly minutes: number }): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "monitor-soak-" });
  const counts = { requests: 0, notifications: 0 };
  await using target = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      await request.text();
      counts[request.method === "GET" ? "requests" : "notifications"]++;
      const isUp = request.method !== "GET" || Math.floor(Date.now() / FLAPS_EVERY_MS) % 2 === 0;
      return new Response(null, { status: isUp ? 200 : 500 });
    },
  );
  const url = `http://127.0.0.1:${target.addr.port}/`;
  await using server = await startPostgres();
  const { database, user } = server.place();
  const shared = { postgres: { hosts: [server.directory], database, user, schema: "soak" } };
  const services = [
    ...["a", "b", "c"].map((name) => ({
      what: `member ${name}, PostgreSQL`,
      args: ["--member", name],
      state: shared,
    })),
    { what: "service, SQLite", args: [], state: "state.sqlite" },
  ].map((options, index) => startService(options, { path: `${directory}/${index}`, url, minutes }));
  try {
    const untilMs = performance.now() + minutes * 60_000 + LATE_MS;
    while (services.some((service) => service.samples().length < SAMPLES)) {
      if (performance.now() > untilMs) throw new Error("a service has stopped");
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    console.log(`  ${minutes} minutes, ${counts.requests} requests, ${counts.notifications} notifications`);
    const failures = services.flatMap(({ what, samples }) => judge(what, samples()) ?? []);
    if (failures.length > 0) throw new Error(failures.join("; "));
  } finally {
    for (const { child } of services) child.kill("SIGTERM");
    for (const { child } of services) await child.status;
    await Deno.remove(directory, { recursive: true });
  }
}

interface Place {
  /** Of its directory. */
  readonly path: string;
  /** Of the target and the receiver. */
  readonly url: string;
  readonly minutes: number;
}

interface Service {
  readonly what: string;
  readonly child: Deno.ChildProcess;
  samples(): readonly Sample[];
}

function startService({ what, args, state }: ServiceOptions, { path, url, minutes }: Place): Service {
  Deno.mkdirSync(path);
  const check = {
    kind: "http_request",
    parameters: { request: { target: url }, response: { status_code: 200 } },
    notifications: [{ kind: "webhook", parameters: { target: url } }],
  };
  const config = {
    defaults: { threshold: 1, schedule: { regular_interval: 1 } },
    state,
    checks: Object.fromEntries(Array.from({ length: CHECKS }, (_, index) => [`check ${index}`, check])),
  };
  Deno.writeTextFileSync(`${path}/monitor.json`, JSON.stringify(config));
  const memory = `${path}/memory`;
  Deno.writeTextFileSync(memory, "");
  const flags = ["--allow-all", "--v8-flags=--expose-gc", `--preload=${REPORT_MEMORY}`];
  const [command = "", ...before] = monitorCommand(flags);
  const child = startChild(command, [...before, "check", ...args], {
    cwd: path,
    env: { SOAK_MEMORY: memory, SOAK_MEMORY_MS: String(minutes * 60_000 / SAMPLES) },
    stdin: "null",
    stdout: "null",
    stderr: "null",
    limitMs: minutes * 60_000 + 2 * LATE_MS,
  });
  const samples = (): readonly Sample[] =>
    Deno.readTextFileSync(memory).split("\n").slice(0, -1).map((line) => JSON.parse(line));
  return { what, child, samples };
}
