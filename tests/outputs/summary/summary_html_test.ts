import assert from "node:assert/strict";
import { summarize } from "../../../src/outputs/summary/summarize.ts";
import { summaryHtml } from "../../../src/outputs/summary/summary_html.ts";
import { HOUR_MS } from "../../../src/shared/time_units.ts";
import { changeOf, NOW_MS, queuedOf } from "../../state/records.ts";
import { historyOf, WEEK } from "./histories.ts";

const HOSTILE = `<script>alert(1)</script>"'&\u202e\u001b[31m\n</td><img src=x onerror=y>`;

Deno.test("summaryHtml() escapes names, titles, outputs and reasons, and loads nothing", () => {
  const html = summaryHtml(summarize({
    ...WEEK,
    timeZone: "UTC",
    hostName: HOSTILE,
    checks: [historyOf(HOSTILE, {
      title: HOSTILE,
      changes: [changeOf("web", NOW_MS - HOUR_MS, { output: HOSTILE })],
    })],
    queued: [queuedOf("one", 1, { channelName: HOSTILE, lastFailure: HOSTILE })],
  })).toString();
  const tags = [...html.matchAll(/<(\/?[a-z!][a-z0-9]*)/gi)].map(([, tag = ""]) => tag.toLowerCase());
  const own = [
    "!doctype",
    "html",
    "head",
    "meta",
    "title",
    "body",
    "div",
    "p",
    "br",
    "h2",
    "table",
    "tr",
    "th",
    "td",
  ];
  for (const tag of tags) assert.ok(own.includes(tag.replace("/", "")), tag);
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(html, /[\u202e\u001b]|<[^>]*(?:src|href)=|url\(|<style/);
  assert.match(html, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/);
  assert.equal(tags.filter((tag) => tag === "td").length, tags.filter((tag) => tag === "/td").length);
});
