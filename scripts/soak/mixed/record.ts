/** What a soak has seen, for those who judge it and those who print it. Times are milliseconds since 1970. */
import type { CheckFacts } from "./config.ts";

/** From then, until then. */
export interface Span {
  /** Its beginning; part of it. */
  readonly fromMs: number;
  /** Its end; no part of it. */
  readonly untilMs: number;
}

/** What the program held at a time, seen from outside. */
export interface Sample {
  /** When it was taken. */
  readonly atMs: number;
  /** Its memory that is in the machine. */
  readonly residentBytes: number;
  /** Of these, what it asked for itself, without the pages of its own file. */
  readonly anonymousBytes: number;
  /** Its threads. */
  readonly threads: number;
  /** Its open files, sockets, pipes and the like. */
  readonly descriptors: number;
  /** Its own children, those too that have ended and were not waited for. */
  readonly children: number;
  /** Processes of its checks that are no descendants of it any more. */
  readonly orphans: number;
  /** User and system time so far. */
  readonly cpuMs: number;
  /** The same of the children that it waited for. */
  readonly childrenCpuMs: number;
  /** The state with its journal. */
  readonly stateBytes: number;
  /** Notifications on their way, by its own metrics. */
  readonly pendingNotifications: number;
}

/** What the program held when nothing was to run and all had ended that could end. */
export interface QuietPoint {
  /** When it was looked at. */
  readonly atMs: number;
  /** How many of each kind: `socket`, `pipe`, a path. */
  readonly descriptors: Readonly<Record<string, number>>;
  /** As in a sample. */
  readonly children: number;
  /** As in a sample. */
  readonly orphans: number;
  /** As in a sample. */
  readonly residentBytes: number;
}

/** A run that was told. */
export interface Run {
  /** The check. */
  readonly name: string;
  /** What it observed. */
  readonly condition: string;
  /** When it began. */
  readonly startedMs: number;
  /** How long after its planned time that was. */
  readonly lateMs: number;
}

/** A time in which the program could not work as it should, and why. */
export interface Pause extends Span {
  /** `stopped`: by SIGSTOP; `quiet`: its config had nothing to run. */
  readonly reason: "stopped" | "quiet";
}

/** A check, and when it was in the config in force. */
export interface Presence {
  /** The check. */
  readonly facts: CheckFacts;
  /** When it was there. */
  readonly spans: readonly Span[];
}

/** A config that was to be refused, and whether it was. */
export interface Refusal {
  /** What is to be said of it. */
  readonly word: RegExp;
  /** What the log said of it. */
  readonly said: string;
  /** `null`: nothing was said in time. */
  readonly isAdopted: boolean | null;
}

/** A command that was called beside the program. */
export interface Call {
  /** The command and what stands behind it. */
  readonly args: readonly string[];
  /** Its exit code. */
  readonly code: number;
  /** When it was called. */
  readonly atMs: number;
  /** What it said where it did not go well; else empty. */
  readonly trouble: string;
}

/** A report as the webhook got it. */
export interface ArrivedNotification {
  /** The same in every channel. */
  readonly id: string;
  /** The name of its check. */
  readonly check: string;
  /** Such as `problem`. */
  readonly event: string;
  /** What is told. */
  readonly condition: string;
  /** What was told before. */
  readonly previous: string;
  /** In ISO 8601. */
  readonly decided_at: string;
  /** The problem that was over before it could be told. */
  readonly missed_problem: ArrivedNotification | null;
}

/** What was posted at once. */
export interface ArrivedPost {
  /** The same where it came twice. */
  readonly key: string;
  /** What it told. */
  readonly notifications: readonly ArrivedNotification[];
}

/** A change of a confirmed condition that the state has kept. */
export interface KeptChange {
  /** When it was decided. */
  readonly atMs: number;
  /** The condition before. */
  readonly from: string;
  /** The condition from then on. */
  readonly to: string;
}

/** What arrived, and what should have. */
export interface Deliveries {
  /** What the webhook took, twins too. */
  readonly posts: readonly ArrivedPost[];
  /** Of each mail, twins left out: its lines. */
  readonly mails: readonly (readonly string[])[];
  /** Mails with one id and other words than the first one's. */
  readonly differingMails: number;
  /** Mails that came once more. */
  readonly mailTwins: number;
  /** What the state has kept, by check. */
  readonly changes: ReadonlyMap<string, readonly KeptChange[]>;
  /** Notifications that still waited when all was over. */
  readonly leftInOutbox: number;
}

/** All of it. */
export interface SoakRecord extends Span {
  /** Beginning, middle and end, equally long. */
  readonly thirds: readonly [Span, Span, Span];
  /** What it held, in order of time. */
  readonly samples: readonly Sample[];
  /** One at the end of each third. */
  readonly quietPoints: readonly QuietPoint[];
  /** Every run that was told. */
  readonly runs: readonly Run[];
  /** When it could not work. */
  readonly pauses: readonly Pause[];
  /** Every check that was ever there. */
  readonly presences: readonly Presence[];
  /** The invalid configs. */
  readonly refusals: readonly Refusal[];
  /** How many valid configs were adopted. */
  readonly adopted: number;
  /** What was called beside it. */
  readonly calls: readonly Call[];
  /** What arrived. */
  readonly deliveries: Deliveries;
  /** Lines of its log that tell of a crash or a bug. */
  readonly crashLines: readonly string[];
  /** What the kept files were like: the page, the metrics, the sign of life. */
  readonly files: readonly { readonly name: string; readonly trouble: string | null }[];
  /** How many runs the state counts. */
  readonly keptRuns: number;
  /** How it ended, asked by SIGTERM; not a number where it did not. */
  readonly exitCode: number;
  /** Processes of its checks that lived when it had ended. */
  readonly survivors: number;
}
