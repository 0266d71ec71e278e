/**
 * The style sheet of pages, and their scripts: the one of the live page, and the one in a file. Both show that a page is out
 * of date, so that nothing on it may be true any more: the live one gets no new page, the file compares its time with the
 * browser's clock.
 */
import { createHash } from "node:crypto";
import { FILTER_CODE } from "./page_filter.ts";
import { type Markup, markup, unescapedConstant } from "../markup.ts";
import { RECENT_RUNS_MAX } from "../../state/retention.ts";
import { DAYS_SHOWN, HOURS_SHOWN } from "./snapshot.ts";

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

/**
 * The page's only style sheet. Colors come in two sets, and each color of a condition has a word and a height with
 * it. Rows are no list items for the browser, which would number all of them again for each that the filter hides.
 * `k p u w x` are the conditions, see `STROKE_CLASSES`. On a wall screen everything is larger, to be read from afar.
 */
export const STYLE: Markup = unescapedConstant(`
:root{color-scheme:light dark;--back:#fff;--card:#f6f7f9;--text:#1c2126;--soft:#545d66;--rule:#d3d8de;--link:#0a55a8;
  --k:#1a7f37;--p:#1c6b80;--u:#6b41a1;--w:#8f5f00;--x:#b3261e;--on:#fff}
@media (prefers-color-scheme:dark){:root{--back:#14171a;--card:#1d2125;--text:#e7eaed;--soft:#a7b0b9;--rule:#3a4148;
  --link:#8ec1ff;--k:#5fbf6e;--p:#6cc3d8;--u:#c4a1f7;--w:#e3ab45;--x:#ff8d85;--on:#14171a}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:100rem;padding:.4rem 1rem;background:var(--back);color:var(--text);
  font:1rem/1.4 system-ui,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
h1{margin:0;font-size:1.6rem;line-height:1.25}
h2{margin:1.6rem 0 .5rem;font-size:1.15rem}
h3,.c h2{margin:0;font-size:1rem;line-height:1.3;unicode-bidi:isolate}
html{scroll-padding-top:3.5rem}
.old main,.old nav{filter:grayscale(1) opacity(.85)}
h3 a{color:inherit;text-decoration-color:var(--soft)}
p,ul,ol{margin:0;padding:0}
ul,ol{list-style:none}
a{color:var(--link)}
p.h{font-size:1.15rem;font-weight:600;color:var(--text)}
header .o{margin:.1rem 0;color:var(--text);font-size:.9375rem}
header .z,main>.z,#live{color:var(--text);font-weight:600;font-size:1rem}
#live.z{position:sticky;top:0;z-index:2;margin:0;padding:.3rem 0;background:var(--back)}
header p{color:var(--soft);margin:.3rem 0;max-width:60rem;font-size:.875rem}
header time{color:inherit;font-size:inherit}
header,main{position:relative}
footer{margin-top:2rem;color:var(--soft)}
footer p{margin:.3rem 0;max-width:60rem}
nav{display:flex;flex-wrap:wrap;align-items:center;gap:.3rem .6rem;margin:.4rem 0}
nav>span{border:1px solid var(--c);border-radius:1rem;background:var(--c)}
nav>span a{display:block;padding:.05rem .7rem;color:var(--on);text-decoration:none}
nav>.k{background:none;border-color:var(--rule)}
nav>.k a{color:var(--k)}
nav>span a:hover{text-decoration:underline}
[role=search]{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;align-items:center;gap:.4rem;padding:.3rem 0;background:var(--back)}
#live.z~[role=search]{top:2rem}
[role=search][hidden],[hidden]{display:none}
input,select,button{font:inherit;font-size:.875rem;padding:.2rem .5rem;color:inherit;background:var(--back);
  border:1px solid var(--soft);border-radius:.35rem}
input{flex:1 1 12rem;max-width:24rem;min-width:0}
select{min-width:0}
output{color:var(--soft);font-size:.875rem}
.k{--c:var(--k)}
.p{--c:var(--p)}
.u{--c:var(--u)}
.w{--c:var(--w)}
.x{--c:var(--x)}
.g,.h{margin-top:.45rem}
.g>summary,.h>summary{padding:0}
.none>.g{margin:0}
.none summary{display:none}
.g h2,.h h2{display:inline;margin:0;font-size:1rem;color:var(--text)}
.r>li:not([hidden]){display:block}
.r>li{border-top:1px solid var(--rule)}
.many>li{content-visibility:auto;contain-intrinsic-height:auto 1.9rem}
.row>summary{display:grid;grid-template-columns:.7rem minmax(8rem,2fr) minmax(0,5fr) minmax(7rem,3fr) 8.5rem 4.2rem;
  gap:0 .8rem;align-items:center;min-height:1.8rem;padding:0;list-style:none}
.row>summary::-webkit-details-marker{display:none}
.row>summary:hover,.row[open]>summary{background:var(--card)}
.row h3{font-size:.9375rem;color:var(--text)}
.row h3,.row summary .l{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.row i{width:.7rem;height:.7rem;overflow:hidden;text-indent:1rem;white-space:nowrap;border-radius:50%;background:var(--c)}
.w>.row i{border-radius:0;clip-path:polygon(50% 0,100% 100%,0 100%)}
.x>.row i{border-radius:0}
.u>.row i{border-radius:0;clip-path:polygon(50% 0,100% 50%,50% 100%,0 50%)}
.p>.row i{background:none;border:.18rem solid var(--c)}
.row summary .l{color:var(--soft);font-size:.875rem}
.x .row summary .l,.u .row summary .l,.w .row summary .l{color:var(--text)}
.v,.q{text-align:right;font-size:.875rem;white-space:nowrap;color:var(--soft)}
.v{color:var(--text)}
.v small{color:var(--soft);font-size:.75rem}
.b{width:100%;height:1rem;display:block;-webkit-mask:linear-gradient(90deg,#000 75%,#0000 75%) 0 0/1.11111% 100%;
  mask:linear-gradient(90deg,#000 75%,#0000 75%) 0 0/1.11111% 100%}
.b path{stroke-width:8}
.b path.x{stroke-width:12}
.b path.w{stroke-width:10}
.b path.f{stroke-width:3}
.c>li,.y{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:.1rem .6rem;align-items:start}
.c>li{margin:0 0 .5rem;padding:.6rem .8rem;background:var(--card);border-left:.4rem solid var(--c)}
.y{max-width:60rem;margin:0 0 .6rem .35rem;padding:.3rem .8rem;border-left:.2rem solid var(--c)}
.c>li>*,.y>*{grid-column:1/-1}
.c>li>svg,.y>svg{grid-column:1}
.c>li>.m,.y>.m{grid-column:2}
.c b,.y b{font-weight:600}
.s,.n,.m,.a,.f,summary,time{color:var(--soft);font-size:.875rem}
.n{font-family:ui-monospace,monospace;font-size:.8125rem}
.s b{padding:.05rem .45rem;border-radius:.25rem;background:var(--c);color:var(--on)}
.k .s b{padding:0;background:none;color:var(--k)}
.s em{display:inline-block;padding:0 .4rem;border:1px solid;border-radius:.25rem;color:var(--text);font-style:normal}
.s em time{color:inherit;font-size:inherit}
.a b,.f b{color:var(--text)}
.a b,.a small{white-space:nowrap}
.a{display:grid;grid-template-columns:auto 1fr;gap:0 .6rem}
.a small{grid-column:1/-1}
.three,.two{grid-column:1;width:100%;margin-top:.15rem;height:5.25rem;display:block;background:
  linear-gradient(90deg,var(--rule) 1px,#0000 1px) 0 0/33.333% 53.6%,
  linear-gradient(90deg,var(--rule) 1px,#0000 1px) 0 69.8%/25% 23.2%,
  linear-gradient(90deg,var(--rule) 1px,#0000 1px) 0 100%/20% 23.2%;background-repeat:repeat-x}
.two{height:4.03rem;background:none}
.m{grid-column:2;min-width:3.4rem;padding-top:.15rem;font-size:.75rem;line-height:1.22rem;white-space:nowrap}
.m::after{content:"${DAYS_SHOWN} d\\A ${HOURS_SHOWN} h\\A ${RECENT_RUNS_MAX} runs"/"";display:block;white-space:pre;margin-top:.4rem}
.two+.m::after{content:"${HOURS_SHOWN} h\\A ${RECENT_RUNS_MAX} runs"/""}
.m:empty::after{margin-top:1.62rem}
.m:not(:empty)::before{content:""/"p95 of durations up to"}
.a::before{content:""/"Availability";font-size:0;grid-column:1/-1}
#live:not(.z){position:absolute;margin:0;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
path{fill:none;stroke:var(--k);stroke-width:4}
path.p{stroke:var(--p);stroke-width:5}
path.u{stroke:var(--u);stroke-width:6}
path.w{stroke:var(--w);stroke-width:8}
path.x{stroke:var(--x);stroke-width:12}
path.f{stroke:var(--text);stroke-width:4}
path.l{stroke:var(--text);stroke-width:1.5px;stroke-linecap:round;stroke-linejoin:round;vector-effect:non-scaling-stroke}
.t{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:0 .6rem;margin-top:1rem;padding:.3rem .8rem .3rem 1.2rem;
  color:var(--soft);font-size:.75rem;line-height:1.22rem}
.t p{display:flex;position:relative}
.t span{flex:1;border-left:1px solid var(--rule);padding-left:.2rem;white-space:nowrap;overflow:hidden}
.t b{position:absolute;right:0;font-weight:400;background:var(--back)}
.t i{min-width:3.4rem;font-style:normal}
@media (max-width:80rem){.t{display:none}}
@media (max-width:66rem){.row>summary{grid-template-columns:.7rem minmax(8rem,3fr) minmax(0,5fr) minmax(6rem,3fr) 4.5rem 4.2rem}
.v small{display:block}}
@media (max-width:48rem){
body{padding:.2rem .6rem}
h1{font-size:1.2rem}
header .o{font-size:.875rem;line-height:1.25}
nav{flex-wrap:nowrap;overflow-x:auto;white-space:nowrap;font-size:.875rem}
[role=search]{flex-wrap:nowrap;padding:.1rem 0}
.g,.h{margin-top:.3rem}
select{max-width:7rem}
#found:empty{display:none}
.row>summary{grid-template-columns:.7rem minmax(0,1fr) auto;gap:0 .6rem;padding:.15rem 0}
.row .b,.row .q,.k>.row:not([open]) .l{display:none}
.row summary .l{grid-column:2/-1;grid-row:2}
}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,17rem),1fr));gap:1rem}
figure{margin:0;min-width:0}
.drawn .plot,.drawn .times{display:none}
.commands li{margin:.3rem 0}
figcaption,.plot p,.times{color:var(--soft);font-size:.8125rem}
.plot{display:grid;grid-template-columns:4.2rem 1fr;gap:.4rem}
.plot p{display:flex;flex-direction:column;justify-content:space-between;text-align:right}
.plot svg{width:100%;height:6rem;border-left:1px solid var(--rule);border-bottom:1px solid var(--rule)}
.plot path:nth-child(2){stroke-dasharray:5 3}
.plot path:nth-child(3){stroke-dasharray:1 4}
.times{display:flex;justify-content:space-between;padding-left:4.6rem}
.sent{padding-left:1rem;color:var(--soft);font-size:.875rem}
dl{display:grid;grid-template-columns:auto 1fr;gap:.2rem 1rem;margin:0}
dt{color:var(--soft)}
dd{margin:0}
.act{display:flex;flex-wrap:wrap;align-items:end;gap:.4rem;margin:.5rem 0}
.act p,.act>span{align-self:center;font-size:1rem}
.act>span{min-width:4rem}
.act label{display:grid;gap:.15rem;flex:1 1 10rem;max-width:20rem;color:var(--soft);font-size:.875rem}
.act input,.act button{min-height:2.75rem;max-width:none;font-size:1rem;color:var(--text)}
.act button{min-width:2.75rem;padding:.2rem .6rem;background:var(--card);cursor:pointer}
.act button:hover{border-color:var(--text)}
.act a{align-self:center;padding:.6rem .3rem}
.act time{color:inherit;font-size:inherit}
.sign{flex-direction:column;align-items:stretch;max-width:24rem}
.sign label{flex:none;max-width:none}
.maintenance>summary{padding:.6rem 0;font-size:1rem;color:var(--text)}
.done{margin:.5rem 0;padding:.3rem .8rem;border-left:.4rem solid var(--link);background:var(--card)}
.done[role=alert]{border-color:var(--x)}
pre{margin:.3rem 0;padding:.4rem .6rem;white-space:pre-wrap;font-size:.8125rem;background:var(--back)}
summary{cursor:pointer;padding:.2rem 0}
.e>li{padding:.25rem 0;border-top:1px solid var(--rule)}
.e>li:first-child{border-top:0}
.i>li{padding:.4rem .8rem;border-left:.4rem solid var(--link);background:var(--card)}
@media (min-width:80rem){
.c>li,.t{grid-template-columns:minmax(0,5fr) minmax(0,6fr) 9rem minmax(19rem,5fr) 3.4rem;gap:0 1rem}
.c>li{margin-bottom:.3rem;padding:.45rem .8rem}
.c>li>*{grid-column:2}
.c>li>div{grid-column:1;grid-row:1/span 9}
.c>li>.a{grid-column:3;grid-row:1/span 9}
.a b,.a small{text-align:right}
.c>li>svg{grid-column:4;grid-row:1/span 9}
.c>li>.m{grid-column:5;grid-row:1/span 9}
.c>li>details[open]{grid-column:2/-1}
.t p{grid-column:4}
.t i{grid-column:5}
}
.public{max-width:52rem;margin-left:auto;margin-right:auto}
.public h3{font-size:1rem}
.public ul>li{margin:.4rem 0;padding:.6rem .8rem;background:var(--card);border-left:.3rem solid var(--c,var(--link))}
.public li li{margin:.3rem 0;padding:.3rem .8rem}
.public .top,.days{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1rem}
.public .top p,.public time{font-size:.9375rem}
.public .top b{color:var(--c)}
.public .g,.public .h{margin:0}
.public summary{padding:0;color:inherit;list-style:none}
.public summary::-webkit-details-marker{display:none}
.public summary h3::before{content:"\\25b8\\a0 "/""}
.public [open]>summary h3::before{content:"\\25be\\a0 "/""}
.public .b{height:1.6rem;margin-top:.3rem}
.days{color:var(--soft);font-size:.8125rem}
@media (min-width:120rem){html{font-size:137.5%}}
@media print{.c>li{break-inside:avoid}}
`.replaceAll(/\n\s*/g, ""));
