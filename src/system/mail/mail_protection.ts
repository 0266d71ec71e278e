import { isLoopback } from "../../shared/ip_address.ts";

/**
 * How a conversation with a mail server is protected: by TLS from its first byte; by STARTTLS, without which it goes
 * no further; by STARTTLS where the server offers it; or not at all.
 */
export type Protection = "from_start" | "required" | "offered" | "none";

export interface ProtectionFacts {
  readonly port: number;
  /** The address that the name has led to. */
  readonly address: string;
  readonly hasLogin: boolean;
}

/**
 * Decides how a conversation is protected. Credentials never go over a network in clear text; on loopback they may,
 * since nobody else can listen there. A local server that wants no login is spoken to in clear text: there is nothing
 * to protect, and its certificate is usually one that a package made up.
 */
export function protectionOf({ port, address, hasLogin }: ProtectionFacts): Protection {
  if (port === 465) return "from_start";
  if (isLoopback(address.replace(IPV4_MAPPED, ""))) return hasLogin ? "offered" : "none";
  return hasLogin ? "required" : "offered";
}

const IPV4_MAPPED = /^::ffff:(?=\d+\.)/i;
