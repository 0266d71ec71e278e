import {
  type Command,
  EXIT,
  formatOption,
  type Invocation,
  OPTION,
  option,
  type OptionSpec,
  UsageError,
} from "../command_definition.ts";
import { counted, jsonDocument, printable } from "../../shared/text.ts";
import type { Shape } from "../../config/schemas.ts";
import { renderProblems } from "../failure.ts";
import { ConfigError, type PlacedProblem, type Source } from "../../config/problem.ts";
import { annotation, type Entry } from "../formats/github.ts";
import { type OpenConfig, openConfig } from "../open_config.ts";
import type { System } from "../../domain/system.ts";
import { wantsColor } from "../terminal.ts";

const SHAPE = "specification profile a or b instead of the default schema";
export const SHAPE_OPTION: OptionSpec = option("--shape SHAPE", SHAPE, { choices: ["a", "b"] });

export function readShape(invocation: Invocation): Shape {
  const value = invocation.text("shape");
  if (value === undefined) return "monitor";
  if (value === "a" || value === "b") return value;
  throw new UsageError(`--shape is "${value}", expected a or b`);
}

const FORMATS = ["pretty", "json", "github"] as const;

export const validateCommand: Command = {
  name: "validate",
  group: "set_up",
  summary: "check the config for errors",
  description: "Prints every error and warning of the config with its line and column. It runs no check.",
  page: "reference/config.md",
  options: [
    OPTION.config,
    SHAPE_OPTION,
    option(
      "--without-secrets",
      "no lookup of ${env:…}, ${file:…} and commands, for a config of another machine",
    ),
    option("--strict", "exit code 78 for warnings too"),
    formatOption(FORMATS, "pretty, json, or github: annotations of GitHub Actions"),
  ],
  examples: [
    ["monitor validate", "validate the config that check uses"],
    ["monitor validate -c web.jsonc --without-secrets", "validate in a CI pipeline"],
    ["monitor validate --strict", "validate on the machine, before a deployment"],
    ["monitor validate --format github", "annotate the lines of a pull request"],
    ["monitor validate --shape a", "validate against specification profile a"],
  ],
  uses: ["read", "env", "sys"],
  endings: ["done", "permission", "config"],
  run: async (invocation, system) => {
    const format = invocation.choice("format", FORMATS) ?? "pretty";
    if (format === "pretty") return await validate(invocation, system);
    const found = await findProblems(invocation, system);
    system.stdout.write(format === "json" ? jsonDocument(found) : found.problems.map(annotation).join(""));
    return found.valid ? EXIT.ok : EXIT.config;
  },
};

async function open(invocation: Invocation, system: System): Promise<OpenConfig> {
  return await openConfig(invocation, system, {
    shape: readShape(invocation),
    withoutSecrets: invocation.has("without-secrets"),
  });
}

async function validate(invocation: Invocation, system: System): Promise<number> {
  const { checks, placedWarnings, source, sources } = await open(invocation, system);
  const color = wantsColor(invocation, system.stderr, system);
  if (invocation.has("strict") && placedWarnings.length > 0) {
    const warnings = counted(placedWarnings.length, "warning");
    const message = `cannot accept config "${source.label}": it has ${warnings}`;
    throw new ConfigError(message, { source, problems: placedWarnings });
  }
  system.stderr.write(renderProblems(source, placedWarnings, { color, severity: "warning" }));
  const inactive = checks.filter((check) => !check.active).length;
  const parts = [
    counted(checks.length, "check") + (inactive > 0 ? ` (${inactive} inactive)` : ""),
    ...(sources.length > 1 ? [counted(sources.length, "file")] : []),
    ...(placedWarnings.length > 0 ? [counted(placedWarnings.length, "warning")] : []),
  ];
  system.stdout.write(`${printable(source.label)}: valid, ${parts.join(", ")}\n`);
  return EXIT.ok;
}

/** Returns the fields for programs: an invalid config is no failure of the command here. */
async function findProblems(invocation: Invocation, system: System) {
  try {
    const { checks, placedWarnings, source } = await open(invocation, system);
    return {
      valid: placedWarnings.length === 0 || !invocation.has("strict"),
      config: source.label,
      checks: checks.length,
      inactive: checks.filter((check) => !check.active).length,
      problems: placedWarnings.map(entryOf("warning", source)),
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { source, problems: placed, message, hint } = error;
    const nowhere = { file: null, line: null, column: null, path: "" };
    const problems = placed.length > 0
      ? placed.map(entryOf("error", source))
      : [{ severity: "error" as const, ...nowhere, message, hint }];
    return { valid: false, config: source?.label ?? null, checks: 0, inactive: 0, problems };
  }
}

/** `source` is `null` if the config could not be read. */
function entryOf(severity: Entry["severity"], source: Source | null): (problem: PlacedProblem) => Entry {
  return ({ line, column, path, message, hint, source: own = source }) => (
    { severity, file: own?.label ?? null, line, column, path, message, hint }
  );
}
