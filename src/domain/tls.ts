/** Settings of a TLS connection in addition to the defaults, as PEM. */
export interface TlsMaterial {
  readonly authority?: string;
  /** The certificate for a server that asks for one, with its chain; never without `key`. */
  readonly certificate?: string;
  readonly key?: string;
}

/** How the identity of the other side is verified. */
export interface TlsExpectations {
  /** The name that the certificate must be for; the server gets it too, unless it is an IP address. */
  readonly serverName: string;
  /** CA certificates (PEM) that are trusted in addition to the runtime's. */
  readonly authorities: readonly string[];
  /**
   * Decides on the certificate instead of CAs and name: returns the reason to reject it, `null` if it is trusted. The
   * runtime does not verify then that the server has the key of the certificate, so send it nothing.
   */
  refuses?(facts: CertificateFacts): string | null;
}

export interface CertificateFacts {
  /** Milliseconds since 1970. */
  readonly validFromMs: number;
  /** Milliseconds since 1970. */
  readonly validToMs: number;
  /** The name of the issuer; empty if it has none. */
  readonly issuer: string;
  /** Whether it is its own issuer. */
  readonly isSelfSigned: boolean;
  readonly names: readonly string[];
  /** The SHA-256 hash of the certificate: 64 digits of hexadecimal in small letters. */
  readonly fingerprint: string;
}

export interface CertificateProblem {
  readonly about: "dates" | "names" | "trust";
  readonly reason: string;
}

export interface CertificateReading {
  /** `null` if it is valid for the name and issued by a trusted CA. */
  readonly problem: CertificateProblem | null;
  /** `null` if it is rejected and could not be read. */
  readonly facts: CertificateFacts | null;
}
