/**
 * Reads the certificates that a server sends, for traces. The runtime shows only the first one, and a missing
 * intermediate certificate is a frequent cause of a failed handshake.
 *
 * The handshake ends with the server's certificates. Nothing is verified and no secret is sent: other connections
 * decide about trust.
 */
import { createDecipheriv, createHash, createHmac, X509Certificate } from "node:crypto";
import type { Clock } from "../../domain/clock.ts";
import type { ChainCertificate } from "../../domain/tls.ts";
import { onAbort } from "../../shared/on_abort.ts";
import { connectTcp } from "../tcp/connect_tcp.ts";
import { clearTextOf, closeQuietly, withoutBrackets, writeAll } from "../tcp/tcp_stream.ts";
import {
  clientHello,
  concat,
  MESSAGE,
  parseCertificates,
  parseServerHello,
  RECORD,
  type ServerHello,
  SUITES,
  TLS_VERSION,
  unsigned,
  vector,
} from "./handshake_messages.ts";
import { askForTls } from "./start_tls.ts";
import type { HandshakeTarget } from "./try_handshake.ts";

/**
 * Returns the certificates in the order in which the server sends them.
 *
 * @throws {Error} If the server sends none; the message has the reason.
 */
export async function readCertificateChain(
  { tls, startTls, ...target }: HandshakeTarget,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<readonly ChainCertificate[]> {
  const connection = await connectTcp(target, { clock, signal });
  const stopListening = onAbort(signal, () => closeQuietly(connection));
  try {
    const clearText = clearTextOf(connection);
    if (startTls !== undefined) await askForTls(clearText, startTls);
    const keys = await createKeys();
    const hello = clientHello(withoutBrackets(tls.serverName), await publicKeys(keys));
    await writeAll(connection, record(RECORD.handshake, hello));
    const certificates = await exchange(hello, keys, () => clearText.read());
    await writeAll(connection, record(RECORD.alert, USER_CANCELED)).catch(() => {});
    return certificates.map(describe);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    stopListening();
    closeQuietly(connection);
  }
}

/** A warning that the client ends the handshake by intention (RFC 8446, section 6.1). */
const USER_CANCELED = [1, 90];

function record(type: number, content: Uint8Array | readonly number[]): Uint8Array {
  return concat([type], unsigned(2, TLS_VERSION.tls12), vector(2, content));
}

function describe(der: Uint8Array): ChainCertificate {
  const { subject, issuer, validTo } = new X509Certificate(der);
  return { subject: onOneLine(subject), issuer: onOneLine(issuer), validToMs: Date.parse(validTo) };
}

/** Each attribute has a line, the most specific one the last. */
function onOneLine(name: string | undefined): string {
  return (name ?? "").split("\n").reverse().join(", ");
}

/** Algorithms of the key exchange by their named groups (RFC 8446, section 4.2.7). */
const GROUPS = new Map<number, { readonly name: string; readonly namedCurve?: string }>([
  [0x001d, { name: "X25519" }],
  [0x0017, { name: "ECDH", namedCurve: "P-256" }],
]);

type Keys = ReadonlyMap<number, CryptoKeyPair>;

async function createKeys(): Promise<Keys> {
  const keys = new Map<number, CryptoKeyPair>();
  for (const [group, algorithm] of GROUPS) {
    const pair = await crypto.subtle.generateKey(algorithm, false, ["deriveBits"]);
    if ("publicKey" in pair) keys.set(group, pair);
  }
  return keys;
}

async function publicKeys(keys: Keys): Promise<ReadonlyMap<number, Uint8Array>> {
  const found = new Map<number, Uint8Array>();
  for (const [group, { publicKey }] of keys) {
    found.set(group, new Uint8Array(await crypto.subtle.exportKey("raw", publicKey)));
  }
  return found;
}

/** Returns the certificates (DER) that follow a client's first message. */
async function exchange(
  hello: Uint8Array,
  keys: Keys,
  read: () => Promise<Uint8Array | null>,
): Promise<readonly Uint8Array[]> {
  const server = new Incoming(read);
  const answer = await server.message(MESSAGE.serverHello);
  const choice = parseServerHello(answer.body);
  if (choice.version === TLS_VERSION.tls13) {
    server.decrypt = await createDecryption(choice, keys, concat(hello, answer.whole));
  } else if (choice.version < TLS_VERSION.tls12) {
    throw new Error("server chose a version of TLS before 1.2");
  }
  const certificate = await server.message(MESSAGE.certificate);
  return parseCertificates(certificate.body, choice.version);
}

/** Opens a record. Its header is authenticated with it. */
type Decrypt = (content: Uint8Array, header: Uint8Array) => Uint8Array;

const TAG_BYTES = 16;

/** Derives the keys of the server's handshake (RFC 8446, section 7.1). */
async function createDecryption(
  { suite, share }: ServerHello,
  keys: Keys,
  transcript: Uint8Array,
): Promise<Decrypt> {
  const chosen = SUITES.get(suite);
  const pair = share === null ? undefined : keys.get(share.group);
  const algorithm = share === null ? undefined : GROUPS.get(share.group);
  if (chosen === undefined || share === null || pair === undefined || algorithm === undefined) {
    throw new Error("server requires another cipher suite or key exchange");
  }
  const { hash, cipher, keyBytes } = chosen;
  const sign = (key: Uint8Array, data: Uint8Array): Uint8Array => createHmac(hash, key).update(data).digest();
  const digest = (data: Uint8Array): Uint8Array => createHash(hash).update(data).digest();
  // All lengths are within one block of HKDF-Expand (RFC 5869, section 2.3).
  const expand = (secret: Uint8Array, label: string, context: Uint8Array, bytes: number): Uint8Array =>
    sign(
      secret,
      concat(
        unsigned(2, bytes),
        vector(1, new TextEncoder().encode(`tls13 ${label}`)),
        vector(1, context),
        [1],
      ),
    ).subarray(0, bytes);
  const nothing = new Uint8Array();
  const zeros = new Uint8Array(digest(nothing).length);
  const peer = await crypto.subtle.importKey("raw", concat(share.key), algorithm, false, []);
  const shared = await crypto.subtle.deriveBits({ name: algorithm.name, public: peer }, pair.privateKey, 256);
  const early = expand(sign(zeros, zeros), "derived", digest(nothing), zeros.length);
  const secret = expand(
    sign(early, new Uint8Array(shared)),
    "s hs traffic",
    digest(transcript),
    zeros.length,
  );
  const key = expand(secret, "key", nothing, keyBytes);
  const iv = expand(secret, "iv", nothing, 12);
  let sequence = 0;
  return (content, header) => {
    const counter = unsigned(4, sequence++);
    const nonce = iv.map((byte, index) => byte ^ (index < 8 ? 0 : counter[index - 8] ?? 0));
    const opening = createDecipheriv(cipher, key, nonce).setAAD(header);
    opening.setAuthTag(content.subarray(-TAG_BYTES));
    return concat(opening.update(content.subarray(0, -TAG_BYTES)), opening.final());
  };
}

const HEADER_BYTES = 5;
const MESSAGE_HEADER_BYTES = 4;
/** No chain is that long. */
const RECEIVED_BYTES_MAX = 256 * 1024;

/** The server's side of a handshake: records that carry messages. */
class Incoming {
  /** Set once the server encrypts. */
  decrypt: Decrypt | null = null;
  readonly #read: () => Promise<Uint8Array | null>;
  readonly #received = new ByteQueue();
  readonly #messages = new ByteQueue();
  #bytes = 0;

  constructor(read: () => Promise<Uint8Array | null>) {
    this.#read = read;
  }

  /** Returns the next message of a type, past any other. */
  async message(type: number): Promise<{ readonly whole: Uint8Array; readonly body: Uint8Array }> {
    for (;;) {
      while (this.#messages.length < MESSAGE_HEADER_BYTES) await this.#takeRecord();
      const [first, high = 0, middle = 0, low = 0] = this.#messages.bytes;
      const end = MESSAGE_HEADER_BYTES + high * 65_536 + middle * 256 + low;
      while (this.#messages.length < end) await this.#takeRecord();
      const whole = this.#messages.take(end);
      if (first === type) return { whole, body: whole.subarray(MESSAGE_HEADER_BYTES) };
    }
  }

  async #takeRecord(): Promise<void> {
    const header = await this.#take(HEADER_BYTES);
    const content = await this.#take((header[3] ?? 0) * 256 + (header[4] ?? 0));
    let type = header[0];
    let plain = content;
    if (type === RECORD.applicationData && this.decrypt !== null) {
      const opened = this.decrypt(content, header);
      const end = opened.findLastIndex((byte) => byte !== 0);
      type = opened[end];
      plain = opened.subarray(0, end);
    }
    if (type === RECORD.alert) throw new Error(`server ended the handshake with alert ${plain[1] ?? 0}`);
    if (type === RECORD.handshake) this.#messages.add(plain);
  }

  async #take(count: number): Promise<Uint8Array> {
    while (this.#received.length < count) {
      const bytes = await this.#read();
      if (bytes === null) throw new Error("connection closed by the server");
      this.#bytes += bytes.length;
      if (this.#bytes > RECEIVED_BYTES_MAX) throw new Error("server sent no certificate within 256 KiB");
      this.#received.add(bytes);
    }
    return this.#received.take(count);
  }
}

/** No byte is copied twice, however small the pieces are that a server sends. */
class ByteQueue {
  readonly #buffer = new Uint8Array(RECEIVED_BYTES_MAX);
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  add(bytes: Uint8Array): void {
    this.#buffer.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  take(count: number): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#start += count);
  }
}
