/**
 * A summary as HTML for email. Programs for email drop style sheets and scripts and load no images, so styles are
 * inline. No text or background color is set: each program chooses both for light and dark mode, and the marks are
 * visible on either.
 */
import { truncate } from "../../shared/text.ts";
import { joinMarkup, type Markup, markup } from "../markup.ts";
import type { Summary } from "./summarize.ts";
import { describePeriod, type Section, sectionsOf, sentenceOf } from "./summary_sections.ts";

const LENGTH_MAX = 1000;
const RED = "#e5484d";
const GREEN = "#30a46c";
const GRAY = "#8b8d98";

const BODY =
  markup`margin:0;padding:16px;font:15px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif`;
const CELL = "padding:4px 12px 4px 0;vertical-align:top;text-align:left;overflow-wrap:anywhere";

export function summaryHtml(summary: Summary): Markup {
  const sentence = sentenceOf(summary);
  const { checks, downChecks, missedObjectives, pendingChecks, unknownChecks, withoutData } = summary;
  const isKnown = checks > 0 && pendingChecks + unknownChecks + withoutData.count === 0;
  const color = downChecks + missedObjectives > 0 ? RED : isKnown ? GREEN : GRAY;
  return markup`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,"><title>${
    cut(sentence)
  }</title></head>
<body style="${BODY}"><div role="main" style="max-width:720px;margin:0 auto">
<h1 style="margin:0 0 8px;padding-left:12px;border-left:6px solid ${color};font-size:19px;font-weight:600">${
    cut(sentence)
  }.</h1>
<p style="margin:0 0 16px;font-size:13px;opacity:.75">${cut(describePeriod(summary))}<br>${
    cut(`Host: ${summary.hostName}`)
  }${summary.notes.map((note) => markup`<br>${cut(note)}`)}</p>
${joinMarkup(sectionsOf(summary).map(sectionHtml), markup`\n`)}
</div></body></html>
`;
}

function sectionHtml({ title, items, more }: Section): Markup {
  const rows = items.map(({ name, facts, isBad }) =>
    markup`<tr><th scope="row" style="${CELL};width:34%;font-weight:600;padding-left:8px;border-left:4px solid ${
      isBad ? RED : GRAY
    }">${cut(name)}</th><td style="${CELL}">${cut(facts)}</td></tr>`
  );
  const rest = more === "" ? "" : markup`<tr><td colspan="2" style="${CELL}">${cut(more)}</td></tr>`;
  return markup`<h2 style="margin:20px 0 4px;font-size:15px;border-bottom:1px solid ${GRAY}">${
    cut(title)
  }</h2>
<table style="width:100%;border-collapse:separate;border-spacing:0 2px;table-layout:fixed">${
    joinMarkup(rows, markup`\n`)
  }${rest}</table>`;
}

function cut(text: string): string {
  return truncate(text, LENGTH_MAX);
}
