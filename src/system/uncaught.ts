/** Calls back for each error that nothing has caught, in place of what the runtime would print of it. */
export function onUncaughtError(callback: (error: unknown) => void): void {
  globalThis.addEventListener("error", (event) => {
    event.preventDefault();
    callback(event.error);
  });
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    if (!isTlsLeftover(event.reason)) callback(event.reason);
  });
}

/**
 * Whether an error is nobody's mistake and without any consequence: when a server goes on talking while TLS is over, by
 * an error or by its own end, Deno 2.7 hands what arrives on a stream to TLS that it has closed, and nobody takes the
 * promise that fails then. After a failed handshake that error has no stack.
 */
function isTlsLeftover(error: unknown): boolean {
  return error instanceof Deno.errors.BadResource && error.stack?.includes("node:_tls_wrap") === true ||
    error instanceof Deno.errors.BrokenPipe && error.message === "Channel closed";
}
