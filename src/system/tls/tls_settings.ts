import type { KeyObject } from "node:crypto";
import type { TlsMaterial } from "../../domain/connections.ts";

/** Thrown if the TLS settings of a config cannot be used; the message is for people. */
export class TlsSettingsError extends Error {
  override readonly name = "TlsSettingsError";
}

export type ClientTls = Pick<Deno.CreateHttpClientOptions, "caCerts"> & { cert?: string; key?: string };

/**
 * Returns the options of a client of the runtime from the configured settings.
 *
 * Deno 2.7 terminates the whole process if a key does not match its certificate, or is of a kind that its TLS library
 * does not support, so both are validated before. The cryptography is loaded only here.
 *
 * @throws {TlsSettingsError} If a certificate or key is invalid, or they do not match.
 */
export async function clientTls({ authority, certificate, key }: TlsMaterial): Promise<ClientTls> {
  if (authority !== undefined && !authority.includes(BEGIN)) throw withoutCertificate("ca_file");
  const trusted = authority === undefined ? {} : { caCerts: [authority] };
  if (certificate === undefined || key === undefined) return trusted;
  const { createPrivateKey, createPublicKey, X509Certificate } = await import("node:crypto");
  const blocks = certificate.match(CERTIFICATES);
  if (blocks === null) throw withoutCertificate("certificate");
  const [first] = blocks.map((block, index) =>
    read(
      () => new X509Certificate(block),
      `tls.certificate has a malformed certificate (number ${index + 1})`,
    )
  );
  const privateKey = read(() => createPrivateKey(key), describeBadKey(key));
  refuseUnknownKind(privateKey);
  const form = { type: "spki", format: "der" } as const;
  const isPair = first !== undefined &&
    createPublicKey(privateKey).export(form).equals(first.publicKey.export(form));
  if (!isPair) {
    throw new TlsSettingsError("tls.key does not belong to the first certificate of tls.certificate");
  }
  return {
    ...trusted,
    cert: blocks.join("\n"),
    key: String(privateKey.export({ type: "pkcs8", format: "pem" })),
  };
}

const BEGIN = "-----BEGIN CERTIFICATE-----";

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

function withoutCertificate(key: string): TlsSettingsError {
  return new TlsSettingsError(`tls.${key} contains no certificate, expected PEM ("${BEGIN}")`);
}

function read<T>(parse: () => T, problem: string): T {
  try {
    return parse();
  } catch {
    // The library's own message quotes nothing, but does not help users either.
    throw new TlsSettingsError(problem);
  }
}

function describeBadKey(key: string): string {
  if (/ENCRYPTED/.test(key)) return "tls.key is encrypted, expected one without a passphrase";
  return /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(key)
    ? "tls.key has a malformed private key"
    : 'tls.key contains no private key, expected PEM ("-----BEGIN PRIVATE KEY-----")';
}

const RSA_BITS_MIN = 2048;
const CURVES: readonly (string | undefined)[] = ["prime256v1", "secp384r1", "secp521r1"];

/** Rejects keys with which the runtime's TLS library cannot sign. */
function refuseUnknownKind(key: KeyObject): void {
  const { asymmetricKeyType: kind, asymmetricKeyDetails: details } = key;
  const isKnown = kind === "ed25519" ||
    kind === "rsa" && (details?.modulusLength ?? 0) >= RSA_BITS_MIN ||
    kind === "ec" && CURVES.includes(details?.namedCurve);
  if (isKnown) return;
  const expected = `expected RSA from ${RSA_BITS_MIN} bits on, ECDSA on P-256, P-384 or P-521, or Ed25519`;
  throw new TlsSettingsError(`tls.key is of a kind that cannot be used (${kind ?? "unknown"}), ${expected}`);
}
