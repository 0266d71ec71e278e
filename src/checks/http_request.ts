import { sleep, startDeadline, unlessAborted } from "../shared/deadline.ts";
import type { Condition } from "../domain/condition.ts";
import type { HttpRequestCheck } from "../domain/check.ts";
import type { HttpRequest } from "../domain/http_check.ts";
import { hostAndPortOf, permissionsOfUrl } from "../domain/runtime_permissions.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import { QUOTED_LENGTH_MAX } from "../shared/quote.ts";
import { describeRequestFailure } from "../shared/request_words.ts";
import { truncate } from "../shared/truncate.ts";
import type { CheckResult } from "../domain/result.ts";
import type { IncomingResponse, RequestFailure } from "../domain/requests.ts";
import type { TlsMaterial } from "../domain/tls.ts";
import { evaluateBody, expectsBody } from "./http/expected_body.ts";
import { durationViolation } from "./http/expected_duration.ts";
import { headerViolations } from "./http/expected_headers.ts";
import { expectsRedirection, isExpectedStatus, statusViolations } from "./http/expected_status.ts";
import { type Asked, askFollowing, locationOf } from "./http/redirects.ts";
import { findErrors, findWarnings } from "./http/request_errors.ts";
import { findCertificate } from "./http/response_certificate.ts";
import { readTlsFiles } from "./tls_files.ts";

/** The `http_request` kind. */
export const httpRequestKind: CheckKindEntry<"http_request"> = {
  observe: observeHttpRequest,
  limit: "network",
  warnings: findWarnings,
  errors: findErrors,
  requiredPermissions: ({ parameters: { request: { target, tls = {} } } }) => ({
    ...permissionsOfUrl(target),
    read: [tls.caFile, tls.certificate, tls.key].filter((path) => path !== undefined),
  }),
};

/**
 * Sends the request, follows redirects where no 3xx is expected, and holds the answer to what is expected of it.
 *
 * Everything that is wrong with the answer is listed: status, headers, body, duration, certificate. No answer is a violation as
 * well, except where this side is to blame (a permission that was not granted, no descriptor left): that tells
 * nothing of the target and is `unknown`. The time limit covers the whole exchange, redirects and body included,
 * and when the check ends, its connections have ended.
 */
export async function observeHttpRequest(
  check: HttpRequestCheck,
  { system, signal }: ObserveContext,
): Promise<CheckResult> {
  signal.throwIfAborted();
  using deadline = startDeadline(system.clock, check.timeoutMs, signal);
  const exchange = { check, system, signal: deadline.signal, startedMs: system.clock.monotonicMs() };
  const findings = await examine(exchange);
  // What was found while the run was being ended is no finding.
  signal.throwIfAborted();
  return checkResult(check, findings);
}

/** One run of a check. */
interface Exchange {
  readonly check: HttpRequestCheck;
  readonly system: ObserveContext["system"];
  /** Ends the exchange early: the time limit, or the end of the run. */
  readonly signal: AbortSignal;
  /** By the monotonic clock. */
  readonly startedMs: number;
}

/** What the exchange showed. */
interface Findings {
  /** Whom the last request went to; `null`: nobody. */
  readonly asked: Asked | null;
  /** Plain numbers; `status` is among them when a head came. */
  readonly metrics: Readonly<Record<string, number>>;
  /** What is wrong, in the order in which it is told. */
  readonly violations: readonly string[];
  /** What is told last, and is a warning whatever violations are. */
  readonly warnings: readonly string[];
  /** Why the target or its body can't be judged; `null` if it can. */
  readonly obstacle: string | null;
}

const NOTHING: Findings = { asked: null, metrics: {}, violations: [], warnings: [], obstacle: null };

async function examine(exchange: Exchange): Promise<Findings> {
  const { check, system, signal } = exchange;
  const { request } = check.parameters;
  let tls: TlsMaterial | undefined;
  if (request.tls !== undefined) {
    const files = await unlessAborted(readTlsFiles(request.tls, system.files), signal).catch(() => null);
    if (files === null) {
      return { ...NOTHING, obstacle: `${timeoutText(exchange.check)} while reading the files of tls` };
    }
    if ("problem" in files) return { ...NOTHING, obstacle: files.problem };
    tls = files.tls;
  }
  const findings = await ask(exchange, tls);
  const { connections, clock } = system;
  const certificate = await findCertificate(check, findings.metrics["status"] ?? null, {
    connections,
    clock,
    signal,
    authorities: tls?.authority === undefined ? [] : [tls.authority],
  });
  return {
    ...findings,
    metrics: { ...findings.metrics, ...certificate.metrics },
    violations: [...findings.violations, ...certificate.isGrave ? certificate.violations : []],
    warnings: [...findings.warnings, ...certificate.isGrave ? [] : certificate.violations],
  };
}

async function ask(exchange: Exchange, tls: TlsMaterial | undefined): Promise<Findings> {
  const { check: { parameters }, system, signal } = exchange;
  const { request, response: expected } = parameters;
  const follows = request.redirects ?? (expectsRedirection(expected.statusCode) ? "refuse" : "follow");
  const answer = await askFollowing(
    {
      target: request.target,
      method: request.method,
      headers: headersOf(request),
      ...(request.body !== undefined && { body: request.body }),
      ...(tls !== undefined && { tls }),
    },
    { requests: system.requests, signal, followRedirects: follows === "follow" },
  );
  const { asked } = answer;
  if (answer.ended === "failed") return findingsWithoutHead(answer.error, exchange, asked);
  if (answer.ended === "misled") {
    return { ...NOTHING, asked, metrics: { status: answer.status }, violations: [answer.problem] };
  }
  try {
    return await evaluate(answer.response, exchange, asked);
  } finally {
    await answer.response.close();
  }
}

/** Targets log who asked; the runtime would name itself. */
const USER_AGENT = "monitor";

function headersOf({ headers = {} }: HttpRequest): Readonly<Record<string, string>> {
  const isNamed = Object.keys(headers).some((name) => name.toLowerCase() === "user-agent");
  return isNamed ? headers : { "user-agent": USER_AGENT, ...headers };
}

function findingsWithoutHead(error: unknown, exchange: Exchange, asked: Asked): Findings {
  if (exchange.signal.aborted) {
    return {
      ...NOTHING,
      asked,
      violations: [
        `${timeoutText(exchange.check)}, before a response head from ${hostAndPortOf(asked.target)}`,
      ],
    };
  }
  const failure = exchange.system.requests.explain(error, asked.target);
  const text = describeRequestFailure(failure, asked.target);
  return { ...NOTHING, asked, ...isOurs(failure) ? { obstacle: text } : { violations: [text] } };
}

/** Nothing is known of the target then. */
function isOurs({ phase }: RequestFailure): boolean {
  return phase === "permission" || phase === "settings" || phase === "machine";
}

function timeoutText({ timeoutMs }: HttpRequestCheck): string {
  return `timeout after ${timeoutMs / 1000} s`;
}

async function evaluate(response: IncomingResponse, exchange: Exchange, asked: Asked): Promise<Findings> {
  const { check: { parameters }, system: { clock, requests }, signal, startedMs } = exchange;
  const { request, response: expected } = parameters;
  const metrics: Record<string, number> = {
    status: response.status,
    head_ms: tenths(clock.monotonicMs() - startedMs),
  };
  const violations = [
    ...request.redirects === "refuse"
      ? refusedRedirect(response, { asked, expected: expected.statusCode })
      : statusViolations(response, expected.statusCode),
    ...await headerViolations(response, expected.headers),
  ];
  const found = { ...NOTHING, asked, metrics, violations };
  if (!expectsBody(expected)) return found;
  let durationMs = 0;
  let obstacle: string | null;
  try {
    const body = await evaluateBody(expected, {
      response,
      nowMs: clock.wallMs(),
      onRead: () => durationMs = clock.monotonicMs() - startedMs,
      pause: () => sleep(clock, 0, signal),
    });
    violations.push(...body.violations);
    obstacle = body.obstacle;
  } catch (error) {
    const reason = signal.aborted
      ? `${timeoutText(exchange.check)} while reading the body`
      : `reading the body failed: ${requests.explain(error, asked.target).reason}`;
    return { ...found, violations: [...violations, reason] };
  }
  metrics["total_ms"] = tenths(durationMs);
  const tooLong = durationViolation(durationMs, expected);
  if (tooLong === null) return { ...found, obstacle };
  return tooLong.isWarning
    ? { ...found, obstacle, warnings: [tooLong.text] }
    : { ...found, obstacle, violations: [...violations, tooLong.text] };
}

interface RedirectPlace {
  readonly asked: Asked;
  readonly expected: HttpRequestCheck["parameters"]["response"]["statusCode"];
}

/** Where redirects are refused: one that is not the expected answer says where it leads. */
function refusedRedirect(response: IncomingResponse, { asked, expected }: RedirectPlace): readonly string[] {
  const location = locationOf(response);
  const isAnswer = expectsRedirection(expected) && isExpectedStatus(response.status, expected);
  if (location === null || isAnswer) return statusViolations(response, expected);
  const target = URL.parse(location, asked.target);
  const isWeb = target?.protocol === "http:" || target?.protocol === "https:";
  const place = target !== null && isWeb ? describeTarget(target.href) : "a URL without http: or https:";
  return [`status is ${response.status}, a redirect to ${place}, expected none`];
}

/** Returns a URL without credentials, query and fragment. */
function describeTarget(target: string): string {
  const { origin, pathname } = new URL(target);
  return truncate(`${origin}${pathname}`, QUOTED_LENGTH_MAX);
}

function tenths(durationMs: number): number {
  return Math.round(durationMs * 10) / 10;
}

function checkResult({ parameters }: HttpRequestCheck, findings: Findings): CheckResult {
  const { asked, metrics, violations, warnings, obstacle } = findings;
  const all = [...violations, ...obstacle === null ? [] : [obstacle], ...warnings];
  const text = all.length > 0 ? all.join("; ") : `status is ${metrics["status"]}`;
  return {
    condition: conditionOf(findings, parameters.asWarning),
    output: asked?.redirected ? `${text} (redirected to ${describeTarget(asked.target)})` : text,
    detail: "",
    metrics,
    performanceData: "",
  };
}

function conditionOf({ violations, warnings, obstacle }: Findings, asWarning: boolean): Condition {
  if (violations.length > 0) return asWarning ? "warning" : "critical";
  if (warnings.length > 0) return "warning";
  return obstacle === null ? "ok" : "unknown";
}
