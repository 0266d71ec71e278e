/** Checks with hostile targets, alongside those that the campaign counts. None of them is ever `ok`, or notifies. */
import { beSilent, drip, flood, reset, speakGarbage } from "../../support/hostile_servers.ts";
import { startServer, type TestServer } from "../../support/http_servers.ts";
import { fixture } from "../../support/processes.ts";

/** Checks for the config, whose servers run until this is disposed of. */
export interface HostileChecks extends AsyncDisposable {
  readonly checks: Readonly<Record<string, unknown>>;
}

const MEETINGS = { silent: beSilent, drip, flood, reset, garbage: speakGarbage } as const;
const PROGRAMS: readonly string[] = [
  "flood_both.sh",
  "fork_grandchild.sh",
  "ignore_sigterm.sh",
  "stop_itself.sh",
  "survive_leader.sh",
];
const OTHERS = { timeout: 1, schedule: { regular_interval: 5 } } as const;

/** Starts the servers. Leftover processes are found by the mark, which is in the name of their checks. */
export function startHostileChecks(mark: string): HostileChecks {
  const servers = new Map<string, TestServer>(
    Object.entries(MEETINGS).map(([name, meet]) => [name, startServer(meet)]),
  );
  const ofServers = [...servers].flatMap(([name, { port }]) =>
    [
      [`request ${name}`, "http_request", { request: { target: `http://127.0.0.1:${port}/` } }],
      [`tls request ${name}`, "http_request", { request: { target: `https://127.0.0.1:${port}/` } }],
      [`port ${name}`, "tcp_connect", { host: "127.0.0.1", port, expect: "ready" }],
      [`certificate ${name}`, "tls_certificate", { host: "127.0.0.1", port }],
    ] as const
  );
  const ofPrograms = PROGRAMS.map((name) =>
    [`${mark} ${name}`, "script", { path: fixture(name), arguments: [] }] as const
  );
  return {
    checks: Object.fromEntries(
      [...ofServers, ...ofPrograms].map((
        [name, kind, parameters],
      ) => [name, { kind, parameters, ...OTHERS }]),
    ),
    async [Symbol.asyncDispose]() {
      for (const server of servers.values()) await server[Symbol.asyncDispose]();
    },
  };
}

/** The names of the checks whose commands leave processes behind. */
export function programChecks(mark: string): readonly string[] {
  return PROGRAMS.map((name) => `${mark} ${name}`);
}
