import type { Attribute, Check, CheckKind, CheckOf, CheckResult } from "./check.ts";
import type { Condition, ShownCondition } from "./condition.ts";
import type { FileFacts, System } from "./system.ts";
import type * as written from "./generated/written_config.ts";
import type { JobLog } from "./store.ts";
import type { RequiredPermissions } from "./runtime_permissions.ts";

/**
 * Whether the last result still means something. `in_future`: the clock was set back behind the last run. `edited`: it
 * is of another kind, or of other parameters. `not_running`: the service that ran the check does not run.
 */
export type ResultState = "current" | "never_ran" | "overdue" | "in_future" | "edited" | "not_running";

/** Another check, as a check that combines others sees it. */
export interface KnownCondition {
  /** `unknown` unless it is current. */
  readonly condition: ShownCondition;
  readonly state: ResultState;
  /** Of its last run; `null`: there is none, or all that is missing is the first run of a job. */
  readonly last: Condition | null;
  /** Whether it is not current, and runs again at a cron time, which may be a day away. @default false */
  readonly isLater?: boolean;
  /** When its last problem ended; absent: there was none, or it goes on. */
  readonly recoveredAtMs?: number;
}

/** What agents have reported to this service. */
export interface ReportLog {
  /** Returns a result if one is missing of a check that an agent reports, or about the agent itself; else one that awaits it. */
  look(check: Check): CheckResult;
}

export interface ObserveContext {
  /** Not for copies by spread: some parts are made when they are first used. */
  readonly system: Pick<
    System,
    | "clock"
    | "files"
    | "processes"
    | "requests"
    | "connections"
    | "dns"
    | "host"
    | "hostName"
    | "platform"
    | "environment"
    | "randomId"
  >;
  /** The runs that jobs recorded; `null` without a state. */
  readonly jobs: JobLog | null;
  /** What earlier runs of the check left; `null`: nothing. Absent: no state is stored. */
  readonly memory?: string | null;
  /** Whether notifications are sent, so that a rehearsal may be. @default false */
  readonly notifies?: boolean;
  /** Whether a person asked for this run. @default false */
  readonly isAsked?: boolean;
  /** Returns why the last attempt to send a queued rehearsal failed, empty: none did; `null`: it is not queued. */
  undelivered?(token: string): string | null;
  /** Returns the condition of another check; `null` if it is inactive. Absent: no other check is available. */
  conditionOf?(check: string): KnownCondition | null;
  /** What agents have reported. Absent: nothing receives reports. */
  readonly reports?: ReportLog | null;
  /** Called with secrets that the run found, such as a token of a login. */
  hide?(secrets: Iterable<string>): void;
  /** The config's directory, absolute. */
  readonly directory: string;
  /** Returns the time zone of times in texts. @default UTC */
  readonly timeZone?: (() => string) | undefined;
  /** Aborts when the run is to end early; the observer then throws the signal's reason. */
  readonly signal: AbortSignal;
}

/** The last rehearsal of a channel. Times are wall time, milliseconds since 1970. */
export interface SentRehearsal {
  /** The secret part of the link that confirms it. */
  readonly token: string;
  readonly sentAtMs: number;
  /** When the first one since the last proof was sent; `null`: it is confirmed. */
  readonly unprovenSinceMs: number | null;
  /** When a rehearsal was last confirmed; `null`: none was. */
  readonly provenAtMs: number | null;
}

export interface ParameterProblem {
  /** Keys and indexes from the check's `parameters` on, as in the config: `["response", "headers", "ETag"]`. */
  readonly path: readonly (string | number)[];
  /** The problem and its reason, without a final period. */
  readonly message: string;
}

export type LimitClass = "process" | "network" | "none";

/** A word of the command line that names a target. */
export interface TargetWord {
  /** As it was typed. */
  readonly text: string;
  /** The same as an absolute path. */
  readonly path: string;
  /** The file at that path; `null`: none, or it can't be read. */
  readonly pathKind: FileFacts["kind"] | null;
}

/** How a kind reads its main parameter from a word, for `monitor add` and `discover`. */
export interface CheckTarget<K extends CheckKind> {
  /** The form of the word, such as `HOST:PORT`; `null`: the kind has no main parameter. */
  readonly form: string | null;
  /** Returns whether a word without a kind belongs to this one. @default never */
  claims?(word: TargetWord): boolean;
  /** The parameters for a word, as in the config; `null`: it has another form. */
  parametersOf(word: TargetWord): written.CheckParameters[K] | null;
  /** A name for a check, of any characters. @default the word */
  nameOf?(word: TargetWord): string;
  /** The threshold that a new check is given. @default none, that of the config applies */
  readonly threshold?: number;
  /** The subjects of a check. The first is its own; another check with that text, of any kind, covers it. */
  subjectsOf(check: CheckOf<K>): readonly string[];
  /** The target for people, in messages and on pages; a URL has no credentials there. @default none */
  textOf?(check: CheckOf<K>): string | undefined;
  /** Whether it is a service that is up or down. @default false */
  readonly goesDown?: boolean;
}

export interface CheckKindEntry<K extends CheckKind> {
  /** Runs once. The target's behavior is a value; it throws only if aborted, and for bugs. */
  observe(check: CheckOf<K>, context: ObserveContext): Promise<CheckResult>;
  /** @default none */
  readonly limit?: LimitClass;
  /** Whether it is about a job that records its runs with `monitor beat`. @default false */
  readonly hasCheckIns?: boolean;
  /** The host that a command reaches for it, in addition to those of its permissions. @default none */
  reachedBy?(check: CheckOf<K>): string;
  /** What its checks may share that no connection shows, as in {@linkcode RunAttributes}. @default nothing */
  sharedBy?(check: CheckOf<K>): Attribute;
  /** Returns whether a target responded, so that its failure is not one of the own network. @default it did not */
  hasResponded?(result: CheckResult): boolean;
  /** Why its checks can't run at locations. @default they can */
  readonly withoutLocations?: string;
  /** The secret by which such a job checks in over HTTP. @default none */
  pingKey?(check: CheckOf<K>): string | undefined;
  /** Returns the last rehearsal of a channel by what a run left; `null`: none was sent. Absent: the kind sends none. */
  rehearsalOf?(memory: string | null, channelKey: string): SentRehearsal | null;
  /** How its checks are made on the command line. */
  readonly target: CheckTarget<K>;
  /** @default none */
  warnings?(check: CheckOf<K>): Iterable<ParameterProblem>;
  /** Returns errors of parameters that are valid one by one; such a config is rejected. @default none */
  errors?(check: CheckOf<K>): Iterable<ParameterProblem>;
  requiredPermissions(check: CheckOf<K>, system: System): RequiredPermissions | Promise<RequiredPermissions>;
}
