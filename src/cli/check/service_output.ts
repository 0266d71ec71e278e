import { counted, firstItems, jsonLine, printable, quote } from "../../shared/text.ts";
import type { Check } from "../../domain/check.ts";
import type { OpenConfig } from "../open_config.ts";
import {
  type Log,
  LOG_LEVELS,
  type LogFields,
  type LogFormat,
  type LogLevel,
  type System,
  type TextSink,
} from "../../domain/system.ts";
import type { SchedulerEvent } from "../../scheduler/scheduler.ts";
import { checkFields, recordOf } from "../formats/json.ts";
import { CONDITIONS } from "../../domain/condition.ts";
import { describeDuration } from "../../domain/duration.ts";
import { conditionPaints } from "../formats/pretty.ts";
import { createColors } from "../terminal.ts";
import { durationText } from "../../shared/time_units.ts";
import { isoTime, roundedMs } from "../../shared/json_values.ts";
import { VERSION } from "../answer_at_once.ts";
import { notificationFields } from "../../channels/describe_item.ts";
import type { Clock } from "../../domain/clock.ts";

export interface ServiceFacts {
  readonly config: string;
  readonly checks: number;
  readonly inactive: number;
}

interface StateFacts {
  /** `null`: no state is stored. */
  readonly statePath: string | null;
  /** How long until each check runs that ran before the start and is not due yet. */
  waitsMs(): readonly number[];
}

export type ReloadOutcome =
  | ServiceFacts & ConfigDifference & { readonly adopted: true }
  | FailedReloadOutcome;

/** The names of the checks that a reload changes, and of settings that are none of checks. */
export type ConfigDifference = Readonly<
  Record<"added" | "changed" | "removed" | "settings", readonly string[]>
>;

interface FailedReloadOutcome {
  readonly adopted: false;
  readonly error: string;
  /** The first error of the config, with its place. @default none */
  readonly first?: string;
}

/** Returns why a config was not reloaded, in one line. */
export function describeFailedReload({ error, first }: FailedReloadOutcome): string {
  return first === undefined ? error : `${error}; the first one is ${first}`;
}

export interface ServiceOutput {
  started(facts: ServiceFacts, state: StateFacts): void;
  happened(event: SchedulerEvent): void;
  reloaded(outcome: ReloadOutcome): void;
  stopped(facts: { readonly signal: string; readonly unfinished: readonly string[] }): void;
  writeLine(line: string): void;
}

interface ComparedConfig extends Pick<OpenConfig, "files"> {
  /** Those that run. */
  readonly checks: readonly Check[];
}

/** Of these, changes of checks are found. */
const KEYS_OF_CHECKS: readonly string[] = ["checks", "channels", "defaults", "include", "$schema"];

export function compareConfigs(before: ComparedConfig, after: ComparedConfig): ConfigDifference {
  const texts = (checks: readonly Check[]): ReadonlyMap<string, string> =>
    new Map(checks.map((check) => [check.name, JSON.stringify(check)]));
  const old = texts(before.checks);
  const present = texts(after.checks);
  const [own, others] = [before, after].map(({ files: [config] }) => config?.written ?? {});
  const keys = Object.keys({ ...own, ...others }).filter((key) => !KEYS_OF_CHECKS.includes(key));
  return {
    added: [...present.keys()].filter((name) => !old.has(name)),
    changed: [...present].flatMap(([name, text]) => old.has(name) && old.get(name) !== text ? [name] : []),
    removed: [...old.keys()].filter((name) => !present.has(name)),
    settings: keys.filter((key) => JSON.stringify(own?.[key]) !== JSON.stringify(others?.[key])),
  };
}

const NAMES_MAX = 10;

/**
 * Describes the changes of a config, as in `1 added ("api"), 0 changed, 1 removed ("web"), changed setting
 * "common_causes"`.
 */
export function describeDifference({ added, changed, removed, settings = [] }: ConfigDifference): string {
  const words = settings.length === 0
    ? []
    : [`changed ${settings.length === 1 ? "setting" : "settings"} ${settings.map(quote).join(" and ")}`];
  const counts = Object.entries({ added, changed, removed }).map(([word, names]) => {
    const list = firstItems(names.map((name) => `"${name}"`), NAMES_MAX).join(", ");
    return `${names.length} ${word}${list === "" ? "" : ` (${list})`}`;
  });
  return [...counts, ...words].join(", ");
}

interface PrettyStyle {
  readonly color: boolean;
  /** The address of the live page; `null`: there is none. */
  readonly address: string | null;
  /** Makes the command lines in a text those of this call. */
  hint(text: string): string;
}

/**
 * The output of the `pretty` format: a line at the start, and the console channel's lines. On a terminal also how to see
 * the page, and the first result of each check.
 */
export function createPrettyOutput({ stdout }: Pick<System, "stdout">, options: PrettyStyle): ServiceOutput {
  const { color, address, hint } = options;
  const writeLine = (line: string): void => stdout.write(`${printable(line)}\n`);
  const paints = conditionPaints(createColors(color));
  const seen = new Set<string>();
  return {
    started: ({ config, checks, inactive }, { statePath, waitsMs }) => {
      const rest = inactive > 0 ? ` (${inactive} inactive)` : "";
      const kept = statePath === null ? "no state" : `state in ${statePath}`;
      writeLine(`monitor ${VERSION} started: ${counted(checks, "check")}${rest} from ${config}, ${kept}`);
      if (!stdout.isTerminal) return;
      // Of a port that was chosen, the log has the number.
      const page = address?.endsWith(":0")
        ? "live page at the address above"
        : address === null
        ? "no live page, start it with: --listen 127.0.0.1:9797"
        : `live page: http://${address}/`;
      writeLine(`${page} (Ctrl-C ends the service)`);
      const waits = waitsMs();
      if (waits.length === 0) return;
      const nextMs = waits.reduce((one, other) => Math.min(one, other));
      const ran = `${counted(waits.length, "check")} ran recently`;
      writeLine(hint(`${ran}, next run in ${describeDuration(nextMs)}; see: monitor status`));
    },
    happened: (event) => {
      if (!stdout.isTerminal || event.event !== "result" || seen.has(event.result.check.name)) return;
      const { check: { name }, condition, output, durationMs } = event.result;
      seen.add(name);
      const word = paints[condition](condition.toUpperCase().padEnd(WORD_WIDTH));
      stdout.write(`${word}  ${printable(`${name}  ${durationText(durationMs)}  ${output}`).trimEnd()}\n`);
    },
    reloaded: () => {},
    stopped: () => {},
    writeLine,
  };
}

const WORD_WIDTH = Math.max(...CONDITIONS.map(({ length }) => length));

/**
 * The output of the `ndjson` format: one event a line. Lines of the console channel go to the log, so that stdout has
 * only JSON. Fields are only added.
 */
export function createEventOutput(
  { stdout, clock }: Pick<System, "stdout" | "clock">,
  log: Log,
): ServiceOutput {
  const write = (event: string, fields: Readonly<Record<string, unknown>>): void =>
    stdout.write(jsonLine({ event, ...fields }));
  const now = (): string => isoTime(clock.wallMs());
  return {
    started: ({ config, checks, inactive }, { statePath }) =>
      write("start", { at: now(), version: VERSION, config, checks, inactive, state: statePath }),
    happened: (event) => {
      if (event.event === "result") {
        write("result", { ...checkFields(recordOf(event)), late_ms: roundedMs(event.lateMs) });
      } else if (event.event === "notification") {
        write("notification", { notification: notificationFields(event.notification) });
      }
    },
    reloaded: (outcome) => write("reload", { at: now(), ...outcome }),
    stopped: ({ signal, unfinished }) => write("stop", { at: now(), signal, unfinished }),
    writeLine: (line) => log.notification(line),
  };
}

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
