import { DEFAULT_LIMITS } from "../../scheduler/run_checks.ts";
import { FAIL_ON_CONDITIONS, type FailOn, type Invocation, UsageError } from "../command_definition.ts";
import { readDuration } from "../read_times.ts";
import { type Format, type OutputFile, readOutputs } from "../formats/format.ts";
import { isLocationName, LOCATION_NAME } from "../../config/formats.ts";
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from "../../domain/system.ts";

type FormatName = "pretty" | "json" | "ndjson" | "junit" | "tap" | "plugin" | "github";

/** Every format of `check --once`, in the order of the help; a run reads the one that it prints. */
export const FORMATS: { readonly [Name in FormatName]: () => Promise<Format> } = {
  pretty: async () => (await import("../formats/pretty.ts")).prettyFormat,
  json: async () => (await import("../formats/json.ts")).jsonFormat,
  ndjson: async () => (await import("../formats/json.ts")).ndjsonFormat,
  junit: async () => (await import("../formats/junit.ts")).junitFormat,
  tap: async () => (await import("../formats/tap.ts")).tapFormat,
  plugin: async () => (await import("../formats/plugin.ts")).pluginFormat,
  github: async () => (await import("../formats/github.ts")).githubFormat,
};

export const FORMAT_NAMES = Object.keys(FORMATS) as readonly FormatName[];

const SERVICE_FORMAT_NAMES: readonly FormatName[] = ["pretty", "ndjson"];

export interface CheckCommandSettings {
  /** Whether each check runs once, rather than on its schedule until a stop signal. */
  readonly once: boolean;
  readonly due: boolean;
  readonly format: FormatName | null;
  /** The lowest severity that fails a run; only for `once`. */
  readonly failOn: FailOn;
  readonly traces: boolean;
  /** The number of checks with a process that run at a time. */
  readonly concurrency: number;
  /** Whether notifications are made; if not, they are suppressed and stay due. */
  readonly notifies: boolean;
  /** The level of the log; `once` has no log. */
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** How long failing checks are retried; `null`: not at all. */
  readonly retryForMs: number | null;
  readonly outputs: readonly OutputFile<FormatName>[];
  /** The name of this member; `null`: the host's. */
  readonly member: string | null;
  readonly location: string | null;
}

/**
 * Reads the options of `monitor check`.
 *
 * @throws {UsageError} If a value or a combination makes no sense.
 */
export function readCheckSettings(invocation: Invocation): CheckCommandSettings {
  const once = invocation.has("once");
  const due = invocation.has("due");
  if (due && invocation.text("state") === "none") throw new UsageError("--due requires a state");
  if (due && !once) throw new UsageError("--due requires --once", "monitor check --once --due");
  const format = invocation.choice("format", once ? FORMAT_NAMES : SERVICE_FORMAT_NAMES) ?? null;
  const needsOnce = ["fail-on", "output", "retry-for"].find((name) => invocation.has(name));
  if (!once && needsOnce !== undefined) throw new UsageError(`--${needsOnce} requires --once`);
  if (once && invocation.text("listen") !== undefined) {
    throw new UsageError("--listen cannot be used with --once");
  }
  const traces = invocation.has("trace");
  if (traces && !once) throw new UsageError("--trace requires --once", "monitor check --once --trace NAME");
  if (traces && (due || (format !== null && format !== "pretty"))) {
    throw new UsageError(`--trace cannot be used with ${due ? "--due" : `--format ${format}`}`);
  }
  if (due && invocation.has("retry-for")) throw new UsageError("--retry-for cannot be used with --due");
  const location = invocation.text("location") ?? null;
  if (location !== null && !isLocationName(location)) {
    throw new UsageError(`--location is ${JSON.stringify(location)}, ${LOCATION_NAME}`);
  }
  return {
    ...{ location, traces, once, due, format },
    retryForMs: readDuration(invocation, "retry-for"),
    outputs: readOutputs(invocation, FORMAT_NAMES, "monitor check --once --output junit=monitor.xml"),
    failOn: invocation.choice("fail-on", FAIL_ON_CONDITIONS) ?? "warning",
    concurrency: invocation.count("concurrency") ?? DEFAULT_LIMITS.process,
    notifies: !invocation.has("no-notify"),
    logLevel: invocation.choice("log-level", LOG_LEVELS) ?? "info",
    logFormat: invocation.choice("log-format", LOG_FORMATS) ?? "text",
    member: invocation.text("member") ?? null,
  };
}
