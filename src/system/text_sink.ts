import type { TextSink } from "../domain/system.ts";

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
