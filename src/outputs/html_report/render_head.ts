/** The head of the page, and its content security policy. */
import { SHOWN_CONDITIONS, type ShownCondition } from "../../domain/condition.ts";
import { truncate } from "../../shared/truncate.ts";
import { type Markup, markup } from "../markup.ts";
import { TEXT_MAX } from "./render_check.ts";
import { FILE_SCRIPT_SOURCE, OLD_CLASS, OLD_ICON } from "./old_page.ts";
import { notOk, type ReportSnapshot } from "./snapshot.ts";
import { STYLE } from "./style.ts";

/** Returns everything above the visible part. */
export function renderHead(snapshot: ReportSnapshot): Markup {
  const { checks, notRunning, isOfOneCheck } = snapshot;
  const highest = SHOWN_CONDITIONS.findLast((condition) =>
    checks.some((status) => status.condition === condition)
  );
  const others = notOk(checks);
  const subject = isOfOneCheck === true ? checks[0]?.check.title ?? checks[0]?.check.name : undefined;
  const title = [
    ...notRunning === null ? [] : ["? not running"],
    ...others === null ? [] : [isOfOneCheck === true ? highest : `${others.count} ${others.word}`],
    ...subject === undefined ? [] : [subject],
    pageTitle(snapshot),
  ].join(": ");
  return markup`<!doctype html>
<html lang=en${notRunning === null ? "" : markup` class=${OLD_CLASS}`}>
<meta charset=utf-8>
<meta name=viewport content="width=device-width, initial-scale=1">
<meta http-equiv=Content-Security-Policy content="${contentPolicy(snapshot)}">
<meta name=robots content=noindex>
<link rel=icon href="${notRunning === null ? icon(highest ?? "unknown") : OLD_ICON}">
<title>${truncate(title, TEXT_MAX.output)}</title>
<style>${STYLE}</style>
${renderRefresh(snapshot)}`;
}

function pageTitle({ text, hostName }: ReportSnapshot): string {
  return text?.title ?? (hostName === "" ? "monitor" : `monitor on ${hostName}`);
}

/** Returns the content security policy of the page. The endpoint sends the same as a header. */
export function contentPolicy({ isLive }: Pick<ReportSnapshot, "isLive">): Markup {
  const scripts = isLive ? markup`'self'; connect-src 'self'` : FILE_SCRIPT_SOURCE;
  return markup`default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src ${scripts}`;
}

/**
 * Returns the relative URL of the live page of all checks. It is relative, since a proxy may serve the pages below
 * its own path.
 */
export function rootOf({ isOfOneCheck }: ReportSnapshot): string {
  return isOfOneCheck === true ? "../" : "";
}

/**
 * A file is loaded again at its interval, and so is a live page without JavaScript. The script of the live page announces
 * changes in a line that is seen only when the page is out of date.
 */
function renderRefresh(snapshot: ReportSnapshot): Markup {
  const { isLive, intervalMs } = snapshot;
  if (intervalMs === null) return NOTE;
  const seconds = Math.max(1, Math.round(intervalMs / 1000));
  const refresh = markup`<meta http-equiv=refresh content=${seconds}>`;
  if (isLive !== true) return markup`${refresh}\n${NOTE}`;
  const root = rootOf(snapshot);
  return markup`<link rel=alternate type=application/atom+xml title=Changes href=${root}feed.atom>
<noscript>${refresh}</noscript>
<script src=${root}live.js data-seconds=${seconds} defer></script>
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
