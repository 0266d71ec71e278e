/**
 * What a page shows once it is out of date: nothing on it may be true any more. Both scripts of pages do it: the one of
 * the live page, which gets no new one, and the one in a file, which compares its time with the clock of the browser.
 */
import { createHash } from "node:crypto";
import { FILTER_CODE } from "./page_filter.ts";
import { type Markup, markup, unescapedConstant } from "../markup.ts";

/** The icon of a page that is out of date, as the URL of a picture. */
export const OLD_ICON: Markup =
  markup`data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ctext x='8' y='14' font-size='16' font-weight='700' text-anchor='middle' fill='%23808890'%3E?%3C/text%3E%3C/svg%3E`;

/** The words before counts of conditions that may not be true any more. */
const LAST_KNOWN = "Last known: ";

export const OLD_CLASS = "old";

/** A function of both scripts: shows that the page is as old as a time. */
export const SHOW_OLD = `  const showOld = (sinceMs) => {
    const page = document.documentElement;
    const minutes = Math.floor((Date.now() - sinceMs) / 60000);
    const age = minutes < 120 ? minutes + " min" : minutes < 2880 ? Math.floor(minutes / 60) + " h" : Math.floor(minutes / 1440) + " d";
    const headline = "Unknown: this page is " + age + " old";
    const h1 = document.querySelector("h1");
    if (h1.textContent !== headline) h1.textContent = headline;
    if (page.className === "${OLD_CLASS}") return;
    page.className = "${OLD_CLASS}";
    document.title = "? " + document.title;
    document.querySelector("link[rel=icon]").href = "${OLD_ICON}";
    document.querySelector("nav>span")?.before("${LAST_KNOWN}");
    for (const title of document.querySelectorAll(".g>summary>h2")) title.prepend("${LAST_KNOWN}");
    const note = document.getElementById("live");
    const since = new Date(sinceMs);
    const day = Date.now() - sinceMs < 86400000 ? "" : since.toLocaleDateString("sv-SE") + " ";
    note.className = "z";
    note.textContent = "Not updated since " + day + since.toLocaleTimeString("sv-SE", { timeZoneName: "short" }) + ". Nothing below is known to be true now.";
  };
`;

/** The script in a file: its header has the time when it was made, and until when it is valid. */
const FILE_CODE = `"use strict";
(() => {
  const { made, until } = document.querySelector("header").dataset;
${FILTER_CODE}${SHOW_OLD}  const look = () => Date.now() > Number(until) && showOld(Number(made));
  look();
  setInterval(look, 1000);
})();
`;

export const FILE_SCRIPT: Markup = unescapedConstant(FILE_CODE);

/** Its source in a content security policy. */
export const FILE_SCRIPT_SOURCE: Markup = markup`'sha256-${
  createHash("sha256").update(FILE_CODE).digest("base64")
}'`;
