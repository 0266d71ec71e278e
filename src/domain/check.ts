import type { Channel } from "./channel.ts";
import type { Condition } from "./condition.ts";
import type { HttpRequestParameters } from "./http_check.ts";
import type { Locations } from "./location.ts";
import type { MaintenanceWindow } from "./maintenance_window.ts";
import type { Objective } from "./objective.ts";
import type { Range } from "./range.ts";
import type { Schedule } from "./schedule.ts";
import type { StartTlsProtocol } from "./connections.ts";
import type { RecordType } from "./dns.ts";
import type { Thresholds } from "./thresholds.ts";
import type { TimeLeft } from "./time_left.ts";

/**
 * Reminders of a problem: none, at every further result that is not `ok`, or at most one in this many milliseconds. Of
 * several intervals, each is for one reminder, and the last one for all that follow.
 */
export type Annoy = boolean | number | readonly number[];

/** The name of a check, or the names of several of which one is enough. */
export type Dependency = string | { readonly any: readonly string[] };

/** The settings every check has, with all defaults filled in. */
export interface CheckSettings {
  /** The key in the config; unique. */
  readonly name: string;
  /** Free text for people; absent if the config has none. */
  readonly title?: string;
  /** Whether it runs; an inactive check is only validated and listed. */
  readonly active: boolean;
  /** How many results raise the confirmed condition; 1 or more. */
  readonly threshold: number;
  /** How many results lower it; 1 or more. */
  readonly recoveryThreshold: number;
  /** Among how many results the `threshold` is counted; not below it. Absent: in a row. */
  readonly within?: number;
  /** Which changes of a check that flaps are notified: all, or only the first. Absent: all. */
  readonly flapping?: "all" | "once";
  readonly annoy: Annoy;
  /** The check's own or that of `defaults`, whole, else the built-in one. */
  readonly schedule: Schedule;
  /** Those of the config, then the check's own or those of `defaults`; while one is open, notifications are suppressed. */
  readonly maintenanceWindows: readonly MaintenanceWindow[];
  /** The channels of its notifications, in the config's order. */
  readonly notifications: readonly Channel[];
  /** Checks without which this one cannot be ok; each is in the config, and none leads back here. */
  readonly dependsOn: readonly Dependency[];
  /** Words that checks are chosen by, in the config's order; empty: none. */
  readonly tags: readonly string[];
  readonly timeoutMs: number;
  /** Its availability is compared with this in summaries; absent: none. */
  readonly objective?: Objective;
  /** Where in its interval it runs, 0 or more, below 1; absent: that follows from its name. */
  readonly splay?: number;
  /** The locations at which it runs; absent: it runs on any one member. */
  readonly locations?: Locations;
  /**
   * A part of the check that this machine lacks, such as a secret: it is `unknown`, and the parameters have no meaning.
   * Absent: nothing is missing.
   */
  readonly lack?: string;
}

export interface TestParameters {
  readonly condition: Condition;
  /** Any text; may be empty. */
  readonly output: string;
}

export interface ScriptParameters {
  /** Absolute path of the command. */
  readonly path: string;
  /** Passed one by one as they are; no shell reads them. */
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly conditionOnTimeout: Condition;
  /** By exit code in decimal; the others are those of plugins. */
  readonly exitCodeConditions?: Readonly<Record<string, Condition>>;
  readonly outputPart?: string;
  /** A regular expression in RE2 syntax that must match in the output. */
  readonly outputPattern?: string;
  readonly value?: {
    /** A regular expression in RE2 syntax; its first group is the number, or all of it. */
    readonly pattern: string;
    readonly warning?: Range;
    readonly critical?: Range;
  };
  /** Whether performance data outside of its own ranges counts; absent: not. */
  readonly performanceDataRanges?: boolean;
  /** The condition if the output lacks the text or the pattern; absent: `critical`. */
  readonly conditionOnMismatch?: Condition;
}

export interface FileTimestampParameters {
  /** Absolute path of the file, or of the directory in which `newestOf` is searched. */
  readonly path: string;
  /** A pattern of file names with `*` and `?`, without a slash; absent: the path itself is checked. */
  readonly newestOf?: string;
  /** A smaller file is `critical`. */
  readonly sizeMinBytes?: number;
  /** Fewer files that match are `critical`; never without `newestOf`. */
  readonly countMin?: number;
  /** A file older than this is `warning`. Whole seconds, 1000 or more. */
  readonly warningAgeMs: number;
  /** A file older than this is `critical`, regardless of the warning age. Whole seconds, 1000 or more. */
  readonly criticalAgeMs: number;
  readonly conditionOnMissing: Condition;
  /** The condition if the age is negative: the file is from the future. */
  readonly conditionOnImplausible: Condition;
}

/** Parameters of a `tcp_connect` check: `host` and `port`, or `socket`. */
export interface TcpConnectParameters {
  /** A name or an IP address, without a port. */
  readonly host?: string;
  /** 1 to 65535. */
  readonly port?: number;
  /** Absolute path of a Unix socket. */
  readonly socket?: string;
  /** A name or an IP address to connect to; absent: the host. */
  readonly connectTo?: string;
  readonly everyAddress: boolean;
  readonly tls: boolean;
  /** The name that the certificate must be for; absent: the host. */
  readonly serverName?: string;
  /** The SHA-256 hash of the certificate, which is then trusted; the digits may have colons between them. */
  readonly fingerprint?: string;
  /** Absolute path of certificates (PEM) that are trusted as well. */
  readonly caFile?: string;
  /** Sent as UTF-8 after the connection is established; absent: nothing. */
  readonly send?: string;
  /** Text that the first 64 KiB of the response must contain; absent: nothing is read. */
  readonly expect?: string;
  /** Whether a violation is `warning` instead of `critical`. */
  readonly asWarning: boolean;
}

export interface TlsCertificateParameters extends TimeLeft {
  /** A name or an IP address, without a port. */
  readonly host: string;
  /** 1 to 65535. */
  readonly port: number;
  /** A name or an IP address to connect to; absent: the host. */
  readonly connectTo?: string;
  readonly everyAddress: boolean;
  /** The name that the certificate must be for; absent: the host. */
  readonly serverName?: string;
  /** The SHA-256 hash of the certificate, which is then trusted; the digits may have colons between them. */
  readonly fingerprint?: string;
  /** How TLS is started; absent: TLS from the start. */
  readonly starttls?: StartTlsProtocol;
  /** Absolute path of certificates (PEM) that are trusted as well. */
  readonly caFile?: string;
}

export interface DiskSpaceParameters {
  /** Absolute path of anything on the file system. */
  readonly path: string;
  /** Of the free space, in bytes. */
  readonly free: Thresholds;
  readonly freeInodes: Thresholds;
}

/** Parameters of a `memory` check; thresholds in bytes. */
export interface MemoryParameters {
  /** The memory that processes can get without swapping. */
  readonly available: Thresholds;
  readonly swapUsed: Thresholds;
}

/** Parameters of a `load` check: thresholds of the load averages, for each processor. */
export interface LoadParameters {
  readonly load1: Thresholds;
  readonly load5: Thresholds;
  readonly load15: Thresholds;
}

export interface DnsLookupParameters {
  /** A domain name; for `PTR` also an IP address. */
  readonly name: string;
  readonly type: RecordType;
  /** IP addresses, which may have a port; absent: the resolver of this machine. */
  readonly server?: string | readonly string[];
  /** The records, no more and no fewer. */
  readonly values?: readonly string[];
  /** Records that must be among them. */
  readonly contains?: readonly string[];
  readonly count?: number;
  readonly atLeast?: number;
  /** Whether a violation is `warning` instead of `critical`. */
  readonly asWarning: boolean;
}

export interface PingParameters {
  /** A name or an IP address. */
  readonly host: string;
  /** The number of requests, sent one a second; 1 or more. */
  readonly count: number;
  /** Of the requests without a reply. */
  readonly loss: Thresholds;
  /** Of the average time. */
  readonly roundTrip: { readonly warningAboveMs?: number; readonly criticalAboveMs?: number };
  /** Absolute path; absent: that of the system. */
  readonly command?: string;
}

/** Parameters of a `process` check. It selects processes that fit all that is given; never `name` and `pattern`. */
export interface ProcessParameters {
  readonly name?: string;
  /** A regular expression in RE2 syntax that must match in the command line. */
  readonly pattern?: string;
  /** Absolute path of a file whose first line is a process id. */
  readonly pidFile?: string;
  readonly count: Thresholds;
  /** Of the youngest process below, of the oldest above. */
  readonly age: {
    readonly warningBelowMs?: number;
    readonly criticalBelowMs?: number;
    readonly warningAboveMs?: number;
    readonly criticalAboveMs?: number;
  };
  /** Of the resident memory of all of them. */
  readonly memory: { readonly warningAboveBytes?: number; readonly criticalAboveBytes?: number };
  /** Absolute path; absent: that of the system. */
  readonly command?: string;
}

export interface SystemdUnitParameters {
  /** A name, or a pattern of loaded units. */
  readonly unit: string;
  readonly state: "active" | "not_failed";
  /** Whether another state is `warning` instead of `critical`. */
  readonly asWarning: boolean;
  /** Of the highest number of restarts. */
  readonly restarts: Thresholds;
  /** Absolute path; absent: that of the system. */
  readonly command?: string;
}

export interface JobParameters {
  /** A run is to end within this time after the one before, or after the check was first seen. */
  readonly expectedEveryMs: number;
  /** How much later than that it may be. */
  readonly graceMs: number;
  /** The secret part of the URL for check-ins over HTTP; absent: there are none. */
  readonly pingKey?: string;
  /** The longest run; absent: any duration, as long as runs end as often as expected. */
  readonly durationMaxMs?: number;
  readonly conditionOnFailure: Condition;
  /** The condition if no run ended in time. */
  readonly conditionOnOverdue: Condition;
  readonly conditionOnLongRun: Condition;
}

export interface GroupParameters {
  /** Names of checks of the config; not empty, and none leads back to the group. */
  readonly checks: readonly string[];
  readonly require: "all" | "any";
  /** Instead of `require`; 1 or more, and not more than there are checks. */
  readonly atLeast?: number;
}

/** The resolved parameters of each kind. */
interface ParametersByKind {
  readonly test: TestParameters;
  readonly script: ScriptParameters;
  readonly file_timestamp: FileTimestampParameters;
  readonly http_request: HttpRequestParameters;
  readonly tcp_connect: TcpConnectParameters;
  readonly tls_certificate: TlsCertificateParameters;
  readonly disk_space: DiskSpaceParameters;
  readonly memory: MemoryParameters;
  readonly load: LoadParameters;
  readonly dns_lookup: DnsLookupParameters;
  readonly ping: PingParameters;
  readonly process: ProcessParameters;
  readonly systemd_unit: SystemdUnitParameters;
  readonly job: JobParameters;
  readonly group: GroupParameters;
}

export type CheckKind = keyof ParametersByKind;

/** A check of some kinds; `kind` is as in the config. */
export type CheckOf<K extends CheckKind> = {
  readonly [Kind in K]: CheckSettings & { readonly kind: Kind; readonly parameters: ParametersByKind[Kind] };
}[K];

/** One check of the config: resolved, validated, with every default filled in. */
export type Check = CheckOf<CheckKind>;

export type TestCheck = CheckOf<"test">;
export type ScriptCheck = CheckOf<"script">;
export type FileTimestampCheck = CheckOf<"file_timestamp">;
export type HttpRequestCheck = CheckOf<"http_request">;
export type TcpConnectCheck = CheckOf<"tcp_connect">;
export type TlsCertificateCheck = CheckOf<"tls_certificate">;
export type DiskSpaceCheck = CheckOf<"disk_space">;
export type MemoryCheck = CheckOf<"memory">;
export type LoadCheck = CheckOf<"load">;
export type DnsLookupCheck = CheckOf<"dns_lookup">;
export type PingCheck = CheckOf<"ping">;
export type ProcessCheck = CheckOf<"process">;
export type SystemdUnitCheck = CheckOf<"systemd_unit">;
export type JobCheck = CheckOf<"job">;
export type GroupCheck = CheckOf<"group">;

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
