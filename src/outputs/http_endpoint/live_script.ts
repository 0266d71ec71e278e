import { SHOW_OLD } from "../html_report/old_page.ts";

/**
 * The script of the live page. It fetches the page again and replaces its header and its list. Elements that the
 * reader opened, focused or scrolled to are found again by the name of the check and the class of the details.
 */
export const LIVE_SCRIPT: string = `"use strict";
(() => {
  const intervalMs = 1000 * Number(document.currentScript.dataset.seconds);
  const note = document.getElementById("live");
  const parts = ["header", "main"];
  let shown = null;
  let updatedAtMs = Date.now();
  let isFetching = false;

  const itemOf = (element) => element.closest(".c>li");
  const nameOf = (item) => item && item.querySelector("h3").innerHTML;
  const items = () => new Map([...document.querySelectorAll(".c>li")].map((item) => [nameOf(item), item]));
  const kindOf = (element) => element.closest("details")?.className;
  const alike = (tag, kind, item) =>
    [...(item || document).querySelectorAll(tag)].filter((one) => itemOf(one) === item && kindOf(one) === kind);
  const placeOf = (element) => {
    const item = itemOf(element);
    const tag = element.localName;
    const kind = kindOf(element);
    return { name: nameOf(item), tag, kind, index: alike(tag, kind, item).indexOf(element) };
  };
  const find = ({ name, tag, kind, index }, known) => {
    const item = name === null ? null : known.get(name);
    return item === undefined ? undefined : alike(tag, kind, item)[index];
  };
  const topItem = () => scrollY > 0 && [...document.querySelectorAll(".c>li")]
    .find((item) => item.getBoundingClientRect().bottom > 0);

  const replace = (fresh) => {
    const before = document.querySelector("h1").textContent;
    const open = [...document.querySelectorAll("details[open]")].map(placeOf);
    const focused = parts.some((part) => document.querySelector(part).contains(document.activeElement))
      ? placeOf(document.activeElement)
      : null;
    const top = topItem();
    const anchor = top ? { name: nameOf(top), y: top.getBoundingClientRect().top } : null;
    for (const part of parts) {
      document.querySelector(part).replaceWith(document.adoptNode(fresh.querySelector(part)));
    }
    const known = items();
    for (const place of open) find(place, known)?.setAttribute("open", "");
    if (focused) find(focused, known)?.focus({ preventScroll: true });
    const moved = anchor && known.get(anchor.name);
    if (moved) scrollBy(0, moved.getBoundingClientRect().top - anchor.y);
    document.title = fresh.title;
    document.querySelector("link[rel=icon]").href = fresh.querySelector("link[rel=icon]").getAttribute("href");
    const after = document.querySelector("h1").textContent;
    return after === before ? "" : after;
  };

  const update = async () => {
    const response = await fetch("", { cache: "no-cache", signal: AbortSignal.timeout(2 * intervalMs) });
    if (!response.ok) throw new Error("status " + response.status);
    const text = await response.text();
    if (!getSelection().isCollapsed) return;
    updatedAtMs = Date.now();
    const fresh = new DOMParser().parseFromString(text, "text/html");
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
${SHOW_OLD}  const look = () => Date.now() - updatedAtMs > 2 * intervalMs && showOld(updatedAtMs);
  setInterval(tick, intervalMs);
  setInterval(look, 1000);
  document.addEventListener("visibilitychange", () => document.hidden || tick());
})();
`;
