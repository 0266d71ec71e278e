/** The messages of a TLS handshake up to the server's certificates (TLS 1.3: RFC 8446; TLS 1.2: RFC 5246). */
import { isIP } from "node:net";

/** Types of records (RFC 8446, section 5.1). */
export const RECORD = { alert: 21, handshake: 22, applicationData: 23 } as const;

/** Types of messages (RFC 8446, section 4). */
export const MESSAGE = { clientHello: 1, serverHello: 2, certificate: 11 } as const;

/** Versions as they are on the wire. */
export const TLS_VERSION = { tls12: 0x0303, tls13: 0x0304 } as const;

/** A cipher suite of TLS 1.3. */
interface Suite {
  readonly hash: "sha256" | "sha384";
  readonly cipher: "aes-128-gcm" | "aes-256-gcm";
  readonly keyBytes: number;
}

/** Each server has one of these (RFC 8446, section 9.1). */
export const SUITES = new Map<number, Suite>([
  [0x1301, { hash: "sha256", cipher: "aes-128-gcm", keyBytes: 16 }],
  [0x1302, { hash: "sha384", cipher: "aes-256-gcm", keyBytes: 32 }],
]);

/** The suites of TLS 1.2, as many as possible: nothing is encrypted before the certificates. */
const OLDER_SUITES = [
  ...[0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc009, 0xc013, 0xc00a, 0xc014],
  ...[0x009e, 0x009f, 0x009c, 0x009d, 0x002f, 0x0035],
];

/** ECDSA, Ed25519, RSA-PSS and RSA (RFC 8446, section 4.2.3). */
const SIGNATURES = [0x0403, 0x0503, 0x0603, 0x0807, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601, 0x0201];

const EXTENSION = {
  serverName: 0,
  supportedGroups: 10,
  pointFormats: 11,
  signatures: 13,
  supportedVersions: 43,
  keyShare: 51,
};

/** A public key of the client, by the named group that it belongs to (RFC 8446, section 4.2.7). */
type KeyShares = ReadonlyMap<number, Uint8Array>;

export function clientHello(serverName: string, shares: KeyShares): Uint8Array {
  const groups = [...shares.keys()];
  const extensions = [
    // An IP address is no server name (RFC 6066, section 3).
    ...isIP(serverName) === 0
      ? [extension(EXTENSION.serverName, vector(2, [0], vector(2, new TextEncoder().encode(serverName))))]
      : [],
    extension(EXTENSION.supportedGroups, vector(2, ...groups.map(uint16))),
    extension(EXTENSION.pointFormats, vector(1, [0])),
    extension(EXTENSION.signatures, vector(2, ...SIGNATURES.map(uint16))),
    extension(EXTENSION.supportedVersions, vector(1, uint16(TLS_VERSION.tls13), uint16(TLS_VERSION.tls12))),
    extension(
      EXTENSION.keyShare,
      vector(2, ...[...shares].flatMap(([group, key]) => [uint16(group), vector(2, key)])),
    ),
  ];
  const random = (): Uint8Array => crypto.getRandomValues(new Uint8Array(32));
  return concat(
    [MESSAGE.clientHello],
    vector(
      3,
      uint16(TLS_VERSION.tls12),
      random(),
      vector(1, random()),
      vector(2, ...[...SUITES.keys(), ...OLDER_SUITES].map(uint16)),
      vector(1, [0]),
      vector(2, ...extensions),
    ),
  );
}

export interface ServerHello {
  readonly version: number;
  readonly suite: number;
  /** Of TLS 1.3. */
  readonly share: { readonly group: number; readonly key: Uint8Array } | null;
}

/** @throws {RangeError} If the message is malformed. */
export function parseServerHello(body: Uint8Array): ServerHello {
  const hello = new Fields(body);
  let version = hello.number(2);
  hello.bytes(32);
  hello.vector(1);
  const suite = hello.number(2);
  hello.number(1);
  let share: ServerHello["share"] = null;
  const extensions = hello.isAtEnd ? null : hello.vector(2);
  while (extensions !== null && !extensions.isAtEnd) {
    const type = extensions.number(2);
    const content = extensions.vector(2);
    if (type === EXTENSION.supportedVersions) version = content.number(2);
    if (type === EXTENSION.keyShare) {
      const group = content.number(2);
      // The request to begin with another group has no key.
      if (!content.isAtEnd) share = { group, key: content.vector(2).rest() };
    }
  }
  return { version, suite, share };
}

/**
 * Returns the certificates of a message (DER), in their order.
 *
 * @throws {RangeError} If the message is malformed.
 */
export function parseCertificates(body: Uint8Array, version: number): readonly Uint8Array[] {
  const message = new Fields(body);
  if (version === TLS_VERSION.tls13) message.vector(1);
  const list = message.vector(3);
  const found: Uint8Array[] = [];
  while (!list.isAtEnd) {
    found.push(list.vector(3).rest());
    if (version === TLS_VERSION.tls13) list.vector(2);
  }
  return found;
}

type Bytes = Uint8Array | readonly number[];

export function concat(...parts: readonly Bytes[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    whole.set(part, end);
    end += part.length;
  }
  return whole;
}

/** Returns bytes with their count before them. */
export function vector(countBytes: number, ...parts: readonly Bytes[]): Uint8Array<ArrayBuffer> {
  const content = concat(...parts);
  return concat(unsigned(countBytes, content.length), content);
}

/** Returns a number in network byte order. */
export function unsigned(bytes: number, value: number): readonly number[] {
  return Array.from({ length: bytes }, (_, index) => (value >>> 8 * (bytes - 1 - index)) & 0xff);
}

function uint16(value: number): readonly number[] {
  return unsigned(2, value);
}

function extension(type: number, content: Uint8Array): Uint8Array {
  return concat(uint16(type), vector(2, content));
}

/** Reads fields one after the other. Methods throw a `RangeError` past the end. */
class Fields {
  readonly #bytes: Uint8Array;
  #position = 0;
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#position === this.#bytes.length;
  }

  number(bytes: number): number {
    return this.bytes(bytes).reduce((value, byte) => value * 256 + byte, 0);
  }

  vector(countBytes: number): Fields {
    return new Fields(this.bytes(this.number(countBytes)));
  }

  bytes(count: number): Uint8Array {
    if (this.#position + count > this.#bytes.length) throw new RangeError("message ends early");
    return this.#bytes.subarray(this.#position, this.#position += count);
  }

  rest(): Uint8Array {
    return this.bytes(this.#bytes.length - this.#position);
  }
}
