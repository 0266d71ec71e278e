import { onAbort } from "../domain/on_abort.ts";

/** A signal for the runtime that follows another one. */
export interface PatientSignal {
  /** Aborts some turns of the event loop after the other one. */
  readonly signal: AbortSignal;
  /** Follows no more. Must be called when nothing is left to abort. */
  release(): void;
}

/** Each timer comes in another turn of the event loop, so that what had come by then is noticed in between. */
const TURNS = 3;
const TURN_MS = 5;

/**
 * Makes a signal for `fetch` and `Deno.connect`. They lose a descriptor where the signal aborts between the arrival of
 * a response, or of a connection, and the moment at which they notice: they answer with the abort, and nobody closes
 * what has arrived. In a process that stood still (a suspend, a busy machine) both come at once. So the abort waits
 * until what has arrived was handed over; the caller then finds its own signal aborted, and closes it.
 */
export function createPatientSignal(signal: AbortSignal): PatientSignal {
  const late = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = (turns: number): void => {
    if (turns === 0) late.abort(signal.reason);
    else timer = setTimeout(() => wait(turns - 1), TURN_MS);
  };
  const stopListening = onAbort(signal, () => wait(TURNS));
  if (signal.aborted) late.abort(signal.reason);
  return {
    signal: late.signal,
    release: () => {
      stopListening();
      clearTimeout(timer);
    },
  };
}
