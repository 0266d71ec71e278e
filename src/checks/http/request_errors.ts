import type { CheckOf } from "../../domain/check.ts";
import type { HttpExpectation, HttpMessage, HttpStep } from "../../domain/generated/config.ts";
import { capturedNames, metricName, replaceCaptured, stepName } from "../step_names.ts";
import { quote } from "../../shared/text.ts";

import type { ParameterProblem } from "../../domain/check_kind.ts";
import { BODY_PARTS } from "./expected_body.ts";
import { isAbsenceExpected } from "./json_comparisons.ts";
import { exactDuration } from "../../domain/duration.ts";
import { certificateWarnings } from "./response_certificate.ts";
import { refusalBy, trustErrors, trustWarnings } from "../certificate_verdict.ts";
import { expectsRedirection, HARMLESS_HEADER } from "./redirects.ts";

export function findErrors({ parameters }: CheckOf<"http_request">): readonly ParameterProblem[] {
  const { request, response, steps } = parameters;
  if (steps !== undefined) return findStepErrors(parameters, steps);
  if (request === undefined) return [{ path: [], message: 'missing key "request" or "steps"' }];
  return [...exchangeErrors({ request, response })];
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

function findStepErrors(
  { request, response }: CheckOf<"http_request">["parameters"],
  steps: readonly HttpStep[],
) {
  const problems: ParameterProblem[] = [];
  if (request !== undefined) problems.push({ path: ["request"], message: "cannot be used with steps" });
  const { statusCode, headers, ...others } = response;
  if (statusCode !== 200 || Object.keys(headers).length + Object.keys(others).length > 0) {
    problems.push({ path: ["response"], message: "cannot be used with steps, expected it in each step" });
  }
  const names = new Map<string, number>();
  const captured = new Set<string>();
  for (const [index, step] of steps.entries()) {
    const at = (...path: readonly (string | number)[]): ParameterProblem["path"] => ["steps", index, ...path];
    const name = metricName(stepName(step, index));
    const earlier = names.get(name);
    if (earlier !== undefined) {
      problems.push({ path: at("name"), message: `is too much like the name of step ${earlier + 1}` });
    }
    names.set(name, index);
    for (const { path, message } of [...exchangeErrors(step), ...placeholderErrors(step.request, captured)]) {
      problems.push({ path: at(...path), message });
    }
    if (step.request.everyAddress) {
      problems.push({ path: at("request", "every_address"), message: "cannot be used in steps" });
    }
    for (const [key, { json, header }] of Object.entries(step.capture ?? {})) {
      captured.add(key);
      if (json === undefined || header === undefined) continue;
      problems.push({ path: at("capture", key, "header"), message: 'cannot be used with "json"' });
    }
  }
  return problems;
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
function* connectionErrors({ target, socket, connectTo, everyAddress = false }: HttpMessage) {
  const given = [
    ...socket === undefined ? [] : ["socket"],
    ...connectTo === undefined ? [] : ["connect_to"],
    ...everyAddress ? ["every_address"] : [],
  ];
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

export function findRequestWarnings(
  { parameters, timeoutMs }: CheckOf<"http_request">,
): readonly ParameterProblem[] {
  const { request, response, steps = [] } = parameters;
  return [
    ...request === undefined ? [] : exchangeWarnings({ request, response }, timeoutMs),
    ...steps.flatMap((step, index) =>
      [...exchangeWarnings(step, timeoutMs)].map((warning) => ({
        ...warning,
        path: ["steps", index, ...warning.path],
      }))
    ),
  ];
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
    yield {
      path: ["response", "warning_duration"],
      message: `is not shorter than critical_duration (${both}): the warning is never reached`,
    };
  }
  for (const [name, limitMs] of [["warning_duration", warning], ["critical_duration", critical]] as const) {
    if (limitMs === undefined || limitMs < timeoutMs) continue;
    const both = `${exactDuration(limitMs)}, not below ${exactDuration(timeoutMs)}`;
    yield {
      path: ["response", name],
      message: `is not shorter than the timeout (${both}), which comes first`,
    };
  }
}
