import type { ObserveContext } from "../../domain/check_kind.ts";
import type { IncomingResponse, OutgoingRequest } from "../../domain/connections.ts";
import { startDeadline } from "../../shared/deadline.ts";
import { describeRequestFailure } from "../../shared/failure_words.ts";
import { parseJson } from "../../shared/json_values.ts";
import { askFollowing } from "./redirects.ts";
import { readBody } from "./response_body.ts";

interface AskOptions extends Pick<ObserveContext, "system" | "signal"> {
  /** For messages, such as `rdap.example.org:443`. */
  readonly place: string;
  readonly timeoutMs: number;
}

/** `value`: `null` if the body is no JSON; fields are of any type. */
type JsonAnswer = { readonly status: number; readonly value: unknown } | { readonly failure: string };

/** Sends a GET request to an API, and returns its JSON, or in one line why there is none. Throws only if aborted. */
export async function askJson(
  request: Pick<OutgoingRequest, "target" | "connection"> & { readonly accept: string },
  { place, system, signal, timeoutMs }: AskOptions,
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
    const text = await bodyOf(response);
    return text === null
      ? { failure: `the response of ${place} is too long` }
      : { status: response.status, value: parseJson(text, null) };
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

async function bodyOf(response: IncomingResponse): Promise<string | null> {
  const { start, isWhole } = await readBody(response, {
    parts: [],
    keepsStart: true,
    readsOn: false,
    lengthBytes: null,
    contentType: null,
  });
  return isWhole ? start : null;
}

/** Returns the fields of an object, and none of anything else. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? value as Readonly<Record<string, unknown>> : {};
}

/** Returns the items of a list, and none of anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
