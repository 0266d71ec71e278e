import { startDeadline } from "../shared/deadline.ts";
import type { ConnectionTarget, Requests } from "../domain/connections.ts";
import { type CheckOf, type CheckResult, checkResult } from "../domain/check.ts";
import { hostAndPort, permissionsOfUrl, type RequiredPermissions } from "../domain/runtime_permissions.ts";
import type { CheckKindEntry, ObserveContext, ParameterProblem } from "../domain/check_kind.ts";
import type { HttpExpectation, HttpMessage, HttpStep } from "../domain/generated/config.ts";
import { observeAddresses } from "./connection_run.ts";
import {
  certificateWarnings,
  conditionOf,
  describeFindings,
  examine,
  type Exchange,
  timeoutText,
} from "./http/exchange.ts";
import { portSubject } from "./targets.ts";
import { type Condition, highestSeverity } from "../domain/condition.ts";
import { roundedMs } from "../shared/json_values.ts";
import { createRedactor } from "../shared/redact.ts";
import { counted, quote } from "../shared/text.ts";
import { capturedNames, metricName, nameErrors, replaceCaptured, stepName } from "./body_pattern.ts";
import { decodeHeader, fillRequest, textsOf } from "./http/captures.ts";
import { BODY_PARTS } from "./http/expected_body.ts";
import { isAbsenceExpected } from "./http/json_comparisons.ts";
import { exactDuration } from "../domain/duration.ts";
import { givenKeys, refusalBy, trustErrors, trustWarnings } from "./certificate_verdict.ts";
import { expectsRedirection, HARMLESS_HEADER } from "./http/ask.ts";

export const httpRequestKind: CheckKindEntry<"http_request"> = {
  observe: observeHttpRequest,
  limit: "network",
  hasResponded: ({ metrics }) => metrics["status"] !== undefined,
  target: {
    form: "URL",
    claims: ({ text }) => isUrl(text),
    parametersOf: ({ text }) =>
      isUrl(text)
        ? { request: { target: text }, ...text.startsWith("https:") && { response: { certificate: {} } } }
        : null,
    nameOf: ({ text }) => text.replace(/^https?:\/\/(?:[^/]*@)?/i, "").replace(/[?#].*/, ""),
    subjectsOf: ({ parameters }) =>
      requestsOf(parameters).flatMap(({ target }) => {
        const { hostname, port, protocol } = new URL(target);
        const subject = portSubject(hostname, Number(port) || (protocol === "https:" ? 443 : 80));
        const hasCertificate = parameters.response?.certificate !== undefined;
        return [`url ${target}`, subject, ...hasCertificate ? [`certificate of ${subject}`] : []];
      }),
    textOf: ({ parameters }) => addressText(requestsOf(parameters)[0]?.target),
    goesDown: true,
  },
  warnings: findWarnings,
  errors: findErrors,
  requiredPermissions: ({ parameters }) => {
    const requests = requestsOf(parameters);
    const parts = requests.map(permissionsOfRequest);
    const sockets = requests.flatMap(({ socket }) => socket ?? []);
    return {
      net: [...new Set(parts.flatMap(({ net = [] }) => net))],
      env: [...new Set(parts.flatMap(({ env = [] }) => env))],
      read: [
        ...sockets,
        ...requests.flatMap(({ tls = {} }) => [tls.caFile, tls.certificate, tls.key])
          .filter((path) => path !== undefined),
      ],
      ...sockets.length > 0 && { write: sockets },
    };
  },
};

type Parameters = CheckOf<"http_request">["parameters"];

function requestsOf({ request, steps = [] }: Parameters): readonly HttpMessage[] {
  return [...request === undefined ? [] : [request], ...steps.map((step) => step.request)];
}

function isUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}

function permissionsOfRequest({ target, socket, connectTo }: HttpMessage): RequiredPermissions {
  if (socket !== undefined) return {};
  return connectTo === undefined
    ? permissionsOfUrl(target)
    : { net: [hostAndPort(connectTo, portOf(new URL(target)))] };
}

/** A URL without user information, query and fragment, which may have secrets. */
function addressText(target = ""): string | undefined {
  const url = URL.parse(target);
  return url === null ? undefined : `${url.origin}${url.pathname}`;
}

function placeOf({ target, connectTo }: HttpMessage): ConnectionTarget {
  const url = new URL(target);
  return { host: connectTo ?? url.hostname, port: portOf(url) };
}

/** Of an `http:` URL: other ones connect nowhere else. */
function portOf({ port }: URL): number {
  return port === "" ? 80 : Number(port);
}

/**
 * Sends the request, follows redirects if no 3xx is expected, and compares the response with the expected one; or
 * does so for each of some steps.
 *
 * All failures of the response are listed: status, headers, body, duration, certificate. A missing response is a
 * failure as well, unless the cause is on this side (a permission that was not granted, no file descriptor left):
 * that reveals nothing about the target and is `unknown`. The timeout covers the whole exchange, including redirects
 * and body, and when the check returns, its connections are closed.
 */
export async function observeHttpRequest(
  check: CheckOf<"http_request">,
  { system, signal, hide }: ObserveContext,
): Promise<CheckResult> {
  signal.throwIfAborted();
  const { parameters: { request, response, steps, asWarning }, timeoutMs } = check;
  using deadline = startDeadline(system.clock, timeoutMs, signal);
  const run = { timeoutMs, system, signal: deadline.signal };
  if (steps !== undefined) {
    const result = await observeSteps(steps, { ...run, asWarning, ...hide !== undefined && { hide } });
    signal.throwIfAborted();
    return result;
  }
  if (request === undefined) throw new Error("An http_request check has a request or steps");
  const observe = async ({ address }: Pick<ConnectionTarget, "address">): Promise<CheckResult> => {
    const findings = await examine({
      ...run,
      step: { request, response },
      startedMs: system.clock.monotonicMs(),
      ...address !== undefined && { address },
    });
    return checkResult(conditionOf(findings, asWarning), describeFindings(findings), findings.metrics);
  };
  const result = request.everyAddress === true
    ? await observeAddresses(
      placeOf(request),
      { connections: system.connections, isEvery: true, signal: deadline.signal },
      observe,
    )
    : await observe({});
  // An error during the abort of a run is not a finding.
  signal.throwIfAborted();
  return result;
}

interface StepsRun extends Omit<Exchange, "step" | "startedMs">, Pick<ObserveContext, "hide"> {
  readonly asWarning: boolean;
}

/**
 * Runs the steps in their order, each with the values that earlier ones captured, and the cookies that their responses
 * set. After a step that fails, only those with `always` run whose values were captured.
 */
export async function observeSteps(
  steps: readonly HttpStep[],
  { asWarning, hide, ...run }: StepsRun,
): Promise<CheckResult> {
  const jar = withCookies(run.system.requests, () => run.system.clock.wallMs());
  const { clock, files, connections } = run.system;
  const system = { clock, files, connections, requests: jar.requests };
  const captured = new Map<string, string>();
  const conditions: Condition[] = [];
  const texts: string[] = [];
  const metrics: Record<string, number> = {};
  const beganMs = clock.monotonicMs();
  let hasFailed = false;
  for (const [index, step] of steps.entries()) {
    if (run.signal.aborted) {
      if (!hasFailed) {
        conditions.push(asWarning ? "warning" : "critical");
        texts.push(`${stepName(step, index)}: ${timeoutText(run)}, before its request`);
      }
      break;
    }
    const canRun = textsOf(step.request).flatMap(capturedNames).every((name) => captured.has(name));
    if (hasFailed && !(step.always && canRun)) continue;
    const startedMs = clock.monotonicMs();
    const request = fillRequest(step.request, captured);
    const findings = await examine({ ...run, system, startedMs, step: { ...step, request } });
    for (const [name, value] of Object.entries(findings.captured)) captured.set(name, value);
    metrics[`step_${metricName(stepName(step, index))}_ms`] = roundedMs(clock.monotonicMs() - startedMs);
    const { status, certificate_left_seconds: left } = findings.metrics;
    if (status !== undefined && !hasFailed) metrics["status"] = status;
    if (left !== undefined) metrics["certificate_left_seconds"] = left;
    const condition = conditionOf(findings, asWarning);
    if (condition !== "ok") {
      conditions.push(condition);
      texts.push(`${stepName(step, index)}: ${describeFindings(findings)}`);
    }
    hasFailed ||= findings.violations.length > 0 || findings.obstacle !== null;
  }
  metrics["total_ms"] = roundedMs(clock.monotonicMs() - beganMs);
  // A violation shows a number as it is read, such as 1.5 for "1.50".
  const numbers = [...captured.values()].map((value) => String(Number(value)));
  const secrets = [...captured.values(), ...numbers, ...jar.secrets];
  hide?.(secrets);
  const redact = createRedactor(secrets);
  return checkResult(
    highestSeverity(conditions),
    redact(texts.length === 0 ? `${counted(steps.length, "step")} passed` : texts.join("; ")),
    metrics,
  );
}

/** Of one origin. */
const COOKIES_MAX = 50;
const COOKIE_LENGTH_MAX = 4096;
/** Of one run: each is searched for in every output. */
const VALUES_MAX = 500;

/**
 * Keeps the cookies of responses, and sends them with later requests to the same origin, unless a request has its own
 * `Cookie`. `Domain` and `Path` do not matter: the jar lasts one run of a few requests.
 */
function withCookies(requests: Requests, wallMs: () => number) {
  const jars = new Map<string, Map<string, string>>();
  const values = new Set<string>();
  const send: Requests["send"] = async (request, signal) => {
    const { origin } = new URL(request.target);
    const jar = jars.getOrInsertComputed(origin, () => new Map());
    const hasOwn = Object.keys(request.headers).some((name) => name.toLowerCase() === "cookie");
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = hasOwn || cookie === "" ? request.headers : { ...request.headers, cookie };
    const response = await requests.send({ ...request, headers }, signal);
    for (const text of response.headers().getSetCookie()) {
      const { name, value, isExpired } = readCookie(decodeHeader(text), wallMs());
      if (name === "" || text.length > COOKIE_LENGTH_MAX) continue;
      if (isExpired) jar.delete(name);
      else if ((jar.size < COOKIES_MAX || jar.has(name)) && values.size < VALUES_MAX) jar.set(name, value);
    }
    // A response may set one cookie thousands of times.
    for (const value of jar.values()) values.add(value);
    return response;
  };
  return { requests: { ...requests, send }, secrets: values };
}

function readCookie(text: string, nowMs: number) {
  const [pair = "", ...attributes] = text.split(";").map((part) => part.trim());
  const equals = pair.indexOf("=");
  const attribute = (name: string): string | undefined =>
    attributes.find((one) => one.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
  const maxAge = attribute("max-age") ?? "";
  const expiresMs = Date.parse(attribute("expires") ?? "");
  return {
    name: equals < 0 ? "" : pair.slice(0, equals).trim(),
    value: pair.slice(equals + 1).trim(),
    // `Max-Age` goes before `Expires`, unless it is no number (RFC 6265, sections 5.2.2 and 5.3).
    isExpired: /^-?\d+$/.test(maxAge) ? Number(maxAge) <= 0 : expiresMs <= nowMs,
  };
}

function* findErrors({ parameters }: CheckOf<"http_request">): Generator<ParameterProblem> {
  const { request, response, steps } = parameters;
  if (steps !== undefined) yield* findStepErrors(parameters, steps);
  else if (request === undefined) yield { path: [], message: 'missing key "request" or "steps"' };
  else yield* exchangeErrors({ request, response });
}

type RequestAndResponse = Pick<HttpStep, "request" | "response">;

function* exchangeErrors({ request, response }: RequestAndResponse): Generator<ParameterProblem> {
  const { method, body, tls = {} } = request;
  yield* headerErrors(request);
  if (body !== undefined && (method === "GET" || method === "HEAD")) {
    const message = `a ${method} request has no body, expected another "method", such as "POST"`;
    yield { path: ["request", "body"], message };
  }
  if ((tls.certificate === undefined) !== (tls.key === undefined)) {
    const [given, missing] = tls.key === undefined ? ["certificate", "key"] : ["key", "certificate"];
    const message = `tls.${given} is set without tls.${missing}, expected both`;
    yield { path: ["request", "tls", given], message };
  }
  for (const { path, message } of trustErrors(tls)) yield { path: ["request", "tls", ...path], message };
  if (tls.certificate !== undefined && refusalBy(tls) !== undefined) {
    const message = '"certificate" cannot be used with "fingerprint" or "verify": false, only with "ca_file"';
    yield { path: ["request", "tls", "certificate"], message };
  }
  yield* connectionErrors(request);
  for (const [name, wish] of Object.entries(response.json ?? {})) {
    if (!isAbsenceExpected(wish) || Object.keys(wish).length === 1) continue;
    yield { path: ["response", "json", name], message: "exists is false, so there is nothing to compare" };
  }
}

function* findStepErrors({ request, response }: Parameters, steps: readonly HttpStep[]) {
  if (request !== undefined) yield { path: ["request"], message: "cannot be used with steps" };
  const { statusCode, headers, ...others } = response;
  if (statusCode !== 200 || Object.keys(headers).length + Object.keys(others).length > 0) {
    yield { path: ["response"], message: "cannot be used with steps, expected it in each step" };
  }
  yield* nameErrors(steps);
  const captured = new Set<string>();
  for (const [index, step] of steps.entries()) {
    const at = (...path: readonly (string | number)[]): ParameterProblem["path"] => ["steps", index, ...path];
    for (const { path, message } of [...exchangeErrors(step), ...placeholderErrors(step.request, captured)]) {
      yield { path: at(...path), message };
    }
    if (step.request.everyAddress) {
      yield { path: at("request", "every_address"), message: "cannot be used in steps" };
    }
    for (const [key, { json, header }] of Object.entries(step.capture ?? {})) {
      captured.add(key);
      if (json === undefined || header === undefined) continue;
      yield { path: at("capture", key, "header"), message: 'cannot be used with "json"' };
    }
  }
}

/** Each value must have been captured, and may not change where a request goes. */
function* placeholderErrors({ target, headers = {}, body }: HttpMessage, captured: ReadonlySet<string>) {
  const places = [
    { path: ["request", "target"], text: target },
    ...Object.entries(headers).map(([name, text]) => ({ path: ["request", "headers", name], text })),
    ...body === undefined ? [] : [{ path: ["request", "body"], text: body }],
  ];
  for (const { path, text } of places) {
    const unknown = capturedNames(text).find((name) => !captured.has(name));
    if (unknown === undefined) continue;
    yield { path, message: `no earlier step captures ${quote(unknown)}` };
  }
  const [first, second] = ["a", "b"].map((value) => URL.parse(replaceCaptured(target, () => value)));
  if (first?.origin === second?.origin && first?.username === second?.username) return;
  const message = "has a captured value before its path, expected one in path or query";
  yield { path: ["request", "target"], message };
}

/** Headers about the transfer of a message, which the runtime sets itself. */
const RUNTIME_HEADER =
  /^(?:(?:proxy-)?connection|content-length|expect|keep-alive|te|trailer|transfer-encoding|upgrade)$/;

function* headerErrors({ headers = {} }: HttpMessage): Generator<ParameterProblem> {
  const names = new Map<string, string>();
  for (const name of Object.keys(headers)) {
    const path = ["request", "headers", name];
    const lower = name.toLowerCase();
    const earlier = names.get(lower);
    names.set(lower, name);
    if (RUNTIME_HEADER.test(lower)) {
      yield { path, message: `header "${name}" is set by the runtime, remove it` };
    }
    if (earlier !== undefined) {
      yield { path, message: `header "${name}" is specified more than once, also as "${earlier}"` };
    }
  }
}

/** The client of `https:` has no such options; with a proxy in their place it sends the request in clear text. */
function* connectionErrors({ target, socket, connectTo, everyAddress }: HttpMessage) {
  const given = givenKeys({ socket, connect_to: connectTo, every_address: everyAddress || undefined });
  const isPlain = URL.parse(target)?.protocol === "http:";
  for (const key of given) {
    const path = ["request", key];
    if (!isPlain) {
      yield { path, message: `"${key}" requires http:, the client of https: connects to its host alone` };
    } else if (socket !== undefined && key !== "socket") {
      yield { path, message: `"${key}" cannot be used with "socket": remove one of them` };
    }
  }
}

function* findWarnings({ parameters, timeoutMs }: CheckOf<"http_request">): Generator<ParameterProblem> {
  const { request, response, steps = [] } = parameters;
  if (request !== undefined) yield* exchangeWarnings({ request, response }, timeoutMs);
  for (const [index, step] of steps.entries()) {
    for (const { path, message } of exchangeWarnings(step, timeoutMs)) {
      yield { path: ["steps", index, ...path], message };
    }
  }
}

/** The runtime removes these headers from responses that it decompresses. */
const HIDDEN_HEADER = /^content-(?:encoding|length)$/i;

function* exchangeWarnings({ request, response }: RequestAndResponse, timeoutMs: number) {
  const { target, tls = {}, redirects, method } = request;
  for (const { path, message } of trustWarnings(tls)) yield { path: ["request", "tls", ...path], message };
  if (tls.fingerprint !== undefined && mayHaveSecrets(request)) {
    const message =
      'a server with a copy of the certificate can read headers, body and credentials: send them with "ca_file"';
    yield { path: ["request", "tls", "fingerprint"], message };
  }
  yield* certificateWarnings({ request, response });
  if (request.tls !== undefined && URL.parse(target)?.protocol === "http:") {
    const message = "has no effect for http:, except after a redirect to https:";
    yield { path: ["request", "tls"], message };
  }
  if (expectsRedirection(response.statusCode) && redirects !== undefined) {
    const message = redirects === "follow"
      ? "redirects are followed, so status_code gets a 3xx only without a Location"
      : "rejects only redirects that status_code does not expect";
    yield { path: ["request", "redirects"], message };
  }
  for (const name of Object.keys(response.headers)) {
    if (!HIDDEN_HEADER.test(name)) continue;
    const message = `header "${name}" cannot be seen on a compressed response, which is decompressed first`;
    yield { path: ["response", "headers", name], message };
  }
  if (method === "HEAD" && BODY_PARTS.some((part) => response[part] !== undefined)) {
    yield { path: ["request", "method"], message: "a response to HEAD has no body to compare" };
  }
  yield* durationWarnings(response, timeoutMs);
}

function mayHaveSecrets({ target, headers = {}, body }: HttpMessage): boolean {
  const url = URL.parse(target);
  return body !== undefined || url?.username !== "" || url.password !== "" ||
    Object.keys(headers).some((name) => !HARMLESS_HEADER.test(name) && name.toLowerCase() !== "host");
}

function* durationWarnings(
  { warningDurationMs: warning, criticalDurationMs: critical }: HttpExpectation,
  timeoutMs: number,
): Generator<ParameterProblem> {
  if (warning !== undefined && critical !== undefined && warning >= critical) {
    const both = `${exactDuration(warning)}, not below ${exactDuration(critical)}`;
    const message = `is not shorter than critical_duration (${both}): the warning is never reached`;
    yield { path: ["response", "warning_duration"], message };
  }
  for (const [name, limitMs] of [["warning_duration", warning], ["critical_duration", critical]] as const) {
    if (limitMs === undefined || limitMs < timeoutMs) continue;
    const both = `${exactDuration(limitMs)}, not below ${exactDuration(timeoutMs)}`;
    const message = `is not shorter than the timeout (${both}), which comes first`;
    yield { path: ["response", name], message };
  }
}
