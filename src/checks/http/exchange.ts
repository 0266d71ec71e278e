import { sleep, unlessAborted } from "../../shared/deadline.ts";
import type { Condition } from "../../domain/condition.ts";
import type { HttpExpectation, HttpMessage, HttpStep } from "../../domain/generated/config.ts";
import { hostAndPortOf } from "../../domain/runtime_permissions.ts";
import type { ObserveContext, ParameterProblem } from "../../domain/check_kind.ts";
import { defined, roundedMs } from "../../shared/json_values.ts";
import { describeRequestFailure, isOwnFailure } from "../../shared/failure_words.ts";
import { quote, QUOTED_LENGTH_MAX, truncate } from "../../shared/text.ts";
import type { HostAddress, IncomingResponse, TlsMaterial } from "../../domain/connections.ts";
import { capturesBody, captureValues, readHeader } from "./captures.ts";
import { evaluateBody, expectsBody } from "./expected_body.ts";
import {
  type Asked,
  askFollowing,
  expectsRedirection,
  isExpectedStatus,
  locationOf,
  statusViolations,
} from "./ask.ts";
import { readVerdict, refusalBy, timeLeftWarnings } from "../certificate_verdict.ts";
import { readTlsFiles } from "../connection_run.ts";
import { searchPattern } from "../body_pattern.ts";
import { exactDuration } from "../../domain/duration.ts";

export interface Exchange {
  readonly step: Pick<HttpStep, "request" | "response" | "capture">;
  /** Of the check, for messages. */
  readonly timeoutMs: number;
  readonly system: Pick<ObserveContext["system"], "clock" | "files" | "requests" | "connections">;
  readonly signal: AbortSignal;
  /** By the monotonic clock. */
  readonly startedMs: number;
  /** The one IP address of the target to connect to. @default the first that responds */
  readonly address?: HostAddress;
}

interface Findings {
  /** The URL of the last request; `null`: none was sent. */
  readonly asked: Asked | null;
  /** Plain numbers; `status` is among them when a head came. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
  /** The last part of the output, which is a warning regardless of the violations. */
  readonly warnings: readonly string[];
  /** The reason why the target or its body can't be evaluated; `null` if it can. */
  readonly obstacle: string | null;
  /** By the names in the config; secrets. */
  readonly captured: Readonly<Record<string, string>>;
}

const NOTHING: Findings = {
  asked: null,
  metrics: {},
  violations: [],
  warnings: [],
  obstacle: null,
  captured: {},
};

/** Sends a request, follows its redirects, and compares the response with the expected one. */
export async function examine(exchange: Exchange): Promise<Findings> {
  const { step: { request }, timeoutMs, system, signal } = exchange;
  let tls: TlsMaterial | undefined;
  if (request.tls !== undefined) {
    const reading = readTlsFiles(request.tls, { files: system.files, timeoutMs });
    const files = await unlessAborted(reading, signal).catch(() => null);
    if (files === null) {
      return { ...NOTHING, obstacle: `${timeoutText(exchange)} while reading the files of tls` };
    }
    if ("problem" in files) return { ...NOTHING, obstacle: files.problem };
    tls = files.tls;
  }
  const findings = await ask(exchange, tls);
  // Without a response there is no certificate either, and that has been reported.
  if (exchange.step.response.certificate === undefined || findings.metrics["status"] === undefined) {
    return findings;
  }
  const certificate = await findCertificate(exchange, tls?.authority === undefined ? [] : [tls.authority]);
  return {
    ...findings,
    metrics: { ...findings.metrics, ...certificate.metrics },
    violations: [...findings.violations, ...certificate.violations],
    warnings: [...findings.warnings, ...certificate.warnings],
  };
}

async function ask(exchange: Exchange, tls: TlsMaterial | undefined): Promise<Findings> {
  const { step: { request, response: expected }, system, signal, address } = exchange;
  const { connectTo: host, socket } = request;
  const connectsElsewhere = host !== undefined || socket !== undefined || address !== undefined;
  const follows = request.redirects ?? (expectsRedirection(expected.statusCode) ? "refuse" : "follow");
  const answer = await askFollowing(
    {
      target: request.target,
      method: request.method,
      headers: headersOf(request),
      ...defined({ body: request.body, tls, refuses: refusalBy(request.tls ?? {}) }),
      ...connectsElsewhere && { connection: defined({ host, socket, address }) },
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

/** Targets log it; the runtime's default is its own name. */
const USER_AGENT = "monitor";

function headersOf({ headers = {} }: HttpMessage): Readonly<Record<string, string>> {
  const isNamed = Object.keys(headers).some((name) => name.toLowerCase() === "user-agent");
  return isNamed ? headers : { "user-agent": USER_AGENT, ...headers };
}

function findingsWithoutHead(error: unknown, exchange: Exchange, asked: Asked): Findings {
  if (exchange.signal.aborted) {
    const text = `${timeoutText(exchange)}, before a response head from ${hostAndPortOf(asked.target)}`;
    return { ...NOTHING, asked, violations: [text] };
  }
  const failure = exchange.system.requests.explain(error, asked.target);
  const text = describeRequestFailure(failure, asked.target);
  return { ...NOTHING, asked, ...isOwnFailure(failure) ? { obstacle: text } : { violations: [text] } };
}

export function timeoutText({ timeoutMs }: Pick<Exchange, "timeoutMs">): string {
  return `timeout after ${timeoutMs / 1000} s`;
}

async function evaluate(response: IncomingResponse, exchange: Exchange, asked: Asked): Promise<Findings> {
  const { step, system: { clock, requests }, signal, startedMs } = exchange;
  const { request, response: expected, capture } = step;
  const metrics: Record<string, number> = {
    status: response.status,
    head_ms: roundedMs(clock.monotonicMs() - startedMs),
  };
  const violations = request.redirects === "refuse"
    ? refusedRedirect(response, { asked, expected: expected.statusCode })
    : statusViolations(response, expected.statusCode);
  for (const [name, wish] of Object.entries(expected.headers)) {
    const violation = await headerViolation(response, name, wish);
    if (violation !== null) violations.push(violation);
  }
  const isBodyCaptured = capture !== undefined && capturesBody(capture);
  const captureFrom = async (start: string, isWhole: boolean): Promise<Findings["captured"]> => {
    if (capture === undefined) return NOTHING.captured;
    const values = await captureValues(capture, { response, start, isWhole });
    violations.push(...values.violations);
    return values.captured;
  };
  if (!expectsBody(expected) && !isBodyCaptured) {
    const captured = await captureFrom("", true);
    return { asked, metrics, violations, warnings: NOTHING.warnings, obstacle: null, captured };
  }
  let durationMs = 0;
  try {
    const body = await evaluateBody(expected, {
      response,
      isCaptured: isBodyCaptured,
      nowMs: clock.wallMs(),
      onRead: () => durationMs = clock.monotonicMs() - startedMs,
      pause: () => sleep(clock, 0, signal),
    });
    violations.push(...body.violations);
    const captured = await captureFrom(body.start, body.isWhole);
    metrics["total_ms"] = roundedMs(durationMs);
    const tooLong = durationViolation(durationMs, expected);
    if (tooLong?.isWarning === false) violations.push(tooLong.text);
    const warnings = tooLong?.isWarning ? [tooLong.text] : NOTHING.warnings;
    return { asked, metrics, violations, warnings, obstacle: body.obstacle, captured };
  } catch (error) {
    const reason = signal.aborted
      ? `${timeoutText(exchange)} while reading the body`
      : `reading the body failed: ${requests.explain(error, asked.target).reason}`;
    return { ...NOTHING, asked, metrics, violations: [...violations, reason] };
  }
}

/** If redirects are rejected, an unexpected one is described with its target. */
function refusedRedirect(
  response: IncomingResponse,
  { asked, expected }: { readonly asked: Asked; readonly expected: HttpExpectation["statusCode"] },
): string[] {
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

export function describeFindings(findings: Findings): string {
  const { asked, metrics, violations, warnings, obstacle } = findings;
  const all = [...violations, ...obstacle === null ? [] : [obstacle], ...warnings];
  const text = all.length > 0 ? all.join("; ") : `status is ${metrics["status"]}`;
  return asked?.redirected ? `${text} (redirected to ${describeTarget(asked.target)})` : text;
}

export function conditionOf({ violations, warnings, obstacle }: Findings, asWarning: boolean): Condition {
  if (violations.length > 0) return asWarning ? "warning" : "critical";
  if (warnings.length > 0) return "warning";
  return obstacle === null ? "ok" : "unknown";
}

async function headerViolation(
  response: IncomingResponse,
  name: string,
  wish: HttpExpectation["headers"][string],
): Promise<string | null> {
  const actual = readHeader(response, name)?.trim();
  const expected = typeof wish === "string"
    ? { fits: actual === wish.trim(), text: quote(wish.trim()) }
    : { fits: await matches(actual, wish.matches), text: `a match of ${quote(wish.matches)}` };
  if (expected.fits) return null;
  const state = actual === undefined ? "missing" : quote(actual);
  return `header "${name}" is ${state}, expected ${expected.text}`;
}

async function matches(value: string | undefined, pattern: string): Promise<boolean> {
  return value !== undefined && (await searchPattern(value, { pattern, isWhole: true })).found;
}

function durationViolation(durationMs: number, { warningDurationMs, criticalDurationMs }: HttpExpectation) {
  if (warningDurationMs === undefined && criticalDurationMs === undefined) return null;
  const limits = [["critical", criticalDurationMs], ["warning", warningDurationMs]] as const;
  for (const [name, limitMs = Infinity] of limits) {
    if (durationMs <= limitMs) continue;
    const limit = exactDuration(limitMs);
    const shownMs = shownPart(durationMs);
    // More digits prevent "took 1 s, warning above 1 s".
    const took = shownMs > limitMs ? exactDuration(shownMs) : `just over ${limit}`;
    return { text: `took ${took}, ${name} above ${limit}`, isWarning: name === "warning" };
  }
  return null;
}

/** Tenths of milliseconds below 10 ms, whole milliseconds below a second, tenths of seconds from there on. */
function shownPart(durationMs: number): number {
  if (durationMs < 10) return Math.floor(durationMs * 10) / 10;
  return durationMs < 1000 ? Math.floor(durationMs) : Math.floor(durationMs / 100) * 100;
}

/**
 * Reads the certificate of the configured target over a separate connection, once the response has been read: the runtime
 * does not expose that of a request. `authorities`: CA certificates (PEM) that are trusted in addition to the usual ones.
 */
async function findCertificate(
  { step: { request, response }, timeoutMs, system, signal }: Exchange,
  authorities: readonly string[],
): Promise<Findings> {
  const expected = response.certificate;
  if (expected === undefined || signal.aborted) return NOTHING;
  const { protocol, hostname: host, port: given } = new URL(request.target);
  if (protocol !== "https:") return violation(`${NO_TLS}, so it has no certificate`);
  const port = given === "" ? 443 : Number(given);
  const { connections, clock } = system;
  const verdict = await readVerdict(
    { host, port, tls: { serverName: host, authorities } },
    { connections, clock, expected: { ...expected, ...request.tls }, timeoutMs, signal },
  );
  if ("failure" in verdict) return violation(`reading the certificate: ${verdict.failure.text}`);
  const { condition, text, metrics } = verdict;
  if (condition === "ok") return { ...NOTHING, metrics };
  return { ...NOTHING, metrics, [condition === "critical" ? "violations" : "warnings"]: [text] };
}

const NO_TLS = "the target is not https:";

function violation(text: string): Findings {
  return { ...NOTHING, violations: [text] };
}

export function certificateWarnings(
  { request, response }: Pick<HttpStep, "request" | "response">,
): readonly ParameterProblem[] {
  if (response.certificate === undefined) return [];
  const path = ["response", "certificate"];
  if (new URL(request.target).protocol !== "https:") {
    return [{ path, message: `${NO_TLS}, so it has no certificate` }];
  }
  return timeLeftWarnings(response.certificate, path);
}
