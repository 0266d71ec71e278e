/**
 * Workaround: if a server keeps sending after TLS over a stream has ended, by an error or by its own end, the runtime
 * passes the data to TLS that it has closed. The promise that rejects then can't be caught, and has no effect.
 *
 * Upstream: no issue was found (in 2.7.11)
 */

/** Returns whether an uncaught error is of this kind. After a failed handshake it has no stack. */
export function isTlsLeftover(error: unknown): boolean {
  return error instanceof Deno.errors.BadResource && error.stack?.includes("node:_tls_wrap") === true ||
    error instanceof Deno.errors.BrokenPipe && error.message === "Channel closed";
}
