import { createHost } from "../../src/system/host.ts";
import { observeHttpRequest } from "../../src/checks/http_request.ts";
import type { HttpRequestCheck } from "../../src/domain/check.ts";
import type { HttpExpectation, HttpRequest } from "../../src/domain/http_check.ts";
import type { ObserveContext } from "../../src/domain/check_kind.ts";
import type { CheckResult } from "../../src/domain/result.ts";
import type { Clock } from "../../src/domain/clock.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { createConnections } from "../../src/system/tcp/connections.ts";
import { createDns } from "../../src/system/dns.ts";
import { createFiles } from "../../src/system/files.ts";
import { lazyProcesses } from "../../src/system/lazy_parts.ts";
import { createRequests } from "../../src/system/http/requests.ts";
import { runChild, tool } from "../../testing/tools.ts";

/** The optional settings of an `http_request` check. */
export interface HttpExpectations extends Partial<HttpExpectation> {
  readonly method?: HttpRequest["method"];
  /** Further settings of the request. */
  readonly request?: Partial<HttpRequest>;
  readonly asWarning?: boolean;
  readonly timeoutMs?: number;
}

/** The optional settings of a run. */
export interface HttpRun extends HttpExpectations {
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  /** Called once the check waits for more than the head of a response. */
  readonly onHead?: () => void;
}

/** Creates an `http_request` check with a timeout that no test reaches. */
export function httpCheck(target: string, expectations: HttpExpectations = {}): HttpRequestCheck {
  const { method = "GET", request, asWarning = false, timeoutMs = 60_000, ...expected } = expectations;
  return {
    name: "web",
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
    kind: "http_request",
    parameters: {
      request: { target, method, ...request },
      response: { statusCode: 200, headers: {}, ...expected },
      asWarning,
    },
  };
}

/** Observes a target as an `http_request` check. */
export function observeTarget(target: string, run: HttpRun = {}): Promise<CheckResult> {
  const { clock: _clock, signal: _signal, onHead: _onHead, ...expectations } = run;
  return observeHttpRequest(httpCheck(target, expectations), httpContext(run));
}

/** Returns the context of an `http_request` check. */
export function httpContext(
  { clock = createRealClock(), signal = new AbortController().signal, onHead }: HttpRun = {},
): ObserveContext {
  const requests = createRequests({ clock: createRealClock() });
  return {
    system: {
      clock,
      files: createFiles(createRealClock()),
      processes: lazyProcesses(clock),
      requests: {
        ...requests,
        async send(request, signal) {
          const response = await requests.send(request, signal);
          if (onHead !== undefined) setTimeout(onHead, 0);
          return response;
        },
      },
      connections: createConnections(clock),
      host: createHost(),
      platform: "linux",
      dns: createDns(createRealClock()),
      environment: () => undefined,
    },
    jobs: null,
    directory: "/",
    signal,
  };
}

/** Returns a result without its measured times, which vary. */
export function withoutTimes(checkResult: CheckResult): CheckResult {
  const { head_ms: _head, total_ms: _total, ...metrics } = checkResult.metrics;
  return { ...checkResult, metrics };
}

/** A clock whose timers fire on request of the test, and which counts them. */
export interface HandClock extends Clock {
  /** Fires every timer that is set. */
  ring(): void;
  /** The delays of the timers that are set. */
  readonly delaysMs: readonly number[];
}

/** Creates a clock that does not advance. */
export function createHandClock(): HandClock {
  const timers = new Set<{ readonly delayMs: number; readonly callback: () => void }>();
  return {
    wallMs: () => 0,
    monotonicMs: () => 0,
    after(delayMs, callback) {
      const timer = { delayMs, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    ring() {
      const due = [...timers];
      timers.clear();
      for (const { callback } of due) callback();
    },
    get delaysMs() {
      return [...timers].map(({ delayMs }) => delayMs);
    },
  };
}

/** The options of a separate process that observes a target. */
export interface ProcessRun {
  readonly expectations?: HttpExpectations;
  /** The process's permissions. */
  readonly flags: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The process uses up all its file descriptors before it observes. */
  readonly withoutDescriptors?: boolean;
  /** The process exits only when no process has a connection to this port. */
  readonly untilLeftPort?: number;
}

export interface ProcessFindings {
  readonly checkResult: CheckResult;
  /** The growth of its peak memory, in bytes; 0 if the system does not report it. */
  readonly memoryGrowthBytes: number;
}

/** Observes a target in a separate process, with its own permissions and environment. */
export async function observeInProcess(target: string, run: ProcessRun): Promise<ProcessFindings> {
  const { expectations = {}, flags, environment = {}, ...order } = run;
  const program = new URL("../fixtures/observe_http.ts", import.meta.url).pathname;
  const { success, stdout, stderr } = await runChild(tool("sh"), [
    "-c",
    'ulimit -n 256; exec "$@"',
    "sh",
    Deno.execPath(),
    ...["run", "--quiet", "--no-prompt", "--no-config", "--no-lock", "--no-check", "--no-remote"],
    ...flags,
    program,
    JSON.stringify({ target, expectations, ...order }),
  ], { env: { NO_COLOR: "1", ...environment } });
  if (!success) throw new Error(`The process failed: ${stderr}`);
  return JSON.parse(stdout);
}
