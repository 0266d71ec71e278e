import { pause } from "../../shared/deadline.ts";
import { joinBytes } from "../../shared/join_bytes.ts";
import type { Clock } from "../../domain/clock.ts";
import type { CapturedText } from "../../domain/processes.ts";

/** One output pipe of a running command: read to its end; its beginning is kept. */
export interface CapturedPipe {
  /** Resolves when no process has the other end open any more, or after `stop`; never rejects. */
  readonly ended: Promise<void>;
  /** Closes our end, even if other processes have the other one open, and returns the kept text. */
  stop(): Promise<CapturedText>;
}

/** The number of bytes that are read at full speed; a command that writes more is slowed down. */
const FULL_SPEED_BYTES_MAX = 64 * 1024 * 1024;

/** After each read (64 KiB at most) beyond that: a flood without end then costs a tenth of a core instead of one. */
const PAUSE_MS = 1;

/** Starts reading `stream`. Memory use is bounded by `bytesMax` whatever is written. */
export function capturePipe(
  stream: ReadableStream<Uint8Array>,
  { bytesMax, clock }: { readonly bytesMax: number; readonly clock: Clock },
): CapturedPipe {
  const reader = stream.getReader();
  const kept: Uint8Array[] = [];
  let keptBytes = 0;
  let seenBytes = 0;

  const keep = (chunk: Uint8Array): void => {
    seenBytes += chunk.length;
    const part = chunk.subarray(0, bytesMax - keptBytes);
    if (part.length === 0) return;
    kept.push(part);
    keptBytes += part.length;
  };

  const readToEnd = async (): Promise<void> => {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        keep(value);
        if (seenBytes > FULL_SPEED_BYTES_MAX) await pause(clock, PAUSE_MS);
      }
    } catch {
      // A pipe that fails is a pipe that ended: the data read so far counts.
    }
  };

  const ended = readToEnd();
  return {
    ended,
    stop: async () => {
      await reader.cancel().catch(() => {}); // a pipe that failed
      await ended;
      const truncated = seenBytes > keptBytes;
      // As a stream, the decoder keeps back a character that our cut has split, instead of making it U+FFFD.
      return { text: new TextDecoder().decode(joinBytes(kept), { stream: truncated }), truncated };
    },
  };
}
