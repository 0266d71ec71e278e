/** Errors that nothing catches. */

/** Returns whether it takes the error. */
type Handler = (error: unknown) => boolean;

const handlers: Handler[] = [];

globalThis.addEventListener("error", (event) => handle(event, event.error));
globalThis.addEventListener("unhandledrejection", (event) => handle(event, event.reason));

function handle(event: Event, error: unknown): void {
  if (handlers.some((handler) => handler(error))) event.preventDefault();
}

/** Calls a function for each error that nothing else takes: the last one is asked first. */
export function onUncaught(handler: Handler): void {
  handlers.unshift(handler);
}

/** Returns the next error that nothing catches; it fails no test. */
export function nextUncaught(): Promise<unknown> {
  return new Promise((resolve) => {
    const take: Handler = (error) => {
      handlers.splice(handlers.indexOf(take), 1);
      resolve(error);
      return true;
    };
    onUncaught(take);
  });
}
