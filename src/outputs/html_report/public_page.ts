/** The page for the customers of some services: what it shows of the checks, and how. Pure. */
import { type CheckStatus, lastsSinceMs, type ShownCheck } from "../../engine/check_status.ts";
import type { ConditionChange, KeptResult } from "../../domain/store.ts";
import { type ConditionState, mostUrgentFirst, type ShownCondition } from "../../domain/condition.ts";
import type { Page } from "../../domain/generated/config.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { DAYS_SHOWN, groupChecks, type PageCheck, type PageSlot, type ReportSnapshot } from "./snapshot.ts";
import { exactDuration } from "../../domain/duration.ts";
import { percent } from "../../state/availability.ts";
import { truncate } from "../../shared/text.ts";
import { createPlainTime, type Markup, markup, type TimeText, toTimeText } from "../markup.ts";
import { FILE_SCRIPT } from "./page_assets.ts";
import { TEXT_MAX } from "./render_check.ts";
import { describeZone, heading, renderAnnouncements, renderHead, validUntilMs } from "./render_header.ts";
import { renderBars, STROKE_CLASSES } from "./strips.ts";

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
type ServiceState = typeof SERVICE_STATES[number];

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
interface PublicPage
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
  const state = status.maintenance !== null && status.notRunning === null
    ? "maintenance"
    : STATES[status.condition];
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

function highestState(services: readonly Pick<PublicService, "state">[]): ServiceState {
  return SERVICE_STATES.findLast((state) => services.some((service) => service.state === state)) ?? "no_data";
}

// The page: groups, each with its state and a bar of 90 days. It has none of the words and data of checks.

type Group = PublicPage["groups"][number];
type Service = Group["services"][number];

/** Renders the part of the page that depends on no history. */
export function* renderPublicTop(page: PublicPage): Generator<Markup> {
  const headline = headlineOf(page);
  const title = `${headline}: ${page.text?.title ?? "Status"}`;
  yield renderHead({ ...page, title, condition: CONDITIONS[highestState(page.groups)] });
  yield renderTop(page, headline);
}

/** Renders what follows {@linkcode renderPublicTop}. */
export function* renderPublicRest(page: PublicPage): Generator<Markup> {
  const plainTime = createPlainTime(page.timeZone);
  const time = toTimeText(plainTime);
  yield markup`<main class=public>\n`;
  yield renderAnnouncements(page, plainTime(page.nowMs));
  yield heading("services", "Services");
  yield markup`<ul role=list>\n`;
  for (const [index, group] of page.groups.entries()) {
    yield* renderGroup(group, { page, time, id: `group${index}` });
  }
  yield markup`</ul></section>\n</main>\n`;
  yield renderEnd(page, time);
  if (page.isLive !== true) yield markup`<script>${FILE_SCRIPT}</script>\n`;
}

function headlineOf({ groups, notRunning }: PublicPage): string {
  const services = groups.flatMap((group) => group.services.length === 0 ? [group] : group.services);
  if (services.length === 0 || notRunning !== null) return "There is no current data";
  const amountOf = (...states: readonly ServiceState[]): "All" | "Some" | null => {
    const count = services.filter(({ state }) => states.includes(state)).length;
    return count === 0 ? null : count === services.length ? "All" : "Some";
  };
  const problems = amountOf("degraded", "outage");
  if (problems !== null) return `${problems} services have problems`;
  const silent = amountOf("no_data");
  if (silent !== null) {
    return silent === "All" ? "There is no current data" : "There is no current data for some services";
  }
  return amountOf("maintenance") === null ? "All services are operational" : "Maintenance is in progress";
}

/** The icon of the page. */
const CONDITIONS: Readonly<Record<ServiceState, ShownCondition>> = {
  operational: "ok",
  maintenance: "pending",
  no_data: "unknown",
  degraded: "warning",
  outage: "critical",
};

function renderTop({ text, nowMs, intervalMs, canSignIn, isLive }: PublicPage, headline: string): Markup {
  const title = text?.title === undefined
    ? ""
    : markup`<p class=h>${truncate(text.title, TEXT_MAX.name)}</p>\n`;
  const description = text?.description === undefined
    ? ""
    : markup`<p class=o>${truncate(text.description, TEXT_MAX.note)}</p>\n`;
  const signIn = isLive === true && canSignIn === true ? markup`<p><a href=sign-in>Sign in</a></p>\n` : "";
  const untilMs = validUntilMs({ nowMs, intervalMs });
  return markup`<header class=public data-made=${nowMs} data-until=${untilMs}>
${title}<h1>${headline}</h1>
${description}${signIn}</header>
`;
}

interface GroupOptions {
  readonly page: PublicPage;
  readonly time: TimeText;
  readonly id: string;
}

function* renderGroup(group: Group, options: GroupOptions): Generator<Markup> {
  const { id } = options;
  yield markup`<li class=${classOf(group)} id=${id}>`;
  if (group.services.length === 0) {
    yield renderService(group, options);
  } else {
    // The script of the live page keeps which groups the reader opened or closed.
    const hasProblem = group.state === "degraded" || group.state === "outage";
    const isMixed = group.services.some(({ state }) => state !== group.state);
    yield markup`<details class="${hasProblem ? "g" : "h"}"${hasProblem ? " open" : ""}><summary>${
      renderService(group, { ...options, isMixed })
    }</summary><ul role=list>\n`;
    for (const service of group.services) {
      yield markup`<li class=${classOf(service)}>${renderService(service, options)}\n`;
    }
    yield markup`</ul></details>`;
  }
  yield markup`\n`;
}

function classOf({ state }: Service): string {
  return STROKE_CLASSES[CONDITIONS[state]];
}

/** Renders a name with its state, above the bar. */
function renderService(
  service: Service,
  { page: { nowMs }, time, isMixed = false }: GroupOptions & { readonly isMixed?: boolean },
): Markup {
  const { title, description, state, changeMs, share, days } = service;
  const words = isMixed ? MIXED_WORDS[state] : STATE_WORDS[state];
  const change = changeMs === null
    ? ""
    : markup` ${state === "maintenance" ? "until" : "since"} ${time(changeMs)}`;
  const bars = renderBars(days, {
    nowMs,
    scale: { stretchesMax: TIMES_MAX },
    labelOf: (what) => DAY_WORDS[what] ?? what,
  });
  return markup`<div class=top><h3>${
    truncate(title, TEXT_MAX.name)
  }</h3><p><b>${words}</b>${change}</p></div>${
    description === "" ? "" : markup`<p class=o>${truncate(description, TEXT_MAX.note)}</p>`
  }${bars}<p class=days><span>${DAYS_SHOWN} days ago</span><span>${
    share === null ? "" : percent(share, 2)
  }</span><span>today</span></p>`;
}

const TIMES_MAX = 6;

const STATE_WORDS: Readonly<Record<ServiceState, string>> = {
  operational: "Operational",
  maintenance: "Maintenance",
  no_data: "No current data",
  degraded: "Degraded",
  outage: "Outage",
};

/** The state of a group if not all of its services have it. */
const MIXED_WORDS: Readonly<Record<ServiceState, string>> = {
  operational: "Operational",
  maintenance: "Maintenance of some services",
  no_data: "No current data for some services",
  degraded: "Some services are degraded",
  outage: "Partial outage",
};

const DAY_WORDS: Readonly<Record<string, string>> = {
  unknown: "No reliable data",
  warning: "Degraded",
  critical: "Outage",
};

function renderEnd({ nowMs, timeZone, intervalMs, notRunning }: PublicPage, time: TimeText): Markup {
  const renewal = notRunning !== null || intervalMs === null
    ? ""
    : ` This page updates every ${exactDuration(intervalMs)}.`;
  return markup`<footer class=public><p>True at ${time(nowMs)}, ${
    describeZone(timeZone, nowMs)
  }.${renewal}</p>
<p>Each bar is a day in UTC, up to today. Point at a problem to see its days. A gap means that there is no data. The number, once there is a day of data, is the share of that time without a problem; for a group, that of the service with the smallest share.</p>
</footer>
`;
}
