/** Requests that change something: where they come from, and the fields that they send. */
import type { IncomingRequest, ServerResponse } from "../../domain/http_servers.ts";
import type { Listen } from "../../domain/generated/config.ts";
import { canonicalAddress } from "../../shared/ip_address.ts";
import { respondText } from "./check_ins.ts";

/** The client of a request. */
export interface Client {
  /** Its IP address. */
  readonly address: string;
  /** Whether its connection is encrypted, as a trusted proxy reported. */
  readonly isSecure: boolean;
}

/** Returns the client; headers about it count only if a trusted proxy sent the request. */
export function clientOf(
  request: IncomingRequest,
  { trustedProxies = [] }: Pick<Listen, "trustedProxies">,
): Client {
  const trusted = new Set(trustedProxies.map(canonicalAddress));
  const isTrusted = (address: string): boolean => trusted.has(canonicalAddress(address));
  if (!isTrusted(request.address)) return { address: request.address, isSecure: false };
  // Each proxy appends the address it saw, so whatever the client sent is on the left.
  const hops = [...listOf(request.header("x-forwarded-for")), request.address];
  const address = canonicalAddress(hops.findLast((hop) => !isTrusted(hop)) ?? "") ?? request.address;
  const isSecure = listOf(request.header("x-forwarded-proto")).at(-1)?.toLowerCase() === "https";
  return { address, isSecure };
}

function listOf(header: string | null): readonly string[] {
  return (header ?? "").split(",").map((item) => item.trim()).filter((item) => item !== "");
}

/**
 * Returns whether a page of this endpoint sent a form. Browsers send the origin with each form; a page of another site
 * can't change it. `pageUrl` is `page.url` of the config, in case a proxy changes the host.
 */
export function isOwnForm(request: IncomingRequest, pageUrl: string | undefined): boolean {
  const origin = request.header("origin");
  const site = request.header("sec-fetch-site");
  if (origin === null || (site !== null && site !== "same-origin")) return false;
  const host = request.header("host") ?? "";
  const own = [`http://${host}`, `https://${host}`, pageUrl ?? ""].map((url) => URL.parse(url)?.origin);
  return origin !== "null" && own.includes(origin);
}

const BODY_BYTES_MAX = 16_384;

/** Reads the fields of a form, or rejects what is no form. */
export async function readForm(request: IncomingRequest): Promise<URLSearchParams | ServerResponse> {
  const type = request.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded") return respondText(415, "expected a form");
  // Without a length, a body may have no end. Browsers send the length with each form.
  const length = Number(request.header("content-length") ?? NaN);
  if (!(length <= BODY_BYTES_MAX)) {
    return respondText(413, `expected content-length of at most ${BODY_BYTES_MAX} bytes`);
  }
  const body = await request.readTail(BODY_BYTES_MAX);
  return new URLSearchParams(new TextDecoder().decode(body));
}
