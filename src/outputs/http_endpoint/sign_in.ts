/** Signing in with the token of the config, and out. A session is needed for actions; it also shows everything. */
import type { Clock } from "../../domain/clock.ts";
import type { IncomingRequest, ServerResponse } from "../../domain/http_servers.ts";
import type { EndpointConfig } from "./views.ts";
import type { Log } from "../../domain/system.ts";
import { isSameSecret } from "../../shared/hash.ts";
import { clientNetwork } from "../../shared/ip_address.ts";
import { oneLine, truncate } from "../../shared/text.ts";
import { type Access, accessOf, PAGE_HEADERS, respond, respondText } from "./check_ins.ts";
import {
  AttemptLimits,
  type Client,
  clientOf,
  isOwnForm,
  readForm,
  type Session,
  SESSION_MS,
  Sessions,
} from "./sessions.ts";
import { type Markup, markup } from "../markup.ts";
import { TEXT_MAX } from "../html_report/render_check.ts";
import { contentPolicy } from "../html_report/render_header.ts";
import { STYLE } from "../html_report/page_assets.ts";

const NAME_MAX = 60;

interface SignInOptions {
  readonly system: { readonly clock: Clock; randomId(): string };
  readonly log: Pick<Log, "info" | "warning">;
}

export class SignIn {
  readonly #options: SignInOptions;
  readonly #sessions: Sessions;
  readonly #limits: AttemptLimits;
  #config: EndpointConfig;

  constructor(config: EndpointConfig, options: SignInOptions) {
    const { system } = options;
    this.#config = config;
    this.#options = options;
    this.#sessions = new Sessions({ clock: system.clock, newId: () => system.randomId() });
    this.#limits = new AttemptLimits(system.clock);
  }

  /** Goes on with another config. Another token or address ends all sessions, and so does the end of actions. */
  adopt(next: EndpointConfig): void {
    const { listen } = this.#config;
    const isSame = next.listen.actions && next.listen.token === listen.token &&
      next.listen.address === listen.address;
    if (!isSame) this.#sessions.endAll();
    this.#config = next;
  }

  /** Whether there are actions, and with them a form to sign in. */
  get isOffered(): boolean {
    const { actions, token } = this.#config.listen;
    return actions && token !== undefined;
  }

  /** Returns the session of a request; `null`: it has none. */
  sessionOf(request: IncomingRequest): Session | null {
    return this.isOffered ? this.#sessions.find(request.header("cookie"), this.#cookie) : null;
  }

  clientOf(request: IncomingRequest): Client {
    return clientOf(request, this.#config.listen);
  }

  /** Returns the access of a request without a session. A wrong token in a header counts as an attempt to sign in. */
  accessOf(request: IncomingRequest): Access | ServerResponse {
    const { listen } = this.#config;
    if (!this.isOffered || request.header("authorization") === null) return accessOf(request, listen);
    const { address } = this.clientOf(request);
    const network = clientNetwork(address);
    const waitMs = this.#limits.waitMs(network);
    if (waitMs > 0) return respondText(429, "too many wrong tokens", retryAfter(waitMs));
    const access = accessOf(request, listen);
    if (access === "full") this.#limits.succeeded(network);
    else if (access !== "public") this.#failed(address);
    return access;
  }

  /** Shows the form, or leads a person who is signed in to the page. */
  show(request: IncomingRequest): ServerResponse {
    const check = new URLSearchParams(request.target.split("?")[1]?.split("#")[0]).get("check") ?? "";
    if (this.sessionOf(request) !== null) return respond(303, "", { location: pageOf(check) });
    // Browsers send no strict cookie with a link of another site; with the next request, which this page makes, they do.
    if (request.header("sec-fetch-site") === "cross-site") {
      return respondPage(200, renderForward(linkTo(check)).toString());
    }
    return this.#form(200, { check });
  }

  /** Leads a person to the form, and from there to the page of a check. */
  lead(check: string, root: string): ServerResponse {
    return respond(303, "", { location: `${root}${linkTo(check)}` });
  }

  async handle(request: IncomingRequest): Promise<ServerResponse> {
    const { log } = this.#options;
    if (!isOwnForm(request, this.#config.config.page?.url)) return this.reject();
    const form = await readForm(request);
    if (!(form instanceof URLSearchParams)) return form;
    // A reload may have come before the body did.
    const { listen: { actions, token } } = this.#config;
    if (!actions || token === undefined) return respondText(403, "signing in was turned off");
    const check = decodeName(form.get("check"));
    const by = oneLine(form.get("by") ?? "", NAME_MAX);
    if (by === "") return this.#form(400, { check, problem: "Your name is missing." });
    const client = this.clientOf(request);
    const network = clientNetwork(client.address);
    const waitMs = this.#limits.waitMs(network);
    if (waitMs > 0) {
      const problem = `Too many wrong tokens. Try again in ${Math.ceil(waitMs / 60_000)} min.`;
      return this.#form(429, { check, by, problem }, retryAfter(waitMs));
    }
    if (!isSameSecret(form.get("token") ?? "", token)) {
      this.#failed(client.address);
      return this.#form(403, { check, by, problem: "This is not the token." });
    }
    this.#limits.succeeded(network);
    const session = this.#sessions.start(by);
    log.info(`${by} signed in from ${client.address}`);
    return respond(303, "", { location: pageOf(check), "set-cookie": this.#cookieOf(session.id, client) });
  }

  signOut(session: Session, request: IncomingRequest): ServerResponse {
    this.#sessions.end(session);
    const client = this.clientOf(request);
    this.#options.log.info(`${session.by} signed out from ${client.address}`);
    return respond(303, "", { location: "./", "set-cookie": this.#cookieOf("", client) });
  }

  /** Rejects a form that no page of this endpoint sent. */
  reject(): ServerResponse {
    return this.#form(403, {
      check: "",
      problem: "Nothing was done: this form is not from this page. " +
        'Behind a proxy that changes the host, set "page.url" in the config.',
    });
  }

  /** Responds to an action of a person who is not signed in, or not any more. */
  signedOut(check: string): ServerResponse {
    return this.#form(403, {
      check,
      problem: "Nothing was done: you are signed out. Sign in, then repeat it.",
    });
  }

  /** Counts a wrong token. The log has the first one of a client, and the one that was too many. */
  #failed(address: string): void {
    const { log } = this.#options;
    const network = clientNetwork(address);
    if (this.#limits.failed(network) === 1) log.warning(`wrong token from ${address}`);
    if (this.#limits.waitMs(network) > 0) log.warning(`too many wrong tokens, the last one from ${address}`);
  }

  #form(
    status: number,
    page: Omit<SignInPage, "title">,
    headers: Readonly<Record<string, string>> = {},
  ): ServerResponse {
    return respondPage(
      status,
      renderSignIn({ title: this.#config.config.page?.title, ...page }).toString(),
      headers,
    );
  }

  /** Browsers send cookies to every port of a host. */
  get #cookie(): string {
    return `monitor_${this.#config.listen.address.split(":").at(-1)}`;
  }

  /** Without a path: browsers take the directory of the form's URL, which a proxy may move. */
  #cookieOf(value: string, { isSecure }: Client): string {
    const seconds = value === "" ? 0 : SESSION_MS / 1000;
    const attributes = `HttpOnly; SameSite=Strict; Max-Age=${seconds}${isSecure ? "; Secure" : ""}`;
    return `${this.#cookie}=${value}; ${attributes}`;
  }
}

/** URLs from the root of the endpoint. */
export function pageOf(check: string, part: "acknowledge" | "act" = "acknowledge"): string {
  return check === "" ? "./" : `checks/${encodeURIComponent(check.toWellFormed())}#${part}`;
}

function linkTo(check: string): string {
  return check === "" ? "sign-in" : `sign-in?${new URLSearchParams({ check: check.toWellFormed() })}`;
}

/** Returns the name of a check as a form sends it, encoded. */
export function decodeName(text: string | null): string {
  try {
    return decodeURIComponent(text ?? "");
  } catch {
    return "";
  }
}

function retryAfter(waitMs: number): Readonly<Record<string, string>> {
  return { "retry-after": String(Math.ceil(waitMs / 1000)) };
}

/** Responds with a page with forms; the referrer stays within the site, as without it browsers send no origin. */
export function respondPage(
  status: number,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): ServerResponse {
  return respond(status, body, { "content-type": "text/html; charset=utf-8", ...PAGE_HEADERS, ...headers });
}

// The page to sign in. Anybody may see it: it has no name of a host, a config or a check that exists.

interface SignInPage {
  /** The title of the page in the config; absent: none. */
  readonly title: string | undefined;
  /** The check whose page is opened next; empty: the page of all checks. */
  readonly check: string;
  /** The name that was sent. */
  readonly by?: string;
  /** The reason for which a sign-in or an action was rejected. */
  readonly problem?: string;
}

export function renderSignIn({ title, check, by = "", problem }: SignInPage): Markup {
  return markup`${renderTop("Sign in")}<header>${
    title === undefined ? "" : markup`<p class=h>${truncate(title, TEXT_MAX.name)}</p>`
  }<h1>Sign in</h1></header>
<main>${problem === undefined ? "" : markup`<p class=z role=alert>${problem}</p>`}
<form class="act sign" method=post action=sign-in><input type=hidden name=check value="${
    encodeURIComponent(check.toWellFormed())
  }">
<label>Your name, shown with each action <input name=by value="${by}" required maxlength=60 autocomplete=username></label>
<label>Token of the config (listen.token) <input type=password name=token required maxlength=1000 autocomplete=current-password></label>
<button>Sign in</button></form>
<p><a href=./>All checks</a></p></main>
`;
}

/** Renders a page that leads to another one of this site. */
function renderForward(to: string): Markup {
  return markup`${renderTop("Sign in")}<meta http-equiv=refresh content="${"0;url=".concat(to)}">
<main><p><a href="${to}">Continue</a></p></main>
`;
}

/** The beginning of a page that anybody may see. */
export function renderTop(title: string): Markup {
  return markup`<!doctype html>
<html lang=en>
<meta charset=utf-8>
<meta name=viewport content="width=device-width, initial-scale=1">
<meta http-equiv=Content-Security-Policy content="${contentPolicy({ isLive: true })}">
<meta name=robots content=noindex>
<link rel=icon href="data:,">
<title>${title}</title>
<style>${STYLE}</style>
`;
}

// The page behind the link of a rehearsal. Only the receivers of the message know its URL.

export function renderConfirmation(
  { words, isConfirmable }: { readonly words: string; readonly isConfirmable: boolean },
): Markup {
  return markup`${renderTop("Rehearsal")}<header><h1>Rehearsal</h1></header>
<main><p>${words}</p>${
    isConfirmable ? markup`<form class="act sign" method=post><button>It arrived</button></form>` : ""
  }</main>
`;
}
