import { isIP } from "node:net";

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
  if (isLoopback(address)) return hasLogin ? "offered" : "none";
  return hasLogin ? "required" : "offered";
}

/** 127.0.0.0/8 and `::1`. */
function isLoopback(address: string): boolean {
  const plain = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, "");
  return isIP(plain) === 4 ? plain.startsWith("127.") : plain === "::1";
}
