/**
 * The page: one HTML file without external resources. Its script shows that it is out of date (`page_assets.ts`); that of
 * a live page also reloads it. Pure:
 * it turns a snapshot into pieces of text, a few milliseconds of work each.
 */
import { describeMember } from "../json/monitor_fields.ts";
import { mostUrgentFirst } from "../../domain/condition.ts";
import type { Silence } from "../../domain/outbox.ts";
import type { PageGroup } from "../../domain/generated/config.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";
import { describeRow, describeSilence } from "../outbox_status.ts";
import { truncate } from "../../shared/text.ts";
import { createPlainTime, type Markup, markup, type PlainTime, toTimeText } from "../markup.ts";
import { isShown, type ItemOptions, renderRow, type Room, TEXT_MAX } from "./render_check.ts";
import { renderOwnPage, renderTimeline } from "./render_own_page.ts";
import { FILE_SCRIPT } from "./page_assets.ts";
import { NO_FILTER, ORDERS } from "./page_filter.ts";
import {
  DAYS_SHOWN,
  groupChecks,
  HOURS_SHOWN,
  isUnconfirmed,
  lastChangeMs,
  type PageCheck,
  type ReportSnapshot,
} from "./snapshot.ts";
import {
  countText,
  heading,
  headOf,
  renderAnnouncements,
  renderFilter,
  renderFooter,
  renderHead,
  renderHeader,
} from "./render_header.ts";
import type { PageRow, PageRows } from "./page_rows.ts";
import { CHECKS_WITH_CHANGES_MAX, firstHourMs, type PageScale, pageScale } from "./strips.ts";

const LINES_MAX = 50;
const LINES_OPEN_MAX = 3;
/** Other rows link to the forms. */
const FORMS_MAX = 50;

/** Returns the page in pieces, of some milliseconds each. */
export function* renderReport(snapshot: ReportSnapshot, rows?: PageRows): Generator<Markup | PageRow> {
  yield* renderTop(snapshot);
  yield* renderRest(snapshot, rows);
}

/** Renders the part of a page that depends on no history. */
export function* renderTop(snapshot: ReportSnapshot): Generator<Markup> {
  const item = itemOptions(snapshot);
  yield renderHead(headOf(snapshot));
  yield renderHeader(snapshot, item.time);
  if (snapshot.isOfOneCheck !== true && snapshot.checks.length > 1) {
    yield renderFilter(snapshot, () => item.snapshot.checks.filter((status) => isShown(status, item)).length);
  }
}

/** Renders what follows {@linkcode renderTop}. */
export function* renderRest(snapshot: ReportSnapshot, rows?: PageRows): Generator<Markup | PageRow> {
  const item = itemOptions(snapshot);
  const { plainTime, time, scale } = item;
  yield markup`<main>\n`;
  yield renderAnnouncements(snapshot, plainTime(snapshot.nowMs));
  if (snapshot.isOfOneCheck === true) yield* renderOne(item);
  else yield* renderSections(item, rows);
  if (snapshot.isOfOneCheck !== true) yield renderTimeline(item);
  const inactive = snapshot.inactive.map(({ name, title }) =>
    title === undefined ? name : `${title} (${name})`
  );
  yield renderLines("inactive", "Inactive", inactive);
  yield markup`</main>\n`;
  yield renderFooter(snapshot, { time, daysPerPoint: scale.daysPerPoint });
  if (snapshot.isLive !== true) yield markup`<script>${FILE_SCRIPT}</script>\n`;
}

function itemOptions(snapshot: ReportSnapshot): ItemOptions {
  const plainTime = createPlainTime(snapshot.timeZone);
  const scale = pageScale(snapshot.checks.length, snapshot.isOfOneCheck === true);
  return { snapshot, plainTime, time: toTimeText(plainTime), scale, roomOf: shareOut(snapshot, scale) };
}

function* renderOne(item: ItemOptions): Generator<Markup> {
  const { snapshot: { checks, nowMs }, plainTime } = item;
  yield renderAxis(nowMs, plainTime);
  for (const status of checks) yield* renderOwnPage(status, item);
  yield* renderNotes(item.snapshot);
}

/** Renders problems first, then the checks that are ok, by their first tag. */
function* renderSections(item: ItemOptions, rows?: PageRows): Generator<Markup | PageRow> {
  const { checks, filter = NO_FILTER } = item.snapshot;
  const sorted = checks.toSorted((one, other) => mostUrgentFirst(one.condition, other.condition));
  const isFine = (status: PageCheck): boolean => status.condition === "ok";
  const wrong = [
    ["problems", "Problems", ({ condition }: PageCheck) => condition !== "ok" && condition !== "pending"],
    ["pending", "Pending", ({ condition }: PageCheck) => condition === "pending"],
    ["unconfirmed", "Failing, not confirmed", (status: PageCheck) => isFine(status) && isUnconfirmed(status)],
  ] as const;
  const order = ORDERS[filter.sort];
  const inOrder = (some: readonly PageCheck[]): readonly PageCheck[] =>
    order === null ? some : some.toSorted(order);
  for (const [id, title, isHere] of wrong) {
    yield* renderSection({ id, title, rows }, inOrder(sorted.filter(isHere)), item);
  }
  const groups = groupsOf(
    sorted.filter((status) => isFine(status) && !isUnconfirmed(status)),
    item.snapshot.text?.groups ?? [],
  );
  const isGrouped = groups.some(({ title }) => title !== null);
  if (isGrouped) yield markup`<div id=ok>\n`;
  for (const [index, { title: given, members }] of groups.entries()) {
    const id = isGrouped ? `group${index}` : "ok";
    const title = isGrouped ? truncate(given ?? "Other checks", TEXT_MAX.name) : "Ok";
    yield* renderSection({ id, title, rows }, inOrder(members), item);
  }
  if (isGrouped) yield markup`</div>\n`;
  // The links at the top lead to them. Above the checks, they would fill the screen of a bad day.
  yield* renderNotes(item.snapshot);
}

/** Renders pending notifications, suppressions and members. */
function* renderNotes(snapshot: ReportSnapshot): Generator<Markup> {
  const { nowMs } = snapshot;
  const [dropped = [], undelivered = []] = [true, false].map((isDropped) =>
    snapshot.rows.filter(({ state }) => (state === "dropped") === isDropped).map((row) =>
      describeRow(row, nowMs)
    )
  );
  yield renderLines("notifications", "Pending notifications", undelivered);
  yield renderLines("dropped", "Dropped notifications", dropped);
  const silences = Object.groupBy(snapshot.silences, ({ kind }) => kind);
  const describe = (silence: Silence): string => describeSilence(silence, nowMs);
  yield renderLines("acknowledgements", "Acknowledgements", (silences.acknowledgement ?? []).map(describe));
  yield renderLines("silences", "Silences", (silences.silence ?? []).map(describe));
  yield renderLines(
    "members",
    "Members",
    (snapshot.members ?? []).map((member) =>
      `${member.host}${member.location === null ? "" : ` (${member.location})`}: ${describeMember(member)}`
    ),
  );
}

/** Returns the checks by the groups of the config; without any, by their first tag. Those without one are last, in `null`. */
function groupsOf(
  checks: readonly PageCheck[],
  groups: readonly PageGroup[],
): readonly { readonly title: string | null; readonly members: readonly PageCheck[] }[] {
  if (groups.length > 0) {
    return groupChecks(checks, groups).map(({ group, members }) => ({
      title: group?.title ?? null,
      members,
    }));
  }
  const byTag = Map.groupBy(checks, ({ check }) => check.tags[0] ?? null);
  const others = byTag.get(null) ?? [];
  byTag.delete(null);
  return [
    ...[...byTag].map(([title, members]) => ({ title, members })),
    ...others.length === 0 ? [] : [{ title: null, members: others }],
  ];
}

/** Renders checks as lines in a collapsible section; hidden while the filter matches none of them. */
function* renderSection(
  { id, title, rows }: { readonly id: string; readonly title: string; readonly rows: PageRows | undefined },
  checks: readonly PageCheck[],
  item: ItemOptions,
): Generator<Markup | PageRow> {
  if (checks.length === 0) return;
  const isFiltered = item.snapshot.filter !== undefined && item.snapshot.filter.words !== "";
  const isHidden = isFiltered && !checks.some((status) => isShown(status, item));
  yield markup`<section aria-labelledby=${id}${
    isHidden ? " hidden" : ""
  }><details class=g open><summary><h2 id=${id}>${`${title} (${
    countText(checks.length)
  })`}</h2></summary><ul class="r${
    item.scale.detailsMax < item.snapshot.checks.length ? " many" : ""
  }" role=list>\n`;
  for (const status of checks) {
    const render = (): Markup => renderRow(status, item);
    yield rows === undefined || isFiltered ? render() : rows.get(status, render);
  }
  yield markup`</ul></details></section>\n`;
}

/** The times of the strips' marks. One axis serves all checks, as their strips are below each other. */
function renderAxis(nowMs: number, plainTime: PlainTime): Markup {
  const days = [0, 30, 60].map((day) =>
    new Date(nowMs - (DAYS_SHOWN - 1 - day) * DAY_MS).toISOString().slice(5, 10)
  );
  const hours = [0, 6, 12, 18].map((hour) => plainTime(firstHourMs(nowMs) + hour * HOUR_MS).slice(11));
  const rows = [
    [`${DAYS_SHOWN} d`, days, "today"],
    [`${HOURS_SHOWN} h`, hours, "now"],
    ["50 runs", ["50", "40", "30", "20", "10"], "last"],
  ] as const;
  const shown = rows.map(([label, marks, end]) =>
    markup`<p>${marks.map((mark) => markup`<span>${mark}</span>`)}<b>${end}</b></p><i>${label}</i>`
  );
  return markup`<div class=t aria-hidden=true>${shown}</div>\n`;
}

/** Renders a list of lines; collapsed if there are many. */
function renderLines(id: string, title: string, lines: readonly string[]): Markup {
  if (lines.length === 0) return markup``;
  const items = lines.slice(0, LINES_MAX).map((line) => markup`<li>${truncate(line, TEXT_MAX.output)}\n`);
  const rest = lines.length - items.length;
  if (rest > 0) items.push(markup`<li>and ${countText(rest)} more\n`);
  const head = `${title} (${countText(lines.length)})`;
  const list = markup`<ul class=e role=list>\n${items}</ul>`;
  if (lines.length <= LINES_OPEN_MAX) return markup`${heading(id, head)}${list}</section>\n`;
  return markup`<section aria-labelledby=${id}><details class=h><summary><h2 id=${id}>${head}</h2></summary>${list}</details></section>\n`;
}

/** Distributes the space for details to checks that are not ok first, then to those that changed last. */
function shareOut({ checks }: ReportSnapshot, scale: PageScale): (status: PageCheck) => Room {
  const detailed = mostDetailed(checks.filter((status) => status.isDetailed));
  const places = new Map(detailed.map((status, place) => [status, place]));
  return (status) => {
    const place = places.get(status) ?? Infinity;
    const isProblem = status.condition !== "ok";
    return {
      changes: place < CHECKS_WITH_CHANGES_MAX ? scale.changesEach : 0,
      hasOutput: checks.length === 1 || isProblem && place < scale.outputsMax,
      hasTrace: isProblem && place < scale.tracesMax,
      hasForms: isProblem && place < FORMS_MAX,
    };
  };
}

/** Returns checks in the order in which they get details: the most urgent first, then those that changed last. */
export function mostDetailed(checks: readonly PageCheck[]): readonly PageCheck[] {
  return checks.map((status) => ({ status, changedAtMs: lastChangeMs(status) }))
    .sort((one, other) =>
      mostUrgentFirst(one.status.condition, other.status.condition) || other.changedAtMs - one.changedAtMs
    ).map(({ status }) => status);
}
