import { createTrouble } from "../../shared/trouble.ts";
import { messageOf } from "../../shared/describe_error.ts";
import type { TextSink } from "../../domain/text_sink.ts";

/**
 * A sink for a program that is to go on whatever becomes of its output: nothing that is written throws. What cannot
 * be written (a full disk, a terminal that is gone) is lost.
 *
 * `onTrouble` is told once when writing begins to fail, with the reason, and once when it works again, with `null`. A
 * reader that has gone never comes back.
 */
export function createSteadySink(sink: TextSink, onTrouble: (reason: string | null) => void): TextSink {
  const trouble = createTrouble(onTrouble);
  return {
    write: (text) => {
      if (sink.closed) return;
      try {
        // What failed may have been written in part: the next text begins on a line of its own.
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
