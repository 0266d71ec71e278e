import type { ShownCondition } from "../../domain/condition.ts";
import { textWidth } from "../../shared/text_width.ts";
import { truncate } from "../../shared/truncate.ts";
import { type Markup, markup } from "../markup.ts";

const NAME_MAX = 60;
const COLORS: Readonly<Record<ShownCondition, string>> = {
  ok: "1a7f37",
  pending: "1c6b80",
  unknown: "6b41a1",
  warning: "8f5f00",
  critical: "b3261e",
};

/** Renders a check's condition as a small picture (SVG). */
export function renderBadge(name: string, condition: ShownCondition): Markup {
  const label = truncate(name, NAME_MAX);
  const [left, right] = [widthOf(name.slice(0, NAME_MAX)), widthOf(condition)];
  const text = (x: number, width: number, words: string): Markup =>
    markup`<text x="${x + width / 2}" y="14" textLength="${
      width - 12
    }" lengthAdjust="spacingAndGlyphs">${words}</text>`;
  return markup`<svg xmlns="http://www.w3.org/2000/svg" width="${
    left + right
  }" height="20" role="img" aria-label="${label}: ${condition}">
<title>${label}: ${condition}</title>
<rect width="${left}" height="20" fill="#444b52"/><rect x="${left}" width="${right}" height="20" fill="#${
    COLORS[condition]
  }"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">${
    text(0, left, label)
  }${text(left, right, condition)}</g>
</svg>
`;
}

function widthOf(words: string): number {
  return 7 * textWidth(words) + 12;
}
