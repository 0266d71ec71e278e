import { type Check, combinedChecks } from "../../domain/check.ts";
import { highestSeverity } from "../../domain/condition.ts";
import { type RequiredPermission, requiredPermissionsOf } from "../../permissions/required_permissions.ts";
import { createLimiters, runPass } from "../../scheduler/run_checks.ts";
import { abortOnStop } from "../check/start_signals.ts";
import { describeMissing, dropOtherPermissions } from "../config_permissions.ts";
import { type RunRecord, traceOf } from "../formats/format.ts";
import { prettyFormat } from "../formats/pretty.ts";
import { type CommandContext, type OpenConfig, readKinds } from "../open_config.ts";
import { startProgress, wantsColor, warn } from "../terminal.ts";

interface TryOptions extends CommandContext {
  readonly config: OpenConfig;
  readonly traces: boolean;
  /** Classes that are used afterwards; the others are dropped. @default nothing */
  readonly required?: readonly RequiredPermission[];
}

export interface Tried {
  readonly records: readonly RunRecord[];
  /** The exit code of a signal that ended it; `null`: it came to its end. */
  readonly stopCode: number | null;
}

/** Returns whether one run alone has a meaning: not for jobs, which check in, and not for groups. */
export async function isTryable(check: Check): Promise<boolean> {
  return (await readKinds([check.kind])).get(check.kind)?.hasCheckIns !== true &&
    combinedChecks(check).length === 0;
}

/** Runs checks once, without state and notifications. Drops the permissions that they don't need. */
export async function runNewChecks(checks: readonly Check[], options: TryOptions): Promise<Tried> {
  const { system, config, traces, required = [] } = options;
  const own = await requiredPermissionsOf({ checks, heartbeat: null, notifies: false }, system);
  for (const need of dropOtherPermissions([...own, ...required], { system, config })) {
    warn(describeMissing(need), system);
  }
  const progress = startProgress(checks, system);
  const stop = abortOnStop(system);
  const records: RunRecord[] = [];
  await runPass(checks, {
    system,
    jobs: null,
    memoryOf: () => null,
    directory: config.source.directory,
    timeZone: config.timeZone(),
    limiters: createLimiters(),
    signal: stop.signal,
    traceOf: () => traces ? "full" : null,
    redact: config.redact,
    onResult: (result) => {
      progress.finished(result.check);
      progress.clear();
      records.push({ result, occurrences: 1, confirmed: result.condition });
      if (traces) system.stdout.write(traceOf(result.check, result.trace));
    },
  }).finally(() => {
    progress.end();
    stop.end();
  });
  return { records, stopCode: stop.code };
}

/** Prints results as `check --once` does. */
export function renderRecords(
  records: readonly RunRecord[],
  { invocation, system, startedMonotonicMs }: CommandContext & { readonly startedMonotonicMs: number },
): string {
  return prettyFormat.summary({
    condition: highestSeverity(records.map(({ result }) => result.condition)),
    reason: null,
    startedAtMs: system.clock.wallMs(),
    durationMs: system.clock.monotonicMs() - startedMonotonicMs,
    records,
    unfinished: [],
    inactiveCount: 0,
    hostName: system.hostName(),
  }, {
    color: wantsColor(invocation, system.stdout, system),
    columns: system.stdout.columns(),
    fails: () => false,
    locate: () => null,
  });
}
