import { CHECK_KINDS } from "../checks/registry.ts";
import { loadDocument, type LoadedDocument, type LoadOptions } from "../config/load.ts";
import { locateDocument } from "../config/locate.ts";
import { nearest } from "../config/nearest.ts";
import type { PlacedProblem } from "../config/problem.ts";
import type { Check } from "../domain/check.ts";
import type { Caveat } from "../domain/observe.ts";
import type { System } from "../domain/system.ts";
import { type Invocation, optionValue, UsageError } from "./command.ts";

/** A document and everything that deserves a warning in it. */
export interface OpenDocument extends LoadedDocument {
  /** In the text's order. */
  readonly placedWarnings: readonly PlacedProblem[];
}

/**
 * Finds and loads the document that a command is about.
 *
 * @throws {ConfigError} If there is none or it has mistakes.
 */
export async function openDocument(
  invocation: Invocation,
  system: System,
  options: LoadOptions = {},
): Promise<OpenDocument> {
  const location = await locateDocument(optionValue(invocation, "config"), system);
  const document = await loadDocument(location, system, options);
  const caveats = document.checks.flatMap((check) =>
    caveatsOf(check).map(({ path, message }) => ({
      path: ["checks", check.name, "parameters", ...path],
      message,
    }))
  );
  const placedWarnings = [...document.warnings, ...caveats].map(document.place)
    .sort((one, other) => one.offset - other.offset);
  return { ...document, placedWarnings };
}

function caveatsOf(check: Check): readonly Caveat[] {
  const entry = CHECK_KINDS[check.kind] as { caveats(check: Check): readonly Caveat[] };
  return entry.caveats(check);
}

/**
 * The checks that were named, in the document's order; all of them when none was.
 *
 * @throws {UsageError} If a name is not in the document.
 */
export function selectChecks(checks: readonly Check[], names: readonly string[]): readonly Check[] {
  if (names.length === 0) return checks;
  for (const name of names) {
    if (checks.some((check) => check.name === name)) continue;
    const meant = nearest(name, checks.map((check) => check.name));
    throw new UsageError(
      `there is no check "${name}" in the document`,
      meant === undefined ? "list them with: monitor explain" : `did you mean "${meant}"?`,
    );
  }
  return checks.filter((check) => names.includes(check.name));
}
