/** No foreign text can become markup: what the template does, and that everything is made with it. */
import assert from "node:assert/strict";
import { statusOf } from "../../src/engine/check_status.ts";
import { publicPage, renderPublicRest, renderPublicTop } from "../../src/outputs/html_report/public_page.ts";
import { renderReport } from "../../src/outputs/html_report/render_report.ts";
import type { ReportSnapshot } from "../../src/outputs/html_report/snapshot.ts";
import { renderBadge, renderFeed } from "../../src/outputs/http_endpoint/views.ts";
import { joinMarkup, markup, markupLines } from "../../src/outputs/markup.ts";
import { summarize } from "../../src/outputs/summary/summarize.ts";
import { summaryHtml } from "../../src/outputs/summary/render_summary.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { changeOf, NOW_MS, queuedOf, recordOf, resultOf, silenceOf } from "../state/records.ts";
import { testCheck } from "../support/checks.ts";
import { historyOf, WEEK } from "./summary/histories.ts";
import { type Rows, testRows } from "../support/rows.ts";

const HOSTILE = `<script>"'&\u0007\u202e\ud800`;
const ESCAPED = "&lt;script&gt;&quot;&apos;&amp;\\x07\\u202e\ufffd";

Deno.test("markup`` escapes text, and inserts markup as it is", async (t) => {
  const bold = markup`<b>${HOSTILE}</b>`;
  const rows = {
    "text": [bold, `<b>${ESCAPED}</b>`],
    "colors, a tab and a line break": [markup`${"\u001b[31mred\u001b[0m\t\r\n"}`, "red \\r\\n"],
    "a number": [markup`<p title="${1.5}">`, '<p title="1.5">'],
    "nothing": [markup`${""}${[]}`, ""],
    "markup": [markup`<p>${bold}`, `<p><b>${ESCAPED}</b>`],
    "lists": [markup`<p>${[bold, "", ["<", 2]]}.`, `<p><b>${ESCAPED}</b>&lt;2.`],
    "lines": [markup`<pre>${markupLines("<a>\r\n\tb\u0007")}</pre>`, "<pre>&lt;a&gt;\n    b\\x07</pre>"],
    "joined markup": [joinMarkup([bold, markup`<i>`], markup`<br>`), `<b>${ESCAPED}</b><br><i>`],
    "markup in plain text": [markup`${`${bold}`}`, `&lt;b&gt;${ESCAPED.replaceAll("&", "&amp;")}&lt;/b&gt;`],
  } as const;
  await testRows(t, rows, ([made, text]) => assert.equal(made.toString(), text));
});

function snapshotOf(foreign: (field: string) => string): ReportSnapshot {
  const name = foreign("name");
  const record = recordOf(name, {
    last: resultOf({
      output: foreign("output"),
      detail: `${foreign("detail")}\n`,
      metrics: { [foreign("metric").trim()]: 1, [`${foreign("metric").trim()}_warning_above`]: 2 },
    }),
  });
  const check = { ...testCheck("ok", { name }), title: foreign("title"), tags: [foreign("tag")] };
  const problem = {
    ...statusOf(check, { recordOf: () => record, nowMs: NOW_MS }),
    maintenance: { untilMs: null, reason: foreign("reason") },
    spans: [],
    hours: [],
    days: [],
    recent: [],
    isDetailed: true,
    changes: [changeOf(name, NOW_MS, { output: foreign("change"), trace: foreign("trace") })],
  };
  const fine = { ...problem, condition: "ok" as const, record: null };
  return {
    nowMs: NOW_MS,
    hostName: foreign("host"),
    timeZone: "UTC",
    configLabel: foreign("config"),
    text: {
      title: foreign("heading"),
      description: foreign("description"),
      announcements: [{ date: foreign("date"), text: foreign("announcement") }],
      groups: [{
        title: foreign("group"),
        description: foreign("group text"),
        tags: [foreign("tag")],
        checks: [],
      }],
    },
    intervalMs: null,
    notRunning: null,
    failedReload: null,
    checks: [problem, fine],
    inactive: [{ name: foreign("inactive"), title: foreign("inactive title") }],
    rows: [queuedOf("a", 1, { channelName: foreign("channel"), lastFailure: foreign("failure") })],
    silences: [silenceOf("a", { check: foreign("silenced"), reason: foreign("note") })],
    members: [{
      host: foreign("member"),
      location: foreign("location"),
      silentForMs: 0,
      config: "a",
      active: "a",
    }],
  };
}

async function feedOf(foreign: (field: string) => string): Promise<string> {
  const checks = [{ ...testCheck("ok"), title: foreign("title") }];
  const store = { latestChanges: () => Promise.resolve([changeOf("web", 1, { output: foreign("output") })]) };
  const options = { store, checks, recordOf, hasOutputs: true, clock: createFakeClock() };
  const feeds = [null, foreign("heading")].map((title) =>
    renderFeed({ ...options, title, hostName: foreign("host") })
  );
  return (await Promise.all(feeds)).join("");
}

function summaryOf(foreign: (field: string) => string): string {
  const [name, title] = [foreign("name"), foreign("title")];
  const changes = [changeOf("web", NOW_MS - 60_000, { output: foreign("output") })];
  return summaryHtml(summarize({
    ...WEEK,
    timeZone: "UTC",
    hostName: foreign("host"),
    checks: [historyOf(name, { changes }), historyOf("web", { title, changes })],
    queued: [queuedOf("a", 1, { channelName: foreign("channel"), lastFailure: foreign("failure") })],
  })).toString();
}

Deno.test("text from configs and targets adds no markup to pages, feeds and badges", async (t) => {
  type Render = (foreign: (field: string) => string) => string | Promise<string>;
  const pageOf = (facts: Partial<ReportSnapshot>): Render => (foreign) =>
    [...renderReport({ ...snapshotOf(foreign), ...facts })].join("");
  const onPage = "title tag output metric reason change host config heading description date announcement " +
    "inactive channel failure silenced note member location";
  const rows: Rows<[render: Render, fields: string]> = {
    "file": [pageOf({}), `${onPage} name detail trace`],
    "live page": [pageOf({ isLive: true }), `${onPage} name detail trace`],
    "public page": [
      (foreign) => {
        const page = publicPage(snapshotOf(foreign));
        return [...renderPublicTop(page), ...renderPublicRest(page)].join("");
      },
      "title heading description date announcement group",
    ],
    "page of one check": [pageOf({ isLive: true, isOfOneCheck: true }), `${onPage} name detail trace`],
    "feed": [feedOf, "title output heading host"],
    "summary": [summaryOf, "host"],
    "badge": [(foreign) => renderBadge(foreign("title"), "ok").toString(), "title"],
  };
  await testRows(t, rows, async ([render, fields]) => {
    const text = await render((field) => `\r\n${HOSTILE}${field}`);
    for (const field of fields.split(" ")) assert.ok(text.includes(ESCAPED + field), field);
    // deno-lint-ignore no-control-regex
    assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u202e]/);
    assert.deepEqual(tagsOf(text), tagsOf(await render((field) => field)));
  });
});

/** The tags of a text without the values of attributes in quotes, which have no quote in them. */
function tagsOf(text: string): readonly string[] {
  return (text.match(/<[^>]*>/g) ?? []).map((tag) => tag.replaceAll(/"[^"]*"/g, '""'));
}
