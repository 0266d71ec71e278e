/**
 * The link that confirms a rehearsal: its channel delivered. Opening it changes nothing, since programs open links for a
 * preview or to scan them; only a POST request confirms, that of the button or of a program.
 */
import { entryOf } from "../../checks/registry.ts";
import type { Check } from "../../domain/check.ts";
import type { SentRehearsal } from "../../domain/check_kind.ts";
import type { IncomingRequest, ServerResponse } from "../../domain/http_servers.ts";
import { isShared } from "../../domain/membership.ts";
import type { Store } from "../../domain/store.ts";
import type { Log, System } from "../../domain/system.ts";
import { isSameSecret } from "../../shared/hash.ts";
import { timeText } from "../../shared/local_time.ts";
import { quote } from "../../shared/text.ts";
import type { StateRepository } from "../../state/state_repository.ts";
import { renderConfirmation, respondPage } from "./sign_in.ts";
import { respondText } from "./check_ins.ts";

interface ConfirmationOptions {
  readonly system: Pick<System, "clock">;
  readonly log: Pick<Log, "info">;
  readonly repository: StateRepository;
  /** Those of the config. */
  readonly checks: readonly Check[];
  timeZone(): string;
  /** Who confirms, such as `192.0.2.7`. */
  readonly by: string;
  /** Called with the check of a rehearsal that is confirmed, once that is recorded. */
  onConfirmed(check: string): void;
}

const METHODS: readonly string[] = ["GET", "HEAD", "POST"];

/**
 * Handles `/confirm/TOKEN`; the words are those behind `/confirm/`.
 *
 * @throws {StoreError} If the state can't be read or written.
 */
export async function handleConfirmation(
  request: IncomingRequest,
  [token = "", ...rest]: readonly string[],
  options: ConfirmationOptions,
): Promise<ServerResponse> {
  const { system, log, repository: { store }, timeZone, by, onConfirmed } = options;
  if (!METHODS.includes(request.method)) {
    return respondText(405, "expected GET, HEAD or POST", { allow: METHODS.join(", ") });
  }
  const isToken = rest.length === 0 && /^[\w-]{16,64}$/.test(token);
  const found = isToken ? await findRehearsal(token, options) : null;
  if (found === null) {
    return respondResult(request, 404, {
      words: "No rehearsal waits for this link. Use the one in the last message, which ends the others.",
      isConfirmable: false,
    });
  }
  const { check, channel, sent } = found;
  const nowMs = system.clock.wallMs();
  const { last } = await store.job(check.name, nowMs);
  // A request may be sent twice, and a second person may open the link.
  const isKnown = last?.id === token;
  if (!isKnown && request.method !== "POST") {
    const words =
      `Rehearsal of the channel ${quote(channel)}, sent at ${timeText(sent.sentAtMs, timeZone())}. ` +
      "Nothing is wrong. Confirm that the message arrived.";
    return respondResult(request, 200, { words, isConfirmable: true });
  }
  if (!isKnown) {
    const end = { atMs: nowMs, durationMs: null, how: "noted", exitCode: 0, reason: "", output: by } as const;
    await store.keepJobRun(check.name, { id: token, startedAtMs: sent.sentAtMs, end }, nowMs);
    log.info(`${quote(check.name)}: the rehearsal of the channel ${quote(channel)} was confirmed by ${by}`);
    onConfirmed(check.name);
  }
  const atMs = last !== null && isKnown ? last.end.atMs : nowMs;
  const words = `Confirmed at ${timeText(atMs, timeZone())}: the channel ${quote(channel)} delivers.`;
  return respondResult(request, 200, { words, isConfirmable: false });
}

interface FoundRehearsal {
  readonly check: Check;
  /** The name of its channel. */
  readonly channel: string;
  readonly sent: SentRehearsal;
}

async function findRehearsal(
  token: string,
  { system, repository, checks }: ConfirmationOptions,
): Promise<FoundRehearsal | null> {
  const rehearsing = checks.filter(({ rehearsed, active }) => rehearsed !== undefined && active);
  const memories = await memoriesOf(rehearsing.map(({ name }) => name), repository, system.clock.wallMs());
  const found: FoundRehearsal[] = [];
  // All of them are compared, so that the time reveals nothing.
  for (const check of rehearsing) {
    const { name = "", key = "" } = check.rehearsed ?? {};
    const sent = (await entryOf(check)).rehearsalOf?.(memories.get(check.name) ?? null, key) ?? null;
    if (sent !== null && isSameSecret(token, sent.token)) found.push({ check, channel: name, sent });
  }
  return found[0] ?? null;
}

/** Returns what the last runs of checks left, also of those that other members run. */
async function memoriesOf(
  names: readonly string[],
  repository: Pick<StateRepository, "recordOf"> & { readonly store: Store },
  nowMs: number,
): Promise<ReadonlyMap<string, string | null>> {
  const { store } = repository;
  const others = isShared(store) ? await store.readOthers(names) : [];
  const own = names.map((name) => repository.recordOf(name, nowMs));
  return new Map([...own, ...others].map(({ name, last }) => [name, last?.memory ?? null]));
}

/** A browser gets a page, a program a line. */
function respondResult(
  request: IncomingRequest,
  status: number,
  { words, isConfirmable }: { readonly words: string; readonly isConfirmable: boolean },
): ServerResponse {
  const isBrowser = (request.header("accept") ?? "").includes("text/html");
  if (isBrowser) return respondPage(status, renderConfirmation({ words, isConfirmable }).toString());
  return respondText(status, isConfirmable ? `${words} Send a POST request to this URL.` : words);
}
