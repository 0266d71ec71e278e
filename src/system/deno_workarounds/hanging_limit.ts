/**
 * Workaround: some connections can't be closed before they are established. Until the server or the system closes
 * them, each keeps a file descriptor: a TLS handshake of `Deno.startTls`, one of `node:tls` over a socket, and an
 * attempt of `node:net` to connect.
 *
 * Upstream: https://github.com/denoland/deno/pull/14547 makes `close()` wait for the handshake; no issue was found
 * for the descriptor (in 2.7.11)
 */
import type { ConnectionTarget } from "../../domain/connections.ts";

const HANGING_MAX = 4;
const LOST_MS = 3_600_000;

/**
 * Connections that hang in the making and that the runtime cannot end, counted for each server, so that a server that
 * hangs costs a few file descriptors at most. No timer is set, so that a check that has ended leaves none.
 */
export class HangingLimit {
  readonly #nowMs: () => number;
  /** By server; none is 0. */
  readonly #counts = new Map<string, number>();
  /** The first one is forgotten first. */
  readonly #lost: { readonly key: string; readonly untilMs: number }[] = [];

  /** `nowMs` is a monotonic time. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get serverCount(): number {
    return this.#counts.size;
  }

  isReached(target: ConnectionTarget): boolean {
    this.#forget();
    return (this.#counts.get(keyOf(target)) ?? 0) >= HANGING_MAX;
  }

  /** Counts one until it is over. */
  add(target: ConnectionTarget, over: Promise<unknown>): void {
    const key = keyOf(target);
    this.#count(key, 1);
    const remove = (): void => this.#count(key, -1);
    over.then(remove, remove);
  }

  /** Counts one whose end is not reported, for an hour. */
  addLost(target: ConnectionTarget): void {
    this.#forget();
    const key = keyOf(target);
    this.#count(key, 1);
    this.#lost.push({ key, untilMs: this.#nowMs() + LOST_MS });
  }

  #forget(): void {
    const nowMs = this.#nowMs();
    for (let [first] = this.#lost; first !== undefined && first.untilMs <= nowMs; [first] = this.#lost) {
      this.#lost.shift();
      this.#count(first.key, -1);
    }
  }

  #count(key: string, change: number): void {
    const count = (this.#counts.get(key) ?? 0) + change;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}

function keyOf({ host, port }: ConnectionTarget): string {
  return `${host}:${port}`;
}
