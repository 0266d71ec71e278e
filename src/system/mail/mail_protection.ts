import { isLoopback } from "../../shared/ip_address.ts";

/**
 * The protection of an SMTP session: TLS from its first byte; STARTTLS, without which it stops; STARTTLS if the
 * server offers it; or none.
 */
export type Protection = "from_start" | "required" | "offered" | "none";

export interface ProtectionFacts {
  readonly port: number;
  readonly address: string;
  readonly hasLogin: boolean;
}

/**
 * Decides how a session is protected. Credentials never travel over a network in clear text; on loopback they may,
 * since no other machine can read them there. A session with a local server without login is in clear text: there is
 * nothing to protect, and its certificate is usually one that a package generated.
 */
export function protectionOf({ port, address, hasLogin }: ProtectionFacts): Protection {
  if (port === 465) return "from_start";
  if (isLoopback(address.replace(IPV4_MAPPED, ""))) return hasLogin ? "offered" : "none";
  return hasLogin ? "required" : "offered";
}

const IPV4_MAPPED = /^::ffff:(?=\d+\.)/i;
