import { createTrouble } from "../../shared/trouble.ts";
import { messageOf } from "../../shared/describe_error.ts";
import type { TextSink } from "../../domain/system.ts";

/**
 * A sink that never throws, for a process that continues without its output. Text that can't be written (a full disk, a
 * closed terminal) is lost.
 *
 * Calls `onTrouble` once with the reason when writing begins to fail, and once with `null` when it succeeds again. A
 * reader that has closed its end never returns.
 */
export function createSteadySink(sink: TextSink, onTrouble: (reason: string | null) => void): TextSink {
  const trouble = createTrouble(onTrouble);
  return {
    write: (text) => {
      if (sink.closed) return;
      try {
        // A failed text may have been written in part: the next one begins on its own line.
        sink.write(trouble.isPresent ? `\n${text}` : text);
      } catch (error) {
        return trouble.set(messageOf(error));
      }
      trouble.set(sink.closed ? "its reader closed it" : null);
    },
    get closed() {
      return sink.closed;
    },
    isTerminal: sink.isTerminal,
    columns: () => sink.columns(),
  };
}
