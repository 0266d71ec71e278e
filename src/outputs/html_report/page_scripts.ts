/**
 * The scripts of pages: the one of the live page, and the one in a file. Both show that a page is out of date, so that
 * nothing on it may be true any more: the live one gets no new page, the file compares its time with the browser's clock.
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
const SHOW_OLD = `  const showOld = (sinceMs) => {
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

/**
 * The script of the live page. It filters rows, fetches the page again, and replaces the elements from the server.
 * Elements that the reader opened, closed, focused or scrolled to keep their state.
 */
export const LIVE_SCRIPT: string = `"use strict";
(() => {
  const intervalMs = 1000 * Number(document.currentScript.dataset.seconds);
  const note = document.getElementById("live");
  const parts = ["header", "main", "footer"];
  const FIELDS = "main input.for,main input.note";
  let shown = null;
  let updatedAtMs = Date.now();
  let isFetching = false;

  // An element is identified by the ancestor with an id, its tag and the class of its details.
  const placeOf = (element) => {
    const around = element.parentElement.closest("[id]");
    const all = alike(around, element);
    return { id: around?.id, element, index: all.indexOf(element) };
  };
  const alike = (around, { localName, className }) =>
    [...(around ?? document).querySelectorAll(localName)].filter((one) => one.className === className);
  const find = ({ id, element, index }) => {
    const around = id === undefined ? document : document.getElementById(id);
    return around === null ? undefined : alike(around, element)[index];
  };
  // The first row below the form, which is sticky.
  const edge = () => form === null ? 0 : Math.max(0, form.getBoundingClientRect().bottom);
  const topRow = () => scrollY > 0 && [...document.querySelectorAll("main li[id]:not([hidden])")]
    .find((row) => row.getBoundingClientRect().bottom > edge() + 1);

  const replace = (fresh) => {
    const before = document.querySelector("h1").textContent;
    const opened = [...document.querySelectorAll("details")].filter((one) => one.open !== one.matches(".g"))
      .map((one) => [placeOf(one), one.open]);
    const typed = [...document.querySelectorAll(FIELDS)].filter((one) => one.value !== one.defaultValue)
      .map((one) => [placeOf(one), one.value]);
    const { activeElement } = document;
    const focused = parts.some((part) => document.querySelector(part).contains(activeElement)) ? placeOf(activeElement) : null;
    const top = topRow();
    const anchor = top ? { id: top.id, y: top.getBoundingClientRect().top } : null;
    for (const part of parts) {
      const next = document.adoptNode(fresh.querySelector(part));
      // A row that is the same comes without its content.
      for (const row of next.querySelectorAll("li[id]:empty")) row.replaceWith(document.getElementById(row.id));
      document.querySelector(part).replaceWith(next);
    }
    for (const [place, isOpen] of opened) find(place)?.toggleAttribute("open", isOpen);
    for (const [place, value] of typed) {
      const field = find(place);
      if (field) field.value = value;
    }
    filter();
    if (focused) find(focused)?.focus({ preventScroll: true });
    const moved = anchor && document.getElementById(anchor.id);
    if (moved) scrollBy(0, moved.getBoundingClientRect().top - anchor.y);
    document.title = fresh.title;
    document.querySelector("link[rel=icon]").href = fresh.querySelector("link[rel=icon]").getAttribute("href");
    const after = document.querySelector("h1").textContent;
    return after === before ? "" : after;
  };

  const update = async () => {
    const { version = "" } = document.querySelector("header").dataset;
    const response = await fetch(form === null ? "" : "?since=" + version, { cache: "no-cache", signal: AbortSignal.timeout(2 * intervalMs) });
    // The session ended.
    if (response.redirected) return location.reload();
    if (!response.ok) throw new Error("status " + response.status);
    const text = await response.text();
    const fresh = new DOMParser().parseFromString(text, "text/html");
    // A proxy may not notice that a response ended early.
    if (parts.some((part) => fresh.querySelector(part) === null)) throw new Error("incomplete");
    // The page itself ended early, so rows that are the same may be missing here.
    if (parts.some((part) => document.querySelector(part) === null)) return location.reload();
    if (!getSelection().isCollapsed) return;
    updatedAtMs = Date.now();
    // A replaced field would close the keyboard of a phone.
    if (document.activeElement?.matches(FIELDS)) return;
    const page = document.documentElement;
    const change = text === shown && page.className === fresh.documentElement.className ? "" : replace(fresh);
    page.className = fresh.documentElement.className;
    shown = text;
    note.className = "";
    if (change !== "" || note.textContent.startsWith("Not updated")) note.textContent = change;
  };
  const tick = async () => {
    if (isFetching) return;
    isFetching = true;
    try {
      await update();
    } catch {
      // The note shows it, once it lasts.
    } finally {
      isFetching = false;
    }
  };
${FILTER_CODE}${SHOW_OLD}  const look = () => Date.now() - updatedAtMs > 2 * intervalMs && showOld(updatedAtMs);
  setInterval(tick, intervalMs);
  setInterval(look, 1000);
  document.addEventListener("visibilitychange", () => document.hidden || tick());
})();
`;
