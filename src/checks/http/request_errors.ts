import type { HttpRequestCheck } from "../../domain/check.ts";
import type { HttpExpectation, HttpRequest } from "../../domain/http_check.ts";
import type { ParameterProblem } from "../../domain/check_kind.ts";
import { BODY_PARTS } from "./expected_body.ts";
import { exactDuration } from "../../domain/duration.ts";
import { certificateWarnings } from "./response_certificate.ts";
import { expectsRedirection } from "./expected_status.ts";

/** What cannot be right in the parameters of an `http_request` check. */
export function findErrors(
  { parameters: { request, response } }: HttpRequestCheck,
): readonly ParameterProblem[] {
  return [
    ...headerErrors(request),
    ...bodyErrors(request),
    ...tlsErrors(request),
    ...jsonErrors(response),
  ];
}

/** Headers that say how a message is sent, which the runtime does and says itself. */
const RUNTIME_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

function* headerErrors({ headers = {} }: HttpRequest): Generator<ParameterProblem> {
  const names = new Map<string, string>();
  for (const name of Object.keys(headers)) {
    const path = ["request", "headers", name];
    const lower = name.toLowerCase();
    const earlier = names.get(lower);
    names.set(lower, name);
    if (RUNTIME_HEADERS.has(lower)) {
      yield { path, message: `header "${name}" is set by the runtime, remove it` };
    }
    if (earlier !== undefined) {
      yield { path, message: `header "${name}" is specified more than once, also as "${earlier}"` };
    }
  }
}

function* bodyErrors({ method, body }: HttpRequest): Generator<ParameterProblem> {
  if (body === undefined || method !== "GET" && method !== "HEAD") return;
  yield {
    path: ["request", "body"],
    message: `a ${method} request has no body, expected another "method", such as "POST"`,
  };
}

function* tlsErrors({ tls }: HttpRequest): Generator<ParameterProblem> {
  if (tls === undefined || (tls.certificate === undefined) === (tls.key === undefined)) return;
  const [given, missing] = tls.key === undefined ? ["certificate", "key"] : ["key", "certificate"];
  yield {
    path: ["request", "tls", given],
    message: `tls.${given} is set without tls.${missing}, expected both`,
  };
}

function* jsonErrors({ json = {} }: HttpExpectation): Generator<ParameterProblem> {
  for (const [name, wish] of Object.entries(json)) {
    if (typeof wish !== "object" || wish === null || !("exists" in wish) || wish.exists !== false) continue;
    if (Object.keys(wish).length === 1) continue;
    yield { path: ["response", "json", name], message: "exists is false, so there is nothing to compare" };
  }
}

/** What is doubtful in the parameters of an `http_request` check. */
export function findWarnings({ parameters, timeoutMs }: HttpRequestCheck): readonly ParameterProblem[] {
  const { request, response } = parameters;
  return [
    ...certificateWarnings(parameters),
    ...tlsWarnings(request),
    ...redirectWarnings(request, response),
    ...hiddenHeaderWarnings(response),
    ...emptyBodyWarnings(request, response),
    ...durationWarnings(response, timeoutMs),
  ];
}

function* tlsWarnings({ target, tls }: HttpRequest): Generator<ParameterProblem> {
  if (tls === undefined || URL.parse(target)?.protocol !== "http:") return;
  yield {
    path: ["request", "tls"],
    message: "has no effect for http:, except after a redirect to https:",
  };
}

function* redirectWarnings(
  { redirects }: HttpRequest,
  { statusCode }: HttpExpectation,
): Generator<ParameterProblem> {
  if (!expectsRedirection(statusCode) || redirects === undefined) return;
  yield {
    path: ["request", "redirects"],
    message: redirects === "follow"
      ? "redirects are followed, so status_code gets a 3xx only without a Location"
      : "rejects only redirects that status_code does not expect",
  };
}

/** The runtime takes these out of what it has decompressed, and it decompresses whatever it can. */
const HIDDEN_HEADERS: ReadonlySet<string> = new Set(["content-encoding", "content-length"]);

function* hiddenHeaderWarnings({ headers }: HttpExpectation): Generator<ParameterProblem> {
  for (const name of Object.keys(headers)) {
    if (!HIDDEN_HEADERS.has(name.toLowerCase())) continue;
    yield {
      path: ["response", "headers", name],
      message: `header "${name}" cannot be seen on a compressed response, which is decompressed first`,
    };
  }
}

function* emptyBodyWarnings({ method }: HttpRequest, response: HttpExpectation): Generator<ParameterProblem> {
  if (method !== "HEAD" || !BODY_PARTS.some((part) => response[part] !== undefined)) return;
  yield {
    path: ["request", "method"],
    message: "a response to HEAD has no body to compare",
  };
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
