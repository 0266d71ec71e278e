/** The log levels, the quietest first. */
export const LOG_LEVELS = ["error", "warning", "info", "debug"] as const;
export type LogLevel = typeof LOG_LEVELS[number];

export const LOG_FORMATS = ["text", "json"] as const;
export type LogFormat = typeof LOG_FORMATS[number];

export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

export interface Log extends Readonly<Record<LogLevel, (message: string, fields?: LogFields) => void>> {
  /** Writes a line of the console channel at any level: as it is, or as the `message` of level `notification`. */
  notification(line: string): void;
}
