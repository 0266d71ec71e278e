import type { Availability, RunCounts } from "../../state/availability.ts";
import type { ShownCondition } from "../../domain/condition.ts";
import type { FailedReload, NotRunning } from "../../domain/monitor_run.ts";
import type { MemberStatus } from "../../domain/membership.ts";
import type { LoggedDelivery, PageAction, Silence } from "../../domain/outbox.ts";
import type { Page, PageGroup } from "../../domain/generated/config.ts";
import type { ConditionChange, RecentRun } from "../../domain/store.ts";
import type { ShownNotification } from "../outbox_status.ts";
import type { CheckStatus } from "../../engine/check_status.ts";
import type { FoundCause } from "../../engine/causes.ts";
import type { MeasuredValues } from "../../state/metric_sums.ts";
import type { System } from "../../domain/system.ts";
import type { Percentiles } from "../../shared/histograms.ts";
import type { Markup } from "../markup.ts";
import type { PageFilter } from "./page_filter.ts";

/** How many days the strips and lines of the page show, today included. */
export const DAYS_SHOWN = 90;
/** How many hours the strips show, the present one included. */
export const HOURS_SHOWN = 24;

/** An hour of a check, or a day in UTC. */
export interface PageSlot {
  /** The highest severity that was confirmed for some of it; `pending` if runs failed and none was; `null` without data. */
  readonly highest: ShownCondition | null;
  /** How many runs were not ok, confirmed or not. */
  readonly failedRuns: number;
}

/** A day of a check, in UTC. */
export interface PageDay extends PageSlot {
  /** The p95 of the durations of its runs; `null`: without a run, or not known. */
  readonly durationP95Ms: number | null;
}

/** The summary of a check in a span of time up to now. */
export interface PageSpan extends Availability, RunCounts {
  /** Such as `24 h`. */
  readonly label: string;
  readonly ms: number;
}

/** The past of a check on the page. */
export interface PageHistory {
  /** Whether the page has details of it; if not, only its days and the last span are known. */
  readonly isDetailed: boolean;
  /** Its last 24 hours, 7 days and {@linkcode DAYS_SHOWN} days. */
  readonly spans: readonly PageSpan[];
  /** {@linkcode HOURS_SHOWN} of them, the last one is the present one. */
  readonly hours: readonly PageSlot[];
  /** {@linkcode DAYS_SHOWN} of them, the last one is today. */
  readonly days: readonly PageDay[];
  /** The last 50 runs, the newest first. */
  readonly recent: readonly RecentRun[];
  /** The last ones, the newest first. */
  readonly changes: readonly ConditionChange[];
}

export interface PageCheck extends CheckStatus, PageHistory {}

export const NO_HISTORY: PageHistory = {
  isDetailed: false,
  spans: [],
  hours: [],
  days: [],
  recent: [],
  changes: [],
};

/** The explanation for a channel: its last notification, or the causes that suppress one. */
export interface PageWhy {
  readonly channel: string;
  readonly text: string;
}

/** What forms of the page need of the person who is signed in. */
export interface PageForms {
  /** The name of the person. */
  readonly by: string;
  /** Returns the token of forms about a check, or that to sign out. */
  formToken(subject: string): string;
  /** Returns the result of the last action on a check; empty: none. */
  messageFor(check: string): Markup | string;
}

export interface ReportSnapshot {
  /** When that was; wall time, milliseconds since 1970. */
  readonly nowMs: number;
  /** Empty: it is not shown. */
  readonly hostName: string;
  /** IANA name of the zone in which times are shown. */
  readonly timeZone: string;
  /** The config, as its owner calls it; empty: it is not shown. */
  readonly configLabel: string;
  /** The words of the config; `null`: none. */
  readonly text: Page | null;
  /** From one page to the next; `null` where it is not renewed by itself. */
  readonly intervalMs: number | null;
  /** Whether the monitor itself serves it, so that it renews itself in the browser. @default false */
  readonly isLive?: boolean;
  /** Whether it is the live page of one check, with all of its details. @default false */
  readonly isOfOneCheck?: boolean;
  /** The filter and sort order of checks. @default all, the most urgent first */
  readonly filter?: PageFilter;
  /** The version of the page, from which its script asks for the rows that changed. @default none */
  readonly version?: string;
  /** A line for each channel, on the page of one check. @default none */
  readonly why?: readonly PageWhy[];
  /** The channels of the check with their filters, on its page. @default none */
  readonly channels?: readonly PageWhy[];
  /** Whether the objective of the check is met, in words, on its page. @default none */
  readonly objective?: string | undefined;
  /** The additional data of the page of one check. */
  readonly own?: {
    /** The percentiles of the durations of its runs in each hour of 7 days, the present hour last; `null`: not known. */
    readonly hours: readonly (Percentiles | null)[];
    /** Its measured values in the same hours: of each the name, and what is known of each hour; `null`: none. */
    readonly measured: readonly (readonly [name: string, hours: readonly (MeasuredValues | null)[]])[];
    /** The percentiles of each day. */
    readonly days: readonly (Percentiles | null)[];
    /** The outcomes of its notifications, the oldest first. */
    readonly deliveries: readonly LoggedDelivery[];
    /** The oldest first. */
    readonly actions: readonly PageAction[];
  };
  /** The common causes of its checks. @default none, or they are not shown */
  readonly causes?: readonly FoundCause[];
  /** The member that serves the page. @default none, or it is not shown */
  readonly servedBy?: string;
  /** Whether its readers can see more with the token. @default false */
  readonly canSignIn?: boolean;
  /** The forms of a person who is signed in. @default none */
  readonly forms?: PageForms;
  /** Why no service runs the checks; `null`: one runs, there is none, or it is unknown. */
  readonly notRunning: NotRunning | null;
  /** Whether the service that makes the page can write its state. @default true */
  readonly isStateWritable?: boolean;
  /** The last reload of the config, if it failed; `null`: it did not, or that is not shown. */
  readonly failedReload: FailedReload | null;
  /** Active checks, in the config's order. */
  readonly checks: readonly PageCheck[];
  /** Names and titles of checks that do not run. */
  readonly inactive: readonly { readonly name: string; readonly title?: string }[];
  /** Notifications that did not arrive yet, or never will; by sequence. */
  readonly rows: readonly ShownNotification[];
  /** The members that run checks, or died; `null`: the state isn't shared, or they are not shown. */
  readonly members:
    | readonly Pick<MemberStatus, "host" | "location" | "silentForMs" | "config" | "active">[]
    | null;
  /** Those that are not over. */
  readonly silences: readonly Silence[];
}

/** Returns whether a check with a confirmed condition fails, or recovers, without being confirmed as such yet. */
export function isUnconfirmed({ record, state }: PageCheck): boolean {
  return state === "current" && record !== null && record.last !== null &&
    record.condition.confirmed !== null && record.last.condition !== record.condition.confirmed;
}

/** Returns how many checks are not ok, and what they are: pending if that is all; `null`: all are ok. */
export function notOk(
  checks: readonly Pick<PageCheck, "condition">[],
): { readonly count: number; readonly word: "pending" | "not ok" } | null {
  const others = checks.filter(({ condition }) => condition !== "ok");
  if (others.length === 0) return null;
  const word = others.every(({ condition }) => condition === "pending") ? "pending" : "not ok";
  return { count: others.length, word };
}

/** Returns when a condition of a check last changed; if none ever did, that is earlier than any time. */
export function lastChangeMs({ record }: Pick<CheckStatus, "record">): number {
  const left = Object.values(record?.condition.leftAtMs ?? {});
  return Math.max(-Number.MAX_VALUE, ...left.map((atMs) => atMs ?? -Number.MAX_VALUE));
}

/** What a page shows that is not in the state. */
export type PageFacts = Omit<
  ReportSnapshot,
  "checks" | "own" | "inactive" | "rows" | "members" | "silences" | "failedReload"
>;

export function pageFacts(
  facts: Omit<PageFacts, "nowMs" | "hostName">,
  { clock, hostName }: Pick<System, "clock" | "hostName">,
): PageFacts {
  return { ...facts, nowMs: clock.wallMs(), hostName: hostName() };
}

/**
 * Returns the groups that have checks, each check in the first one that matches it. A group without tags and names has
 * those that are in no other one; without such a group, they are last, in `null`.
 */
export function groupChecks(
  checks: readonly PageCheck[],
  groups: readonly PageGroup[],
): readonly { readonly group: PageGroup | null; readonly members: readonly PageCheck[] }[] {
  const sets = groups.map((group) => ({ group, names: new Set(group.checks), tags: new Set(group.tags) }));
  const rest = sets.find(({ names, tags }) => names.size + tags.size === 0)?.group ?? null;
  const found = Map.groupBy(
    checks,
    ({ check: { name, tags } }) =>
      sets.find((set) => set.names.has(name) || tags.some((tag) => set.tags.has(tag)))?.group ?? rest,
  );
  return [...groups, null].flatMap((group) => {
    const members = found.get(group);
    return members === undefined ? [] : [{ group, members }];
  });
}
