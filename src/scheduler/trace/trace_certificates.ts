import type { HandshakeTarget } from "../../domain/connections.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import type { CertificateReading } from "../../domain/tls.ts";
import { canonicalAddress } from "../../shared/ip_address.ts";
import { quote } from "../../shared/quote.ts";
import { shellWord } from "../../shared/shell_word.ts";

/**
 * Describes a certificate. The runtime shows only the first one that a server sends, and a missing intermediate
 * certificate makes it untrusted; so a command follows that lists them all.
 */
export function describeCertificate(
  { problem, facts }: CertificateReading,
  target: HandshakeTarget,
): string {
  return [
    ...facts === null ? [] : [
      `certificate for ${facts.names.join(", ")}, issued by ${quote(facts.issuer)}, ` +
      `valid from ${dayOf(facts.validFromMs)} to ${dayOf(facts.validToMs)}, SHA-256 ${facts.fingerprint}`,
    ],
    problem === null ? "trusted" : `not accepted: ${problem.reason}`,
    ...problem?.about === "trust" ? [`all that the server sends: ${chainCommand(target)}`] : [],
  ].join("; ");
}

function chainCommand({ host, port, address, tls, startTls }: HandshakeTarget): string {
  return [
    ...["openssl", "s_client", "-showcerts", "-connect", hostAndPort(address?.address ?? host, port)],
    ...canonicalAddress(tls.serverName.replaceAll(/[[\]]/g, "")) === null
      ? ["-servername", tls.serverName]
      : [],
    ...startTls === undefined ? [] : ["-starttls", startTls],
  ].map(shellWord).join(" ");
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
