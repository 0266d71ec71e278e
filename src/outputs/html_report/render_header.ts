/** The top of the page: the overall status, the subject of the page, and links to its parts. */
import { SHOWN_CONDITIONS } from "../../domain/condition.ts";
import { exactDuration } from "../../domain/duration.ts";
import type { NotRunning } from "../../domain/monitor_run.ts";
import { truncate } from "../../shared/truncate.ts";
import { joinMarkup, type Markup, markup } from "../markup.ts";
import { TEXT_MAX } from "./render_check.ts";
import { rootOf } from "./render_head.ts";
import { DAYS_SHOWN, isUnconfirmed, notOk, type ReportSnapshot } from "./snapshot.ts";
import { type TimeText, zoneOffset } from "./time_text.ts";

export function countText(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function renderHeader(
  snapshot: ReportSnapshot,
  { time, daysPerPoint }: { readonly time: TimeText; readonly daysPerPoint: number },
): Markup {
  const { nowMs, timeZone, hostName, configLabel, text, isKept } = snapshot;
  const place = hostName === ""
    ? ""
    : markup`${truncate(configLabel, TEXT_MAX.output)} on ${truncate(hostName, TEXT_MAX.name)}. `;
  return markup`<header data-made=${nowMs} data-until=${validUntilMs(snapshot)}>
${text?.title === undefined ? "" : markup`<p class=h>${truncate(text.title, TEXT_MAX.name)}</p>\n`}<h1>${
    headline(snapshot)
  }</h1>
${
    text?.description === undefined
      ? ""
      : markup`<p class=o>${truncate(text.description, TEXT_MAX.note)}</p>\n`
  }${renderValidity(snapshot, time)}${renderFailedReload(snapshot, time)}<nav aria-label=Sections>${
    renderLinks(snapshot)
  }</nav>
<p>${place}Generated ${time(nowMs)}.${renderRenewal(snapshot)}
Time zone: ${describeZone(timeZone, nowMs)}.</p>
${isKept ? "" : markup`<p>No data: no check has run yet.</p>\n`}${
    renderLegend(snapshot, daysPerPoint)
  }</header>
`;
}

function renderLinks(snapshot: ReportSnapshot): Markup {
  const { checks, rows, silences, inactive, isOfOneCheck, canSignIn } = snapshot;
  const root = rootOf(snapshot);
  const signIn = canSignIn === true ? markup` <a href=${root}sign-in>sign in</a>` : "";
  if (isOfOneCheck === true) return markup`<a href=${root}>All checks</a>${signIn}`;
  const unconfirmed = checks.filter((status) => status.condition === "ok" && isUnconfirmed(status)).length;
  const dropped = rows.filter(({ state }) => state === "dropped").length;
  const pending = rows.length - dropped;
  const links = [
    ...SHOWN_CONDITIONS.toReversed().flatMap((condition) => {
      const number = checks.filter((status) => status.condition === condition).length;
      const id = condition === "ok" || condition === "pending" ? condition : "problems";
      return number === 0 ? [] : [[id, `${countText(number)} ${condition}`]];
    }),
    ...unconfirmed > 0 ? [["unconfirmed", `${countText(unconfirmed)} not confirmed`]] : [],
    ...pending > 0
      ? [["notifications", `${countText(pending)} pending notification${pending === 1 ? "" : "s"}`]]
      : [],
    ...dropped > 0 ? [["dropped", `${countText(dropped)} dropped`]] : [],
    ...silences.some(({ kind }) => kind === "acknowledgement")
      ? [["acknowledgements", "acknowledgements"]]
      : [],
    ...silences.some(({ kind }) => kind === "silence") ? [["silences", "silences"]] : [],
    ...checks.some(({ changes }) => changes.length > 0) ? [["changes", "recent changes"]] : [],
    ...inactive.length > 0 ? [["inactive", `${countText(inactive.length)} inactive`]] : [],
  ].map(([id = "", text = ""]) => markup`<a href=#${id}>${text}</a>`);
  return markup`${joinMarkup(links, markup` `)}${signIn}`;
}

function describeZone(timeZone: string, nowMs: number): string {
  const offset = zoneOffset(timeZone, nowMs);
  return timeZone === offset ? offset : `${truncate(timeZone, TEXT_MAX.name)} (${offset})`;
}

function headline({ checks, notRunning }: ReportSnapshot): string {
  if (notRunning !== null) return "Unknown: monitor is not running";
  const total = checks.length;
  const others = notOk(checks);
  if (total === 0) return "No active checks";
  if (others === null) return total === 1 ? "The check is ok" : `All ${countText(total)} checks are ok`;
  const { count, word } = others;
  if (total === 1) return `The check is ${word}`;
  return `${countText(count)} of ${countText(total)} checks ${count === 1 ? "is" : "are"} ${word}`;
}

function renderRenewal({ intervalMs, notRunning }: ReportSnapshot): string {
  if (intervalMs === null) return " It is not updated.";
  if (notRunning !== null) return "";
  return ` Updated every ${exactDuration(intervalMs)} while monitor runs.`;
}

/** Shows first whether the page is still up to date. */
function renderValidity({ intervalMs, isLive, nowMs, notRunning }: ReportSnapshot, time: TimeText): Markup {
  if (notRunning !== null) {
    const { state, sinceMs } = notRunning;
    return markup`<p class=z>monitor is not running: it ${REASONS[state]} ${
      time(sinceMs)
    }. No check runs until you ${state === "hangs" ? "re" : ""}start it.</p>\n`;
  }
  // The script keeps an eye on that.
  if (isLive || intervalMs === null) return markup``;
  return markup`<p class=z>True at ${time(nowMs)}, valid until ${
    time(validUntilMs({ nowMs, intervalMs }))
  }. After that, monitor is not running or cannot write this page.</p>\n`;
}

function renderFailedReload({ failedReload, notRunning }: ReportSnapshot, time: TimeText): Markup {
  if (failedReload === null || notRunning !== null) return markup``;
  const { atMs, reason } = failedReload;
  return markup`<p class=z>The config was not reloaded at ${time(atMs)}, an older one stays active: ${
    truncate(reason, TEXT_MAX.output)
  }.</p>\n`;
}

const REASONS: Readonly<Record<NotRunning["state"], string>> = {
  stopped: "was stopped at",
  died: "terminated unexpectedly and was last seen at",
  hangs: "hangs and was last seen at",
};

/** Returns until when a page is not out of date; one that is not renewed: for some minutes. */
function validUntilMs({ nowMs, intervalMs }: Pick<ReportSnapshot, "nowMs" | "intervalMs">): number {
  return nowMs + (intervalMs === null ? ONCE_MS : Math.max(2 * intervalMs, intervalMs + LATE_MS));
}

/** Rendering takes some time, and is interrupted by other work. */
const LATE_MS = 60_000;
const ONCE_MS = 5 * 60_000;

function renderLegend({ isPublic }: ReportSnapshot, daysPerPoint: number): Markup {
  const point = daysPerPoint === 1 ? "a day" : `${daysPerPoint} days`;
  return markup`<details><summary>How to read this page</summary>
<p><b>Availability</b> is the share of the observed time in which ok was confirmed, in the last 24 hours, 7 days and ${DAYS_SHOWN} days. "4 min observed" means that there is no data for the rest. The next line has the shares of the other conditions and the failed runs, including those below the threshold.</p>
<p><b>The line</b> is the mean duration of ${point} in the last ${DAYS_SHOWN} days, from 0 to the number next to it.</p>
<p><b>The strips</b> are the last ${DAYS_SHOWN} days in UTC, the last 24 hours, and the last 50 runs. Of a day or an hour they show the highest confirmed severity: ok, unknown, warning, critical, from the lowest to the tallest, or that runs failed and nothing was confirmed yet (pending). A dark line in ok means failed runs: too few to be confirmed, or confirmed by the last of them. Of a run they show its own condition. A gap means no data. Point at anything that is not ok to see when it was.</p>
${
    isPublic === true
      ? ""
      : markup`<p>Every change of a check: <code>monitor history NAME</code></p>\n`
  }</details>
`;
}
