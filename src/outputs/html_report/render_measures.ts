import { roundedSize } from "../../domain/describe_size.ts";
import { describeDuration } from "../../domain/duration.ts";
import { truncate } from "../../shared/truncate.ts";
import { joinMarkup, type Markup, markup } from "../markup.ts";

/** A metric that is the threshold of another one, such as `free_percent_critical_below`. */
const THRESHOLD = /^(.+)_((?:warning|critical)_(?:below|above))$/;

const NAME_LENGTH_MAX = 60;

/** Renders the metrics that have thresholds, each with them; empty without any. */
export function renderMeasures(metrics: Readonly<Record<string, number>>): Markup {
  const thresholds = new Map<string, string[]>();
  for (const [name, limit] of Object.entries(metrics)) {
    const [, measured = "", side = ""] = THRESHOLD.exec(name) ?? [];
    if (!Object.hasOwn(metrics, measured)) continue;
    const text = `${side.replaceAll("_", " ")} ${withUnit(measured, limit).value}`;
    thresholds.set(measured, [...thresholds.get(measured) ?? [], text]);
  }
  const shown = [...thresholds].map(([name, texts]) => {
    const { label, value } = withUnit(name, metrics[name] ?? NaN);
    return markup`${truncate(label, NAME_LENGTH_MAX)} <b>${value}</b>, ${texts.join(", ")}`;
  });
  return shown.length === 0 ? markup`` : markup`<p class=f>${joinMarkup(shown, markup`; `)}</p>`;
}

/** The unit by the end of a metric's name. */
const UNITS: readonly { readonly ending: string; write(value: number): string }[] = [
  { ending: "_percent", write: (value) => `${rounded(value)}%` },
  { ending: "_bytes", write: (value) => roundedSize(value, 3) },
  { ending: "_seconds", write: (value) => describeDuration(value * 1000) },
  { ending: "_ms", write: (value) => `${rounded(value)} ms` },
];

function withUnit(name: string, value: number): { readonly label: string; readonly value: string } {
  const unit = UNITS.find(({ ending }) => name.endsWith(ending));
  const label = unit === undefined ? name : name.slice(0, -unit.ending.length);
  return { label: label.replaceAll("_", " "), value: unit?.write(value) ?? `${rounded(value)}` };
}

function rounded(value: number): number {
  return Number(value.toFixed(2));
}
