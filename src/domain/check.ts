import type * as config from "./generated/config.ts";
import type { Channel } from "./channel.ts";
import type { CronTimes, MaintenanceWindow, Schedule } from "./schedule.ts";
import type { Condition } from "./condition.ts";

/**
 * Reminders of a problem: none, at every further result that is not `ok`, or at most one in this many milliseconds. Of
 * several intervals, each is for one reminder, and the last one for all that follow.
 */
export type Reminders = config.Check["reminders"];

/** The name of a check, or the names of several of which one is enough. */
export type Dependency = config.Check["dependsOn"][number];

/** Keys that have another value once they are resolved with others, or with the machine. */
type CombinedKey =
  | "recoveryThreshold"
  | "schedule"
  | "maintenanceWindows"
  | "notifications"
  | "locations"
  | "action"
  | "forEach";

/** The action of a check; `after` is the number of `critical` results in a row. */
export type Action = config.Action & { readonly after: number };

/** The settings every check has, with all defaults filled in. */
export interface CheckSettings extends Omit<config.Check, CombinedKey> {
  /** The key in the config; unique. */
  readonly name: string;
  /** How many results lower it; 1 or more. */
  readonly recoveryThreshold: number;
  /** The check's own or that of `defaults`, whole, else the built-in one. */
  readonly schedule: Schedule;
  /** Those of the config, then the check's own or those of `defaults`; while one is open, notifications are suppressed. */
  readonly maintenanceWindows: readonly MaintenanceWindow[];
  /** The channels of its notifications, in the config's order. */
  readonly notifications: readonly Channel[];
  /** Where in its interval it runs, 0 or more, below 1; absent: that follows from its name. */
  readonly splay?: number;
  /** The locations at which it runs; absent: it runs on any one member. */
  readonly locations?: Locations;
  /** The agent that reports it, or that it is about; absent: it runs here. */
  readonly agent?: string;
  /** What may end its problems; absent: nothing. */
  readonly action?: Action;
  /** The times of `cron` in its parameters; absent: it has none. */
  readonly jobTimes?: CronTimes;
  /** The channel in its parameters, without filters; absent: it has none. */
  readonly rehearsed?: Channel;
  /** A hash of its kind, parameters and `invert` as they are written, before placeholders are resolved. @default unknown */
  readonly definition?: string;
  /** Its target for people, without credentials; absent: it has none. */
  readonly target?: string;
  /** Whether it is about a service that is down if it is critical. @default false */
  readonly goesDown?: boolean;
  /** What this machine lacks, such as a secret: the check is `unknown`, and the parameters have no meaning. */
  readonly lack?: string;
}

export type CheckKind = keyof config.CheckParameters;

export type CheckByKind<K extends CheckKind = CheckKind> = {
  readonly [Kind in K]: { readonly kind: Kind; readonly parameters: config.CheckParameters[Kind] };
}[K];

export type CheckOf<K extends CheckKind> = CheckSettings & CheckByKind<K>;

/** One check of the config: resolved, validated, with every default filled in. */
export type Check = CheckOf<CheckKind>;

export function dependencyNames({ dependsOn }: Pick<CheckSettings, "dependsOn">): readonly string[] {
  return dependsOn.flatMap(alternativesOf);
}

/** The names of which one is enough. */
export function alternativesOf(dependency: Dependency): readonly string[] {
  return typeof dependency === "string" ? [dependency] : dependency.any;
}

/** The names of the checks whose conditions a check combines; empty for all that look at targets. */
export function combinedChecks({ parameters }: Pick<Check, "parameters">): readonly string[] {
  return "checks" in parameters ? parameters.checks : [];
}

// Checks that run at several locations, and the contribution of each location to a result.

export interface Locations {
  /** Their names, in the order of the config; not empty. */
  readonly from: readonly string[];
  /** How many locations must reach a severity; 1 or more, and not more than there are locations. */
  readonly agree: number;
}

export interface LocationVote {
  readonly location: string;
  /** `null`: it does not count. */
  readonly condition: Condition | null;
  /** One line without secrets: the output there, or why it does not count. */
  readonly output: string;
  /** How long the run took; `null` without one. */
  readonly durationMs: number | null;
  /** Which run of the location is its last one, counted or not; absent at the location, and before the first. */
  readonly run?: number;
}

/**
 * What a check waits for before it has a condition: results that come soon, or the first run of a job. A result that
 * awaits a report of an agent is not recorded.
 */
export type Awaited = "checks" | "job" | "report";

/** The identity of a result that was reported: the stream of the agent's state, and its sequence. */
export interface ReportId {
  readonly stream: string;
  readonly sequence: number;
}

/** A message that proves that a channel delivers, once somebody confirms it. */
export interface Rehearsal {
  readonly channel: Channel;
  /** The secret part of the link that confirms it. */
  readonly token: string;
}

export interface CheckResult {
  /** The condition of this run alone; thresholds are applied later. */
  readonly condition: Condition;
  /** One line for people; may be empty. */
  readonly output: string;
  /** Further lines; often empty. */
  readonly detail: string;
  /** Plain numbers, such as `{ status: 500 }`; the unit is in the name unless it has none. */
  readonly metrics: Readonly<Record<string, number>>;
  /** A plugin's own text after `|` (Monitoring Plugins guidelines, "Performance data"); often empty. */
  readonly performanceData: string;
  /** The result does not count. One that awaits a job ends a problem older than another check's recovery. @default nothing */
  readonly awaits?: Awaited;
  /** When the problem that it found began, if that was before the run; wall time. @default its end */
  readonly beganAtMs?: number;
  /** When the last problem ended of a check that a group combines, if the group awaits others; 0: there was none. */
  readonly recoveredAtMs?: number;
  /** The contribution of each location; absent: it did not run at locations. */
  readonly locations?: readonly LocationVote[];
  /** What the next run on any machine goes on from, such as a position in a file. @default what this run went on from */
  readonly memory?: string;
  /** A rehearsal to queue, in the transaction that persists this. @default none */
  readonly rehearsal?: Rehearsal;
  /** The report of an agent that it came with. @default that of the result before */
  readonly report?: ReportId;
  /** An agent reported it, so late that it counts for the history alone. @default false */
  readonly isLate?: boolean;
  /** The systemd units of what it found. @default unknown */
  readonly units?: readonly string[];
  /** Too few locations have reported lately, so that an earlier `ok` is no longer known. @default false */
  readonly isSilent?: boolean;
}

export function checkResult(
  condition: Condition,
  output: string,
  metrics: CheckResult["metrics"] = {},
): CheckResult {
  return { condition, output, detail: "", metrics, performanceData: "" };
}

export function unknownResult(output: string): CheckResult {
  return checkResult("unknown", output);
}

/** Returns the result of a check that is to fail (`invert`): a failure is ok, and what is unknown stays unknown. */
export function invertResult(result: CheckResult): CheckResult {
  const { condition, output } = result;
  if (condition === "unknown") return result;
  // A name without an address, perhaps mistyped, says nothing about the target.
  if (condition !== "ok" && UNRESOLVED.test(output)) return { ...result, condition: "unknown" };
  return condition === "ok"
    ? { ...result, condition: "critical", output: output === "" ? EXPECTED : `${output}, ${EXPECTED}` }
    : { ...result, condition: "ok", output: `failed as expected: ${output}` };
}

const EXPECTED = "expected a failure";

/** The kinds of attributes; `src/engine/causes.ts` has their order and their words. */
export type AttributeKind =
  | "certificate"
  | "file system"
  | "container host"
  | "unit"
  | "host"
  | "address"
  | "port"
  | "network"
  | "location"
  | "resolver";

export interface Attribute {
  readonly kind: AttributeKind;
  readonly value: string;
  /** The host that has it; `null`: this machine. */
  readonly host: string | null;
}

/** What a run depended on, in short words without secrets, such as `address 192.0.2.7`; see `src/engine/causes.ts`. */
export interface RunAttributes {
  /** What may have caused the failure; nothing of an `ok` result. */
  readonly suspected: readonly string[];
  /** What worked, also in a run that failed later. */
  readonly worked: readonly string[];
}

/** As `failure_words.ts` describes it, and the `ping` of Linux, BusyBox and macOS. */
const UNRESOLVED =
  /\bresolving \S+ failed: |: (?:Name or service not known|Temporary failure in name resolution|bad address|(?:cannot resolve .*: )?Unknown host)/;

export interface Result extends CheckResult {
  /** The check as it was when the run began; a reload may have replaced it since. */
  readonly check: Check;
  readonly startedAtMs: number;
  /** The trace of the run, line by line, without secrets; absent: it was not traced. */
  readonly trace?: string;
  /** By the monotonic clock, without the wait for a free place before the run; may have a fraction. */
  readonly durationMs: number;
  /** Absent: none were observed. */
  readonly attributes?: RunAttributes;
}

/**
 * The extent of a trace: `brief` only the steps of the run itself; `full` also looks up the IP addresses and the
 * certificate of `https:` targets, over a second connection.
 */
export type TraceDepth = "brief" | "full";

// The implicit check of an agent: whether it reports.

export function agentCheckName(agent: string): string {
  return `agent ${agent}`;
}

export function isAgentCheck({ name, agent }: Pick<Check, "name" | "agent">): boolean {
  return agent !== undefined && name === agentCheckName(agent);
}

const LATE = "reported late";

export function lateOutput(output: string): string {
  return output === "" ? LATE : `${LATE}: ${output}`;
}

/** Returns whether an agent runs a check, and reports its results. */
export function isReported(check: Pick<Check, "name" | "agent">): boolean {
  return check.agent !== undefined && !isAgentCheck(check);
}
