import { waitingFor } from "../../testing/test_notes.ts";

/** How long anything may take that happens by itself; only a fault waits for it. */
export const DEADLINE_MS = 120_000;

/**
 * Resolves like a promise.
 *
 * @throws {Error} If it does not within the deadline.
 */
export async function inTime<T>(what: string, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${what}: not in time`)), DEADLINE_MS);
  try {
    return await waitingFor(what, Promise.race([promise, late.promise]));
  } finally {
    clearTimeout(timer);
  }
}

type Look<T> = () => T | null | undefined | false | Promise<T | null | undefined | false>;

interface UntilOptions {
  /** Returns what the error has, too. */
  readonly describe?: () => string;
  /** @default 20 */
  readonly everyMs?: number;
}

/**
 * Polls until there is a value, and returns it.
 *
 * @throws {Error} If there is none within the deadline.
 */
export function until<T>(what: string, look: Look<T>, options: UntilOptions = {}): Promise<T> {
  return waitingFor(what, lookAgain(what, look, options));
}

async function lookAgain<T>(
  what: string,
  look: Look<T>,
  { describe = () => "", everyMs = 20 }: UntilOptions,
): Promise<T> {
  for (const end = performance.now() + DEADLINE_MS; performance.now() < end;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  throw new Error(`${what}: not in time\n${describe()}`);
}

/** Waits until a server accepts connections at a port of this machine. */
export async function untilListening(port: number): Promise<void> {
  for (;;) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
    }
  }
}
