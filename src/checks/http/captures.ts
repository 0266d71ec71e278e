import { parseJson } from "../../shared/json_values.ts";
import type { IncomingResponse } from "../../domain/connections.ts";
import type { HttpCapture, HttpMessage } from "../../domain/generated/config.ts";
import { describeReach, replaceCaptured, searchCapture } from "../body_pattern.ts";
import { bodyRuleOf, escapeHeader, escapeUrl } from "../../shared/template.ts";
import { quote } from "../../shared/text.ts";
import type { JSONPathNode } from "json-p3";

/** Longer values are not captured. */
const CAPTURED_LENGTH_MAX = 8192;

export function capturesBody(captures: Readonly<Record<string, HttpCapture>>): boolean {
  return Object.values(captures).some(({ header }) => header === undefined);
}

interface CapturedResponse {
  readonly response: Pick<IncomingResponse, "header">;
  readonly start: string;
  readonly isWhole: boolean;
}

/** Captures values of a response; a failed capture is a failure of the check, which quotes no value. */
export async function captureValues(
  captures: Readonly<Record<string, HttpCapture>>,
  from: CapturedResponse,
): Promise<{ readonly captured: Readonly<Record<string, string>>; readonly violations: readonly string[] }> {
  const captured: Record<string, string> = {};
  const violations: string[] = [];
  for (const [name, capture] of Object.entries(captures)) {
    const found = await find(capture, from);
    if ("value" in found && found.value !== "" && found.value.length <= CAPTURED_LENGTH_MAX) {
      captured[name] = found.value;
      continue;
    }
    const reason = "reason" in found
      ? found.reason
      : found.value === ""
      ? "it is empty"
      : `it has more than ${CAPTURED_LENGTH_MAX} characters`;
    violations.push(`cannot capture ${quote(name)}: ${reason}`);
  }
  return { captured, violations };
}

async function find(capture: HttpCapture, from: CapturedResponse) {
  const source = await findSource(capture, from);
  if (capture.pattern === undefined || "reason" in source) return source;
  const isWhole = from.isWhole || capture.header !== undefined;
  const search = await searchCapture(source.value, { pattern: capture.pattern, isWhole });
  return search.captured === null
    ? { reason: `no match of ${quote(capture.pattern)}${describeReach(search)}` }
    : { value: search.captured };
}

async function findSource({ header, json }: HttpCapture, { response, start, isWhole }: CapturedResponse) {
  if (header !== undefined) {
    const value = readHeader(response, header);
    return value === null ? { reason: `header ${quote(header)} is missing` } : { value: value.trim() };
  }
  if (json === undefined) return { value: start };
  const body = isWhole ? parseJson(start) : undefined;
  if (body === undefined || isTooDeep(body)) return { reason: "body is not JSON" };
  const [first] = await selectValues(json, body) ?? [];
  if (typeof first === "number") {
    // As it is written: a long id would be rounded.
    const written = JSON.parse(
      start,
      (_key, value: unknown, context?: { readonly source?: string }) =>
        value === first ? context?.source ?? value : value,
    );
    const [source] = await selectValues(json, written) ?? [];
    return { value: String(typeof source === "string" ? source : first) };
  }
  if (typeof first === "string" || typeof first === "boolean") return { value: String(first) };
  return { reason: `json ${quote(json)} finds ${first === undefined ? "nothing" : "no text or number"}` };
}

export function textsOf({ target, headers = {}, body = "" }: HttpMessage): readonly string[] {
  return [target, ...Object.values(headers), body];
}

/** Puts captured values into a request, each escaped for its place. */
export function fillRequest(request: HttpMessage, captured: ReadonlyMap<string, string>): HttpMessage {
  const { target, headers, body } = request;
  const fill = (text: string, escape: (value: string) => string): string =>
    replaceCaptured(text, (name) => escape(captured.get(name) ?? ""));
  const { escape } = bodyRuleOf({ "content-type": "text/plain", ...headers });
  return {
    ...request,
    target: fill(target, escapeUrl),
    ...headers !== undefined && {
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, fill(value, escapeHeader)]),
      ),
    },
    ...body !== undefined && { body: fill(body, escape) },
  };
}

/** Returns a response header as text: `null` if it is missing, values of a repeated one joined with `, `. */
export function readHeader(response: Pick<IncomingResponse, "header">, name: string): string | null {
  const value = response.header(name);
  return value === null ? null : decodeHeader(value);
}

/** The runtime returns each byte as one character (RFC 9110, 5.5); those of valid UTF-8 are decoded as such. */
export function decodeHeader(value: string): string {
  if (!BEYOND_ASCII.test(value)) return value;
  try {
    return UTF_8.decode(Uint8Array.from(value, (character) => character.charCodeAt(0)));
  } catch {
    return value;
  }
}

const BEYOND_ASCII = /[\u0080-\u00ff]/;

const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export const DEPTH_MAX = 100;

/** How many values a path may reach. A body that is read as JSON has half as many at most. */
export const REACHED_MAX = 1_000_000;

type Json = JSONPathNode["value"];

/**
 * Returns all matches of a path (RFC 9535) in a JSON value, in order. The config accepts no path whose filters read
 * more than the value in question, so the time depends only on the number of reached values. Returns `null` if these
 * are more than {@link REACHED_MAX}.
 *
 * The library evaluates one value. Its own descent costs the depth for each value.
 */
export async function selectValues(path: string, value: unknown): Promise<readonly unknown[] | null> {
  const { compile, JSONPathNode } = await import("json-p3");
  const root = value as Json;
  let reached = 0;
  let values: readonly Json[] = [root];
  for (const segment of compile(path).segments) {
    const found: Json[] = [];
    const descends = segment.toString().startsWith("..");
    for (const from of values) {
      for (const part of descends ? containersIn(from) : [from]) {
        for (const selector of segment.selectors) {
          const matches = selector.resolve(new JSONPathNode(part, [], root));
          reached += 1 + matches.length;
          if (reached > REACHED_MAX) return null;
          for (const match of matches) found.push(match.value);
        }
      }
    }
    values = found;
  }
  return values;
}

/** A value and all lists and objects in it, each before those in it. */
function* containersIn(value: Json): Generator<Json> {
  const pending = [value];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    yield next;
    if (typeof next !== "object" || next === null) continue;
    const parts: readonly Json[] = Object.values(next);
    for (const part of parts.toReversed()) if (typeof part === "object" && part !== null) pending.push(part);
  }
}

/** Returns whether a value is nested deeper than {@linkcode DEPTH_MAX}. Level by level: recursion could overflow. */
export function isTooDeep(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= DEPTH_MAX; depth++) {
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue;
      for (const part of Object.values(item)) if (typeof part === "object" && part !== null) next.push(part);
    }
    if (next.length === 0) return false;
    level = next;
  }
  return true;
}
