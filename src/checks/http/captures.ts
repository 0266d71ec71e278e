import { parseJson } from "../../shared/parse_json.ts";
import type { HttpCapture, HttpMessage } from "../../domain/generated/config.ts";
import { describeReach, searchCapture } from "../body_pattern.ts";
import { bodyRuleOf, escapeHeader, escapeUrl } from "../../shared/template.ts";
import { quote } from "../../shared/quote.ts";
import { isTooDeep, selectValues } from "./json_paths.ts";

/** Longer values are not captured. */
const CAPTURED_LENGTH_MAX = 8192;

export function capturesBody(captures: Readonly<Record<string, HttpCapture>>): boolean {
  return Object.values(captures).some(({ header }) => header === undefined);
}

interface CapturedResponse {
  readonly headers: Headers;
  /** The beginning of the body. */
  readonly start: string;
  readonly isWhole: boolean;
}

/** Captures values of a response; a failed capture is a failure of the check, which quotes no value. */
export async function captureValues(
  captures: Readonly<Record<string, HttpCapture>>,
  response: CapturedResponse,
): Promise<{ readonly captured: Readonly<Record<string, string>>; readonly violations: readonly string[] }> {
  const captured: Record<string, string> = {};
  const violations: string[] = [];
  for (const [name, capture] of Object.entries(captures)) {
    const found = await find(capture, response);
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

type Found = { readonly value: string } | { readonly reason: string };

async function find(capture: HttpCapture, response: CapturedResponse): Promise<Found> {
  const source = await findSource(capture, response);
  if (capture.pattern === undefined || "reason" in source) return source;
  const isWhole = response.isWhole || capture.header !== undefined;
  const search = await searchCapture(source.value, { pattern: capture.pattern, isWhole });
  return search.captured === null
    ? { reason: `no match of ${quote(capture.pattern)}${describeReach(search)}` }
    : { value: search.captured };
}

async function findSource(
  { header, json }: HttpCapture,
  { headers, start, isWhole }: CapturedResponse,
): Promise<Found> {
  if (header !== undefined) {
    const value = readHeader(headers, header);
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

const CAPTURED = /\$\{captured:([^{}]*)\}/g;

export function capturedNames(text: string): readonly string[] {
  return [...text.matchAll(CAPTURED)].map(([, name = ""]) => name);
}

export function replaceCaptured(text: string, valueOf: (name: string) => string): string {
  return text.replaceAll(CAPTURED, (_whole, name: string) => valueOf(name));
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
export function readHeader(headers: Headers, name: string): string | null {
  const value = headers.get(name);
  return value === null ? null : decodeHeader(value);
}

/**
 * Decodes a header.
 *
 * The runtime returns each byte as one character (RFC 9110, section 5.5, defines only opaque bytes beyond ASCII).
 * Servers that send such bytes mostly mean UTF-8, so valid UTF-8 is decoded as such.
 */
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
