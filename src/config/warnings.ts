import { alternativesOf, type Check, combinedChecks } from "../domain/check.ts";
import { isCron, type Schedule, sightOf } from "../domain/schedule.ts";
import { errorBudgetMs, type Objective } from "../domain/limits.ts";
import { asDurationLimits, countedOf, OF_DURATIONS, runsRequired } from "../condition/duration_rule.ts";
import { describeDuration, exactDuration } from "../domain/duration.ts";
import { holdsCredential, isCredential, isCredentialName } from "./credentials.ts";
import type { Metrics } from "../domain/generated/config.ts";
import type { FileFacts, Files } from "../domain/system.ts";
import type { FormattedValue } from "./schema_view.ts";
import { holdsSecret } from "./placeholders.ts";
import { type ConfigPath, type Problem, quoteValue, type Source } from "./problem.ts";
import { absolutePath } from "./source.ts";
import { DAY_MS, HOUR_MS, SECOND_MS } from "../shared/time_units.ts";

/** `listed` are the same checks with the entries of their lists as written. */
export function findWarnings(
  checks: readonly Check[],
  listed: readonly Check[],
  locate: (name: string, key: string) => { readonly isOwn: boolean; readonly source: Source },
): readonly Problem[] {
  const warnings: Problem[] = [];
  if (!checks.some(({ active }) => active)) {
    const message = checks.length === 0 ? "there are no checks" : "every check is inactive";
    warnings.push({ path: ["checks"], at: "name", message });
  }
  // A value of "defaults" gets one warning, not one for each check that uses it.
  const saidOfDefaults = new Map<Source, Set<string>>();
  const warn = (name: string, setting: ConfigPath, message: string, hint?: string): void => {
    const key = String(setting[0]);
    const { isOwn, source } = locate(name, key);
    if (!isOwn) {
      const said = saidOfDefaults.getOrInsertComputed(source, () => new Set());
      if (said.has(key)) return;
      said.add(key);
    }
    const owner = isOwn ? ["checks", name] : ["defaults"];
    warnings.push({ path: [...owner, ...setting], source, message, hint });
  };
  const inactive = new Set(checks.filter(({ active }) => !active).map(({ name }) => name));
  // Their group notifies.
  const grouped = new Set(checks.flatMap(combinedChecks));
  for (const [index, check] of listed.entries()) {
    const { name, active, schedule, timeoutMs, dependsOn, action, threshold, objective, duration } = check;
    const { notifications } = checks[index] ?? check;
    if (notifications.length === 0 && !grouped.has(name)) {
      const message = check.notifications.length === 0
        ? "is empty, so no notification is sent"
        : `has no channel for ${quoteValue(name)}, so no notification of it is sent`;
      warn(name, ["notifications"], message);
    }
    for (const [index, dependency] of dependsOn.entries()) {
      for (const [place, parent] of alternativesOf(dependency).entries()) {
        if (!active || !inactive.has(parent)) continue;
        const path = typeof dependency === "string" ? [] : ["any", place];
        const message = `is ${quoteValue(parent)}, which is inactive and suppresses nothing`;
        warn(name, ["depends_on", index, ...path], message);
      }
    }
    for (const [index, combined] of combinedChecks(check).entries()) {
      if (!active || !inactive.has(combined)) continue;
      const message = `is ${quoteValue(combined)}, which is inactive and left out`;
      warn(name, ["parameters", "checks", index], message);
    }
    const isUnnoted = check.kind === "reported" || (check.agent ?? check.locations) !== undefined ||
      check.invert || combinedChecks(check).length > 0;
    if (check.unit !== undefined && isUnnoted) {
      const message = 'has no effect with "locations" or "invert", on a group, or on what an agent reports';
      warn(name, ["unit"], message);
    }
    if (action !== undefined && action.after > threshold) {
      const more = `is ${action.after}, more than the threshold ${threshold}`;
      warn(name, ["action", "after"], `${more}, so the problem is sent first`);
    }
    const undecided = objective === undefined ? null : findUndecided(objective, { name, schedule });
    if (undecided !== null) warn(name, ["objective"], undecided.message, undecided.hint);
    const limits = [
      ...duration === undefined ? [] : [{ path: ["duration"], rule: duration, of: OF_DURATIONS }],
      ...Object.entries(check.metrics ?? {}).map(([metric, one]) => ({
        ...{ path: ["metrics", metric], rule: asDurationLimits(one), of: countedOf(metric) },
      })),
    ];
    for (const { path, rule, of } of limits) {
      const required = runsRequired(rule, of);
      // An empty `duration` turns that of "defaults" off.
      if (required.length === 0 && path.length > 1) {
        warn(name, path, "has no limit, so it decides nothing", 'such as "p95_above"');
      }
      if (isCron(schedule)) continue;
      const everyMs = schedule.regularIntervalMs;
      const interval = `at an interval of ${exactDuration(everyMs)}`;
      for (const [key, runs] of required) {
        if (runs * everyMs > rule.overMs) {
          const over = exactDuration(rule.overMs);
          const hint = `"over": ${quoteValue(exactDuration(runs * everyMs))} or more`;
          warn(name, [...path, key], `decides nothing: too few ${of.several} in ${over} ${interval}`, hint);
        } else if (key.endsWith("_usual") && everyMs > HOUR_MS && 7 * DAY_MS % everyMs > 0) {
          const message = `is seldom known: few ${of.several} have the same hour of the week ${interval}`;
          warn(name, [...path, key], message, '"regular_interval": "1 hour" or less');
        }
      }
    }
    if (isCron(schedule)) continue;
    const { regularIntervalMs, attentiveIntervalMs } = schedule;
    if (attentiveIntervalMs > regularIntervalMs) {
      const both = compare(attentiveIntervalMs, regularIntervalMs);
      const message = `is longer than the regular interval (${both}), so a failing check runs less often`;
      warn(name, ["schedule", "attentive_interval"], message);
    }
    if (timeoutMs > regularIntervalMs && locate(name, "timeout").isOwn) {
      const both = compare(timeoutMs, regularIntervalMs);
      const message = `is longer than the regular interval (${both}), so a slow run skips the next runs`;
      warn(name, ["timeout"], message);
    }
  }
  return warnings;
}

/** Returns why a schedule can't decide an objective after one outage, and which one could; `null`: it can. */
function findUndecided(
  objective: Objective,
  { name, schedule }: { readonly name: string; readonly schedule: Schedule },
): { readonly message: string; readonly hint: string } | null {
  const budgetMs = errorBudgetMs(objective, objective.windowMs);
  const { uncertainMs } = sightOf(schedule);
  if (uncertainMs <= budgetMs) return null;
  const permits = `permits ${describeDuration(budgetMs)} in ${describeDuration(objective.windowMs)}`;
  const outage = `the length of an outage of ${quoteValue(name)}`;
  const message = `${permits}, but ${outage} is uncertain by ${describeDuration(uncertainMs)}`;
  // From the last run before an outage to its first, and from its last to the next one.
  const telling = describeDuration(budgetMs / 2);
  const faster = `run the check every ${telling} or more often`;
  return { message, hint: budgetMs < 2 * SECOND_MS ? "lower it: no interval can decide it" : faster };
}

function compare(oneMs: number, otherMs: number): string {
  return `${exactDuration(oneMs)}, not ${exactDuration(otherMs)}`;
}

export function warnOfMetricsFile({ path }: Metrics): readonly Problem[] {
  if (path.endsWith(".prom")) return [];
  const message = 'does not end in ".prom", and the node exporter reads no other files';
  return [{ path: ["metrics", "path"], message }];
}

const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;

export function warnOfFile({ mode, label }: Source): readonly Problem[] {
  if (mode === null || (mode & OTHERS_WRITE) === 0) return [];
  return [{
    path: [],
    message: `every user of this machine can write this config (permissions ${describeMode(mode)})`,
    hint: `chmod o-w ${label}`,
  }];
}

/** Warnings about values that other users may see where they are stored or passed on. */
export function warnOfExposure(item: FormattedValue, { mode, label }: Source): Problem | null {
  const { path, format, written } = item;
  if (format === "argument" && holdsSecret(written)) {
    const message = "puts a secret into the command's arguments, which ps shows to every user";
    return { path, message: `${quoteValue(written)} ${message}`, hint: 'pass it in "environment"' };
  }
  if (holdsCredential(item) && ((mode ?? 0) & OTHERS_READ) !== 0) {
    return {
      path,
      message: `every user of this machine can read this secret (permissions ${describeMode(mode ?? 0)})`,
      hint: `write \${env:NAME} or \${file:/path}, or chmod o-r ${label}`,
    };
  }
  return null;
}

/**
 * Warns of the variable of a shell or a compose file, `$NAME` or `${NAME}`, where a credential, a header, a host or a
 * URL is expected. `$NAME` counts in capitals and as a whole word only: passwords and queries contain dollar signs.
 */
export function warnOfVariable(item: FormattedValue): Problem | null {
  if (!EXPANDED_FORMATS.includes(item.format) && !isCredential(item) && !isNamedLikeOne(item)) return null;
  const found = SHELL_VARIABLE.exec(String(item.written));
  if (found === null || item.at === "name") return null;
  const [whole, braced, plain] = found;
  const shown = isCredential(item) ? whole : item.written;
  return {
    path: item.path,
    message: `${quoteValue(shown)} has a variable in it, which no shell expands here`,
    hint: `write \${env:${braced ?? plain}}`,
  };
}

/** Returns whether a field of a body, or an argument such as `--token=$TOKEN`, is named like a credential. */
function isNamedLikeOne({ format, path, written }: FormattedValue): boolean {
  if (format === "template_text") return isCredentialName(path.at(-1));
  return format === "argument" && isCredentialName(/^-[^=]+(?==)/.exec(String(written))?.[0]);
}

const EXPANDED_FORMATS = ["url", "header_value", "host", "database_host", "address", "username"];
const SHELL_VARIABLE =
  /(?<!\$)\$\{([A-Za-z_]\w*)\}|(?<![^\s/:@=&?#.,-])\$([A-Z_][A-Z0-9_]+)(?![^\s/:@=&?#.,-])/;

/** Warnings about paths that can't work: syntax of a shell, and commands that can't start. */
export async function warnOfPaths(
  values: readonly FormattedValue[],
  { directory, files, commands }: {
    readonly directory: string;
    /** `null`: the paths are not on this machine. */
    readonly files: Pick<Files, "stat"> | null;
    readonly commands: ReadonlyMap<string, string>;
  },
): Promise<readonly Problem[]> {
  // All at once: on a hung mount each takes two seconds.
  const facts = new Map<string, Promise<Found>>();
  const look = async (path: string): Promise<Found> =>
    files === null ? "unknown" : await facts.getOrInsertComputed(path, () => lookAt(path, files));
  const warnings = await Promise.all(values.map(async (item) => {
    const { path, value, written } = item;
    const isCommand = item.format === "command";
    const suspicion = suspect(item);
    const isNamedAlone = isCommand && !/[\\/]/.test(String(value));
    if (suspicion === null && (!isCommand || isNamedAlone)) return null;
    if (isNamedAlone && commands.has(String(value))) return null;
    const found = isNamedAlone ? "missing" : await look(absolutePath(String(value), directory));
    if (suspicion !== null && (found === "missing" || found === "unknown")) {
      return { path, message: `${quoteValue(written)} ${suspicion.message}`, hint: suspicion.hint };
    }
    return isCommand ? warnOfCommand(found, item) : null;
  }));
  return warnings.filter((warning) => warning !== null);
}

type Found = FileFacts | "missing" | "unknown";

async function lookAt(path: string, files: Pick<Files, "stat">): Promise<Found> {
  try {
    return await files.stat(path);
  } catch (error) {
    const { NotFound, NotADirectory } = Deno.errors;
    // Other errors may be temporary or about permissions, and the run reports them.
    return error instanceof NotFound || error instanceof NotADirectory ? "missing" : "unknown";
  }
}

/** The shell expansion that a path would need; `null`: none. */
function suspect({ format, value, written }: FormattedValue) {
  const path = String(value);
  const whole = "write the full path";
  if (path.trim() !== path) return { message: "begins or ends with a space", hint: "remove the space" };
  if (path.startsWith("~")) return { message: 'begins with "~", which no shell expands here', hint: whole };
  const variable = /\$\{?([A-Za-z_]\w*)\}?/.exec(path)?.[1];
  if (variable !== undefined) {
    // The value of a placeholder is not printed.
    const hint = value === written ? `write \${env:${variable}}` : whole;
    return { message: "has a variable in it, which no shell expands here", hint };
  }
  if (path.includes("*")) {
    return { message: 'has a "*" in it, which no shell expands here', hint: "name one file" };
  }
  if (format !== "command" || !/\s/.test(path)) return null;
  return { message: "has a space in it, and no shell splits it", hint: 'put arguments into "arguments"' };
}

function warnOfCommand(found: Found, { path, written }: FormattedValue): Problem | null {
  const command = `the command ${quoteValue(written)}`;
  if (found === "unknown") return null;
  if (found === "missing") return { path, message: `${command} does not exist` };
  if (found.kind !== "file") return { path, message: `${command} is not a file` };
  if (found.mode === null || (found.mode & ANYONE_RUNS) !== 0) return null;
  return { path, message: `${command} is not executable`, hint: `chmod +x ${written}` };
}

const ANYONE_RUNS = 0o111;

function describeMode(mode: number): string {
  return (mode & 0o777).toString(8);
}
