import { type Markup, unescapedConstant } from "../markup.ts";
import { RECENT_RUNS_MAX } from "../../state/retention.ts";
import { DAYS_SHOWN, HOURS_SHOWN } from "./snapshot.ts";

/**
 * The page's only style sheet. Colors come in two sets, and each color of a condition has a word and a height with
 * it. `k p u w x` are the conditions, see `STROKE_CLASSES`. On a wall screen everything is larger, to be read from afar.
 */
export const STYLE: Markup = unescapedConstant(`
:root{color-scheme:light dark;--back:#fff;--card:#f6f7f9;--text:#1c2126;--soft:#545d66;--rule:#d3d8de;--link:#0a55a8;
  --k:#1a7f37;--p:#1c6b80;--u:#6b41a1;--w:#8f5f00;--x:#b3261e;--on:#fff}
@media (prefers-color-scheme:dark){:root{--back:#14171a;--card:#1d2125;--text:#e7eaed;--soft:#a7b0b9;--rule:#3a4148;
  --link:#8ec1ff;--k:#5fbf6e;--p:#6cc3d8;--u:#c4a1f7;--w:#e3ab45;--x:#ff8d85;--on:#14171a}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:100rem;padding:1rem;background:var(--back);color:var(--text);
  font:1rem/1.4 system-ui,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
h1{margin:0;font-size:1.6rem;line-height:1.25}
h2{margin:1.6rem 0 .5rem;font-size:1.15rem}
h3{margin:0;font-size:1rem;line-height:1.3;unicode-bidi:isolate}
.old main,.old nav{filter:grayscale(1) opacity(.85)}
h3 a{color:inherit;text-decoration-color:var(--soft)}
p,ul,ol{margin:0;padding:0}
ul,ol{list-style:none}
a{color:var(--link)}
header .h{font-size:1.15rem;font-weight:600;color:var(--text)}
header .o{color:var(--text)}
header .z,#live{color:var(--text);font-weight:600}
#live.z{position:sticky;top:0;z-index:2;margin:0;padding:.3rem 0;background:var(--back)}
header p{color:var(--soft);margin:.3rem 0;max-width:60rem}
header time{color:inherit;font-size:inherit}
header,main{position:relative}
nav{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;margin:.6rem 0}
.c>li{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:.1rem .6rem;align-items:start;margin:0 0 .5rem;
  padding:.6rem .8rem;background:var(--card);border-left:.4rem solid var(--k)}
.c>li>*{grid-column:1/-1}
.c>.p{border-color:var(--p)}
.c>.u{border-color:var(--u)}
.c>.w{border-color:var(--w)}
.c>.x{border-color:var(--x)}
.c b{font-weight:600}
.s,.n,.m,.a,.f,summary,time{color:var(--soft);font-size:.875rem}
.n{font-family:ui-monospace,monospace;font-size:.8125rem}
.s b{color:var(--k)}
.p>.s b,.u>.s b,.w>.s b,.x>.s b{padding:.05rem .45rem;border-radius:.25rem;background:var(--x);color:var(--on)}
.p>.s b{background:var(--p)}
.u>.s b{background:var(--u)}
.w>.s b{background:var(--w)}
.s em{display:inline-block;padding:0 .4rem;border:1px solid;border-radius:.25rem;color:var(--text);font-style:normal}
.s em time{color:inherit;font-size:inherit}
.a b,.f b{color:var(--text)}
.a b,.a small{white-space:nowrap}
.a{display:grid;grid-template-columns:auto 1fr;gap:0 .6rem}
.a small{grid-column:1/-1}
.c svg{grid-column:1;width:100%;margin-top:.15rem;height:5.25rem;display:block;background:
  linear-gradient(90deg,var(--rule) 1px,#0000 1px) 0 0/33.333% 53.6%,
  linear-gradient(90deg,var(--rule) 1px,#0000 1px) 0 69.8%/25% 23.2%,
  linear-gradient(90deg,var(--rule) 1px,#0000 1px) 0 100%/20% 23.2%;background-repeat:repeat-x}
.c .m{grid-column:2;min-width:3.4rem;padding-top:.15rem;font-size:.75rem;line-height:1.22rem;white-space:nowrap}
.m::after{content:"${DAYS_SHOWN} d\\A ${HOURS_SHOWN} h\\A ${RECENT_RUNS_MAX} runs"/"";display:block;white-space:pre;margin-top:.4rem}
.m:empty::after{margin-top:1.62rem}
.m:not(:empty)::before{content:""/"Mean duration up to"}
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
@media (max-width:40rem){.t b{display:none}}
pre{margin:.3rem 0;padding:.4rem .6rem;white-space:pre-wrap;font-size:.8125rem;background:var(--back)}
summary{cursor:pointer;padding:.2rem 0}
.e>li{padding:.25rem 0;border-top:1px solid var(--rule)}
.e>li:first-child{border-top:0}
.i>li{padding:.4rem .8rem;border-left:.4rem solid var(--link);background:var(--card)}
@media (min-width:66rem){
html{scroll-padding-top:5rem}
.c>li,.t{grid-template-columns:minmax(0,5fr) minmax(0,6fr) 9rem minmax(19rem,5fr) 3.4rem;gap:0 1rem}
.c>li{margin-bottom:.3rem;padding:.45rem .8rem}
.c>li>*{grid-column:2}
.c>li>div{grid-column:1;grid-row:1/span 9}
.c .a{grid-column:3;grid-row:1/span 9}
.a b,.a small{text-align:right}
.c svg{grid-column:4;grid-row:1/span 9}
.c .m{grid-column:5;grid-row:1/span 9}
.c details[open]{grid-column:2/-1}
.t{position:sticky;top:0;z-index:1;background:var(--back)}
#live.z~main .t{top:2rem}
.t p{grid-column:4}
.t i{grid-column:5}
}
@media (min-width:120rem){html{font-size:137.5%}}
@media print{.c>li{break-inside:avoid}}
`.replaceAll(/\n\s*/g, ""));
