import { observeHttpRequest } from "../../src/checks/http_request.ts";
import type { CheckOf, CheckResult } from "../../src/domain/check.ts";
import type { HttpExpectation, HttpMessage } from "../../src/domain/generated/config.ts";
import type { ObserveContext } from "../../src/domain/check_kind.ts";
import type { Clock } from "../../src/domain/clock.ts";
import { createRequests } from "../../src/system/http/requests.ts";
import { checkOf, contextOf } from "../../testing/builders.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { type ServerOptions, startAnswering, startServer, type Visitor } from "./http_servers.ts";

export interface HttpExpectations extends Partial<HttpExpectation> {
  readonly method?: HttpMessage["method"];
  readonly request?: Partial<HttpMessage>;
  readonly asWarning?: boolean;
  readonly timeoutMs?: number;
}

export interface HttpRun extends HttpExpectations {
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  /** Called once the check waits for more than the head of a response. */
  readonly onHead?: () => void;
}

/** Creates an `http_request` check with a timeout that no test reaches. */
export function httpCheck(target: string, expectations: HttpExpectations = {}): CheckOf<"http_request"> {
  const { method = "GET", request, asWarning = false, timeoutMs = 120_000, ...expected } = expectations;
  return checkOf("http_request", {
    request: { target, method, ...request },
    response: { statusCode: 200, headers: {}, ...expected },
    asWarning,
  }, { timeoutMs });
}

export function observeTarget(target: string, run: HttpRun = {}): Promise<CheckResult> {
  const { clock: _clock, signal: _signal, onHead: _onHead, ...expectations } = run;
  return observeHttpRequest(httpCheck(target, expectations), httpContext(run));
}

/** Starts a server that sends one response, or meets each visitor, and observes it. In the output, HOST is the server. */
export async function observeAnswer(
  answer: string | Uint8Array | ((visitor: Visitor) => Promise<void>),
  run: HttpRun = {},
  options: ServerOptions & { readonly scheme?: "http" | "https" } = {},
): Promise<CheckResult> {
  const { scheme = options.certificate === undefined ? "http" : "https" } = options;
  await using server = typeof answer === "function"
    ? startServer(answer, options)
    : startAnswering(answer, options);
  const result = await observeTarget(`${scheme}://127.0.0.1:${server.port}/`, run);
  return { ...result, output: result.output.replaceAll(`127.0.0.1:${server.port}`, "HOST") };
}

export function httpContext({ clock = createRealClock(), signal, onHead }: HttpRun = {}): ObserveContext {
  const requests = createRequests({ clock: createRealClock() });
  return contextOf({
    system: {
      clock,
      requests: {
        ...requests,
        async send(request, signal) {
          const response = await requests.send(request, signal);
          if (onHead !== undefined) setTimeout(onHead, 0);
          return response;
        },
      },
      environment: () => undefined,
    },
    ...signal && { signal },
  });
}

/** Returns a result without its measured times, which vary. */
export function withoutTimes(checkResult: CheckResult): CheckResult {
  const { head_ms: _head, total_ms: _total, ...metrics } = checkResult.metrics;
  return { ...checkResult, metrics };
}
