import { startDeadline } from "../shared/deadline.ts";
import type { ConnectionTarget } from "../domain/connections.ts";
import { type CheckOf, type CheckResult, checkResult } from "../domain/check.ts";
import { hostAndPort, permissionsOfUrl, type RequiredPermissions } from "../domain/runtime_permissions.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import type { HttpMessage, HttpStep } from "../domain/generated/config.ts";
import { observeAddresses } from "./every_address.ts";
import { conditionOf, describeFindings, examine, type Exchange, timeoutText } from "./http/exchange.ts";
import { findErrors, findRequestWarnings } from "./http/request_errors.ts";
import { nameFor, portSubject } from "./targets.ts";
import { type Condition, highestSeverity } from "../domain/condition.ts";
import { roundedMs } from "../shared/json_values.ts";
import { createRedactor } from "../shared/redact.ts";
import { counted } from "../shared/text.ts";
import { capturedNames, metricName, stepName } from "./step_names.ts";
import { decodeHeader, fillRequest, textsOf } from "./http/captures.ts";
import type { Requests } from "../domain/requests.ts";

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
    nameOf: ({ text }) => nameFor(text.replace(/^https?:\/\/(?:[^/]*@)?/i, "").replace(/[?#].*/, "")),
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
  warnings: findRequestWarnings,
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

function requestsOf(
  { request, steps = [] }: CheckOf<"http_request">["parameters"],
): readonly HttpMessage[] {
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
  const options = { connections: system.connections, isEvery: true, signal: deadline.signal };
  const result = request.everyAddress === true
    ? await observeAddresses(placeOf(request), options, observe)
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
  const { clock } = run.system;
  const jar = withCookies(run.system.requests, () => clock.wallMs());
  const system = { ...run.system, requests: jar.requests };
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
    for (const text of response.headers.getSetCookie()) {
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
