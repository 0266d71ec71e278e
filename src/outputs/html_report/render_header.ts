/** The top of the page: the overall status, the subject of the page, and links to its parts. */
import type { Announcement, Page } from "../../domain/generated/config.ts";
import { SHOWN_CONDITIONS, type ShownCondition } from "../../domain/condition.ts";
import { exactDuration } from "../../domain/duration.ts";
import type { NotRunning } from "../../domain/monitor_run.ts";
import { shellWord, truncate } from "../../shared/text.ts";
import { joinMarkup, type Markup, markup, type TimeText, zoneOffset } from "../markup.ts";
import { fieldWord, NO_FILTER, type Sort, SORTS } from "./page_filter.ts";
import { renderSignedIn } from "./render_actions.ts";
import { describeFoundCause } from "../present_causes.ts";
import { headingOf, renderFilterLink, TEXT_MAX } from "./render_check.ts";
import { STROKE_CLASSES } from "./strips.ts";
import { DAYS_SHOWN, isUnconfirmed, notOk, type PageCheck, type ReportSnapshot } from "./snapshot.ts";
import { FILE_SCRIPT_SOURCE, OLD_CLASS, OLD_ICON, STYLE } from "./page_assets.ts";

export function countText(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function renderHeader(snapshot: ReportSnapshot, time: TimeText): Markup {
  const { nowMs, text } = snapshot;
  const { version } = snapshot;
  const attribute = version === undefined ? "" : markup` data-version="${version}"`;
  return markup`<header data-made=${nowMs} data-until=${validUntilMs(snapshot)}${attribute}>
${text?.title === undefined ? "" : markup`<p class=h>${truncate(text.title, TEXT_MAX.name)}</p>\n`}<h1>${
    headline(snapshot)
  }</h1>
${renderNotRunning(snapshot, time)}${renderCauses(snapshot)}${renderUnwritable(snapshot)}${
    renderFailedReload(snapshot, time)
  }<nav aria-label=Sections>${renderLinks(snapshot)}</nav>
${
    text?.description === undefined
      ? ""
      : markup`<p class=o>${truncate(text.description, TEXT_MAX.note)}</p>\n`
  }${renderValidity(snapshot, time)}${renderFirstSteps(snapshot)}</header>
`;
}

/** Renders the filter. In a file, which has no server, only a script shows the form. */
export function renderFilter(
  { isLive, checks, filter = NO_FILTER }: ReportSnapshot,
  countFound: () => number,
): Markup {
  const sorts = SORTS.map((sort) =>
    markup`<option value="${sort}"${sort === filter.sort ? " selected" : ""}>${SORT_WORDS[sort]}</option>`
  );
  return markup`<form role=search${
    isLive === true ? "" : " hidden"
  }><input type=search name=q value="${filter.words}" placeholder="Filter: name, tag, kind, condition   /" aria-label="Filter by name, tag, kind, condition or output" aria-keyshortcuts="/" autocomplete=off maxlength=200><select name=sort aria-label=Order>${sorts}</select><noscript><button>Filter</button></noscript> <output id=found>${
    filter.words === "" ? "" : `${countText(countFound())} of ${countText(checks.length)} checks`
  }</output></form>
`;
}

const SORT_WORDS: Readonly<Record<Sort, string>> = {
  urgent: "most urgent first",
  name: "by name",
  slowest: "slowest first",
  worst: "least available first",
};

/** Renders the source of the page, and how to read it. */
export function renderFooter(
  snapshot: ReportSnapshot,
  { time, daysPerPoint }: { readonly time: TimeText; readonly daysPerPoint: number },
): Markup {
  const { nowMs, timeZone, hostName, configLabel, servedBy } = snapshot;
  const place = hostName === ""
    ? ""
    : markup`${truncate(configLabel, TEXT_MAX.output)} on ${truncate(hostName, TEXT_MAX.name)}. `;
  return markup`<footer>${renderSignedIn(snapshot, rootOf(snapshot))}<p>${place}Generated ${time(nowMs)}.${
    renderRenewal(snapshot)
  }
Time zone: ${describeZone(timeZone, nowMs)}.${
    servedBy === undefined ? "" : ` Served by member ${truncate(servedBy, TEXT_MAX.name)}.`
  }</p>
${renderLegend(daysPerPoint)}</footer>
`;
}

const ANNOUNCEMENTS_MAX = 20;

/** Renders those that are not over at a time of the page. */
export function renderAnnouncements(
  { text }: { readonly text: Pick<Page, "announcements"> | null },
  now: string,
): Markup {
  const shown = (text?.announcements ?? [])
    .filter(({ until }) => until === undefined || now.slice(0, until.length) <= until)
    .toSorted((one: Announcement, other: Announcement) => other.date.localeCompare(one.date))
    .slice(0, ANNOUNCEMENTS_MAX);
  if (shown.length === 0) return markup``;
  const items = shown.map((note) =>
    markup`<li><time>${truncate(note.date, TEXT_MAX.name)}</time> ${truncate(note.text, TEXT_MAX.note)}\n`
  );
  return markup`${
    heading("announcements", "Announcements")
  }<ul class="e i" role=list>\n${items}</ul></section>\n`;
}

/** Returns the begin of a section. */
export function heading(id: string, text: string): Markup {
  return markup`<section aria-labelledby=${id}><h2 id=${id}>${text}</h2>\n`;
}

function renderLinks(snapshot: ReportSnapshot): Markup {
  const { checks, rows, silences, inactive, isOfOneCheck, canSignIn } = snapshot;
  const root = rootOf(snapshot);
  const signIn = canSignIn === true ? markup` <a href=${root}sign-in>sign in</a>` : "";
  if (isOfOneCheck === true) return markup`<a href=${root}>All checks</a>${signIn}`;
  const unconfirmed = checks.filter((status) => status.condition === "ok" && isUnconfirmed(status)).length;
  const dropped = rows.filter(({ state }) => state === "dropped").length;
  const pending = rows.length - dropped;
  const counts = SHOWN_CONDITIONS.toReversed().flatMap((condition) => {
    const number = checks.filter((status) => status.condition === condition).length;
    if (number === 0) return [];
    const link = renderFilterLink(fieldWord("condition", condition), `${countText(number)} ${condition}`);
    return [markup`<span class=${STROKE_CLASSES[condition]}>${link}</span>`];
  });
  const links = [
    ...unconfirmed > 0 ? [["unconfirmed", `${countText(unconfirmed)} not confirmed`]] : [],
    ...pending > 0
      ? [["notifications", `${countText(pending)} pending notification${pending === 1 ? "" : "s"}`]]
      : [],
    ...dropped > 0 ? [["dropped", `${countText(dropped)} dropped`]] : [],
    ...silences.some(({ kind }) => kind === "acknowledgement")
      ? [["acknowledgements", "acknowledgements"]]
      : [],
    ...silences.some(({ kind }) => kind === "silence") ? [["silences", "silences"]] : [],
    ...checks.some(hasIncident) ? [["incidents", "incidents"]] : [],
    ...inactive.length > 0 ? [["inactive", `${countText(inactive.length)} inactive`]] : [],
  ].map(([id = "", text = ""]) => markup`<a href=#${id}>${text}</a>`);
  return joinMarkup([...counts, ...links], markup` `);
}

/** Returns whether a check has a problem, or had one. */
function hasIncident({ record }: PageCheck): boolean {
  if (record === null || record.condition.confirmed === null) return false;
  const { confirmed, leftAtMs: { unknown, warning, critical } } = record.condition;
  return confirmed !== "ok" || (unknown ?? warning ?? critical) !== null;
}

export function describeZone(timeZone: string, nowMs: number): string {
  const offset = zoneOffset(timeZone, nowMs);
  return timeZone === offset ? offset : `${truncate(timeZone, TEXT_MAX.name)} (${offset})`;
}

function headline({ checks, notRunning, isOfOneCheck }: ReportSnapshot): string {
  if (notRunning !== null) {
    return `Unknown: monitor ${
      notRunning.state === "unwritable" ? "cannot write its state" : "is not running"
    }`;
  }
  const [only] = checks;
  if (isOfOneCheck === true && only !== undefined) return `${headingOf(only)} is ${only.condition}`;
  const total = checks.length;
  const others = notOk(checks);
  if (total === 0) return "No active checks";
  if (isFirstRun({ checks, notRunning })) {
    return total === 1 ? "No result yet" : `No results yet of ${countText(total)} checks`;
  }
  if (others === null) return total === 1 ? "The check is ok" : `All ${countText(total)} checks are ok`;
  const { count, word } = others;
  if (total === 1) return `The check is ${word}`;
  return `${countText(count)} of ${countText(total)} checks ${count === 1 ? "is" : "are"} ${word}`;
}

/** Returns whether no check has a result, although a service may run. */
function isFirstRun({ checks, notRunning }: Pick<ReportSnapshot, "checks" | "notRunning">): boolean {
  return notRunning === null && checks.length > 0 && checks.every(({ record }) => !record?.last);
}

/** Renders what to do next while there is nothing to see. */
function renderFirstSteps(snapshot: ReportSnapshot): Markup {
  const { checks, inactive, isLive, isOfOneCheck, configLabel } = snapshot;
  if (isOfOneCheck === true) return markup``;
  if (checks.length === 0) {
    const reload = isLive === true ? markup` Then run <code>monitor reload</code>.` : "";
    return inactive.length > 0
      ? markup`<p class=o>Every check is inactive. Remove <code>"active": false</code> from one.${reload}</p>\n`
      : markup`<p class=o>Add a check with <code>monitor add https://example.org/</code>, or choose from what <code>monitor discover</code> proposes.${reload}</p>\n`;
  }
  if (!isFirstRun(snapshot)) return markup``;
  if (isLive === true) {
    return markup`<p class=o>The first results come within seconds of the start, or at the times of a cron schedule. <code>monitor run NAME</code> runs a check now.</p>\n`;
  }
  const file = configLabel === "" ? "" : markup` -c ${shellWord(truncate(configLabel, TEXT_MAX.output))}`;
  return markup`<p class=o>No data: no check has run yet. Run each once with <code>monitor check --once${file}</code>, or start the service with <code>monitor check${file}</code>.</p>\n`;
}

function renderCauses({ causes = [], timeZone }: ReportSnapshot): Markup {
  const lines = causes.map((cause) =>
    markup`<p class=o>${truncate(describeFoundCause(cause, timeZone), TEXT_MAX.note)}</p>\n`
  );
  return joinMarkup(lines, markup``);
}

function renderRenewal({ intervalMs, notRunning }: ReportSnapshot): string {
  if (intervalMs === null) return " It is not updated.";
  if (notRunning !== null) return "";
  return ` Updated every ${exactDuration(intervalMs)} while monitor runs.`;
}

function renderNotRunning({ notRunning }: ReportSnapshot, time: TimeText): Markup {
  if (notRunning === null) return markup``;
  const { state, sinceMs } = notRunning;
  if (state === "unwritable") {
    return markup`<p class=z>monitor cannot write its state. The results below are from ${
      time(sinceMs)
    }.</p>\n${FREE_THE_STATE}`;
  }
  const [verb, log] = state === "stopped" ? ["start", ""] : [
    state === "hangs" ? "restart" : "start",
    markup` Its log has the reason: <code>journalctl --unit monitor</code>.`,
  ];
  return markup`<p class=z>monitor is not running: it ${REASONS[state]} ${
    time(sinceMs)
  }. No check runs until you ${verb} it.</p>
<p class=o>Under systemd: <code>systemctl ${verb} monitor</code>.${log}</p>\n`;
}

/** Renders what a service that runs, but cannot write its state, does meanwhile. */
function renderUnwritable({ isStateWritable, notRunning }: ReportSnapshot): Markup {
  if (isStateWritable !== false || notRunning !== null) return markup``;
  return markup`<p class=z>monitor cannot write its state. The results below are current, and a restart would lose them.</p>
${FREE_THE_STATE}`;
}

const FREE_THE_STATE =
  markup`<p class=o>Checks and notifications go on. Free space on the disk of the state, or fix its permissions: the log of the service has the reason.</p>\n`;

/** Renders the expiry of a file; on a live page, a script detects old data. */
function renderValidity({ intervalMs, isLive, nowMs, notRunning }: ReportSnapshot, time: TimeText): Markup {
  if (notRunning !== null || isLive || intervalMs === null) return markup``;
  return markup`<p>True at ${time(nowMs)}, valid until ${
    time(validUntilMs({ nowMs, intervalMs }))
  }. After that, monitor is not running or cannot write this page: run <code>monitor status</code> to see which.</p>\n`;
}

function renderFailedReload({ failedReload, notRunning }: ReportSnapshot, time: TimeText): Markup {
  if (failedReload === null || notRunning !== null) return markup``;
  const { atMs, reason } = failedReload;
  return markup`<p class=z>The config was not reloaded at ${time(atMs)}, an older one stays active: ${
    truncate(reason, TEXT_MAX.output)
  }.</p>
<p class=o><code>monitor validate</code> prints every error. Fix them, then run <code>monitor reload</code>.</p>\n`;
}

const REASONS: Readonly<Record<Exclude<NotRunning["state"], "unwritable">, string>> = {
  stopped: "was stopped at",
  died: "terminated unexpectedly and was last seen at",
  hangs: "hangs and was last seen at",
};

/** Returns until when a page is not out of date; one that is not renewed: for some minutes. */
export function validUntilMs({ nowMs, intervalMs }: Pick<ReportSnapshot, "nowMs" | "intervalMs">): number {
  return nowMs + (intervalMs === null ? ONCE_MS : Math.max(2 * intervalMs, intervalMs + LATE_MS));
}

/** Rendering takes some time, and is interrupted by other work. */
const LATE_MS = 60_000;
const ONCE_MS = 5 * 60_000;

function renderLegend(daysPerPoint: number): Markup {
  const point = daysPerPoint === 1 ? "each day" : `the slowest of ${daysPerPoint} days`;
  return markup`<details><summary>How to read this page</summary>
<p><b>Availability</b> is the share of the observed time in which ok was confirmed, in the last 24 hours, 7 days and ${DAYS_SHOWN} days. "4 min observed" means that there is no data for the rest. The next line has the shares of the other conditions and the failed runs, including those below the threshold.</p>
<p><b>The line</b> is the p95 of ${point} in the last ${DAYS_SHOWN} days, from 0 to the number next to it: 95 % of the runs took no longer.</p>
<p><b>The bars</b> of a check are the last ${DAYS_SHOWN} days in UTC, and the number behind them is its availability in these days. Open its line to see the last 24 hours and the last 50 runs. Of a day or an hour they show the highest confirmed severity: ok, unknown, warning, critical, from the lowest to the tallest, or that runs failed and nothing was confirmed yet (pending). A dark line in ok means failed runs: too few to be confirmed, or confirmed by the last of them. Of a run they show its own condition. A gap means no data. Point at anything that is not ok to see when it was.</p>
<p>Every change of a check: <code>monitor history NAME</code></p>
</details>
`;
}

// The head of the page, and its content security policy.

interface PageHead
  extends Pick<ReportSnapshot, "notRunning" | "isLive" | "isOfOneCheck" | "intervalMs" | "forms"> {
  /** The window's title. */
  readonly title: string;
  /** The condition that the icon shows. */
  readonly condition: ShownCondition;
}

/** Returns everything above the visible part. */
export function renderHead(head: PageHead): Markup {
  const { notRunning, title, condition } = head;
  const prefix = notRunning === null
    ? ""
    : `? ${notRunning.state === "unwritable" ? "old" : "not running"}: `;
  return markup`<!doctype html>
<html lang=en${notRunning === null ? "" : markup` class=${OLD_CLASS}`}>
<meta charset=utf-8>
<meta name=viewport content="width=device-width, initial-scale=1">
<meta http-equiv=Content-Security-Policy content="${contentPolicy(head)}">
<meta name=robots content=noindex>
<link rel=icon href="${notRunning === null ? icon(condition) : OLD_ICON}">
<title>${truncate(`${prefix}${title}`, TEXT_MAX.output)}</title>
<style>${STYLE}</style>
${renderRefresh(head)}`;
}

export function headOf(snapshot: ReportSnapshot): PageHead {
  const { checks, isOfOneCheck, text, hostName } = snapshot;
  const highest = SHOWN_CONDITIONS.findLast((condition) =>
    checks.some((status) => status.condition === condition)
  );
  const others = notOk(checks);
  const subject = isOfOneCheck === true ? checks[0]?.check.title ?? checks[0]?.check.name : undefined;
  const title = [
    ...others === null ? [] : [isOfOneCheck === true ? highest : `${others.count} ${others.word}`],
    ...subject === undefined ? [] : [subject],
    text?.title ?? (hostName === "" ? "monitor" : `monitor on ${hostName}`),
  ].join(": ");
  return { ...snapshot, title, condition: highest ?? "unknown" };
}

/** Returns the content security policy of the page. The endpoint sends the same as a header. */
export function contentPolicy({ isLive }: Pick<ReportSnapshot, "isLive">): Markup {
  const scripts = isLive ? markup`'self'; connect-src 'self'` : FILE_SCRIPT_SOURCE;
  return markup`default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src ${scripts}`;
}

/** The URL of the live page of all checks; relative, since a proxy may serve the pages below its own path. */
function rootOf({ isOfOneCheck }: Pick<ReportSnapshot, "isOfOneCheck">): string {
  return isOfOneCheck === true ? "../" : "";
}

/**
 * A file is loaded again at its interval, and so is a live page without JavaScript. The script of the live page announces
 * changes in a line that is seen only when the page is out of date.
 */
function renderRefresh(head: PageHead): Markup {
  const { isLive, intervalMs, forms } = head;
  if (intervalMs === null) return NOTE;
  const seconds = Math.max(1, Math.round(intervalMs / 1000));
  const refresh = markup`<meta http-equiv=refresh content=${seconds}>`;
  if (isLive !== true) return markup`${refresh}\n${NOTE}`;
  const root = rootOf(head);
  // It would drop what a person types into a form.
  const renewal = forms === undefined ? markup`<noscript>${refresh}</noscript>\n` : "";
  return markup`<link rel=alternate type=application/atom+xml title=Changes href=${root}feed.atom>
${renewal}<script src=${root}live.js data-seconds=${seconds} defer></script>${
    head.isOfOneCheck === true ? markup`<script src=${root}check.js defer></script>` : ""
  }
${NOTE}`;
}

const NOTE = markup`<p id=live role=status></p>\n`;

/** A browser that is not given one asks the server for it. */
function icon(condition: ShownCondition): Markup {
  const { color, shape } = ICONS[condition];
  return markup`data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%23${color}' d='${shape}'/%3E%3C/svg%3E`;
}

const ICONS: Readonly<Record<ShownCondition, { readonly color: string; readonly shape: string }>> = {
  ok: { color: "1a7f37", shape: "M8 1a7 7 0 1 0 .1 0z" },
  pending: { color: "2f9ab5", shape: "M8 1a7 7 0 1 0 .1 0zM8 4a4 4 0 1 1-.1 0z" },
  unknown: { color: "9a6ee0", shape: "M8 0l8 8-8 8-8-8z" },
  warning: { color: "d98e00", shape: "M8 1l8 14H0z" },
  critical: { color: "d33a30", shape: "M1 1h14v14H1z" },
};
