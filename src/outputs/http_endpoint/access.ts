import type { IncomingRequest, ServerResponse } from "../../domain/http_servers.ts";
import type { Listen } from "../../domain/generated/config.ts";
import { isLoopback } from "../../shared/ip_address.ts";
import { isSameSecret } from "../../shared/same_secret.ts";
import { respondText } from "./check_ins.ts";

/** The access of a request: everything, or the public checks without their outputs. */
export type Access = "full" | "public";

export function accessOf(
  request: IncomingRequest,
  { token, public: publicTags }: Pick<Listen, "token" | "public">,
): Access | ServerResponse {
  const sent = sentToken(request.header("authorization"));
  if (sent !== null && token !== undefined) return isSameSecret(sent, token) ? "full" : UNAUTHORIZED;
  if (publicTags !== undefined) return "public";
  if (token !== undefined) return UNAUTHORIZED;
  return isLocalHost(request.header("host")) ? "full" : MISDIRECTED;
}

/** Rejects a request for private data, or for what may be private data: it requires a token. */
export function refusePublic({ token }: Pick<Listen, "token">): ServerResponse {
  return token === undefined ? respondText(404, "not public") : UNAUTHORIZED;
}

const UNAUTHORIZED = respondText(
  401,
  "the token of the config is required, as a Bearer token or as a password",
  {
    "www-authenticate": 'Basic realm="monitor", charset="UTF-8"',
  },
);

/**
 * A page of any site can make its own name resolve to 127.0.0.1 (DNS rebinding) and so read responses that require no
 * token. Its requests have that name in them.
 */
const MISDIRECTED = respondText(
  421,
  'expected "Host: localhost" or a loopback address; set "token", or change the header in the proxy',
);

/** The token, or the password with any user (RFC 6750, RFC 7617); `null`: nothing that could be one. */
function sentToken(header: string | null): string | null {
  const [, scheme = "", credentials = ""] = /^(\w+) +(\S+)$/.exec(header ?? "") ?? [];
  if (scheme.toLowerCase() === "bearer") return credentials;
  if (scheme.toLowerCase() !== "basic") return null;
  try {
    const login = new TextDecoder().decode(Uint8Array.fromBase64(credentials));
    return login.slice(login.indexOf(":") + 1);
  } catch {
    return null;
  }
}

function isLocalHost(header: string | null): boolean {
  if (header === null) return true;
  // A URL could hide the host behind user information.
  if (!/^[\w.:[\]-]+$/.test(header)) return false;
  const host = URL.parse(`http://${header}/`)?.hostname ?? "";
  return host.endsWith(".localhost") || isLoopback(host);
}
