import type { Clock, TextSink } from "../domain/system.ts";
import { jsonText } from "./formats/json_text.ts";
import { printable } from "./printable.ts";

/** How much is logged, the quietest first. */
export const LOG_LEVELS = ["error", "warning", "info", "debug"] as const;
/** One of {@linkcode LOG_LEVELS}. */
export type LogLevel = typeof LOG_LEVELS[number];

/** How it is written. */
export const LOG_FORMATS = ["text", "json"] as const;
/** One of {@linkcode LOG_FORMATS}. */
export type LogFormat = typeof LOG_FORMATS[number];

/** Further facts of a log line. */
export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** Writes what the program has to say about itself, a line each. */
export interface Log extends Readonly<Record<LogLevel, (message: string, fields?: LogFields) => void>> {
  /** Writes a line of the console channel, whatever the level: as it is, or as the `message` of level `report`. */
  report(line: string): void;
}

/** Where and how a log is written. */
export interface LogOptions {
  /** Gets each line at once, whole. */
  readonly sink: TextSink;
  /** Stamps the lines. */
  readonly clock: Pick<Clock, "wallMs">;
  /** What is further down {@linkcode LOG_LEVELS} is left out. */
  readonly level: LogLevel;
  /** `text` for people, `json` for programs. */
  readonly format: LogFormat;
}

/** Makes a log. In `json`, each line is an object with `time`, `level`, `message` and the fields. */
export function createLog(options: LogOptions): Log {
  const { sink, clock, level, format } = options;
  const writer = (lineLevel: LogLevel) => (message: string, fields: LogFields = {}): void => {
    if (LOG_LEVELS.indexOf(lineLevel) > LOG_LEVELS.indexOf(level)) return;
    const time = new Date(clock.wallMs()).toISOString();
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
    report: (line) => {
      const time = new Date(clock.wallMs()).toISOString();
      sink.write(
        format === "json" ? jsonLine({ time, level: "report", message: line }) : `${printable(line)}\n`,
      );
    },
  };
}

function jsonLine(members: LogFields): string {
  return `${jsonText(members, { indent: 0 })}\n`;
}

function textFields(fields: LogFields): string {
  const parts = Object.entries(fields).map(([name, value]) =>
    `${name}=${typeof value === "string" && /[\s"=]/.test(value) ? JSON.stringify(value) : String(value)}`
  );
  return parts.length === 0 ? "" : ` ${printable(parts.join(" "))}`;
}
