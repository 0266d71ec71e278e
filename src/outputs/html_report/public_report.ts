import { type CheckStatus, lastsSinceMs, type ShownCheck } from "../../engine/check_status.ts";
import type { ConditionChange, KeptResult } from "../../domain/store.ts";
import { type ConditionState, mostUrgentFirst, type ShownCondition } from "../../domain/condition.ts";
import type { Page } from "../../domain/generated/config.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { groupChecks, type PageCheck, type PageSlot, type ReportSnapshot } from "./snapshot.ts";

type Tagged = Pick<ShownCheck, "tags" | "active">;

export function isPublicCheck({ active, tags }: Tagged, publicTags: readonly string[]): boolean {
  return active && tags.some((tag) => publicTags.includes(tag));
}

/** Returns the public checks with their public tags alone. */
export function publicChecks<Shown extends Tagged>(
  checks: readonly Shown[],
  publicTags: readonly string[],
): readonly Shown[] {
  return checks.filter((check) => isPublicCheck(check, publicTags))
    .map((check) => ({ ...check, tags: check.tags.filter((tag) => publicTags.includes(tag)) }));
}

/** Returns a public status: without descriptions, targets, outputs, their data, notes, and whether and why nothing is sent. */
export function publicStatus(status: CheckStatus): CheckStatus {
  const { record, check: { description: _, runbook: __, target: ___, ...check } } = status;
  return {
    ...status,
    check,
    record: record === null ? null : {
      ...record,
      condition: publicCondition(record.condition),
      last: record.last === null ? null : publicResult(record.last),
    },
    waitsFor: [],
    isSilenced: false,
    acknowledged: null,
    maintenance: null,
  };
}

function publicCondition({ burn: _, ...condition }: ConditionState): ConditionState {
  return { ...condition, notified: condition.confirmed ?? "ok", notifiedAtMs: condition.confirmedSinceMs };
}

/** Lists the public fields, so that fields added to results stay hidden. */
function publicResult({ condition, startedAtMs, durationMs, lateMs }: KeptResult): KeptResult {
  return {
    condition,
    startedAtMs,
    durationMs,
    lateMs,
    output: "",
    detail: "",
    performanceData: "",
    metrics: {},
  };
}

/** Returns a public change. Lists the public fields, so that fields added to changes stay hidden. */
export function publicChange({ name, atMs, from, to }: ConditionChange): ConditionChange {
  return { name, atMs, from, to, output: "", trace: "" };
}

/** The state of a service in the words of its customers, the mildest first. */
export const SERVICE_STATES = ["operational", "maintenance", "no_data", "degraded", "outage"] as const;
export type ServiceState = typeof SERVICE_STATES[number];

/** A check, or a group of them, as its customers see it. */
interface PublicService {
  readonly title: string;
  readonly description: string;
  readonly state: ServiceState;
  /** Since when it has a problem, or until when it is in maintenance; `null`: not shown. */
  readonly changeMs: number | null;
  readonly days: readonly PageSlot[];
  /** The share of the observed time without a problem; of a group, that of its worst service; `null`: less than a day of data. */
  readonly share: number | null;
}

/** A page for everybody. Nothing else of the snapshot is on it. */
export interface PublicPage
  extends Pick<ReportSnapshot, "nowMs" | "timeZone" | "intervalMs" | "isLive" | "canSignIn" | "notRunning"> {
  readonly text: Pick<Page, "title" | "description" | "announcements"> | null;
  /** Without services, a group is a service by itself. */
  readonly groups: readonly (PublicService & { readonly services: readonly PublicService[] })[];
}

/** Returns the page for everybody, with its checks as services. Lists the public fields, so that others stay hidden. */
export function publicPage(snapshot: ReportSnapshot): PublicPage {
  const { nowMs, timeZone, intervalMs, isLive = false, canSignIn = false, notRunning, text } = snapshot;
  const groups = groupChecks(snapshot.checks, text?.groups ?? []).flatMap(({ group, members }) => {
    const services = members.map(toService);
    if (group === null && !text?.groups.length) {
      return services.map((service) => ({ ...service, services: [] }));
    }
    const named = { title: group?.title ?? "Other services", description: group?.description ?? "" };
    return [{
      ...summaryOf(services),
      ...named,
      services: services.length === 1 && group !== null ? [] : services,
    }];
  });
  return { nowMs, timeZone, intervalMs, isLive, canSignIn, notRunning, text, groups };
}

function toService(status: PageCheck): PublicService {
  const { check: { title, name }, days, spans } = status;
  const span = spans.at(-1);
  const state = stateOf(status);
  const hasProblem = state === "degraded" || state === "outage";
  return {
    title: title === undefined || title.trim() === "" ? name : title,
    description: "",
    state,
    changeMs: state === "maintenance"
      ? status.maintenance?.untilMs ?? null
      : hasProblem
      ? lastsSinceMs(status)
      : null,
    // Runs that were not confirmed are no problem of the service, and leave its state open.
    days: days.map(({ highest }) => ({
      highest: highest === "pending" ? "unknown" : highest,
      failedRuns: 0,
    })),
    share: span === undefined || span.observedMs < DAY_MS ? null : span.shares?.ok ?? null,
  };
}

function stateOf({ maintenance, condition, notRunning }: PageCheck): ServiceState {
  if (maintenance !== null && notRunning === null) return "maintenance";
  return STATES[condition];
}

const STATES: Readonly<Record<ShownCondition, ServiceState>> = {
  ok: "operational",
  pending: "no_data",
  unknown: "no_data",
  warning: "degraded",
  critical: "outage",
};

/** Returns the worst of some services: the highest state, each day's worst, and the smallest share. */
function summaryOf(services: readonly PublicService[]): Omit<PublicService, "title" | "description"> {
  const state = highestState(services);
  const changes = services.flatMap((service) => service.state === state ? service.changeMs ?? [] : []);
  const [first] = services;
  return {
    state,
    changeMs: changes.length === 0 ? null : Math.min(...changes),
    days: (first?.days ?? []).map((_, day) => {
      const known = services.flatMap(({ days }) => days[day]?.highest ?? []);
      return { highest: known.sort(mostUrgentFirst)[0] ?? null, failedRuns: 0 };
    }),
    share: services.reduce<number | null>(
      (least, { share }) => share === null ? least : Math.min(least ?? 1, share),
      null,
    ),
  };
}

export function highestState(services: readonly Pick<PublicService, "state">[]): ServiceState {
  return SERVICE_STATES.findLast((state) => services.some((service) => service.state === state)) ?? "no_data";
}
