import { addEntries } from "../../config/add_entries.ts";
import { describePath } from "../../config/problem.ts";
import { isObject } from "../../config/schema_view.ts";
import type { JsonValue } from "../../config/syntax.ts";
import type { Check } from "../../domain/check.ts";
import type { System } from "../../domain/system.ts";
import { printable, printableBlock } from "../../shared/printable.ts";
import { type Invocation, UsageError } from "../command_definition.ts";
import { EXIT } from "../exit_code.ts";
import { type OpenConfig, openConfigAt } from "../open_config.ts";
import { type ConfigTarget, permissionsOfWriting, writeTarget } from "./config_target.ts";
import { asUsageError, entryFor, renderEntry } from "./open_new_checks.ts";
import type { NewCheck } from "./read_operands.ts";
import { isTryable, renderRecords, runNewChecks } from "./run_new_checks.ts";

interface AddOptions {
  readonly invocation: Invocation;
  readonly system: System;
  readonly target: ConfigTarget;
  readonly isDryRun: boolean;
}

/**
 * Tries checks, prints their results, and writes them into the config; returns the exit code. Nothing is written if
 * the new config has an error, or if a signal aborts the checks.
 *
 * @throws {UsageError} If a name exists, or a check has an error.
 */
export async function addChecks(checks: readonly NewCheck[], options: AddOptions): Promise<number> {
  const { invocation, system, target, isDryRun } = options;
  if (checks.length === 0) return EXIT.ok;
  const text = addEntries(target.text, checks.map((check) => [check.name, entryFor(check)]));
  const edited = await openConfigAt({ path: target.path, label: target.label, named: true, text }, {
    invocation,
    system,
  }).catch((error) => {
    throw asUsageError(error, checks);
  });
  for (const text of warningsOf(edited, checks)) {
    system.stderr.write(`monitor: warning: ${printable(text)}\n`);
  }
  const required = isDryRun ? [] : await permissionsOfWriting(target, system);
  const added = edited.checks.filter(({ name }) => checks.some((check) => check.name === name));
  const tried: Check[] = [];
  for (const check of added) if (await isTryable(check)) tried.push(check);
  const startedMonotonicMs = system.clock.monotonicMs();
  const ran = await runNewChecks(tried, { invocation, system, config: edited, traces: false, required });
  if (ran.stopCode !== null) {
    system.stderr.write("monitor: stopped, nothing was added\n");
    return ran.stopCode;
  }
  if (tried.length > 0) {
    system.stdout.write(`${renderRecords(ran.records, { invocation, system, startedMonotonicMs })}\n`);
  }
  if (isDryRun) {
    system.stdout.write(checks.map((check) => `${printableBlock(renderEntry(check))}\n`).join(""));
    return EXIT.ok;
  }
  await writeTarget(target, text, system);
  const names = checks.map(({ name }) => printable(name)).join(", ");
  const count = checks.length === 1 ? "1 check" : `${checks.length} checks`;
  system.stdout.write(`added ${count} to ${printable(target.label)}: ${names}\n`);
  system.stdout.write(checks.map((check) => describeCronLine(check, target, system)).join(""));
  return EXIT.ok;
}

/** Returns warnings about new checks, such as a password in the text. */
function warningsOf({ placedWarnings }: OpenConfig, checks: readonly NewCheck[]): readonly string[] {
  const starts = checks.map(({ name }) => describePath(["checks", name]));
  return placedWarnings.filter(({ path }) =>
    starts.some((start) => path === start || path.startsWith(`${start}.`))
  )
    .map(({ path, message }) => `${path}: ${message}`);
}

export function writtenChecks(config: OpenConfig | null): ReadonlyMap<string, JsonValue> {
  return new Map(
    (config?.files ?? []).flatMap(({ written: { checks } }) =>
      isObject(checks) ? Object.entries(checks) : []
    ),
  );
}

/** Parts new checks from those that the config has already, with the same name, kind and parameters. */
export function partKnown(
  checks: readonly NewCheck[],
  { config }: ConfigTarget,
): { readonly known: readonly NewCheck[]; readonly added: readonly NewCheck[] } {
  const written = writtenChecks(config);
  const isKnown = (check: NewCheck): boolean => {
    const other = written.get(check.name);
    if (!isObject(other)) return false;
    const { kind, parameters = {} } = other;
    return JSON.stringify([kind, parameters]) === JSON.stringify([check.kind, check.parameters]);
  };
  return { known: checks.filter(isKnown), added: checks.filter((check) => !isKnown(check)) };
}

/** @throws {UsageError} If the config has a check of that name, or two new ones have it. */
export function refuseTakenNames(checks: readonly NewCheck[], target: ConfigTarget): void {
  const taken = new Set(writtenChecks(target.config).keys());
  for (const { name } of checks) {
    if (taken.has(name)) {
      throw new UsageError(
        `the name "${name}" is taken by another check`,
        checks.length === 1 ? "choose another with: --name NAME" : "add that check alone, with: --name NAME",
      );
    }
    taken.add(name);
  }
}

function describeCronLine({ name, cronJob }: NewCheck, target: ConfigTarget, system: System): string {
  if (cronJob === undefined) return "";
  const words = [programOf(system), "beat", "--config", target.path, name, "--"];
  return `replace the line of ${printable(name)} in ${cronJob.place} by:\n${
    printable(cronJob.lineBehind(words))
  }\n`;
}

/** Cron searches few directories for commands. */
function programOf(system: System): string {
  try {
    return /\/monitor$/.test(system.executable) ? system.executable : "monitor";
  } catch {
    return "monitor";
  }
}
