/**
 * The truth: a server that is the target of each check and the receiver of all notifications. A target fails and
 * recovers in turns; each such period has its own status, so that an output names its period.
 */
import type { PostedNotification } from "../receivers.ts";
import { inTime } from "../in_time.ts";

/** A time in which a target returned one status. */
export interface Period {
  /** Even ones are well, odd ones fail. */
  readonly index: number;
  readonly fromMs: number;
}

/** A notification that arrived. */
export interface Arrival {
  readonly atMs: number;
  readonly notification: PostedNotification;
}

/** See the top of the file. All times are those of `performance.now()`. */
export interface Truth extends AsyncDisposable {
  readonly url: string;
  readonly names: readonly string[];
  /** Of each check. */
  readonly periods: ReadonlyMap<string, readonly Period[]>;
  /** When each check was run. */
  readonly runs: ReadonlyMap<string, readonly number[]>;
  readonly arrivals: readonly Arrival[];
  /** Starts the next period of a check. */
  turn(name: string): void;
}

/** How many statuses there are before they start again; some have no body. */
const STATUSES = 90;
const FIRST_STATUS = { ok: 207, critical: 507 } as const;

/** Starts the server. */
export function startTruth(names: readonly string[]): Truth {
  const periods = new Map<string, Period[]>(names.map((name) => [name, [{ index: 0, fromMs: 0 }]]));
  const runs = new Map<string, number[]>(names.map((name) => [name, []]));
  const arrivals: Arrival[] = [];
  const abort = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, signal: abort.signal, onListen: () => {} },
    async (request) => {
      const name = new URL(request.url).pathname.slice(1);
      if (request.method === "POST") {
        const posted = await request.json().catch(() => null) as
          | { readonly notifications: readonly PostedNotification[] }
          | null;
        const atMs = performance.now();
        arrivals.push(...(posted?.notifications ?? []).map((notification) => ({ atMs, notification })));
        return new Response("");
      }
      runs.get(name)?.push(performance.now());
      return new Response("", { status: statusOf(periods.get(name)?.at(-1)?.index ?? 0) });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    names,
    periods,
    runs,
    arrivals,
    turn: (name) => {
      const own = periods.get(name);
      own?.push({ index: own.length, fromMs: performance.now() });
    },
    async [Symbol.asyncDispose]() {
      abort.abort();
      await inTime("the server to end", server.finished);
    },
  };
}

function statusOf(index: number): number {
  return (index % 2 === 0 ? FIRST_STATUS.ok : FIRST_STATUS.critical) + Math.floor(index / 2) % STATUSES;
}

/**
 * Returns the index of the period that an output names, which is the first one with its status that is not before
 * `from`; `null`: there is none.
 */
export function periodIn(output: string, from: number, periods: readonly Period[]): number | null {
  const status = Number(/\b[25]\d\d\b/.exec(output)?.[0]);
  return periods.find(({ index }) => index >= from && statusOf(index) === status)?.index ?? null;
}
