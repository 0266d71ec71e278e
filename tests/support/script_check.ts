import { observeScript } from "../../src/checks/script.ts";
import type { ScriptCheck, ScriptParameters } from "../../src/domain/check.ts";
import type { ObserveContext } from "../../src/domain/check_kind.ts";
import type { CheckResult } from "../../src/domain/result.ts";
import type { Requests } from "../../src/domain/requests.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { createConnections } from "../../src/system/tcp/connections.ts";
import { createDns } from "../../src/system/dns.ts";
import { createFiles } from "../../src/system/files.ts";
import { createHost } from "../../src/system/host.ts";
import { createProcesses } from "../../src/system/process/processes.ts";

/** The optional settings of a run of a `script` check. */
export interface ScriptRun extends Partial<ScriptParameters> {
  readonly name?: string;
  readonly timeoutMs?: number;
  readonly directory?: string;
  /** The program's own environment. */
  readonly ownEnvironment?: Readonly<Record<string, string>>;
}

/** Runs a command as a `script` check, with a short grace after SIGTERM. */
export function observeProgram(path: string, run: ScriptRun = {}): Promise<CheckResult> {
  const { name = "script", timeoutMs = 30_000, directory = "/", ownEnvironment, ...parameters } = run;
  const environment: Readonly<Record<string, string>> = ownEnvironment ?? { PATH: "/usr/bin:/bin" };
  const check: ScriptCheck = {
    name,
    active: true,
    threshold: 1,
    recoveryThreshold: 1,
    annoy: false,
    schedule: { regularIntervalMs: 60_000, attentiveIntervalMs: 60_000 },
    maintenanceWindows: [],
    notifications: [],
    dependsOn: [],
    tags: [],
    timeoutMs,
    kind: "script",
    parameters: { path, arguments: [], environment: {}, conditionOnTimeout: "unknown", ...parameters },
  };
  const clock = createRealClock();
  const context: ObserveContext = {
    system: {
      clock,
      files: createFiles(clock),
      processes: createProcesses(clock, { terminationGraceMs: 200 }),
      requests: NO_REQUESTS,
      connections: createConnections(clock),
      host: createHost(),
      platform: "linux",
      dns: createDns(createRealClock()),
      environment: (variable) => environment[variable],
    },
    jobs: null,
    directory,
    signal: new AbortController().signal,
  };
  return observeScript(check, context);
}

const NO_REQUESTS: Requests = {
  send: () => Promise.reject(new Error("A script check sends no requests")),
  explain: () => {
    throw new Error("A script check sends no requests");
  },
};
