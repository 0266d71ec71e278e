/** What a TLS connection uses besides the defaults, as PEM. */
export interface TlsMaterial {
  readonly authority?: string;
  /** What is shown to a server that asks, with what stands between it and its authority; never without `key`. */
  readonly certificate?: string;
  /** The private key of `certificate`. */
  readonly key?: string;
}

/** How the other side of a TLS connection is held to be who it should be. */
export interface TlsExpectations {
  /** The name that the certificate must be for; it is told to the server as well, unless it is an address. */
  readonly serverName: string;
  /** Certificates of authorities (PEM) that are trusted beside those that the runtime trusts. */
  readonly authorities: readonly string[];
}

export interface CertificateFacts {
  /** Milliseconds since 1970. */
  readonly validFromMs: number;
  /** Milliseconds since 1970. */
  readonly validToMs: number;
  /** The name of who signed it; empty where it has none. */
  readonly issuer: string;
  /** Whether it names itself as who signed it. */
  readonly isSelfSigned: boolean;
  readonly names: readonly string[];
  /** The SHA-256 hash of the certificate: 64 digits of hexadecimal in small letters. */
  readonly fingerprint: string;
}

/** What is wrong with a certificate that a server shows. */
export interface CertificateProblem {
  /** Its dates, the names that it is for, or who signed it. */
  readonly about: "dates" | "names" | "trust";
  readonly reason: string;
}

/** A certificate as a server shows it. */
export interface CertificateReading {
  /** `null` when it is valid for the name and leads to an authority that is trusted. */
  readonly problem: CertificateProblem | null;
  /** `null` when it is refused and could not be read. */
  readonly facts: CertificateFacts | null;
}

/** A certificate of the chain that a server sends; names have all their attributes, such as `CN=a, O=b`. */
export interface ChainCertificate {
  readonly subject: string;
  readonly issuer: string;
  /** Milliseconds since 1970. */
  readonly validToMs: number;
}
