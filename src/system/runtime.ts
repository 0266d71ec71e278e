/** What the program uses of the runtime before anything else: its name, its output and its timer. */
import type { RawTimer } from "../domain/clock.ts";
import type { System, TextSink } from "../domain/system.ts";

export const RUNTIME: System["runtime"] = {
  name: "Deno",
  version: Deno.version.deno,
  target: Deno.build.target,
};

/** The required part of `Deno.stdout` or `Deno.stderr`. */
interface SyncWriter {
  /** Writes as much as possible without blocking, and returns the number of bytes. */
  writeSync(bytes: Uint8Array): number;
  isTerminal(): boolean;
}

const BUSY_PIPE_WAIT_MS = 5;

/**
 * Text to stdout or stderr. Every write is whole and in order; a full pipe is waited for, a closed one is quiet
 * (`monitor check --once | head` is no error).
 *
 * Its `write` throws the runtime's error when nothing can be written for another reason, such as a full disk.
 */
export function createTextSink(writer: SyncWriter): TextSink {
  const encoder = new TextEncoder();
  let closed = false;
  return {
    write: (text) => {
      let rest = encoder.encode(text);
      while (!closed && rest.length > 0) {
        try {
          rest = rest.subarray(writer.writeSync(rest));
        } catch (error) {
          if (error instanceof Deno.errors.BrokenPipe) closed = true;
          else if (error instanceof Deno.errors.WouldBlock) {
            // Blocks for a moment: a slow reader, on a pipe that another process made non-blocking.
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_PIPE_WAIT_MS);
          } else throw error;
        }
      }
    },
    get closed() {
      return closed;
    },
    isTerminal: writer.isTerminal(),
    columns: () => {
      try {
        return writer.isTerminal() ? Deno.consoleSize().columns || null : null;
      } catch {
        return null;
      }
    },
  };
}

/** The runtime's timer supports 31 bits of milliseconds; anything longer fires at once. */
const DELAY_MS_MAX = 2 ** 31 - 1;

export function createRawTimer(): RawTimer {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    wallMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    set: (delayMs, callback) => {
      clearTimeout(timer);
      // The runtime drops a fraction, and would be early.
      timer = setTimeout(callback, Math.min(Math.ceil(delayMs), DELAY_MS_MAX));
    },
    clear: () => clearTimeout(timer),
  };
}
