import { onAbort } from "../domain/on_abort.ts";

/** A signal for the runtime that follows another one. */
export interface PatientSignal {
  /** Aborts some time after the other one. */
  readonly signal: AbortSignal;
  /** From now on it follows at once, since what was waited for has come. */
  hurry(): void;
  /** Follows no more. Must be called when nothing is left to abort. */
  release(): void;
}

/** In parts: a process that stood still has its timers at once, and gets to what has arrived between them. */
const PARTS = 2;
const PART_MS = 500;

/**
 * Makes a signal for `fetch` and `Deno.connect`. They lose a descriptor where the signal aborts between the arrival of
 * a response, or of a connection, and the moment at which they notice: they answer with the abort, and nobody closes
 * what has arrived. In a process that stood still (a suspend, a busy machine) both come at once, and on a busy one the
 * runtime looks for arrivals only now and then. So the abort waits until what has arrived must have been handed over.
 * See {@linkcode unlessAborted} for who need not wait.
 */
export function createPatientSignal(signal: AbortSignal): PatientSignal {
  const late = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let parts = PARTS;
  const wait = (): void => {
    if (parts-- === 0) late.abort(signal.reason);
    else timer = setTimeout(wait, PART_MS);
  };
  const stopListening = onAbort(signal, wait);
  return {
    signal: late.signal,
    hurry: () => void (parts = 0),
    release: () => {
      stopListening();
      clearTimeout(timer);
    },
  };
}

/**
 * What a promise answers, unless the signal aborts before: then its reason is thrown at once, and what is answered
 * later is handed to `discard`.
 */
export function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  discard: (late: T) => unknown,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let isAborted = false;
    const stopListening = onAbort(signal, () => {
      isAborted = true;
      reject(signal.reason);
    });
    promise.then((answer) => {
      stopListening();
      if (isAborted) discard(answer);
      else resolve(answer);
    }, (error) => {
      stopListening();
      reject(error);
    });
  });
}
