import type { ServerResponse } from "../../domain/http_servers.ts";

/** The headers of every response: no foreign page may frame it, guess its type, or learn its URL. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

export function respond(
  status: number,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>>,
): ServerResponse {
  return { status, headers: { ...SECURITY_HEADERS, "cache-control": "no-store", ...headers }, body };
}

export function respondText(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): ServerResponse {
  return respond(status, `${text}\n`, { "content-type": "text/plain; charset=utf-8", ...headers });
}
