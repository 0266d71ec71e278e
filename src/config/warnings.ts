import type { Check } from "../domain/check.ts";
import { isCron } from "../domain/schedule.ts";
import { exactDuration } from "../domain/duration.ts";
import { holdsCredential } from "./credentials.ts";
import type { MetricsFile } from "../domain/metrics_file.ts";
import type { FormattedValue } from "./formats.ts";
import { holdsSecret } from "./placeholders.ts";
import { type Problem, quote } from "./problem.ts";
import type { Source } from "./source.ts";

/** What deserves a warning in the checks of a valid document, whatever their kinds. */
export function findWarnings(
  checks: readonly Check[],
  locate: (name: string, member: string) => SettingPlace,
): readonly Problem[] {
  return [...warnOfNothing(checks), ...warnOfSchedules(checks, locate)];
}

/** Where a setting of a check stands. */
export interface SettingPlace {
  /** Whether the check gives it itself. */
  readonly isOwn: boolean;
  /** The file it stands in, or would stand in. */
  readonly source: Source;
}

function warnOfNothing(checks: readonly Check[]): readonly Problem[] {
  if (checks.length === 0) {
    return [{ path: ["checks"], at: "name", message: "there are no checks, so nothing is watched" }];
  }
  if (checks.every((check) => !check.active)) {
    return [{ path: ["checks"], at: "name", message: "every check is inactive, so nothing is watched" }];
  }
  return [];
}

function warnOfSchedules(
  checks: readonly Check[],
  locate: (name: string, member: string) => SettingPlace,
): readonly Problem[] {
  const warnings: Problem[] = [];
  // What stands in "defaults" is said once, not for each check that takes it.
  const saidOfDefaults = new Map<Source, Set<string>>();
  const warn = (name: string, [member = "", ...rest]: readonly string[], message: string): void => {
    const { isOwn, source } = locate(name, member);
    if (!isOwn) {
      const said = saidOfDefaults.get(source) ?? new Set();
      saidOfDefaults.set(source, said);
      if (said.has(member)) return;
      said.add(member);
    }
    const path = [...(isOwn ? ["checks", name] : ["defaults"]), member, ...rest];
    warnings.push({ path, source, message });
  };
  for (const { name, schedule, timeoutMs, notifications } of checks) {
    if (notifications.length === 0) {
      warn(name, ["notifications"], "is empty, so no report reaches anybody");
    }
    if (isCron(schedule)) continue;
    const { regularIntervalMs, attentiveIntervalMs } = schedule;
    if (attentiveIntervalMs > regularIntervalMs) {
      const both = compare(attentiveIntervalMs, regularIntervalMs);
      warn(
        name,
        ["schedule", "attentive_interval"],
        `is longer than the regular interval (${both}), so a problem is looked at less often than health`,
      );
    }
    if (timeoutMs > regularIntervalMs && locate(name, "timeout").isOwn) {
      const both = compare(timeoutMs, regularIntervalMs);
      warn(
        name,
        ["timeout"],
        `is longer than the regular interval (${both}), so a slow run makes the check miss its next ones`,
      );
    }
  }
  return warnings;
}

function compare(oneMs: number, otherMs: number): string {
  return `${exactDuration(oneMs)}, not ${exactDuration(otherMs)}`;
}

/** What deserves a warning in where metrics are written. */
export function warnOfMetricsFile({ path }: MetricsFile): readonly Problem[] {
  if (path.endsWith(".prom")) return [];
  const message = 'does not end in ".prom", and the node exporter reads no other files';
  return [{ path: ["metrics", "path"], message }];
}

const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;

/** What deserves a warning about the document's file. */
export function warnOfFile({ mode, label }: Source): readonly Problem[] {
  if (mode === null || (mode & OTHERS_WRITE) === 0) return [];
  return [{
    path: [],
    message: `every user of this machine can write this document (mode ${describeMode(mode)})`,
    hint: `chmod o-w ${label}`,
  }];
}

/** What deserves a warning in how a value is kept or handed on, for who else may see it. */
export function warnOfExposure(item: FormattedValue, { mode, label }: Source): Problem | null {
  const { path, format, written } = item;
  if (format === "argument" && holdsSecret(written)) {
    return {
      path,
      message: `${
        quote(written)
      } puts a secret into the program's arguments, which every user can see with ps`,
      hint: 'hand it over in "environment"',
    };
  }
  if (holdsCredential(item) && ((mode ?? 0) & OTHERS_READ) !== 0) {
    return {
      path,
      message: `a password stands in a document that every user of this machine can read (mode ${
        describeMode(mode ?? 0)
      })`,
      hint: `write \${env:NAME} or \${file:/path}, or chmod o-r ${label}`,
    };
  }
  return null;
}

function describeMode(mode: number): string {
  return (mode & 0o777).toString(8);
}
