/**
 * SCRAM-SHA-256 (RFC 5802, RFC 7677): the password never leaves this process, and the server proves that it has it.
 */
import { ProtocolError } from "./protocol.ts";

const ENCODER = new TextEncoder();

/** More iterations than this would only block the process; PostgreSQL's default is 4,096. */
const ITERATIONS_MAX = 1_000_000;

/** One authentication. */
export interface Scram {
  /** The first message. */
  readonly first: string;
  /** Returns the response to the server's first message. */
  answer(serverFirst: string): Promise<string>;
  /** @throws {ProtocolError} If the server's last message does not prove that it has the password. */
  verify(serverLast: string): void;
}

/** Begins one; the nonce is fresh and printable. */
export function createScram(password: string, nonce: string): Scram {
  // The name is that of the startup message; the server ignores this one.
  const bare = `n=,r=${nonce}`;
  let expected: string | null = null;
  return {
    first: `n,,${bare}`,
    async answer(serverFirst) {
      const { r: both = "", s: salt = "", i: iterations = "" } = attributesOf(serverFirst);
      const count = Number(iterations);
      if (!both.startsWith(nonce) || both === nonce || salt === "" || !(count >= 1)) throw unusable();
      if (count > ITERATIONS_MAX) {
        throw new ProtocolError(`asks for ${count} SCRAM iterations, expected at most ${ITERATIONS_MAX}`);
      }
      const withoutProof = `c=biws,r=${both}`;
      const text = `${bare},${serverFirst},${withoutProof}`;
      const salted = await saltedPassword(password, Uint8Array.fromBase64(salt), count);
      const clientKey = await sign(salted, "Client Key");
      const storedKey = new Uint8Array(await crypto.subtle.digest("SHA-256", clientKey));
      const signature = await sign(storedKey, text);
      expected = (await sign(await sign(salted, "Server Key"), text)).toBase64();
      return `${withoutProof},p=${clientKey.map((byte, index) => byte ^ (signature[index] ?? 0)).toBase64()}`;
    },
    verify(serverLast) {
      if (expected === null || attributesOf(serverLast)["v"] !== expected) throw unusable();
    },
  };
}

function unusable(): ProtocolError {
  return new ProtocolError("does not prove that it knows the password");
}

function attributesOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(text.split(",").map((part) => [part.slice(0, 1), part.slice(2)]));
}

async function saltedPassword(
  password: string,
  salt: Uint8Array<ArrayBuffer>,
  iterations: number,
): Promise<Uint8Array<ArrayBuffer>> {
  // SASLprep (RFC 4013) is NFKC for all but rare characters.
  const secret = ENCODER.encode(password.normalize("NFKC"));
  const key = await crypto.subtle.importKey("raw", secret, "PBKDF2", false, ["deriveBits"]);
  return new Uint8Array(
    await crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-256", salt, iterations }, key, 256),
  );
}

async function sign(secret: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, ENCODER.encode(text)));
}
