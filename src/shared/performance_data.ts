import { lazily } from "./lazily.ts";

/** One item of performance data. Numbers are kept as the plugin wrote them. */
export interface PerformanceDatum {
  /** Without quotes; not empty. */
  readonly label: string;
  /** A decimal number, or `U` for unknown. */
  readonly value: string;
  /** Unit of measurement, such as `ms`, `%` or `B`; empty for a plain number. */
  readonly unit: string;
  /** Warning and critical range, minimum and maximum; empty where not given, none behind the last given one. */
  readonly limits: readonly string[];
}

const NUMBER = String.raw`-?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})`;
const RANGE = String.raw`@?(?:(?:${NUMBER}|~)?:(?:${NUMBER})?|${NUMBER})`;

/** One item, or a word in another form. Every repetition is bounded, so that hostile text costs no more than its length. */
const item = lazily(() =>
  new RegExp(
    String.raw`(?:'((?:[^'=]|''){1,256})'|([^\s'=|]{1,256}))=` +
      String.raw`(U(?![^;\s])|${NUMBER})([^\d\s;,'"=|\p{C}]{0,16})` +
      String.raw`(?:;(${RANGE})?(?:;(${RANGE})?(?:;(${NUMBER})?(?:;(${NUMBER})?)?)?)?)?;?(?=\s|$)|(\S+)`,
    "gu",
  )
);

/** Parses a plugin's performance data as {@linkcode readPerformanceData} does. Values in another form are skipped. */
export function parsePerformanceData(text: string): readonly PerformanceDatum[] {
  return readPerformanceData(text).data;
}

/**
 * Reads a plugin's performance data: `'label'=value[UOM];[warn];[crit];[min];[max]`, separated by spaces (Monitoring
 * Plugins Development Guidelines, "Performance data").
 */
export function readPerformanceData(text: string): {
  readonly data: readonly PerformanceDatum[];
  /** The words in another form. */
  readonly unread: readonly string[];
} {
  const data: PerformanceDatum[] = [];
  const unread: string[] = [];
  if (text === "") return { data, unread };
  for (const [, quoted, bare = "", value = "", unit = "", ...rest] of text.matchAll(item())) {
    const word = rest[4];
    if (word !== undefined) {
      unread.push(word);
      continue;
    }
    const count = rest.findLastIndex((limit) => (limit ?? "") !== "") + 1;
    data.push({
      label: quoted?.replaceAll("''", "'") ?? bare,
      value,
      unit,
      limits: rest.slice(0, count).map((limit) => limit ?? ""),
    });
  }
  return { data, unread };
}

/** Writes an item as the guidelines want it, its label quoted. The label must be printable, without `=` and `|`. */
export function formatPerformanceDatum(datum: PerformanceDatum): string {
  const fields = [`${datum.value}${datum.unit}`, ...datum.limits].join(";");
  return `'${datum.label.replaceAll("'", "''")}'=${fields}`;
}

/** A number in the only characters that performance data may have: digits, sign and point. */
export function plainNumber(value: number): string {
  if (Math.abs(value) >= 1e21) return BigInt(value).toString();
  const text = Number.isInteger(value) ? value.toFixed(0) : value.toFixed(6).replace(/\.?0+$/, "");
  return text === "-0" ? "0" : text;
}
