import type { Requests } from "../../domain/requests.ts";
import { decodeHeader } from "./response_headers.ts";

/** Of one origin. */
const COOKIES_MAX = 50;
const COOKIE_LENGTH_MAX = 4096;
/** Of one run: each is searched for in every output. */
const VALUES_MAX = 500;

interface CookieRequests {
  readonly requests: Requests;
  /** Every value that was in the jar after a response. */
  secrets(): Iterable<string>;
}

/**
 * Keeps the cookies of responses, and sends them with later requests to the same origin, unless a request has its own
 * `Cookie`. `Domain` and `Path` do not matter: the jar lasts one run of a few requests.
 */
export function withCookies(requests: Requests, wallMs: () => number): CookieRequests {
  const jars = new Map<string, Map<string, string>>();
  const values = new Set<string>();
  return {
    requests: {
      ...requests,
      async send(request, signal) {
        const { origin } = new URL(request.target);
        const jar = jars.get(origin) ?? new Map<string, string>();
        jars.set(origin, jar);
        const hasOwn = Object.keys(request.headers).some((name) => name.toLowerCase() === "cookie");
        const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
        const headers = hasOwn || cookie === "" ? request.headers : { ...request.headers, cookie };
        const response = await requests.send({ ...request, headers }, signal);
        for (const text of response.headers.getSetCookie()) {
          const { name, value, isExpired } = readCookie(decodeHeader(text), wallMs());
          if (name === "" || text.length > COOKIE_LENGTH_MAX) continue;
          if (isExpired) jar.delete(name);
          else if ((jar.size < COOKIES_MAX || jar.has(name)) && values.size < VALUES_MAX) {
            jar.set(name, value);
          }
        }
        // A response may set one cookie thousands of times.
        for (const value of jar.values()) values.add(value);
        return response;
      },
    },
    secrets: () => values,
  };
}

function readCookie(
  text: string,
  nowMs: number,
): { readonly name: string; readonly value: string; readonly isExpired: boolean } {
  const [pair = "", ...attributes] = text.split(";").map((part) => part.trim());
  const equals = pair.indexOf("=");
  const attribute = (name: string): string | undefined =>
    attributes.find((one) => one.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
  const maxAge = attribute("max-age") ?? "";
  const expiresMs = Date.parse(attribute("expires") ?? "");
  return {
    name: equals < 0 ? "" : pair.slice(0, equals).trim(),
    value: pair.slice(equals + 1).trim(),
    // `Max-Age` goes before `Expires`, unless it is no number (RFC 6265, sections 5.2.2 and 5.3).
    isExpired: /^-?\d+$/.test(maxAge) ? Number(maxAge) <= 0 : expiresMs <= nowMs,
  };
}
