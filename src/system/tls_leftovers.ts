let isGuarded = false;

/**
 * Keeps the process alive when a server goes on talking while TLS is over, by an error or by its own end: Deno 2.7
 * hands what arrives on a stream to TLS that it has closed, and nobody takes the promise that fails then. To be
 * called before TLS begins over a stream; nothing else that is rejected is taken.
 */
export function outliveTlsLeftovers(): void {
  if (isGuarded) return;
  isGuarded = true;
  globalThis.addEventListener("unhandledrejection", (event) => {
    if (isTlsLeftover(event.reason)) event.preventDefault();
  });
}

/** Whether an error is what {@linkcode outliveTlsLeftovers} is about: nobody's mistake, and without any consequence. */
export function isTlsLeftover(error: unknown): boolean {
  return error instanceof Deno.errors.BadResource && error.stack?.includes("node:_tls_wrap") === true;
}
