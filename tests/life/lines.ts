import { waitingFor } from "../../testing/test_notes.ts";
import { DEADLINE_MS } from "./in_time.ts";

/** The output of a process on one of its pipes, line by line as it arrives. */
export interface Lines {
  /**
   * Returns the next matching line, after the one returned last; other lines are skipped.
   *
   * @throws {Error} If none arrives within the deadline, or the pipe ends.
   */
  next(fits: string | RegExp | ((line: string) => boolean)): Promise<string>;
  /** Returns the next matching `ndjson` event of that name. */
  event(name: string, fits?: (event: Event) => boolean): Promise<Event>;
  /** The last of it, for an error. */
  recent(): string;
  /** Everything that came. */
  text(): string;
  /** Closes our end of the pipe: a writer gets an error. */
  close(): Promise<void>;
  /** Resolves when nothing more can come. */
  readonly ended: Promise<void>;
}

/** A line of `ndjson`. */
export type Event = Readonly<Record<string, unknown>>;

const RECENT_COUNT = 15;

/** Reads a pipe to its end; `describe` completes the message of an error. */
export function collectLines(pipe: ReadableStream<Uint8Array>, describe: () => string): Lines {
  const reader = pipe.pipeThrough(new TextDecoderStream()).getReader();
  const lines: string[] = [];
  let rest = "";
  let position = 0;
  let hasEnded = false;
  let wake = (): void => {};

  const read = async (): Promise<void> => {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop() ?? "";
      lines.push(...parts);
      wake();
    }
    hasEnded = true;
    wake();
  };
  const ended = read();

  const next: Lines["next"] = async (fits) => {
    const matches = typeof fits === "string"
      ? (line: string) => line.includes(fits)
      : fits instanceof RegExp
      ? (line: string) => fits.test(line)
      : fits;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      wake();
    }, DEADLINE_MS);
    try {
      for (;;) {
        for (; position < lines.length; position++) {
          const line = lines[position] ?? "";
          if (!matches(line)) continue;
          position++;
          return line;
        }
        if (hasEnded || isLate) {
          throw new Error(`no line fits ${fits} ${hasEnded ? "before the end" : "in time"}\n${describe()}`);
        }
        await waitingFor(`a line that fits ${fits}`, new Promise<void>((resolve) => wake = resolve));
      }
    } finally {
      clearTimeout(timer);
    }
  };

  return {
    next,
    event: async (name, fits = () => true) => {
      const line = await next((candidate) => {
        const event = JSON.parse(candidate) as Event;
        return event["event"] === name && fits(event);
      });
      return JSON.parse(line) as Event;
    },
    text: () => [...lines, rest].join("\n"),
    recent: () => [...lines, rest].slice(-RECENT_COUNT).join("\n"),
    close: () => reader.cancel(),
    ended,
  };
}
