import type { ConnectionTarget } from "../domain/system.ts";

/** Connections that hang in a handshake and that the runtime cannot end, counted for each server. */
export interface HangingLimit {
  /** Whether there are as many as there may be. */
  isReached(target: ConnectionTarget): boolean;
  /** Counts one until it is over. */
  add(target: ConnectionTarget, over: Promise<unknown>): void;
}

const HANGING_MAX = 4;

/** Makes a limit, so that a server that hangs costs a few descriptors at most. */
export function createHangingLimit(): HangingLimit {
  const counts = new Map<string, number>();
  const change = (key: string, by: number): void => {
    const count = (counts.get(key) ?? 0) + by;
    if (count > 0) counts.set(key, count);
    else counts.delete(key);
  };
  return {
    isReached: ({ host, port }) => (counts.get(`${host}:${port}`) ?? 0) >= HANGING_MAX,
    add({ host, port }, over) {
      const key = `${host}:${port}`;
      change(key, 1);
      over.then(() => change(key, -1), () => change(key, -1));
    },
  };
}
