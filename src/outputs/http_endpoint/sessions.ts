/** Sessions of people who signed in, and the limits of attempts. All of it is in memory, and ends with the process. */
import type { Clock } from "../../domain/clock.ts";
import { isSameSecret } from "../../shared/hash.ts";
import { DAY_MS, MINUTE_MS } from "../../shared/time_units.ts";
import type { IncomingRequest, ServerResponse } from "../../domain/http_servers.ts";
import type { Listen } from "../../domain/generated/config.ts";
import { canonicalAddress } from "../../shared/ip_address.ts";
import { readBody, respondText } from "./check_ins.ts";
import { joinBytes } from "../../shared/text.ts";
import { type Markup, markup } from "../markup.ts";
import type { PageForms } from "../html_report/snapshot.ts";

/** How long a session lasts, however it is used. */
export const SESSION_MS = DAY_MS;
const SESSIONS_MAX = 100;
/** Pages of more checks than this get new tokens for their first forms. */
const FORMS_MAX = 2_000;
/** So many cookies of one name are compared: other applications of a host may set some, too. */
const COOKIES_MAX = 8;

interface SessionsOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Returns a random id with 122 bits from the generator for keys of the system. */
  newId(): string;
}

export class Sessions {
  readonly #options: SessionsOptions;
  #sessions: readonly Session[] = [];

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Begins a session; the oldest one ends if there are too many. */
  start(by: string): Session {
    const session = new Session(by, this.#options);
    this.#sessions = [...this.#lasting(), session].slice(-SESSIONS_MAX);
    return session;
  }

  /** Finds the session of a request by its cookies; `null`: none, or it has ended. */
  find(cookies: string | null, name: string): Session | null {
    const sent = (cookies ?? "").split(";").map((one) => one.trim())
      .filter((one) => one.startsWith(`${name}=`)).slice(0, COOKIES_MAX)
      .map((one) => one.slice(name.length + 1));
    // All of them are compared, so that the time reveals nothing.
    const [found = null] = this.#lasting().filter(({ id }) => sent.some((one) => isSameSecret(one, id)));
    return found;
  }

  end(session: Session): void {
    this.#sessions = this.#sessions.filter((one) => one !== session);
  }

  endAll(): void {
    this.#sessions = [];
  }

  #lasting(): readonly Session[] {
    const nowMs = this.#options.clock.monotonicMs();
    return this.#sessions.filter(({ endsAtMs }) => nowMs < endsAtMs);
  }
}

/** The result of an action, shown once on the page of its check. */
export interface ActionMessage {
  readonly check: string;
  readonly text: string;
  readonly isError: boolean;
  /** The kind of what was begun, which the message offers to end; `null`: nothing. */
  readonly undo: "silence" | "acknowledgement" | "maintenance" | null;
}

/** A token of a form, and what the form asked for. */
interface UsedToken {
  readonly token: string;
  readonly request: string;
}

const MESSAGE_MS = MINUTE_MS;

export class Session {
  /** The value of the cookie. */
  readonly id: string;
  /** The name that the person gave. */
  readonly by: string;
  /** Monotonic. */
  readonly endsAtMs: number;
  readonly #options: SessionsOptions;
  readonly #forms = new Map<string, { readonly token: string; readonly used: UsedToken | null }>();
  #message: (ActionMessage & { readonly untilMs: number }) | null = null;

  constructor(by: string, options: SessionsOptions) {
    this.by = by;
    this.id = `${options.newId()}${options.newId()}`;
    this.endsAtMs = options.clock.monotonicMs() + SESSION_MS;
    this.#options = options;
  }

  /** Returns the token of the forms about a subject, such as a check, until one of them is sent. */
  formToken(subject: string): string {
    const known = this.#forms.get(subject);
    if (known !== undefined) return known.token;
    return this.#renew(subject, null);
  }

  /**
   * Uses a token up. `repeated`: it was used last, with the same request, as by a second tap on a button; `rejected`: it
   * is not the present one, as on a page that was not reloaded since.
   */
  useToken(subject: string, { token, request }: UsedToken): "accepted" | "repeated" | "rejected" {
    const known = this.#forms.get(subject);
    if (known === undefined) return "rejected";
    if (isSameSecret(token, known.token)) {
      this.#renew(subject, { token, request });
      return "accepted";
    }
    const { used } = known;
    const isRepeated = used !== null && isSameSecret(token, used.token) && request === used.request;
    return isRepeated ? "repeated" : "rejected";
  }

  show(message: ActionMessage): void {
    this.#message = { ...message, untilMs: this.#options.clock.monotonicMs() + MESSAGE_MS };
  }

  /** Returns the message for the page of a check, for a while: the page reloads itself. */
  messageFor(check: string): ActionMessage | null {
    const message = this.#message;
    if (message === null || this.#options.clock.monotonicMs() >= message.untilMs) return null;
    return message.check === check ? message : null;
  }

  #renew(subject: string, used: UsedToken | null): string {
    const token = this.#options.newId();
    this.#forms.delete(subject);
    this.#forms.set(subject, { token, used });
    const [oldest] = this.#forms.keys();
    if (this.#forms.size > FORMS_MAX && oldest !== undefined) this.#forms.delete(oldest);
    return token;
  }
}

const WINDOW_MS = 15 * MINUTE_MS;
const ATTEMPTS_MAX = 10;
const ATTEMPTS_MAX_OF_ALL = 100;
const KNOWN_MAX = 64;

/**
 * Limits wrong tokens: of each client, and of all together. A client that sent the right one lately is not affected by
 * the attempts of others. A client is an address or a network, as `clientNetwork` returns it.
 */
export class AttemptLimits {
  readonly #clock: Pick<Clock, "monotonicMs">;
  #failed: readonly { readonly client: string; readonly atMs: number }[] = [];
  readonly #known = new Set<string>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Returns how long a client must wait before its next attempt, in milliseconds; 0: not at all. */
  waitMs(client: string): number {
    const nowMs = this.#clock.monotonicMs();
    this.#failed = this.#failed.filter(({ atMs }) => nowMs - atMs < WINDOW_MS);
    const own = this.#failed.filter((one) => one.client === client);
    return Math.max(
      waitFor(own, { countMax: ATTEMPTS_MAX, nowMs }),
      this.#known.has(client) ? 0 : waitFor(this.#failed, { countMax: ATTEMPTS_MAX_OF_ALL, nowMs }),
    );
  }

  /** Counts an attempt, and returns how many of the client count now. */
  failed(client: string): number {
    this.#failed = [...this.#failed, { client, atMs: this.#clock.monotonicMs() }];
    return this.#failed.filter((one) => one.client === client).length;
  }

  succeeded(client: string): void {
    this.#known.delete(client);
    this.#known.add(client);
    const [oldest] = this.#known;
    if (this.#known.size > KNOWN_MAX && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** The time until fewer than so many are in the window. */
function waitFor(
  failed: readonly { readonly atMs: number }[],
  { countMax, nowMs }: { readonly countMax: number; readonly nowMs: number },
): number {
  const last = failed.at(-countMax);
  return last === undefined ? 0 : last.atMs + WINDOW_MS - nowMs;
}

// Requests that change something: where they come from, and the fields that they send.

export interface Client {
  readonly address: string;
  /** Whether its connection is encrypted, as a trusted proxy reported. */
  readonly isSecure: boolean;
}

/** Returns the client; headers about it count only if a trusted proxy sent the request. */
export function clientOf(
  request: IncomingRequest,
  { trustedProxies = [] }: Pick<Listen, "trustedProxies">,
): Client {
  const trusted = new Set(trustedProxies.map(canonicalAddress));
  const isTrusted = (address: string): boolean => trusted.has(canonicalAddress(address));
  if (!isTrusted(request.address)) return { address: request.address, isSecure: false };
  // Each proxy appends the address it saw, so whatever the client sent is on the left.
  const hops = [...listOf(request.header("x-forwarded-for")), request.address];
  const address = canonicalAddress(hops.findLast((hop) => !isTrusted(hop)) ?? "") ?? request.address;
  const isSecure = listOf(request.header("x-forwarded-proto")).at(-1)?.toLowerCase() === "https";
  return { address, isSecure };
}

function listOf(header: string | null): readonly string[] {
  return (header ?? "").split(",").map((item) => item.trim()).filter((item) => item !== "");
}

/**
 * Returns whether a page of this endpoint sent a form. Browsers send the origin with each form; a page of another site
 * can't change it. `pageUrl` is `page.url` of the config, in case a proxy changes the host.
 */
export function isOwnForm(request: IncomingRequest, pageUrl: string | undefined): boolean {
  const origin = request.header("origin");
  const site = request.header("sec-fetch-site");
  if (origin === null || (site !== null && site !== "same-origin")) return false;
  const host = request.header("host") ?? "";
  const own = [`http://${host}`, `https://${host}`, pageUrl ?? ""].map((url) => URL.parse(url)?.origin);
  return origin !== "null" && own.includes(origin);
}

const BODY_BYTES_MAX = 16_384;

/** Reads the fields of a form, or rejects what is no form. */
export async function readForm(request: IncomingRequest): Promise<URLSearchParams | ServerResponse> {
  const type = request.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded") return respondText(415, "expected a form");
  const text = await readBody(request, BODY_BYTES_MAX);
  return typeof text === "string" ? new URLSearchParams(text) : text;
}

// A page is rendered once for all people who are signed in, with holes in the places of what differs. They are filled
// for each response. A hole begins with a random id, so that no text of a target can be one.

interface Hole {
  readonly kind: string;
  readonly subject: string;
}

type Piece = Uint8Array | Hole;

export class PageHoles implements PageForms {
  readonly by: string;
  readonly #id: string;
  readonly #pieces = new WeakMap<Uint8Array, readonly Piece[]>();

  constructor(newId: () => string) {
    this.#id = newId();
    this.by = this.#hole("by", "");
  }

  formToken(subject: string): string {
    return this.#hole("form", subject);
  }

  messageFor(check: string): string {
    return this.#hole("message", check);
  }

  /** Fills the holes of a page, of whose bytes only these are rendered for each response. */
  fill(page: Uint8Array, session: Session): Uint8Array {
    const pieces = this.#pieces.getOrInsertComputed(page, () => this.#split(page));
    return joinBytes(
      pieces.map((piece) => piece instanceof Uint8Array ? piece : encode(contentOf(piece, session))),
    );
  }

  /** Returns the bytes between holes, and the holes. */
  #split(page: Uint8Array): readonly Piece[] {
    const pattern = new RegExp(`${this.#id}:(by|form|message):([\\w%.~!*()-]*):`);
    const parts = new TextDecoder().decode(page).split(pattern);
    return Array.from({ length: Math.ceil(parts.length / 3) }, (_, index) => {
      const [text = "", kind = "", subject = ""] = parts.slice(3 * index);
      return [encode(text), ...kind === "" ? [] : [{ kind, subject: decodeURIComponent(subject) }]];
    }).flat();
  }

  #hole(kind: "by" | "form" | "message", subject: string): string {
    return `${this.#id}:${kind}:${encodeURIComponent(subject.toWellFormed()).replaceAll("'", "%27")}:`;
  }
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function contentOf({ kind, subject }: Hole, session: Session): string {
  if (kind === "by") return markup`${session.by}`.toString();
  if (kind === "form") return session.formToken(subject);
  return renderMessage(session.messageFor(subject), session.formToken(subject)).toString();
}

function renderMessage(message: ActionMessage | null, token: string): Markup {
  if (message === null) return markup``;
  const { check, text, isError, undo } = message;
  const role = isError ? "alert" : "status";
  const form = undo === null
    ? ""
    : markup`<form class=act method=post action="../act"><input type=hidden name=check value="${
      encodeURIComponent(check.toWellFormed())
    }"><input type=hidden name=token value="${token}"><button name=do value="end ${undo}">Undo</button></form>`;
  return markup`<div class=done role="${role}"><p>${text}</p>${form}</div>`;
}
