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
    const { reason } = event;
    if (reason instanceof Deno.errors.BadResource && reason.stack?.includes("node:_tls_wrap")) {
      event.preventDefault();
    }
  });
}
