/** How a session proves its user to the server, and the server that it knows the password. */
import { BodyReader, int32, message, ProtocolError, terminated } from "./protocol.ts";
import { Scram } from "./scram.ts";

interface AuthenticationOptions {
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

  /** Whether the server has accepted the user. */
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
    if (password === null) throw new ProtocolError('asks for a password; set "password" of "state"');
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
        'does not ask for the password; remove "password" of "state", or set scram-sha-256 in pg_hba.conf',
      );
    }
    if (status === "challenging" || status === "proving") {
      throw new ProtocolError("does not prove that it knows the password");
    }
    this.#state = { status: "accepted" };
    return null;
  }
}
