import type { Clock } from "../domain/clock.ts";
import {
  type Log,
  LOG_LEVELS,
  type LogFields,
  type LogFormat,
  type LogLevel,
  type TextSink,
} from "../domain/system.ts";
import { sinkLike } from "./terminal.ts";
import { isoTime } from "../shared/json_values.ts";
import { jsonLine, printable } from "../shared/text.ts";
import { createTrouble, messageOf } from "../shared/describe_error.ts";

interface LogOptions {
  /** Gets each line at once, whole. */
  readonly sink: TextSink;
  readonly clock: Pick<Clock, "wallMs">;
  /** Levels after this one in {@linkcode LOG_LEVELS} are not logged. */
  readonly level: LogLevel;
  readonly format: LogFormat;
}

/** Makes a log. In `json`, each line is an object with `time`, `level`, `message` and the fields. */
export function createLog({ sink, clock, level, format }: LogOptions): Log {
  const now = (): string => isoTime(clock.wallMs());
  const writer = (lineLevel: LogLevel) => (message: string, fields: LogFields = {}): void => {
    if (LOG_LEVELS.indexOf(lineLevel) > LOG_LEVELS.indexOf(level)) return;
    const time = now();
    sink.write(
      format === "json"
        ? jsonLine({ time, level: lineLevel, message, ...fields })
        : `${time} ${lineLevel}: ${printable(message)}${textFields(fields)}\n`,
    );
  };
  return {
    error: writer("error"),
    warning: writer("warning"),
    info: writer("info"),
    debug: writer("debug"),
    notification: (line) => {
      const fields = { time: now(), level: "notification", message: line };
      sink.write(format === "json" ? jsonLine(fields) : `${printable(line)}\n`);
    },
  };
}

function textFields(fields: LogFields): string {
  const parts = Object.entries(fields).map(([name, value]) =>
    `${name}=${typeof value === "string" && /[\s"=]/.test(value) ? JSON.stringify(value) : String(value)}`
  );
  return parts.length === 0 ? "" : ` ${printable(parts.join(" "))}`;
}

/**
 * A sink that never throws, for a process that continues without its output. Text that can't be written (a full disk, a
 * closed terminal) is lost.
 *
 * Calls `onTrouble` once with the reason when writing begins to fail, and once with `null` when it succeeds again. A
 * reader that has closed its end never returns.
 */
export function createSteadySink(sink: TextSink, onTrouble: (reason: string | null) => void): TextSink {
  const trouble = createTrouble(onTrouble);
  return sinkLike(sink, (text) => {
    if (sink.closed) return;
    try {
      // A failed text may have been written in part: the next one begins on its own line.
      sink.write(trouble.isPresent ? `\n${text}` : text);
    } catch (error) {
      return trouble.set(messageOf(error));
    }
    trouble.set(sink.closed ? "its reader closed it" : null);
  });
}
