/**
 * The page: one HTML document without scripts that asks for nothing else. A live page has one script, which renews it. Pure: a snapshot goes in, pieces of text come
 * out, a few milliseconds of work each.
 *
 * Everything that anybody but this file has written goes through `html_text.ts`.
 */
import { describeHeartbeat } from "../json/monitor_fields.ts";
import { type Condition, CONDITIONS, severity } from "../../domain/condition.ts";
import { exactDuration } from "../../domain/duration.ts";
import type { ConditionChange } from "../../domain/store.ts";
import { describeRow, describeSilence } from "../../alerting/outbox_status.ts";
import { htmlLine } from "./html_text.ts";
import { renderCheck, renderMove, TEXT_MAX } from "./render_check.ts";
import { DAYS_SHOWN, type PageCheck, type ReportSnapshot } from "./snapshot.ts";
import { STYLE } from "./style.ts";
import { createTimeText, type TimeText, zoneOffset } from "./time_text.ts";

/** With more checks than this the page is drawn coarser, to stay below a megabyte at a thousand. */
const MANY_CHECKS = 250;
const LATEST_CHANGES = 20;
/** What of all changes has room in the checks' own lists. */
const CHANGES_MAX = 500;
const DETAILS_MAX = 50;
const LINES_MAX = 50;

/** Renders the page, piece by piece. */
export function* renderReport(snapshot: ReportSnapshot): Generator<string> {
  const { checks, nowMs, timeZone } = snapshot;
  const time = createTimeText(timeZone);
  const sorted = checks.toSorted((one, other) => severity(other.condition) - severity(one.condition));
  const problems = sorted.filter(({ condition }) => condition !== "ok");
  const fine = sorted.filter(({ condition }) => condition === "ok");
  const changesOf = shareOut(sorted);
  const daysPerPoint = checks.length > MANY_CHECKS ? 2 : 1;
  function* list(statuses: readonly PageCheck[]): Generator<string> {
    yield "<ul class=c role=list>\n";
    for (const [index, status] of statuses.entries()) {
      const hasDetail = status.condition !== "ok" && index < DETAILS_MAX;
      yield renderCheck(status, { nowMs, time, daysPerPoint, changes: changesOf(status), hasDetail });
    }
    yield "</ul>\n";
  }

  yield renderHead(snapshot, problems.length);
  yield renderHeader(snapshot, { problems, fine, time, daysPerPoint });
  yield "<main>\n";
  if (problems.length > 0) {
    yield heading("problems", `Problems (${count(problems.length)})`);
    yield* list(problems);
    yield "</section>\n";
  }
  yield renderLines(
    "notifications",
    "Pending notifications",
    snapshot.rows.map((row) => describeRow(row, nowMs)),
  );
  yield renderLines(
    "silences",
    "Silences",
    snapshot.silences.map((silence) => describeSilence(silence, nowMs)),
  );
  yield renderLines(
    "members",
    "Members",
    (snapshot.members ?? []).map((member) =>
      `${member.host}${member.location === null ? "" : ` (${member.location})`}: ${describeHeartbeat(member)}`
    ),
  );
  yield renderLatest(checks, time);
  if (fine.length > 0) {
    yield heading("ok", `Ok (${count(fine.length)})`);
    yield* list(fine);
    yield "</section>\n";
  }
  const inactive = snapshot.inactive.map(({ name, title }) =>
    title === undefined ? name : `${title} (${name})`
  );
  yield renderLines("inactive", "Inactive", inactive);
  yield "</main>\n";
}

function renderHead(snapshot: ReportSnapshot, problemCount: number): string {
  const highest = CONDITIONS.findLast((condition) =>
    snapshot.checks.some((status) => status.condition === condition)
  );
  const title = `${snapshot.notRunning === null ? "" : "not running: "}${
    problemCount === 0 ? "" : `${count(problemCount)} not ok: `
  }${snapshot.hostName === "" ? "monitor" : `monitor on ${snapshot.hostName}`}`;
  return `<!doctype html>
<html lang=en>
<meta charset=utf-8>
<meta name=viewport content="width=device-width, initial-scale=1">
<meta http-equiv=Content-Security-Policy content="${contentPolicy(snapshot)}">
<meta name=robots content=noindex>
<link rel=icon href="data:image/svg+xml,${icon(highest ?? "ok")}">
<title>${htmlLine(title, TEXT_MAX.name)}</title>
<style>${STYLE}</style>
${renderLiveHead(snapshot)}`;
}

/** What the page may load. The endpoint sends the same as a header. */
export function contentPolicy({ isLive }: Pick<ReportSnapshot, "isLive">): string {
  const live = isLive ? "; script-src 'self'; connect-src 'self'" : "";
  return `default-src 'none'; style-src 'unsafe-inline'; img-src data:${live}`;
}

/**
 * Paths are relative, since a proxy may serve the page below a path of its own. The script announces changes in a line that
 * is seen only when the page is out of date.
 */
function renderLiveHead({ isLive, intervalMs }: ReportSnapshot): string {
  if (!isLive || intervalMs === null) return "";
  const seconds = Math.max(1, Math.round(intervalMs / 1000));
  return `<link rel=alternate type=application/atom+xml title=Changes href=feed.atom>
<noscript><meta http-equiv=refresh content=${seconds}></noscript>
<script src=live.js data-seconds=${seconds} defer></script>
<p id=live role=status></p>
`;
}

/** A browser that is not given one asks the server for it. */
function icon(condition: Condition): string {
  const { color, shape } = ICONS[condition];
  return `%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%23${color}' d='${shape}'/%3E%3C/svg%3E`;
}

const ICONS: Readonly<Record<Condition, { readonly color: string; readonly shape: string }>> = {
  ok: { color: "1a7f37", shape: "M8 1a7 7 0 1 0 .1 0z" },
  unknown: { color: "9a6ee0", shape: "M8 0l8 8-8 8-8-8z" },
  warning: { color: "d98e00", shape: "M8 1l8 14H0z" },
  critical: { color: "d33a30", shape: "M1 1h14v14H1z" },
};

interface HeaderOptions {
  readonly problems: readonly PageCheck[];
  readonly fine: readonly PageCheck[];
  readonly time: TimeText;
  readonly daysPerPoint: number;
}

function renderHeader(
  snapshot: ReportSnapshot,
  { problems, fine, time, daysPerPoint }: HeaderOptions,
): string {
  const { checks, rows, silences, inactive, nowMs, timeZone, hostName, configLabel } = snapshot;
  const place = hostName === ""
    ? ""
    : `${htmlLine(configLabel, TEXT_MAX.output)} on ${htmlLine(hostName, TEXT_MAX.name)}. `;
  const links = [
    ...CONDITIONS.toReversed().flatMap((condition) => {
      const number = checks.filter((status) => status.condition === condition).length;
      return number === 0 ? [] : [[condition === "ok" ? "ok" : "problems", `${count(number)} ${condition}`]];
    }),
    ...rows.length > 0 ? [["notifications", `${count(rows.length)} pending`]] : [],
    ...silences.length > 0 ? [["silences", "silences"]] : [],
    ...checks.some(({ changes }) => changes.length > 0) ? [["changes", "recent changes"]] : [],
    ...inactive.length > 0 ? [["inactive", `${count(inactive.length)} inactive`]] : [],
  ].map(([id, text]) => `<a href=#${id}>${text}</a>`);
  return `<header>
<h1>${headline(problems.length, fine.length)}</h1>
${renderValidity(snapshot, time)}<nav aria-label=Sections>${links.join(" ")}</nav>
<p>${place}Generated ${time(nowMs)}.${renderRenewal(snapshot)}
Time zone: ${describeZone(timeZone, nowMs)}.</p>
${snapshot.isKept ? "" : "<p>No data: no check has run yet.</p>\n"}${renderLegend(daysPerPoint)}</header>
`;
}

function describeZone(timeZone: string, nowMs: number): string {
  const offset = zoneOffset(timeZone, nowMs);
  return timeZone === offset ? offset : `${htmlLine(timeZone, TEXT_MAX.name)} (${offset})`;
}

function headline(problemCount: number, fineCount: number): string {
  const total = problemCount + fineCount;
  if (total === 0) return "No active checks";
  if (problemCount === 0) return total === 1 ? "The check is ok" : `All ${count(total)} checks are ok`;
  if (total === 1) return "The check is not ok";
  return `${count(problemCount)} of ${count(total)} checks ${problemCount === 1 ? "is" : "are"} not ok`;
}

function renderRenewal({ intervalMs, notRunning }: ReportSnapshot): string {
  if (intervalMs === null) return " It is not updated.";
  if (notRunning !== null) return "";
  return ` Updated every ${exactDuration(intervalMs)} while monitor runs.`;
}

/** Shows first whether the page is still up to date. */
function renderValidity({ intervalMs, isLive, nowMs, notRunning }: ReportSnapshot, time: TimeText): string {
  if (notRunning !== null) {
    const why = notRunning.stoppedAtMs === null
      ? "monitor is not running: it terminated unexpectedly."
      : `monitor is not running: it was stopped at ${time(notRunning.stoppedAtMs)}.`;
    return `<p class=z>${why} No check runs until you start it.</p>\n`;
  }
  // The script keeps an eye on that.
  if (isLive) return "";
  if (intervalMs === null) return "";
  const untilMs = nowMs + Math.max(2 * intervalMs, intervalMs + LATE_MS);
  return `<p class=z>Valid until ${
    time(untilMs)
  }. After that, monitor is not running or cannot write this page.</p>\n`;
}

/** A page takes its time to be made, and others have their turn meanwhile. */
const LATE_MS = 60_000;

/** The latest changes of all checks. */
function renderLatest(checks: readonly PageCheck[], time: TimeText): string {
  const latest = checks.flatMap((status) => status.changes.map((change) => ({ status, change })))
    .sort((one, other) => other.change.atMs - one.change.atMs).slice(0, LATEST_CHANGES);
  if (latest.length === 0) return "";
  const items = latest.map(({ status: { check }, change }) =>
    `<li>${time(change.atMs)} ${htmlLine(check.title ?? check.name, TEXT_MAX.name)}: ${renderMove(change)}\n`
  );
  return `${heading("changes", "Recent changes")}<ul class=e role=list>\n${items.join("")}</ul></section>\n`;
}

function renderLines(id: string, title: string, lines: readonly string[]): string {
  if (lines.length === 0) return "";
  const items = lines.slice(0, LINES_MAX).map((line) => `<li>${htmlLine(line, TEXT_MAX.output)}\n`);
  const rest = lines.length - items.length;
  if (rest > 0) items.push(`<li>and ${count(rest)} more\n`);
  return `${heading(id, `${title} (${count(lines.length)})`)}<ul class=e role=list>\n${
    items.join("")
  }</ul></section>\n`;
}

function heading(id: string, text: string): string {
  return `<section aria-labelledby=${id}><h2 id=${id}>${text}</h2>\n`;
}

function renderLegend(daysPerPoint: number): string {
  const point = daysPerPoint === 1 ? "a day" : `${daysPerPoint} days`;
  return `<details><summary>How to read this page</summary>
<p><b>Availability</b> is the share of the observed time in which ok was confirmed, in the last 24 hours, 7 days and ${DAYS_SHOWN} days. "4 min observed" means that there is no data for the rest. The next line has the shares of the other conditions and the failed runs, including those below the threshold.</p>
<p><b>The chart</b> shows the last ${DAYS_SHOWN} days in UTC, with a mark every 30 days. The line is the mean duration of ${point}, from 0 to the number next to it. The bars are the highest confirmed severity of each day: ok, unknown, warning, critical, from the lowest to the tallest. A gap means no data.</p>
<p>Every change of a check: <code>monitor history NAME</code></p>
</details>
`;
}

/** Gives the room there is for changes to checks that are not ok first, then to those that changed last. */
function shareOut(sorted: readonly PageCheck[]): (status: PageCheck) => readonly ConditionChange[] {
  const shown = new Set<PageCheck>();
  let room = CHANGES_MAX;
  const wish = sorted.toSorted((one, other) =>
    Number(one.condition === "ok") - Number(other.condition === "ok") ||
    lastChangeMs(other) - lastChangeMs(one)
  );
  for (const status of wish) {
    if (status.changes.length > room) break;
    room -= status.changes.length;
    shown.add(status);
  }
  return (status) => shown.has(status) ? status.changes : [];
}

function lastChangeMs({ changes }: PageCheck): number {
  return changes[0]?.atMs ?? -Infinity;
}

function count(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}
