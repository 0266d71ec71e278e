import type { Summary } from "./summary.ts";
import { describePeriod, type Section, sectionsOf, sentenceOf } from "./summary_sections.ts";

/** Renders a summary as plain text: lines ended by line feeds. */
export function summaryText(summary: Summary): string {
  const head = [
    `${sentenceOf(summary)}.`,
    "",
    describePeriod(summary),
    `Host: ${summary.hostName}`,
    ...summary.notes,
  ];
  return [...head, ...sectionsOf(summary).flatMap(sectionLines)].map((line) => `${line}\n`).join("");
}

function sectionLines({ title, items, more }: Section): readonly string[] {
  return [
    "",
    title,
    ...items.map(({ name, facts }) => `- ${name}: ${facts}`),
    ...more === "" ? [] : [`- ${more}`],
  ];
}
