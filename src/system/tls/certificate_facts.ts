import type { TLSSocket } from "node:tls";
import type { CertificateFacts } from "../../domain/tls.ts";
import { peerCertificate } from "../deno_workarounds/peer_certificate.ts";

/** The facts of a TLS connection's certificate; `null` if the runtime doesn't report them. */
export function certificateFacts(socket: TLSSocket): CertificateFacts | null {
  const certificate = peerCertificate(socket);
  const validFromMs = Date.parse(certificate?.valid_from ?? "");
  const validToMs = Date.parse(certificate?.valid_to ?? "");
  if (certificate === null || Number.isNaN(validFromMs) || Number.isNaN(validToMs)) return null;
  const issuer = attributes(certificate.issuer);
  return {
    validFromMs,
    validToMs,
    issuer: issuer.CN ?? issuer.O ?? issuer.OU ?? "",
    isSelfSigned: JSON.stringify(issuer) === JSON.stringify(attributes(certificate.subject)),
    names: (certificate.subjectaltname ?? "").split(", ")
      .map((name) => name.replace(/^(?:DNS|IP Address):/, ""))
      .filter((name) => name !== ""),
    fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
  };
}

/** Of several values of one attribute, the first. */
function attributes(name: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(typeof name === "object" && name !== null ? name : {});
  return Object.fromEntries(
    entries.map(([key, value]) => [key, String(Array.isArray(value) ? value[0] : value)]),
  );
}
