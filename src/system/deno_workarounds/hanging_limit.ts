/**
 * Workaround: some connections can't be closed before they are established. Until the server or the system closes
 * them, each keeps a file descriptor: a TLS handshake of `Deno.startTls`, one of `node:tls` over a socket, and an
 * attempt of `node:net` to connect.
 *
 * Upstream: https://github.com/denoland/deno/pull/14547 makes `close()` wait for the handshake; no issue was found
 * for the descriptor (in 2.7.11)
 */
import type { ConnectionTarget } from "../../domain/connections.ts";

/** Connections that hang in the making and that the runtime cannot end, counted for each server. */
export interface HangingLimit {
  /** Returns whether there are as many as there may be. */
  isReached(target: ConnectionTarget): boolean;
  /** Counts one until it is over. */
  add(target: ConnectionTarget, over: Promise<unknown>): void;
  /** Counts one whose end is not reported, for an hour. */
  addLost(target: ConnectionTarget): void;
}

const HANGING_MAX = 4;
const LOST_MS = 3_600_000;

/**
 * Creates a limit, so that a server that hangs costs a few file descriptors at most. `nowMs` is a monotonic time; no
 * timer is set, so that a check that has ended leaves none.
 */
export function createHangingLimit(nowMs: () => number): HangingLimit {
  /** When each is forgotten, by server. */
  const ends = new Map<string, Set<{ readonly atMs: number }>>();
  const keyOf = ({ host, port }: ConnectionTarget): string => `${host}:${port}`;
  const add = (target: ConnectionTarget, atMs: number): () => void => {
    const key = keyOf(target);
    const end = { atMs };
    const known = ends.get(key) ?? new Set();
    ends.set(key, known.add(end));
    return () => {
      known.delete(end);
      if (known.size === 0 && ends.get(key) === known) ends.delete(key);
    };
  };
  return {
    isReached(target) {
      const key = keyOf(target);
      const known = ends.get(key);
      if (known === undefined) return false;
      for (const end of known) if (end.atMs <= nowMs()) known.delete(end);
      if (known.size === 0) ends.delete(key);
      return known.size >= HANGING_MAX;
    },
    add(target, over) {
      const remove = add(target, Infinity);
      over.then(remove, remove);
    },
    addLost: (target) => void add(target, nowMs() + LOST_MS),
  };
}
