import type { Clock } from "../domain/clock.ts";
import {
  type Log,
  LOG_LEVELS,
  type LogFields,
  type LogFormat,
  type LogLevel,
  type TextSink,
} from "../domain/system.ts";
import { isoTime } from "../shared/json_values.ts";
import { jsonLine, printable } from "../shared/text.ts";

interface LogOptions {
  /** Gets each line at once, whole. */
  readonly sink: TextSink;
  readonly clock: Pick<Clock, "wallMs">;
  /** Levels after this one in {@linkcode LOG_LEVELS} are not logged. */
  readonly level: LogLevel;
  readonly format: LogFormat;
}

/** Makes a log. In `json`, each line is an object with `time`, `level`, `message` and the fields. */
export function createLog(options: LogOptions): Log {
  const { sink, clock, level, format } = options;
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
