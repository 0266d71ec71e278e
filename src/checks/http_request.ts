import type { HttpRequestCheck } from "../domain/check.ts";
import type { Caveat, CheckKindEntry, ObserveContext } from "../domain/observe.ts";
import { hostAndPortOf } from "../domain/needs.ts";
import { onAbort } from "../domain/on_abort.ts";
import type { Observation } from "../domain/result.ts";
import type { IncomingResponse, RequestFailure, Requests } from "../domain/system.ts";
import { type Asked, askFollowing, REDIRECT_STATUSES } from "./redirects.ts";
import { BODY_BYTES_MAX, searchBody } from "./response_body.ts";
import { readHeader } from "./response_headers.ts";

/** The `http_request` kind. */
export const httpRequestKind: CheckKindEntry<"http_request"> = {
  observe: observeHttpRequest,
  limit: "network",
  caveats: findCaveats,
  needs: ({ parameters }) => ({ net: [hostAndPortOf(parameters.request.target)] }),
};

/**
 * Sends the request, follows redirects where no 3xx is expected, and holds the answer to what is expected of it.
 *
 * Everything that is wrong with the answer is listed: status, headers, body. No answer is a violation as well,
 * except where this side is to blame (a permission that was not granted, no descriptor left): that tells nothing
 * of the target and is `unknown`. The time limit covers the whole exchange, redirects and body included, and when
 * the check ends, its connections have ended.
 */
export async function observeHttpRequest(
  check: HttpRequestCheck,
  { system: { clock, requests }, signal }: ObserveContext,
): Promise<Observation> {
  signal.throwIfAborted();
  const end = new AbortController();
  const stopListening = onAbort(signal, () => end.abort(signal.reason));
  const cancelLimit = clock.after(check.timeoutMs, () => end.abort());
  try {
    const findings = await examine(check, { requests, signal: end.signal });
    // What was found while the run was being ended is no finding.
    signal.throwIfAborted();
    return observation(check, findings);
  } finally {
    cancelLimit();
    stopListening();
  }
}

/** How the exchange reaches the target, and what ends it early: the time limit or the end of the run. */
interface Exchange {
  readonly requests: Requests;
  readonly signal: AbortSignal;
}

/** What the exchange showed. */
interface Findings {
  readonly asked: Asked;
  /** `null` when no head came. */
  readonly status: number | null;
  /** What is wrong, in the order in which it is told. */
  readonly violations: readonly string[];
  /** Why nothing can be said of the target; `null` when something can. */
  readonly obstacle: string | null;
}

async function examine(check: HttpRequestCheck, exchange: Exchange): Promise<Findings> {
  const { request, response: expected } = check.parameters;
  const answer = await askFollowing(
    { target: request.target, method: request.method, headers: REQUEST_HEADERS },
    { ...exchange, followRedirects: !isRedirection(expected.statusCode) },
  );
  const { asked } = answer;
  if (answer.ended === "failed") return findingsWithoutHead(answer.error, { check, exchange, asked });
  if (answer.ended === "misled") {
    return { asked, status: answer.status, violations: [answer.problem], obstacle: null };
  }
  const { response } = answer;
  try {
    const violations = [
      ...statusViolations(response, expected.statusCode),
      ...headerViolations(response, expected.headers),
      ...await bodyViolations(response, { check, exchange, asked }),
    ];
    return { asked, status: response.status, violations, obstacle: null };
  } finally {
    await response.close();
  }
}

/** Targets log who asked; the runtime would name itself. */
const REQUEST_HEADERS = { "user-agent": "monitor" };

function isRedirection(statusCode: number | null): boolean {
  return statusCode !== null && statusCode >= 300 && statusCode <= 399;
}

/** A check with its exchange, at the point where something went wrong. */
interface Moment {
  readonly check: HttpRequestCheck;
  readonly exchange: Exchange;
  readonly asked: Asked;
}

function findingsWithoutHead(error: unknown, { check, exchange, asked }: Moment): Findings {
  const nothing = { asked, status: null, violations: [], obstacle: null };
  if (exchange.signal.aborted) {
    return { ...nothing, violations: [`${timeoutText(check)}, before a response head`] };
  }
  const { phase, reason } = exchange.requests.explain(error, asked.target);
  if (phase === "permission") return { ...nothing, obstacle: reason };
  const text = `${ACTIVITIES[phase]} failed: ${reason}`;
  return phase === "machine" ? { ...nothing, obstacle: text } : { ...nothing, violations: [text] };
}

/** What was being done in each phase. Before a head there is no body, whatever the runtime's error looks like. */
const ACTIVITIES: Readonly<Record<Exclude<RequestFailure["phase"], "permission">, string>> = {
  machine: "connecting",
  resolving: "resolving",
  connecting: "connecting",
  TLS: "TLS",
  head: "reading the response head",
  body: "reading the response head",
};

function timeoutText({ timeoutMs }: HttpRequestCheck): string {
  return `timeout after ${timeoutMs / 1000} s`;
}

function statusViolations({ status, headers }: IncomingResponse, expected: number | null): readonly string[] {
  if (expected === null || status === expected) return [];
  const leadsNowhere = REDIRECT_STATUSES.has(status) && !headers.has("location");
  return [`status is ${status}${leadsNowhere ? " without a Location" : ""}, expected ${expected}`];
}

function headerViolations(
  response: IncomingResponse,
  expectedHeaders: Readonly<Record<string, string>>,
): readonly string[] {
  const violations: string[] = [];
  for (const [name, value] of Object.entries(expectedHeaders)) {
    const actual = readHeader(response.headers, name)?.trim();
    const expected = value.trim();
    if (actual === expected) continue;
    const state = actual === undefined ? "missing" : quote(actual);
    violations.push(`header "${name}" is ${state}, expected ${quote(expected)}`);
  }
  return violations;
}

async function bodyViolations(
  { body, headers }: IncomingResponse,
  { check, exchange, asked }: Moment,
): Promise<readonly string[]> {
  const part = check.parameters.response.bodyPart;
  if (part === undefined) return [];
  try {
    const search = await searchBody(body, { part, contentType: headers.get("content-type") });
    if (search.found) return [];
    const where = search.cut ? ` in its first ${BODY_BYTES_MAX / 1024 ** 2} MiB` : "";
    const how = search.unknownCharset === null
      ? ""
      : ` (its charset ${quote(search.unknownCharset)} is unknown, it was read as UTF-8)`;
    return [`body does not contain ${quote(part)}${where}${how}`];
  } catch (error) {
    if (exchange.signal.aborted) return [`${timeoutText(check)} while reading the body`];
    return [`reading the body failed: ${exchange.requests.explain(error, asked.target).reason}`];
  }
}

function observation({ parameters }: HttpRequestCheck, findings: Findings): Observation {
  const { asked, status, violations, obstacle } = findings;
  const violated = parameters.asWarning ? "warning" : "critical";
  const text = obstacle ?? (violations.length > 0 ? violations.join("; ") : `status is ${status}`);
  return {
    condition: obstacle !== null ? "unknown" : violations.length > 0 ? violated : "ok",
    output: asked.redirected ? `${text} (redirected to ${describeTarget(asked.target)})` : text,
    detail: "",
    metrics: status === null ? {} : { status },
    performanceData: "",
  };
}

/** Without credentials, query and fragment, which nobody else is to see. */
function describeTarget(target: string): string {
  const { origin, pathname } = new URL(target);
  return shorten(`${origin}${pathname}`);
}

/** A quotation on one line, as it was sent except that it may be shortened. */
function quote(text: string): string {
  return `"${shorten(text).replace(/\r\n|\r|\n/g, "\\n")}"`;
}

const QUOTED_LENGTH_MAX = 200;

/** Does not cut a surrogate pair in two. */
function shorten(text: string): string {
  if (text.length <= QUOTED_LENGTH_MAX) return text;
  return `${text.slice(0, QUOTED_LENGTH_MAX).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** The runtime takes these out of what it has decompressed, and it decompresses whatever it can. */
const HIDDEN_HEADERS: ReadonlySet<string> = new Set(["content-encoding", "content-length"]);

function findCaveats({ parameters }: HttpRequestCheck): readonly Caveat[] {
  return Object.keys(parameters.response.headers)
    .filter((name) => HIDDEN_HEADERS.has(name.toLowerCase()))
    .map((name) => ({
      path: ["response", "headers", name],
      message: `header "${name}" cannot be seen on a compressed response, which is decompressed first`,
    }));
}
