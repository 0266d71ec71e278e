/** How a session proves its user to the server, and the server that it knows the password. */
import { BodyReader, int32, message, ProtocolError, terminated } from "./protocol.ts";

export interface AuthenticationOptions {
  /** `null`: no password. */
  readonly password: string | null;
  /**
   * Whether other users can neither read the traffic nor be the server. Otherwise the password is not sent in plain
   * text, and the server must prove that it has it.
   */
  readonly isPrivate: boolean;
  /** Fresh random text. */
  readonly nonce: string;
}

type State =
  | { readonly status: "begun" }
  /** The password is sent in plain text. */
  | { readonly status: "sent" }
  | { readonly status: "challenging" | "proving"; readonly scram: Scram }
  /** The server has proved that it has the password. */
  | { readonly status: "proved" }
  | { readonly status: "accepted" };

const MECHANISM = "SCRAM-SHA-256";

/** The requests of a server (postgresql.org/docs/current/protocol-message-formats.html). */
const REQUEST = { ok: 0, clearText: 3, sasl: 10, saslContinue: 11, saslFinal: 12 } as const;

/** One authentication: the requests of a server, in the only order that proves anything. */
export class Authentication {
  readonly #options: AuthenticationOptions;
  #state: State = { status: "begun" };

  constructor(options: AuthenticationOptions) {
    this.#options = options;
  }

  get isAccepted(): boolean {
    return this.#state.status === "accepted";
  }

  /**
   * Returns the response to a request; `null`: none.
   *
   * @throws {ProtocolError} If it can't or must not be met.
   */
  async respond(request: Uint8Array): Promise<Uint8Array | null> {
    const body = new BodyReader(request);
    const kind = body.int32();
    const state = this.#state;
    if (kind === REQUEST.ok) return this.#accept();
    const { password, isPrivate, nonce } = this.#options;
    if (password === null) throw new ProtocolError('asks for a password; set "password"');
    if (kind === REQUEST.clearText && isPrivate && state.status === "begun") {
      this.#state = { status: "sent" };
      return message("p", terminated(password));
    }
    if (kind === REQUEST.sasl && state.status === "begun" && body.rest().split("\0").includes(MECHANISM)) {
      const scram = new Scram(password, nonce);
      this.#state = { status: "challenging", scram };
      const first = new TextEncoder().encode(scram.first);
      return message("p", terminated(MECHANISM), int32(first.length), first);
    }
    if (kind === REQUEST.saslContinue && state.status === "challenging") {
      this.#state = { status: "proving", scram: state.scram };
      return message("p", new TextEncoder().encode(await state.scram.answer(body.rest())));
    }
    if (kind === REQUEST.saslFinal && state.status === "proving") {
      state.scram.verify(body.rest());
      this.#state = { status: "proved" };
      return null;
    }
    throw new ProtocolError(
      state.status === "begun"
        ? "does not offer SCRAM-SHA-256; set it in pg_hba.conf, and the password again"
        : "asks for the password in another way",
    );
  }

  #accept(): null {
    const { password, isPrivate } = this.#options;
    const { status } = this.#state;
    if (status === "begun" && password !== null && !isPrivate) {
      throw new ProtocolError(
        'does not ask for the password; remove "password", or set scram-sha-256 in pg_hba.conf',
      );
    }
    if (status === "challenging" || status === "proving") {
      throw new ProtocolError("does not prove that it knows the password");
    }
    this.#state = { status: "accepted" };
    return null;
  }
}

// SCRAM-SHA-256 (RFC 5802, RFC 7677): the password never leaves this process, and the server proves that it has it.

const ENCODER = new TextEncoder();

/** With fewer iterations, another server could guess the password from the response (RFC 7677, section 4). */
const ITERATIONS_MIN = 4_096;
/** More would only take processor time. */
const ITERATIONS_MAX = 1_000_000;

/** The server's first message; what may follow is an extension that changes nothing. */
const SERVER_FIRST = /^r=([!-+\--~]+),s=([A-Za-z0-9+/]+={0,2}),i=([1-9]\d{0,15})(?:,|$)/;

class Scram {
  readonly #password: string;
  readonly #nonce: string;
  #signature: string | null = null;

  /** Begins one; the nonce is fresh and printable. */
  constructor(password: string, nonce: string) {
    this.#password = password;
    this.#nonce = nonce;
  }

  get first(): string {
    return `n,,${this.#bare}`;
  }

  async answer(serverFirst: string): Promise<string> {
    const [, both = "", salt = "", iterations = ""] = SERVER_FIRST.exec(serverFirst) ?? [];
    const count = Number(iterations);
    if (!both.startsWith(this.#nonce) || both === this.#nonce) throw unusable();
    if (count < ITERATIONS_MIN || count > ITERATIONS_MAX) {
      throw new ProtocolError(
        `asks for ${count} SCRAM iterations, expected ${ITERATIONS_MIN} to ${ITERATIONS_MAX}`,
      );
    }
    const withoutProof = `c=biws,r=${both}`;
    const text = `${this.#bare},${serverFirst},${withoutProof}`;
    const salted = await saltedPassword(this.#password, bytesOf(salt), count);
    const clientKey = await sign(salted, "Client Key");
    const storedKey = new Uint8Array(await crypto.subtle.digest("SHA-256", clientKey));
    const signature = await sign(storedKey, text);
    this.#signature = (await sign(await sign(salted, "Server Key"), text)).toBase64();
    return `${withoutProof},p=${clientKey.map((byte, index) => byte ^ (signature[index] ?? 0)).toBase64()}`;
  }

  /** @throws {ProtocolError} If the server's last message does not prove that it has the password. */
  verify(serverLast: string): void {
    if (this.#signature === null || serverLast.split(",")[0] !== `v=${this.#signature}`) throw unusable();
  }

  /** The name is that of the startup message; the server ignores this one. */
  get #bare(): string {
    return `n=,r=${this.#nonce}`;
  }
}

function unusable(): ProtocolError {
  return new ProtocolError("does not prove that it knows the password");
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.fromBase64(base64);
  } catch {
    throw unusable();
  }
}

async function saltedPassword(password: string, salt: Uint8Array<ArrayBuffer>, iterations: number) {
  const secret = ENCODER.encode(await prepare(password));
  const key = await crypto.subtle.importKey("raw", secret, "PBKDF2", false, ["deriveBits"]);
  return new Uint8Array(
    await crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-256", salt, iterations }, key, 256),
  );
}

/** Returns a password as the server has it: prepared (RFC 4013), or as it is if that rejects it. */
async function prepare(password: string): Promise<string> {
  if (/^[\0-\x7f]*$/.test(password)) return password;
  const { saslprep } = await import("@mongodb-js/saslprep");
  try {
    return saslprep(password) || password;
  } catch {
    return password;
  }
}

async function sign(secret: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", secret, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, ENCODER.encode(text)));
}
