import { entryOf } from "../../checks/registry.ts";
import type { Check } from "../../domain/check.ts";
import type { IncomingRequest, ServerResponse } from "../../domain/http_servers.ts";
import { type JobEnd, type Store, StoreError } from "../../domain/store.ts";
import type { Log, System } from "../../domain/system.ts";
import { lastLines } from "../../shared/text.ts";
import type { Redact } from "../../shared/redact.ts";
import { isSameSecret } from "../../shared/hash.ts";
import type { Listen } from "../../domain/generated/config.ts";
import { contentPolicy } from "../html_report/render_header.ts";
import { isLoopback } from "../../shared/ip_address.ts";

export interface PingTarget {
  /** The name of its check. */
  readonly name: string;
  readonly key: string;
}

export async function findPingTargets(checks: readonly Check[]): Promise<readonly PingTarget[]> {
  const targets: PingTarget[] = [];
  for (const check of checks) {
    const key = check.lack === undefined ? (await entryOf(check)).pingKey?.(check) : undefined;
    if (key !== undefined) targets.push({ name: check.name, key });
  }
  return targets;
}

interface CheckInOptions {
  readonly system: Pick<System, "clock" | "randomId">;
  readonly log: Pick<Log, "warning">;
  /** `null`: no state is stored. */
  readonly store: Store | null;
  readonly targets: readonly PingTarget[];
  readonly redact: Redact;
  /** Called with the check of a run that has ended, once that is recorded. */
  onEnded(check: string): void;
}

/** Scanned for secrets; less of it is stored. */
const TAIL_BYTES_MAX = 65_536;

const METHODS: readonly string[] = ["GET", "HEAD", "POST"];

type Signal = "start" | Pick<JobEnd, "how" | "exitCode">;

/**
 * Handles `/ping/KEY`, `…/start`, `…/fail`, `…/log` and `…/EXITCODE`; the words are those behind `/ping/`. GET and HEAD
 * are check-ins too, as with Healthchecks, so that crontabs need not change: the secret key protects from forged ones.
 */
export async function handleCheckIn(
  request: IncomingRequest,
  [key = "", word, ...rest]: readonly string[],
  options: CheckInOptions,
): Promise<ServerResponse> {
  if (!METHODS.includes(request.method)) {
    return respondText(405, "expected GET, HEAD or POST", { allow: METHODS.join(", ") });
  }
  // All of them are compared, so that the time reveals nothing.
  const [target] = options.targets.filter((one) => isSameSecret(key, one.key));
  if (target === undefined) return respondText(404, "no job has this key");
  const signal = signalOf(word);
  if (signal === null || rest.length > 0) {
    return respondText(
      404,
      "expected /ping/KEY, then nothing, /start, /fail, /log or an exit code from 0 to 255",
    );
  }
  const rid = new URLSearchParams(request.target.split("?")[1]).get("rid");
  if (rid !== null && !/^[\w-]{1,64}$/.test(rid)) {
    return respondText(400, "rid is not a run id, expected up to 64 letters, digits, _ or -");
  }
  if (signal === "log") return respondText(200, "OK, not recorded: send the log with the end of the run");
  const text = new TextDecoder().decode(await request.readTail(TAIL_BYTES_MAX));
  return await record(target.name, { signal, rid, output: lastLines(options.redact(text)) }, options);
}

function signalOf(word: string | undefined): Signal | "log" | null {
  if (word === undefined || word === "") return { how: "noted", exitCode: 0 };
  if (word === "start" || word === "log") return word;
  if (word === "fail") return { how: "noted", exitCode: 1 };
  return /^\d{1,3}$/.test(word) && Number(word) <= 255 ? { how: "exited", exitCode: Number(word) } : null;
}

interface CheckIn {
  readonly signal: Signal;
  /** Distinguishes runs that overlap; `null`: the run that began last. */
  readonly rid: string | null;
  readonly output: string;
}

async function record(
  name: string,
  { signal, rid, output }: CheckIn,
  { system, log, store, onEnded }: CheckInOptions,
): Promise<ServerResponse> {
  if (store === null) return respondText(503, "no state is stored, so no job can check in");
  const nowMs = system.clock.wallMs();
  const newId = `${prefixOf(rid)}${system.randomId()}`;
  try {
    const { inProgress } = await store.job(name, nowMs);
    const begun = inProgress.findLast(({ id }) => id.startsWith(prefixOf(rid)));
    if (signal === "start") {
      // A request may be sent twice.
      if (rid !== null && begun !== undefined) return respondText(200, "OK");
      await store.keepJobRun(name, { id: newId, startedAtMs: nowMs, end: null }, nowMs);
    } else {
      const durationMs = begun === undefined ? null : Math.max(0, nowMs - begun.startedAtMs);
      const end = { ...signal, atMs: nowMs, durationMs, reason: "", output };
      await store.keepJobRun(name, { ...begun ?? { id: newId, startedAtMs: nowMs }, end }, nowMs);
      onEnded(name);
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    log.warning(`check-in of "${name}" not recorded: ${error.message}`);
    return respondText(503, "the state cannot be written now, send the request again");
  }
  return respondText(200, "OK");
}

/**
 * Runs that `monitor beat` records have other ids, and end by themselves. A run id is unique neither among jobs nor
 * among the runs of one, so that something random follows.
 */
function prefixOf(rid: string | null): string {
  return `ping-${rid === null ? "" : `${rid}/`}`;
}

/** The headers of every response: no foreign page may frame it, guess its type, or learn its URL. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

export function respond(
  status: number,
  body: ServerResponse["body"],
  headers: Readonly<Record<string, string>>,
): ServerResponse {
  return { status, headers: { ...SECURITY_HEADERS, "cache-control": "no-store", ...headers }, body };
}

export function respondText(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): ServerResponse {
  return respond(status, `${text}\n`, { "content-type": "text/plain; charset=utf-8", ...headers });
}

/** Reads a text of at most some bytes. Without a length, it may have no end: browsers and agents send the length. */
export async function readBody(request: IncomingRequest, bytesMax: number): Promise<string | ServerResponse> {
  const length = Number(request.header("content-length") ?? NaN);
  if (!(length <= bytesMax)) return respondText(413, `expected content-length of at most ${bytesMax} bytes`);
  return new TextDecoder().decode(await request.readTail(bytesMax));
}

/** The access of a request: everything, the same with forms, or the public checks without their outputs. */
export type Access = "full" | "signed_in" | "public";

/** The headers of a page. Browsers send the origin with a form only if they may send the referrer within the site. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": `${
    contentPolicy({ isLive: true })
  }; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  "referrer-policy": "same-origin",
};

export function accessOf(
  request: IncomingRequest,
  { token, public: publicTags }: Pick<Listen, "token" | "public">,
): Exclude<Access, "signed_in"> | ServerResponse {
  const sent = sentToken(request.header("authorization"));
  if (sent !== null && token !== undefined) return isSameSecret(sent, token) ? "full" : UNAUTHORIZED;
  if (publicTags !== undefined) return "public";
  if (token !== undefined) return UNAUTHORIZED;
  return isLocalHost(request.header("host")) ? "full" : MISDIRECTED;
}

/** Rejects a request for private data, or for what may be private data: it requires a token. */
export function refusePublic({ token }: Pick<Listen, "token">): ServerResponse {
  return token === undefined ? respondText(404, "not public") : UNAUTHORIZED;
}

const UNAUTHORIZED = respondText(
  401,
  "the token of the config is required, as a Bearer token or as a password",
  { "www-authenticate": 'Basic realm="monitor", charset="UTF-8"' },
);

/** Any site can make its name resolve to 127.0.0.1 (DNS rebinding); its requests have that name in them. */
const MISDIRECTED = respondText(
  421,
  'expected "Host: localhost" or a loopback address; set "token", or change the header in the proxy',
);

/** The token, or the password with any user (RFC 6750, RFC 7617); `null`: nothing that could be one. */
function sentToken(header: string | null): string | null {
  const [, scheme = "", credentials = ""] = /^(\w+) +(\S+)$/.exec(header ?? "") ?? [];
  if (scheme.toLowerCase() === "bearer") return credentials;
  if (scheme.toLowerCase() !== "basic") return null;
  try {
    const login = new TextDecoder().decode(Uint8Array.fromBase64(credentials));
    return login.slice(login.indexOf(":") + 1);
  } catch {
    return null;
  }
}

function isLocalHost(header: string | null): boolean {
  if (header === null) return true;
  // A URL could hide the host behind user information.
  if (!/^[\w.:[\]-]+$/.test(header)) return false;
  const host = URL.parse(`http://${header}/`)?.hostname ?? "";
  return host.endsWith(".localhost") || isLoopback(host);
}
