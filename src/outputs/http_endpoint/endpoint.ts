/**
 * The HTTP endpoint: the state for browsers and programs. Only check-ins of jobs, confirmations of rehearsals and forms
 * of people who signed in change anything.
 */
import type { HttpServer, IncomingRequest, ServerResponse } from "../../domain/http_servers.ts";
import { isShared } from "../../domain/membership.ts";
import { StoreError } from "../../domain/store.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import { parseListenAddress } from "../../shared/ip_address.ts";
import { readFilter } from "../html_report/page_filter.ts";
import { newerText } from "../html_report/page_rows.ts";
import type { MetricsFormat } from "../metrics/families.ts";
import {
  type Access,
  findPingTargets,
  handleCheckIn,
  PAGE_HEADERS,
  type PingTarget,
  refusePublic,
  respond,
  respondText,
} from "./check_ins.ts";
import type { Check } from "../../domain/check.ts";
import { describeAction } from "../outbox_status.ts";
import { quote } from "../../shared/text.ts";
import { SIGN_OUT } from "../html_report/render_actions.ts";
import type { PageForms } from "../html_report/snapshot.ts";
import { AttemptLimits, isOwnForm, PageHoles, readForm, type Session } from "./sessions.ts";
import { takeAction } from "./page_actions.ts";
import { decodeName, pageOf, SignIn } from "./sign_in.ts";
import { LIVE_SCRIPT } from "../html_report/page_assets.ts";
import { type EndpointConfig, type EndpointSources, Views } from "./views.ts";
import { type Render, RenderCache, type RenderedPart, TooManyTextsError } from "./render_cache.ts";

interface Adopted extends EndpointConfig {
  readonly targets: readonly PingTarget[];
  readonly views: Readonly<Record<Access, Views>>;
}

export class Endpoint {
  readonly #sources: EndpointSources;
  readonly #cache: RenderCache;
  readonly #signIn: SignIn;
  readonly #holes: PageHoles;
  /** Of agents. */
  readonly #wrongKeys: AttemptLimits;
  #adopted: Adopted;
  #server: HttpServer | null = null;

  private constructor(sources: EndpointSources, adopted: Adopted, holes: PageHoles) {
    this.#sources = sources;
    this.#cache = new RenderCache(sources.system.clock);
    this.#signIn = new SignIn(adopted, sources);
    this.#holes = holes;
    this.#wrongKeys = new AttemptLimits(sources.system.clock);
    this.#adopted = adopted;
  }

  /** Starts to listen. Rejects with a {@linkcode ListenError} if that is not possible. */
  static async start(next: EndpointConfig, sources: EndpointSources): Promise<Endpoint> {
    const holes = new PageHoles(() => sources.system.randomId());
    const endpoint = new Endpoint(sources, await prepare(next, sources, holes), holes);
    await endpoint.#listen();
    return endpoint;
  }

  /** Rejects with a {@linkcode ListenError} if it can't listen on the address; then it does not listen at all. */
  async adopt(next: EndpointConfig): Promise<void> {
    const isMoved = this.#server === null || next.listen.address !== this.#adopted.listen.address;
    const adopted = await prepare(next, this.#sources, this.#holes);
    // The old address may be open to others only because of the old token.
    if (isMoved) await this.end();
    this.#adopted = adopted;
    this.#signIn.adopt(adopted);
    this.#cache.clear();
    if (isMoved) await this.#listen();
  }

  async end(): Promise<void> {
    await this.#server?.close();
    this.#server = null;
  }

  async #listen(): Promise<void> {
    const { system, log } = this.#sources;
    const { listen: { address: text } } = this.#adopted;
    const address = parseListenAddress(text);
    if (address === null) throw new Error(`Cannot listen on ${JSON.stringify(text)}: it was not validated`);
    this.#server = await system.httpServers.listen(address, {
      handle: (request) => this.#handle(request),
      onBug: (error) =>
        log.error(`bug in the HTTP endpoint: ${error instanceof Error ? error.stack : error}`),
    });
    log.info(`listening on http://${hostAndPort(address.host, this.#server.port)}/`);
  }

  async #handle(request: IncomingRequest): Promise<ServerResponse> {
    const segments = segmentsOf(request.target);
    if (segments === null) return respondText(400, "the path is malformed");
    const [first, ...rest] = segments;
    if (first === "ping") return await this.#checkIn(request, rest);
    if (first === "report" && rest.length === 0) return await this.#receiveReport(request);
    const signIn = this.#signIn;
    const isForm = signIn.isOffered && rest.length === 0 && FORMS.includes(first ?? "");
    const isReading = request.method === "GET" || request.method === "HEAD";
    if (!isReading && first !== "confirm" && !(request.method === "POST" && isForm)) {
      return respondText(405, "expected GET", { allow: "GET, HEAD" });
    }
    if (segments.length === 1 && first === "healthz") return this.#health();
    try {
      if (first === "confirm") return await this.#confirm(request, rest);
      if (request.method === "POST") return await this.#receive(first ?? "", request);
      if (isForm && first === "sign-in") return signIn.show(request);
      const session = signIn.sessionOf(request);
      const access = session === null ? signIn.accessOf(request) : "signed_in";
      if (typeof access === "string") return await this.#show(segments, { request, access, session });
      return this.#leadsToForm(segments, request) ? this.#lead(segments) : access;
    } catch (error) {
      if (error instanceof TooManyTextsError) {
        return respondText(503, `${error.message}, send the request again`);
      }
      if (!(error instanceof StoreError)) throw error;
      return respondText(503, "the state cannot be read now, send the request again");
    }
  }

  /** Whether a person who opens a page without a session is asked to sign in. */
  #leadsToForm([area = "", ...rest]: readonly string[], request: IncomingRequest): boolean {
    const isPage = area === "" ? rest.length === 0 : area === "checks" && rest.length === 1;
    return isPage && this.#signIn.isOffered && request.header("authorization") === null;
  }

  #lead([area, name = ""]: readonly string[]): ServerResponse {
    return this.#signIn.lead(name, area === "checks" ? "../" : "");
  }

  /** Receives a form: to sign in, to sign out, or of an action. */
  async #receive(area: string, request: IncomingRequest): Promise<ServerResponse> {
    const signIn = this.#signIn;
    if (area === "sign-in") return await signIn.handle(request);
    if (!isOwnForm(request, this.#adopted.config.page?.url)) return signIn.reject();
    const form = await readForm(request);
    if (!(form instanceof URLSearchParams)) return form;
    const name = decodeName(form.get("check"));
    const session = signIn.sessionOf(request);
    if (session === null) return signIn.signedOut(name);
    const isAction = area === "act";
    const check = isAction ? this.#adopted.config.checks.find((check) => check.name === name) : undefined;
    if (isAction && (check === undefined || !this.#adopted.views.signed_in.has(name))) {
      return respondText(404, "there is no such check");
    }
    const what = JSON.stringify([form.get("do"), form.get("for"), form.get("note")]);
    const verdict = session.useToken(isAction ? name : SIGN_OUT, {
      token: form.get("token") ?? "",
      request: what,
    });
    if (check === undefined) {
      return verdict === "accepted" ? signIn.signOut(session, request) : respond(303, "", { location: "./" });
    }
    if (verdict === "rejected") {
      const text = "Nothing was done: the page was out of date. This is the present one.";
      session.show({ check: name, text, isError: true, undo: null });
    }
    if (verdict === "accepted") await this.#act(check, { form, session, request });
    return respond(303, "", { location: pageOf(name, "act") });
  }

  async #act(
    check: Check,
    { form, session, request }: {
      readonly form: URLSearchParams;
      readonly session: Session;
      readonly request: IncomingRequest;
    },
  ): Promise<void> {
    const { system, log, repository, scheduler, hasState } = this.#sources;
    const timeZone = this.#adopted.config.timeZone();
    const by = `${session.by} from ${this.#signIn.clientOf(request).address}`;
    if (!hasState) {
      const text = "Nothing was done: no state is stored.";
      return session.show({ check: check.name, text, isError: true, undo: null });
    }
    const { message, action } = await takeAction(form, {
      check,
      by,
      system,
      timeZone,
      store: repository.store,
      recordOf: (name) => repository.recordOf(name, system.clock.wallMs()),
      request: (name) => scheduler.request(name),
    }).catch((error) => {
      if (!(error instanceof StoreError)) throw error;
      const text = "Nothing was done: the state cannot be written now.";
      return { message: { text, isError: true, undo: null }, action: null };
    });
    if (action !== null) {
      log.info(`${quote(check.name)}: ${describeAction(action, { timeZone })}`);
      this.#cache.clear();
    }
    session.show({ check: check.name, ...message });
  }

  #health(): ServerResponse {
    return this.#sources.scheduler.isAdvancing
      ? respondText(200, "ok")
      : respondText(503, "runs are late: the scheduler makes no progress");
  }

  async #checkIn(request: IncomingRequest, words: readonly string[]): Promise<ServerResponse> {
    const { repository, hasState, scheduler } = this.#sources;
    const { targets, config: { redact } } = this.#adopted;
    const store = hasState ? repository.store : null;
    return await handleCheckIn(request, words, {
      ...this.#sources,
      ...{ store, targets, redact },
      // With a shared state, the next heartbeat has it.
      onEnded: (check) => {
        if (store !== null && !isShared(store)) scheduler.request(check);
      },
    });
  }

  async #confirm(request: IncomingRequest, words: readonly string[]): Promise<ServerResponse> {
    const { repository, scheduler } = this.#sources;
    const { config: { checks, timeZone } } = this.#adopted;
    // Only a config with a rehearsal needs it.
    const { handleConfirmation } = await import("./confirmations.ts");
    const { address } = this.#signIn.clientOf(request);
    const session = this.#signIn.sessionOf(request);
    return await handleConfirmation(request, words, {
      ...this.#sources,
      checks,
      timeZone,
      by: session === null ? address : `${session.by} from ${address}`,
      // With a shared state, the next heartbeat has it.
      onConfirmed: (check) => {
        if (!isShared(repository.store)) scheduler.request(check);
      },
    });
  }

  async #receiveReport(request: IncomingRequest): Promise<ServerResponse> {
    const { log, reports } = this.#sources;
    const { config: { agents }, listen } = this.#adopted;
    if (reports === null) return respondText(404, "not found");
    // Few services have agents.
    const { handleReport } = await import("./report_requests.ts");
    return await handleReport(request, { agents, listen, reports, limits: this.#wrongKeys, log });
  }

  /** Responds to requests that only read. */
  async #show(
    [area, ...rest]: readonly string[],
    { request, access, session }: {
      readonly request: IncomingRequest;
      readonly access: Access;
      readonly session: Session | null;
    },
  ): Promise<ServerResponse> {
    const view = this.#adopted.views[access];
    const query = new URLSearchParams(request.target.split("#")[0]?.split("?").slice(1).join("?"));
    const since = area === "" ? view.versionOf(query.get("since") ?? "") : null;
    const { member, servedBy } = this.#sources;
    const served = member === null || access === "public"
      ? {}
      : { "x-served-by": encodeURIComponent(servedBy) };
    const show = async (
      type: string,
      render: Render,
      headers: Readonly<Record<string, string>> = {},
      variant: unknown = null,
    ): Promise<ServerResponse> => {
      const key = JSON.stringify([access, type, area, rest, variant]);
      const rendering = await this.#cache.get(key, render);
      const { etag } = rendering;
      // What a person who is signed in sees is stored nowhere.
      if (session !== null) {
        const isPage = headers === PAGE_HEADERS;
        const body = rendering.body((part) => {
          const bytes = bytesOf(part, since);
          return isPage ? this.#holes.fill(bytes, session) : bytes;
        });
        return respond(200, body, { "content-type": type, ...headers, ...served });
      }
      const known = request.header("if-none-match")?.split(/, */) ?? [];
      const isKnown = known.some((tag) => tag.replace("W/", "") === etag);
      const caching = { etag, "cache-control": "private, no-cache", vary: "accept, authorization, cookie" };
      const all = { "content-type": type, ...headers, ...caching, ...served };
      if (since === null && isKnown) return respond(304, "", all);
      return respond(200, rendering.body((part) => bytesOf(part, since)), all);
    };
    const [one = "", two = "", three = ""] = rest;
    const filter = readFilter(query);
    const format = metricsFormatOf(request.header("accept") ?? "");
    switch (JSON.stringify([area, rest.length])) {
      case '["sign-in",0]':
        return access === "public" ? refusePublic(this.#adopted.listen) : TO_PAGE;
      case '["",0]':
        return await show(
          "text/html; charset=utf-8",
          (onWork) => view.page(null, { filter, onWork }),
          PAGE_HEADERS,
          // The page for everybody has no filter, so no reader makes it render more often.
          access === "public" ? null : filter,
        );
      case '["checks",1]':
        if (access === "public" || !view.has(one)) break;
        return await show("text/html; charset=utf-8", (onWork) => view.page(one, { onWork }), PAGE_HEADERS);
      case '["live.js",0]':
        return await show("text/javascript; charset=utf-8", () => Promise.resolve(LIVE_SCRIPT));
      case '["check.js",0]':
        return await show("text/javascript; charset=utf-8", async () => {
          // Few pages need it.
          const { CHECK_SCRIPT } = await import("./check_script.ts");
          return CHECK_SCRIPT;
        });
      case '["feed.atom",0]':
        return await show("application/atom+xml; charset=utf-8", () => view.feed());
      case '["metrics",0]':
        if (access === "public") return refusePublic(this.#adopted.listen);
        return await show(METRICS_TYPES[format], () => this.#sources.metrics.render(format));
      case '["badge",1]': {
        const name = one.replace(/\.svg$/, "");
        if (!one.endsWith(".svg") || !view.has(name)) break;
        return await show("image/svg+xml; charset=utf-8", () => view.badge(name), BADGE_HEADERS[access]);
      }
      case '["api",2]':
        if (one !== "v1" || two !== "status") break;
        return await show("application/json", () => view.status());
      case '["api",3]':
        if (one !== "v1" || !view.has(three)) break;
        if (two === "checks") return await show("application/json", () => view.check(three));
        if (two === "history") return await show("application/json", () => view.history(three));
    }
    // A check that is not public, or none: which of them remains hidden.
    const isHidden = access === "public" && ["checks", "badge", "api"].includes(area ?? "");
    if (isHidden && this.#leadsToForm([area ?? "", ...rest], request)) {
      return this.#lead([area ?? "", ...rest]);
    }
    return isHidden ? refusePublic(this.#adopted.listen) : respondText(404, "not found");
  }
}

async function prepare(next: EndpointConfig, sources: EndpointSources, forms: PageForms): Promise<Adopted> {
  const { config, listen: { intervalMs } } = next;
  const viewOf = (access: Access): Views => new Views({ ...sources, config, access, forms, intervalMs });
  return {
    ...next,
    targets: await findPingTargets(config.checks),
    views: { full: viewOf("full"), signed_in: viewOf("signed_in"), public: viewOf("public") },
  };
}

/** The paths that receive forms. */
const FORMS: readonly string[] = ["sign-in", "sign-out", "act"];

/** The parts of a path, decoded; `null`: one is malformed. */
function segmentsOf(target: string): readonly string[] | null {
  try {
    return target.slice(1).split(/[?#]/)[0]?.split("/").map(decodeURIComponent) ?? [];
  } catch {
    return null;
  }
}

/** Returns the bytes of a part; rows that a client has since a version are empty. */
function bytesOf({ bytes, pieces }: RenderedPart, since: number | null): Uint8Array {
  return since === null
    ? bytes
    : new TextEncoder().encode(pieces.map((piece) => newerText(piece, since)).join(""));
}

/** The browser then sends the token with each request. */
const TO_PAGE = respond(303, "", { location: "./" });

/** Other sites may show public data. */
const BADGE_HEADERS: Readonly<Record<Access, Readonly<Record<string, string>>>> = {
  full: {},
  signed_in: {},
  public: { "cross-origin-resource-policy": "cross-origin" },
};

const METRICS_TYPES: Readonly<Record<MetricsFormat, string>> = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/** OpenMetrics where the reader prefers it (RFC 9110, section 12.5.1). */
function metricsFormatOf(accept: string): MetricsFormat {
  const weights = new Map(
    accept.split(",").map((range) => {
      const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1";
      return [type, Number(weight)] as const;
    }),
  );
  const open = weights.get("application/openmetrics-text") ?? 0;
  return open > 0 && open >= (weights.get("text/plain") ?? 0) ? "openmetrics" : "prometheus";
}
