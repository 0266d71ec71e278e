/**
 * Workaround: if a server goes on talking when TLS over a stream is over, by an error or by its own end, the runtime hands
 * what arrives to TLS that it has closed. Nobody can catch the promise that rejects then, and nothing follows from it.
 *
 * Upstream: no issue was found (in 2.7.11)
 */

/** Whether an uncaught error is of this kind. After a failed handshake it has no stack. */
export function isTlsLeftover(error: unknown): boolean {
  return error instanceof Deno.errors.BadResource && error.stack?.includes("node:_tls_wrap") === true ||
    error instanceof Deno.errors.BrokenPipe && error.message === "Channel closed";
}
