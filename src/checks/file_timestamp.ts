import { type CheckOf, type CheckResult, checkResult } from "../domain/check.ts";
import type { FileTimestampParameters } from "../domain/generated/config.ts";
import { exactDuration } from "../domain/duration.ts";
import type { CheckKindEntry, ObserveContext, ParameterProblem } from "../domain/check_kind.ts";
import { matchesGlob } from "../shared/matches_glob.ts";
import { timeText } from "../shared/local_time.ts";
import { quote } from "../shared/text.ts";
import { observeFileSystem, sizeErrors, sizeViolations, unreadable } from "./file_findings.ts";
import type { FileFacts } from "../domain/system.ts";
import { nameForPath } from "./targets.ts";

export const fileTimestampKind: CheckKindEntry<"file_timestamp"> = {
  observe: observeFileTimestamp,
  target: {
    form: "PATH",
    claims: ({ pathKind }) => pathKind === "file",
    parametersOf: ({ path }) => ({ path }),
    nameOf: ({ path }) => nameForPath(path),
    subjectsOf: ({ parameters: { path, newestOf } }) => [
      newestOf === undefined ? `file ${path}` : `file ${path}/${newestOf}`,
    ],
    textOf: ({ parameters: { path, newestOf } }) => newestOf === undefined ? path : `${path}/${newestOf}`,
  },
  warnings: findWarnings,
  errors: findErrors,
  requiredPermissions: ({ parameters }) => ({ read: [parameters.path] }),
};

/**
 * Checks how long ago a file, or the target of a symlink, was changed; with `newestOf`, the newest of some files.
 *
 * The age is in whole seconds, truncated toward zero, so that a clock a fraction of a second off puts no file into
 * the future. If the machine denies access (no permission, no response in time), the condition is `unknown`: a file
 * is missing only if it certainly does not exist.
 */
export async function observeFileTimestamp(
  check: CheckOf<"file_timestamp">,
  context: ObserveContext,
): Promise<CheckResult> {
  const { parameters, timeoutMs } = check;
  const { clock, files } = context.system;
  return await observeFileSystem(check, context, async (signal) => {
    const found = await findFile(parameters, { files, timeoutMs, signal });
    // Read after the response: on a slow file system, the file may have changed after the request.
    return evaluateFound(found, { parameters, timeZone: context.timeZone?.(), nowMs: clock.wallMs() });
  });
}

interface Found {
  /** `null`: no file matches. */
  readonly facts: FileFacts | null;
  /** The name of the newest file; `null`: the path itself was checked. */
  readonly name: string | null;
  /** How many files match; means nothing without a pattern. */
  readonly count: number;
}

interface FindOptions extends Pick<ObserveContext, "signal">, Pick<ObserveContext["system"], "files"> {
  readonly timeoutMs: number;
}

async function findFile(
  { path, newestOf }: FileTimestampParameters,
  { files, timeoutMs, signal }: FindOptions,
): Promise<Found> {
  if (newestOf === undefined) {
    return { facts: await files.stat(path, { timeoutMs }), name: null, count: 1 };
  }
  const names = (await files.list(path)).filter((name) => matchesGlob(name, newestOf));
  if (names.length > FILES_MAX) {
    throw new RangeError(`more than ${FILES_MAX} names match ${quote(newestOf)}`);
  }
  let newest: Found = { facts: null, name: null, count: 0 };
  for (const name of names) {
    signal.throwIfAborted();
    const facts = await statIfThere(`${path}/${name}`, { files, timeoutMs });
    if (facts?.kind !== "file") continue;
    const isNewer = (facts.modifiedAtMs ?? -Infinity) > (newest.facts?.modifiedAtMs ?? -Infinity);
    const count = newest.count + 1;
    newest = newest.facts === null || isNewer ? { facts, name, count } : { ...newest, count };
  }
  return newest;
}

/** Each costs some microseconds. */
const FILES_MAX = 10_000;

/** A file that is removed meanwhile is none. */
async function statIfThere(path: string, { files, timeoutMs }: Omit<FindOptions, "signal">) {
  try {
    return await files.stat(path, { timeoutMs });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

interface EvaluateOptions {
  readonly parameters: FileTimestampParameters;
  /** Of times in the output. */
  readonly timeZone: string | undefined;
  readonly nowMs: number;
}

function evaluateFound({ facts, name, count }: Found, options: EvaluateOptions): CheckResult {
  const { path, newestOf, sizeMinBytes, sizeMaxBytes, countMin, countMax, conditionOnMissing } =
    options.parameters;
  const violations: string[] = [];
  const matching = count === 1 ? "1 file matches" : `${count} files match`;
  if (count < (countMin ?? 0)) violations.push(`${matching}, expected at least ${countMin}`);
  if (count > (countMax ?? Infinity)) violations.push(`${matching}, expected at most ${countMax}`);
  if (facts !== null) violations.push(...sizeViolations(facts.sizeBytes, options.parameters));
  const age = facts === null
    ? checkResult(conditionOnMissing, `no file matches ${quote(newestOf ?? "")} in "${path}"`)
    : evaluateFacts(facts, options);
  return {
    ...age,
    condition: violations.length > 0 ? "critical" : age.condition,
    output: [...violations, name === null ? age.output : `${quote(name)} ${age.output}`].join("; "),
    metrics: {
      ...age.metrics,
      ...(sizeMinBytes ?? sizeMaxBytes) !== undefined && facts !== null && { size_bytes: facts.sizeBytes },
      ...newestOf !== undefined && { count },
    },
  };
}

function evaluateFacts(
  { modifiedAtMs }: FileFacts,
  { parameters, timeZone, nowMs }: EvaluateOptions,
): CheckResult {
  if (modifiedAtMs === null) return unreadable(parameters.path, "its file system keeps no modification time");
  // The sum makes 0 of -0.
  const ageSeconds = Math.trunc((nowMs - modifiedAtMs) / 1000) + 0;
  const metrics = { age_seconds: ageSeconds };
  const ageMs = ageSeconds * 1000;
  if (ageMs < 0) {
    const output = `changed at ${timeText(modifiedAtMs, timeZone)}, in the future`;
    return checkResult(parameters.conditionOnImplausible, output, metrics);
  }
  const { warningAgeMs, criticalAgeMs } = parameters;
  const condition = ageMs > criticalAgeMs ? "critical" : ageMs > warningAgeMs ? "warning" : "ok";
  const limits = {
    ok: warningAgeMs < criticalAgeMs ? { warning: warningAgeMs } : { critical: criticalAgeMs },
    warning: { warning: warningAgeMs, critical: criticalAgeMs },
    critical: { critical: criticalAgeMs },
  }[condition];
  // A time, since an age would be wrong by the time that the output is read.
  const after = Object.entries(limits).map(([name, limit]) => `, ${name} after ${exactDuration(limit)}`);
  return checkResult(condition, `changed at ${timeText(modifiedAtMs, timeZone)}${after.join("")}`, metrics);
}

function findWarnings({ parameters: { warningAgeMs, criticalAgeMs } }: CheckOf<"file_timestamp">) {
  const [critical, warning] = [exactDuration(criticalAgeMs), exactDuration(warningAgeMs)];
  const message = `critical_age is ${critical} and warning_age is ${warning}: the warning is never reached`;
  return criticalAgeMs < warningAgeMs ? [{ path: ["critical_age"], message }] : [];
}

function* findErrors({ parameters }: CheckOf<"file_timestamp">): Generator<ParameterProblem> {
  const { newestOf, countMin, countMax } = parameters;
  for (const [key, count] of Object.entries({ count_min: countMin, count_max: countMax })) {
    if (newestOf !== undefined || count === undefined) continue;
    yield { path: [key], message: `${key} is given without newest_of, expected both` };
  }
  if (newestOf !== undefined && (countMin ?? 0) > (countMax ?? Infinity)) {
    const message = `count_max is ${countMax} and count_min is ${countMin}: no directory has so many files`;
    yield { path: ["count_max"], message };
  }
  yield* sizeErrors(parameters);
}
