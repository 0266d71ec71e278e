import type { ServerResponse } from "../../domain/http_servers.ts";

/** What every response has: no page of others may frame it, guess its type, or learn its address. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Returns a response with the headers that all of them have. */
export function respond(
  status: number,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>>,
): ServerResponse {
  return { status, headers: { ...SECURITY_HEADERS, "cache-control": "no-store", ...headers }, body };
}

/** Returns a response with one line of text. */
export function respondText(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): ServerResponse {
  return respond(status, `${text}\n`, { "content-type": "text/plain; charset=utf-8", ...headers });
}
