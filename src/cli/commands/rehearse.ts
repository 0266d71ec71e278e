import type { System } from "../../domain/system.ts";
import {
  expectedText,
  type Rehearsal,
  rehearse,
  type RehearsedChannel,
  type RehearseOptions,
} from "../../rehearsal/rehearse.ts";
import { readScenario, rejectScenario, type Scenario } from "../../rehearsal/scenario.ts";
import {
  type Command,
  EXIT,
  formatOption,
  Invocation,
  OPTION,
  option,
  parseInvocation,
  UsageError,
} from "../command_definition.ts";
import { OutputError } from "../failure.ts";
import { type CommandContext, type OpenConfig, openConfigAt } from "../open_config.ts";
import { locateConfig } from "../../config/source.ts";
import {
  outputOption,
  readOutputs,
  type TestedRun,
  type TestFormat,
  writeOutput,
} from "../formats/format.ts";
import { createColors, wantsColor } from "../terminal.ts";
import { counted, jsonDocument, printable } from "../../shared/text.ts";
import { ConfigError, type Source } from "../../config/problem.ts";
import { splitWords } from "../../import/nagios_objects.ts";
import { didYouMean } from "../../config/nearest.ts";
import { isoTime } from "../../shared/json_values.ts";
import { junitFormat } from "../formats/junit.ts";
import { tapFormat } from "../formats/tap.ts";
import { annotation } from "../formats/github.ts";

interface RunFacts extends Pick<TestedRun, "startedAtMs" | "durationMs" | "hostName"> {
  readonly color: boolean;
}

type RehearsalFormat = (rehearsals: readonly TimedRehearsal[], facts: RunFacts) => string;

type RehearsalFormatName = "pretty" | "json" | "junit" | "tap" | "github";

const REHEARSAL_FORMATS: Readonly<Record<RehearsalFormatName, RehearsalFormat>> = {
  pretty: prettyText,
  json: jsonText,
  junit: (rehearsals, facts) => testText(junitFormat, rehearsals, facts),
  tap: (rehearsals, facts) => testText(tapFormat, rehearsals, facts),
  github: (rehearsals) => rehearsals.flatMap(annotations).join(""),
};

const FORMATS = Object.keys(REHEARSAL_FORMATS) as readonly RehearsalFormatName[];

export const rehearseCommand: Command = {
  name: "rehearse",
  group: "set_up",
  summary: "test what the config would send in a scenario",
  operands: "SCENARIO…",
  description:
    "Plays scenarios under a virtual clock: what checks find, how channels respond and what people do over time, and every " +
    "message that must come of it. The service itself decides, and runs, sends and stores nothing. A scenario is JSONC " +
    'with the schema schemas/scenario.schema.json, and may name its "config".',
  page: "guides/rehearse.md",
  options: [
    OPTION.config,
    option("--write", 'write the messages to "expect" of each scenario'),
    formatOption(FORMATS),
    outputOption("file for the results"),
  ],
  examples: [
    ["monitor rehearse -c monitor.jsonc night.jsonc", "compare the messages of one scenario"],
    ["monitor rehearse --write scenarios/*.jsonc", "accept the messages as they are now"],
    ["monitor rehearse --output junit=rehearsal.xml scenarios/*.jsonc", "test the config in a CI pipeline"],
  ],
  uses: ["read", "write", "env", "sys"],
  endings: ["done", "differs", "permission", "config"],
  run: runRehearse,
};

async function runRehearse(invocation: Invocation, system: System): Promise<number> {
  const { operands } = invocation;
  if (operands.length === 0) {
    throw new UsageError("rehearse requires the path of a scenario", "monitor rehearse SCENARIO.jsonc");
  }
  const format = invocation.choice("format", FORMATS) ?? "pretty";
  const example = "monitor rehearse --output junit=rehearsal.xml SCENARIO.jsonc";
  const outputs = readOutputs(invocation, FORMATS, example);
  const startedAtMs = system.clock.wallMs();
  const beganMs = system.clock.monotonicMs();
  const rehearsals: TimedRehearsal[] = [];
  for (const path of operands) {
    const startMs = system.clock.monotonicMs();
    const scenario = await readScenario({ path, named: true }, system);
    const config = await openConfigOf(scenario, { invocation, system });
    const act = createActions(config, scenario.source);
    const rehearsal = await rehearse(scenario, { config, system, act });
    rehearsals.push({ ...rehearsal, durationMs: system.clock.monotonicMs() - startMs });
  }
  if (invocation.has("write")) {
    for (const rehearsal of rehearsals) await writeExpected(rehearsal, system);
    return EXIT.ok;
  }
  const durationMs = system.clock.monotonicMs() - beganMs;
  const facts = { color: false, startedAtMs, durationMs, hostName: system.hostName() };
  const color = wantsColor(invocation, system.stdout, system);
  system.stdout.write(REHEARSAL_FORMATS[format](rehearsals, { ...facts, color }));
  for (const { format, path } of outputs) {
    const failure = await writeOutput(path, REHEARSAL_FORMATS[format](rehearsals, facts), system);
    if (failure !== null) throw new OutputError(failure);
  }
  return rehearsals.every(({ isAsExpected }) => isAsExpected) ? EXIT.ok : EXIT.differs;
}

/**
 * Writes the messages of a rehearsal to its scenario.
 *
 * @throws {OutputError} If it can't be written.
 */
async function writeExpected(rehearsal: Rehearsal, system: System): Promise<void> {
  const { scenario: { source }, isAsExpected } = rehearsal;
  const { label, path, text } = source;
  if (!isAsExpected && path !== null) {
    const { rewriteText } = await import("../new_checks/add_checks.ts");
    await rewriteText({ label, path, text }, await expectedText(rehearsal), system);
  }
  system.stdout.write(`${printable(label)}: ${isAsExpected ? "unchanged" : "written"}\n`);
}

/** Opens the config of the command line, else that of the scenario, else the one that is found. */
async function openConfigOf({ configPath, timeZone }: Scenario, { invocation, system }: CommandContext) {
  const named = invocation.text("config");
  if (named === "-") throw new UsageError("--config is -, expected a file");
  const location = named === undefined && configPath !== null
    ? { path: configPath, named: true }
    : await locateConfig(named, system);
  return await openConfigAt(location, {
    invocation,
    system: { ...system, timeZone: () => timeZone },
    withoutSecrets: true,
  });
}

/** The commands that people use while the service runs. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  acknowledge: async () => (await import("../commands/acknowledge.ts")).acknowledgeCommand,
  silence: async () => (await import("./silence.ts")).silenceCommand,
  maintenance: async () => (await import("../commands/maintenance.ts")).maintenanceCommand,
};
const WORDS = [...Object.keys(COMMANDS), "restart", "stop", "start"];

/** Returns a function that carries out the command lines of a scenario, by the commands themselves, on the rehearsed state. */
export function createActions(config: OpenConfig, scenario: Source): RehearseOptions["act"] {
  return async ({ text, path }, { system, store }) => {
    const [name = "", ...args] = splitWords(text) ?? [];
    const reject = (message: string, hint?: string | null): void =>
      rejectScenario(scenario, [{ path, message, ...typeof hint === "string" && { hint } }]);
    const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (load === undefined) {
      return reject(`is "${text}", expected one of ${WORDS.join(", ")}`, didYouMean(name, WORDS));
    }
    const command = await load();
    const stored = { store: { ...store, close: () => Promise.resolve() }, quarantined: null };
    const printed = { isTerminal: false, closed: false, columns: () => null, write: () => {} };
    const rehearsed: System = {
      ...system,
      stdout: printed,
      stderr: printed,
      stores: { ...system.stores, openFile: () => Promise.resolve(stored) },
      permissions: { ...system.permissions, drop: () => {} },
    };
    try {
      const { options, operands } = parseInvocation(command, args);
      const places = [["config", config.source.path ?? ""], ["state", "/rehearsal"]] as const;
      await command.run(new Invocation({ operands, options: new Map([...options, ...places]) }), rehearsed);
    } catch (error) {
      if (!(error instanceof UsageError || error instanceof ConfigError)) throw error;
      reject(error.message, error.hint);
    }
  };
}

/** A rehearsal, and how long it took. */
interface TimedRehearsal extends Rehearsal {
  readonly durationMs: number;
}

function prettyText(rehearsals: readonly TimedRehearsal[], { color }: RunFacts): string {
  const colors = createColors(color);
  const lines = rehearsals.flatMap((rehearsal) => {
    const { scenario: { source }, channels, causes, untestedLimits, isAsExpected } = rehearsal;
    const head = `${printable(source.label)}: ${describe(rehearsal)}`;
    return [
      isAsExpected ? head : colors.red(head),
      ...channels.filter((channel) => !channel.isAsExpected).flatMap(({ name, differences }) => [
        `  ${printable(name)} (- expected, + sent)`,
        ...differences.map(({ sign, text }) => {
          const line = `    ${sign} ${printable(text)}`;
          return sign === "-" ? colors.red(line) : sign === "+" ? colors.green(line) : line;
        }),
      ]),
      ...causes.map((text) => `  common cause: ${printable(text)}`),
      ...causes.length === 0 ? [] : [`  (${ASSUMED})`],
      ...untestedLimits.map((text) =>
        `  not tested, since no result has the value: limits of ${printable(text)}`
      ),
    ];
  });
  return lines.map((line) => `${line}\n`).join("");
}

const ASSUMED = "assumed: each name of a host is one IP address, and no response is a failure of the host";

/** As in `5 messages as expected`, or `chat and mail are not as expected`. */
function describe({ channels, isAsExpected }: Rehearsal): string {
  const count = channels.reduce((sum, { sent }) => sum + sent.length, 0);
  if (isAsExpected) return `${counted(count, "message")} as expected`;
  const [missing, unexpected] = (["-", "+"] as const)
    .map((sign) => channels.flatMap((channel) => textsOf(channel, sign)).length);
  return `${counted(count, "message")}, ${missing} missing, ${unexpected} unexpected`;
}

function testText(format: TestFormat, rehearsals: readonly TimedRehearsal[], facts: RunFacts): string {
  const isFailed = rehearsals.some(({ isAsExpected }) => !isAsExpected);
  const records = rehearsals.map((rehearsal) => ({
    result: {
      check: { kind: "scenario", name: rehearsal.scenario.source.label },
      condition: rehearsal.isAsExpected ? "ok" as const : "critical" as const,
      output: describe(rehearsal),
      detail: rehearsal.isAsExpected ? "" : differencesText(rehearsal),
      durationMs: rehearsal.durationMs,
    },
  }));
  return format.summary({
    ...facts,
    condition: isFailed ? "critical" : "ok",
    ...{ reason: null, records, unfinished: [], inactiveCount: 0 },
  }, { color: false, columns: null, fails: (condition) => condition !== "ok", locate: () => null });
}

function differencesText({ channels }: Rehearsal): string {
  return channels.filter(({ isAsExpected }) => !isAsExpected)
    .map(({ name, differences }) =>
      [`${name} (- expected, + sent)`, ...differences.map(({ sign, text }) => `${sign} ${text}`)].join("\n")
    ).join("\n");
}

/** The same for programs; fields are only ever added. */
function jsonText(rehearsals: readonly TimedRehearsal[]): string {
  return jsonDocument({
    as_expected: rehearsals.every(({ isAsExpected }) => isAsExpected),
    scenarios: rehearsals.map(({ scenario, channels, causes, untestedLimits, isAsExpected }) => ({
      scenario: scenario.source.label,
      as_expected: isAsExpected,
      channels: channels.map((channel) => ({
        channel: channel.name,
        as_expected: channel.isAsExpected,
        messages: channel.sent.map(({ atMs, text }) => ({ at: isoTime(atMs), text })),
        missing: textsOf(channel, "-"),
        unexpected: textsOf(channel, "+"),
      })),
      causes,
      untested_limits: untestedLimits,
    })),
  });
}

function textsOf({ differences }: RehearsedChannel, sign: "-" | "+"): readonly string[] {
  return differences.filter((one) => one.sign === sign).map(({ text }) => text);
}

/** Each difference at its line, or at that of its channel. */
function annotations({ scenario: { source, place }, channels }: Rehearsal): readonly string[] {
  return channels.flatMap(({ name, differences }) =>
    differences.filter(({ sign }) => sign !== " ").map(({ sign, text, expected }) => {
      const path = ["expect", name, ...sign === "-" ? [expected] : []];
      const { line, column } = place({ path, message: "" });
      const message = sign === "-" ? `expected, and not sent: ${text}` : `sent, and not expected: ${text}`;
      const at = { file: source.label, line, column, path: name };
      return annotation({ ...at, severity: "error", message, hint: null });
    })
  );
}
