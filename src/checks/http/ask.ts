/** Requests of checks: redirects, expected statuses, and APIs that return JSON. */
import type { IncomingResponse, OutgoingRequest, Requests } from "../../domain/connections.ts";
import { readHeader } from "./captures.ts";
import type { HttpExpectation } from "../../domain/generated/config.ts";
import type { ObserveContext } from "../../domain/check_kind.ts";
import { startDeadline } from "../../shared/deadline.ts";
import { describeRequestFailure } from "../../shared/failure_words.ts";
import { defined, parseJson } from "../../shared/json_values.ts";
import { readBody } from "./response_body.ts";

const REDIRECTS_MAX = 10;

/** The statuses that send a visitor elsewhere; 300, 304 and 305 do not (RFC 9110, section 15.4). */
const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

type Answer =
  & { readonly asked: Asked }
  & (
    | { readonly ended: "answered"; readonly response: IncomingResponse }
    | { readonly ended: "misled"; readonly status: number; readonly problem: string }
    | { readonly ended: "failed"; readonly error: unknown }
  );

export interface Asked {
  /** The URL, with its credentials and its query: not for display. */
  readonly target: string;
  readonly redirected: boolean;
}

interface AskOptions {
  readonly requests: Requests;
  /** Whether redirects are followed; otherwise a redirect is the final response. */
  readonly followRedirects: boolean;
  /** Aborts the request in progress; no other is sent then. */
  readonly signal: AbortSignal;
}

/**
 * Sends a request and follows its redirects as a browser does (Fetch standard, "HTTP-redirect fetch"): a POST becomes
 * a GET after 301 and 302, and any method but GET and HEAD after 303. A redirect without a `Location` is a final
 * response.
 *
 * Configured values stay within their origin: the target's credentials, all headers but harmless ones, and the client
 * certificate are sent along if a redirect stays there, and nowhere else. The body is sent along with its method, as
 * in browsers. Every response but the returned one is closed.
 */
export async function askFollowing(first: OutgoingRequest, options: AskOptions): Promise<Answer> {
  const { requests, followRedirects, signal } = options;
  const sent = new Set<string>();
  let request = first;
  for (let followed = 0;; followed += 1) {
    const asked = { target: request.target, redirected: followed > 0 };
    let response: IncomingResponse;
    try {
      response = await requests.send(request, signal);
    } catch (error) {
      return { ended: "failed", asked, error };
    }
    const location = followRedirects ? locationOf(response) : null;
    if (location === null) return { ended: "answered", asked, response };
    const { status } = response;
    await response.close();
    sent.add(`${request.method} ${request.target}`);
    const next = followed < REDIRECTS_MAX
      ? nextRequest(request, { status, location })
      : { problem: sent.size > followed ? TOO_MANY_REDIRECTS : REDIRECT_LOOP };
    if ("problem" in next) return { ended: "misled", asked, status, problem: next.problem };
    request = next;
  }
}

const TOO_MANY_REDIRECTS = `more than ${REDIRECTS_MAX} redirects`;

/** Some request was sent twice, and asked for the same again. */
const REDIRECT_LOOP = `redirect loop, left after ${REDIRECTS_MAX} redirects`;

/** The target of a redirect; `null` if the response is none or has no location. */
export function locationOf(response: IncomingResponse): string | null {
  return REDIRECT_STATUSES.has(response.status) ? readHeader(response, "location") : null;
}

function nextRequest(
  request: OutgoingRequest,
  { status, location }: { readonly status: number; readonly location: string },
): OutgoingRequest | { readonly problem: string } {
  if (location === "") return { problem: `redirect (status ${status}) has an empty Location` };
  if (!URL.canParse(location, request.target)) {
    return { problem: `redirect (status ${status}) has a Location that is not a URL` };
  }
  const url = new URL(location, request.target);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return { problem: `redirect (status ${status}) leads to "${url.protocol}", expected http: or https:` };
  }
  url.hash = "";
  keepCredentials(url, new URL(request.target));
  return withoutWhatStays(request, { target: url.href, method: methodAfter(status, request.method) });
}

/** Returns the parts of a redirected request that are sent to the next target. */
function withoutWhatStays(request: OutgoingRequest, next: Pick<OutgoingRequest, "target" | "method">) {
  const { headers, body, tls, refuses, connection } = request;
  const keepsBody = next.method === request.method;
  const keepsOrigin = new URL(next.target).origin === new URL(request.target).origin;
  const kept = Object.entries(headers).filter(([name]) => {
    if (BODY_HEADER.test(name)) return keepsBody;
    return keepsOrigin || HARMLESS_HEADER.test(name);
  });
  const authority = tls?.authority;
  const nextTls = keepsOrigin ? tls : authority === undefined ? undefined : { authority };
  return {
    ...next,
    headers: Object.fromEntries(kept),
    ...defined({ tls: nextTls, ...keepsBody && { body }, ...keepsOrigin && { refuses, connection } }),
  };
}

/** The headers that a request drops with its body (Fetch standard, "request-body-header name"). */
const BODY_HEADER = /^content-(?:encoding|language|location|type)$/i;

/** The headers that another origin may receive; the credentials of a service travel in headers of any name. */
export const HARMLESS_HEADER =
  /^(?:accept(?:-(?:charset|encoding|language))?|cache-control|pragma|range|user-agent)$/i;

/** A relative URL inherits them anyway; an absolute one of the same origin means the same user. */
function keepCredentials(url: URL, from: URL): void {
  if (url.origin !== from.origin || url.username !== "" || url.password !== "") return;
  url.username = from.username;
  url.password = from.password;
}

function methodAfter(status: number, method: string): string {
  if (status === 303) return method === "HEAD" ? "HEAD" : "GET";
  return method === "POST" && (status === 301 || status === 302) ? "GET" : method;
}

export function statusViolations(
  response: IncomingResponse,
  expected: HttpExpectation["statusCode"],
): string[] {
  const { status } = response;
  if (expected === null || isExpectedStatus(status, expected)) return [];
  const isNowhere = REDIRECT_STATUSES.has(status) && response.header("location") === null;
  const wish = [expected].flat().join(" or ");
  return [`status is ${status}${isNowhere ? " without a Location" : ""}, expected ${wish}`];
}

/** Returns whether a 3xx is among the statuses that are expected; `null` expects none in particular. */
export function expectsRedirection(expected: HttpExpectation["statusCode"]): boolean {
  if (typeof expected === "number") return expected >= 300 && expected < 400;
  return expected !== null && [expected].flat().some((one) => String(one).startsWith("3"));
}

/** Returns whether a status was asked for, rather than let pass. */
export function isExpectedStatus(status: number, expected: HttpExpectation["statusCode"]): boolean {
  if (typeof expected === "number") return status === expected;
  return expected !== null && [expected].flat().some((one) =>
    // A code, or a class such as `2xx`.
    typeof one === "number" ? status === one : String(status).startsWith(one.slice(0, 1))
  );
}

/** `value`: `null` if the body is no JSON; fields are of any type. */
type JsonAnswer = { readonly status: number; readonly value: unknown } | { readonly failure: string };

/** Sends a GET request to an API, and returns its JSON, or in one line why there is none. Throws only if aborted. */
export async function askJson(
  request: Pick<OutgoingRequest, "target" | "connection"> & { readonly accept: string },
  { place, system, signal, timeoutMs }: Pick<ObserveContext, "system" | "signal"> & {
    /** For messages, such as `rdap.example.org:443`. */
    readonly place: string;
    readonly timeoutMs: number;
  },
): Promise<JsonAnswer> {
  const { accept, ...where } = request;
  using deadline = startDeadline(system.clock, timeoutMs, signal);
  const answer = await askFollowing(
    { ...where, method: "GET", headers: { "user-agent": "monitor", accept } },
    { requests: system.requests, signal: deadline.signal, followRedirects: true },
  );
  if (answer.ended === "misled") return { failure: `${place}: ${answer.problem}` };
  if (answer.ended === "failed") {
    signal.throwIfAborted();
    const { asked: { target }, error } = answer;
    return {
      failure: deadline.isTimeUp
        ? `no response from ${place} within ${timeoutMs / 1000} s`
        : describeRequestFailure(system.requests.explain(error, target), target),
    };
  }
  const { response } = answer;
  try {
    const { start, isWhole } = await readBody(response, {
      ...{ parts: [], keepsStart: true, readsOn: false, lengthBytes: null, contentType: null },
    });
    if (!isWhole) return { failure: `the response of ${place} is too long` };
    return { status: response.status, value: parseJson(start, null) };
  } catch (error) {
    signal.throwIfAborted();
    return {
      failure: deadline.isTimeUp
        ? `no whole response from ${place} within ${timeoutMs / 1000} s`
        : `reading the response of ${place} failed: ${system.requests.explain(error, where.target).reason}`,
    };
  } finally {
    await response.close();
  }
}

/** Returns the fields of an object, and none of anything else. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? value as Readonly<Record<string, unknown>> : {};
}

/** Returns the items of a list, and none of anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
