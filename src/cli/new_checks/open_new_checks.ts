import type { JsonObject } from "../../config/syntax.ts";
import { ConfigError, describePath, type PlacedProblem } from "../../config/problem.ts";
import { layOutJson } from "../../shared/lay_out_json.ts";
import { UsageError } from "../command_definition.ts";
import { type CommandContext, type OpenConfig, openConfigAt } from "../open_config.ts";
import type { NewCheck } from "./read_operands.ts";

/** Returns a check as the config has it, without its name. */
export function entryFor({ kind, threshold, parameters }: NewCheck): JsonObject {
  return { kind, ...threshold !== undefined && { threshold }, parameters };
}

/** Returns a check with its name as a part of a config, for people. */
export function renderEntry(check: NewCheck): string {
  const name = `${JSON.stringify(check.name)}: `;
  return name + layOutJson(entryFor(check), { indent: "  ", margin: "", column: name.length, newline: "\n" });
}

/**
 * Opens checks as a config of their own.
 *
 * @throws {UsageError} If one has an error.
 */
export async function openNewChecks(
  checks: readonly NewCheck[],
  { invocation, system }: CommandContext,
): Promise<OpenConfig> {
  const text = JSON.stringify({
    defaults: {},
    checks: Object.fromEntries(checks.map((check) => [check.name, entryFor(check)])),
  });
  return await openConfigAt({ path: "-", named: true, text }, { invocation, system }).catch((error) => {
    throw asUsageError(error, checks);
  });
}

/** Returns errors of new checks in a config as an error of the command line; other errors as they are. */
export function asUsageError(error: unknown, checks: readonly NewCheck[]): unknown {
  if (!(error instanceof ConfigError) || error.problems.length === 0) return error;
  return usageErrorOf(error.problems, checks);
}

/** Returns at least one problem of new checks as an error of the command line. */
export function usageErrorOf(problems: readonly PlacedProblem[], checks: readonly NewCheck[]): UsageError {
  const [{ hint } = { hint: null }] = problems;
  const texts = problems.map((problem) => describe(problem, checks));
  return new UsageError(texts.join("; "), texts.length === 1 && hint !== null ? hint : undefined);
}

/** The error, at the key that was typed. */
function describe({ path, message }: PlacedProblem, checks: readonly NewCheck[]): string {
  const place = checks.map(({ name, kind }) => ({
    kind,
    start: describePath(["checks", name, "parameters"]),
  }))
    .find(({ start }) => path.startsWith(start));
  if (place === undefined) return `${path}: ${message}`;
  return `${place.kind} ${path.slice(place.start.length + 1)}`.trimEnd() + `: ${message}`;
}
