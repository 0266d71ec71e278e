/** Reads scenarios: what `schemas/scenario.schema.json` describes. */
import { nearest } from "../config/nearest.ts";
import { parseDuration } from "../config/quantities.ts";
import { createPlacer } from "../config/positions.ts";
import {
  ConfigError,
  type ConfigPath,
  countErrors,
  type PlacedProblem,
  type Problem,
  quoteValue,
  type Source,
} from "../config/problem.ts";
import { createSchemaReader, isObject } from "../config/schema_view.ts";
import { absolutePath, type ConfigLocation, readSource } from "../config/source.ts";
import { findStructureErrors, type Validator } from "../config/schemas.ts";
import { type JsonObject, type JsonValue, parseText } from "../config/syntax.ts";
import { type Check, combinedChecks } from "../domain/check.ts";
import { type Condition, CONDITIONS } from "../domain/condition.ts";
import type { System } from "../domain/system.ts";
import { matchesGlob } from "../shared/matches_glob.ts";
import { HOUR_MS, MINUTE_MS } from "../shared/time_units.ts";
import { parseStart, splitTime, timeAfter, type TimedText } from "./scenario_text.ts";

/** A result of a check from a time on. */
export interface ScriptedResult {
  readonly atMs: number;
  readonly condition: Condition;
  readonly output: string;
  readonly performanceData: string;
  /** How long the run takes. */
  readonly durationMs: number;
}

const RESPONSES = ["accept", "fail", "reject"] as const;

/** How a channel responds from a time on. */
interface ScriptedResponse {
  readonly atMs: number;
  readonly response: typeof RESPONSES[number];
}

export interface ScriptedAction {
  readonly atMs: number;
  readonly text: string;
  /** Its place in the scenario. */
  readonly path: ConfigPath;
}

/** An expected message: when it is sent, and what it says. */
export interface ExpectedMessage extends TimedText {
  readonly line: string;
}

export interface Scenario {
  readonly source: Source;
  place(problem: Problem): PlacedProblem;
  /** The absolute path of its config; `null`: it names none. */
  readonly configPath: string | null;
  readonly timeZone: string;
  readonly startMs: number;
  readonly endMs: number;
  /** By name of a check or pattern. */
  readonly results: ReadonlyMap<string, readonly ScriptedResult[]>;
  readonly channels: ReadonlyMap<string, readonly ScriptedResponse[]>;
  /** By time. */
  readonly actions: readonly ScriptedAction[];
  /** By name of a channel. */
  readonly expected: ReadonlyMap<string, readonly ExpectedMessage[]>;
}

/**
 * Reads a scenario.
 *
 * @throws {ConfigError} If it can't be read or has errors.
 */
export async function readScenario(location: ConfigLocation, system: System): Promise<Scenario> {
  const source = await readSource(location, system).catch((error) => {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.message.replace(" config ", " scenario "), { cause: error });
  });
  const { value, problems } = parseText(source.text);
  rejectScenario(source, problems);
  const written = value ?? null;
  rejectScenario(source, await findStructureProblems(written));
  const reading = new Reading(isObject(written) ? written : {}, source);
  const scenario = reading.read();
  rejectScenario(source, reading.problems);
  return scenario;
}

/** @throws {ConfigError} If there are problems. */
export function rejectScenario(source: Source, problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  const place = createPlacer(source.text);
  throw new ConfigError(`cannot use scenario "${source.label}": ${countErrors(problems.length)}`, {
    source,
    problems: problems.map((problem) => place(problem)).sort((one, other) => one.offset - other.offset),
  });
}

async function findStructureProblems(written: JsonValue): Promise<readonly Problem[]> {
  const validator = await import("../config/generated/validate_scenario.js");
  const kinds = { check: {}, channel: {} };
  const errors = await findStructureErrors(written, { validate: validator.default as Validator, kinds }, 100);
  if (errors.length === 0) return [];
  const { explainErrors } = await import("../config/explain_structure.ts");
  const schema =
    (await import("../config/generated/scenario.schema.json", { with: { type: "json" } })).default;
  return explainErrors(errors, written, {
    written,
    reader: createSchemaReader(schema),
    wider: null,
    shapeName: "the schema of scenarios",
    isUnresolved: () => false,
  });
}

class Reading {
  readonly problems: Problem[] = [];
  readonly #written: JsonObject;
  readonly #source: Source;
  #timeZone = "UTC";
  #startMs = 0;
  #lastMs = 0;

  constructor(written: JsonObject, source: Source) {
    this.#written = written;
    this.#source = source;
  }

  read(): Scenario {
    const { config, until } = this.#written;
    this.#timeZone = this.#readZone();
    this.#startMs = this.#lastMs = this.#readStart();
    const results = this.#readChanges("results", parseResult, RESULT_FORMS);
    const channels = this.#readChanges("channels", parseResponse, `expected ${listed(RESPONSES)}`);
    const actions = this.#readActions();
    const endMs = until === undefined ? this.#lastMs + HOUR_MS : this.#readEnd(String(until));
    return {
      source: this.#source,
      place: createPlacer(this.#source.text),
      configPath: config === undefined ? null : absolutePath(String(config), this.#source.directory),
      timeZone: this.#timeZone,
      startMs: this.#startMs,
      ...{ endMs, results, channels, actions },
      expected: this.#readExpected(),
    };
  }

  #readZone(): string {
    const zone = String(this.#written["time_zone"] ?? "UTC");
    try {
      parseStart("2026-01-01 00:00", zone);
      return zone;
    } catch {
      this.#report(["time_zone"], `is ${quoteValue(zone)}, expected a time zone such as "Europe/Zurich"`);
      return "UTC";
    }
  }

  #readStart(): number {
    const start = String(this.#written["start"]);
    try {
      return parseStart(start, this.#timeZone);
    } catch {
      this.#report(["start"], `is ${quoteValue(start)}, expected a time such as "2026-03-02 21:55"`);
      return 0;
    }
  }

  #readEnd(until: string): number {
    const endMs = timeAfter(until, this.#lastMs, this.#timeZone);
    if (endMs !== null && endMs >= this.#lastMs) return endMs;
    this.#report(["until"], `is ${quoteValue(until)}, expected a time after all others, such as "06:30"`);
    return this.#lastMs;
  }

  /** Reads `ok, 22:10 critical, 06:20 ok` by names: what is from each time on. */
  #readChanges<Change>(
    key: "results" | "channels",
    parse: (words: string) => Change | null,
    forms: string,
  ): ReadonlyMap<string, readonly (Change & { readonly atMs: number })[]> {
    return new Map(
      this.#entriesOf(key).map(([name, written]) => {
        let afterMs = this.#startMs;
        const changes = partsOf(written).flatMap(({ text, index }) => {
          const path = [key, name, ...index === null ? [] : [index]];
          const isFirst = afterMs === this.#startMs && parse(text) !== null;
          const timed = isFirst ? { atMs: afterMs, rest: text } : this.#readTime(text, afterMs, path);
          if (timed === null) return [];
          afterMs = timed.atMs;
          const change = parse(timed.rest);
          if (change !== null) return [{ ...change, atMs: timed.atMs }];
          this.#report(path, `has ${quoteValue(timed.rest)}, ${forms}`);
          return [];
        });
        this.#lastMs = Math.max(this.#lastMs, afterMs);
        return [name, changes];
      }),
    );
  }

  #readActions(): readonly ScriptedAction[] {
    let afterMs = this.#startMs;
    return this.#entriesOf("actions").flatMap(([time, written]) => {
      const timed = this.#readTime(time, afterMs, ["actions", time], "name");
      if (timed === null) return [];
      afterMs = timed.atMs;
      this.#lastMs = Math.max(this.#lastMs, afterMs);
      const isList = Array.isArray(written);
      return [written].flat().map((text, index) => ({
        atMs: timed.atMs,
        text: String(text),
        path: ["actions", time, ...isList ? [index] : []],
      }));
    });
  }

  #readExpected(): Scenario["expected"] {
    return new Map(
      this.#entriesOf("expect").map(([channel, lines]) => {
        // A message may be in the minute of the start.
        let afterMs = Math.floor(this.#startMs / MINUTE_MS) * MINUTE_MS;
        const messages = [lines].flat().flatMap((written, index) => {
          const line = String(written);
          const timed = this.#readTime(line, afterMs, ["expect", channel, index]);
          afterMs = timed?.atMs ?? afterMs;
          return timed === null ? [] : [{ line, ...timed }];
        });
        return [channel, messages];
      }),
    );
  }

  #entriesOf(key: string): readonly (readonly [string, JsonValue])[] {
    const entries = this.#written[key];
    return isObject(entries) ? Object.entries(entries) : [];
  }

  #readTime(text: string, afterMs: number, path: ConfigPath, at?: "name"): TimedText | null {
    const timed = splitTime(text, { afterMs, zone: this.#timeZone });
    if (timed !== null && timed.untilMs > this.#startMs) return timed;
    this.#report(
      path,
      timed === null
        ? `begins with no time: ${quoteValue(text)}, expected one such as "22:10", "Tue 22:10" or "+90min"`
        : `is before the start: ${quoteValue(text)}`,
      at,
    );
    return null;
  }

  #report(path: ConfigPath, message: string, at?: "name"): void {
    this.problems.push({ path, message, ...at !== undefined && { at } });
  }
}

const RESULT_FORMS = `expected ${
  listed(CONDITIONS)
}, and perhaps "in" with a duration, and an output in parentheses, with performance data after " | "`;

function listed(words: readonly string[]): string {
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** The parts of a text between commas that are not in parentheses, or those of a list of texts. */
function partsOf(written: JsonValue): readonly { readonly text: string; readonly index: number | null }[] {
  const isList = Array.isArray(written);
  return [written].flat().flatMap((text, index) =>
    String(text).split(/,\s*(?![^(]*\))/).map((part) => ({ text: part.trim(), index: isList ? index : null }))
  );
}

function parseResult(words: string): Omit<ScriptedResult, "atMs"> | null {
  const [, word = "", duration, text] = /^(\w+)(?: in ([^(]*[^( ]))?(?: \((.*)\))?$/s.exec(words) ?? [];
  const condition = CONDITIONS.find((one) => one === word);
  const took = duration === undefined ? { ms: 0 } : parseDuration(duration);
  if (condition === undefined || !("ms" in took)) return null;
  const [output = condition, ...data] = text?.split(" | ") ?? [];
  return { condition, output, performanceData: data.join(" "), durationMs: took.ms };
}

function parseResponse(words: string): Omit<ScriptedResponse, "atMs"> | null {
  const response = RESPONSES.find((one) => one === words);
  return response === undefined ? null : { response };
}

const TAG = "tag:";

/** Returns the scripted results of a check: those of its name, else of the first pattern that matches. */
export function resultsOf(
  { name, tags }: Pick<Check, "name" | "tags">,
  { results }: Pick<Scenario, "results">,
): readonly ScriptedResult[] {
  return results.get(name) ?? [...results].find(([key]) => isMeant({ name, tags }, key))?.[1] ?? [];
}

function isMeant({ name, tags }: Pick<Check, "name" | "tags">, key: string): boolean {
  return name === key ||
    (key.startsWith(TAG) ? tags.includes(key.slice(TAG.length)) : matchesGlob(name, key));
}

/** Returns what a scenario names and its config does not have. */
export function findUnknownNames(
  { results, channels, expected }: Pick<Scenario, "results" | "channels" | "expected">,
  { checks, channelNames }: { readonly checks: readonly Check[]; readonly channelNames: readonly string[] },
): readonly Problem[] {
  const byName = new Map(checks.map((check) => [check.name, check]));
  const unknown = (key: string, name: string, what: string, known: readonly string[]): Problem => {
    const meant = nearest(name, known);
    return {
      path: [key, name],
      at: "name",
      message: `is no ${what} of the config`,
      ...meant !== undefined && { hint: `did you mean ${quoteValue(meant)}?` },
    };
  };
  return [
    ...[...results.keys()].flatMap((name): readonly Problem[] => {
      const check = byName.get(name);
      if (check !== undefined && combinedChecks(check).length > 0) {
        return [{
          path: ["results", name],
          at: "name",
          message: "is a group, whose result is that of its checks",
        }];
      }
      return checks.some((one) => isMeant(one, name))
        ? []
        : [unknown("results", name, "check, pattern or tag", [...byName.keys()])];
    }),
    ...([["channels", channels], ["expect", expected]] as const).flatMap(([key, named]) =>
      [...named.keys()].filter((name) => !channelNames.includes(name))
        .map((name) => unknown(key, name, "channel", channelNames))
    ),
  ];
}
