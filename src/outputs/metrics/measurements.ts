import { parsePerformanceData, type PerformanceDatum } from "../../shared/performance_data.ts";

/** One item of performance data in base units. */
export interface Measurement {
  /** The plugin's own; where it used one twice, the second is called `x_2`. */
  readonly label: string;
  /** `seconds`, `bytes` or `ratio`, else the unit of the plugin; empty for a plain number. */
  readonly unit: string;
  /** Whether it only increases, until its source is reset. */
  readonly isCounter: boolean;
  /** In that unit; `null` if the plugin returned none. */
  readonly value: number | null;
  /** The bounds that the plugin gave, in the same unit. */
  readonly bounds: readonly Bound[];
}

interface Bound {
  /** Values beyond `warning` and `critical` are no longer ok; `low` is the lower end of such a range. */
  readonly kind: "warning" | "warning_low" | "critical" | "critical_low" | "min" | "max";
  readonly value: number;
}

/** Parses a plugin's performance data and converts values with a unit to the base units of Prometheus. */
export function measurementsOf(performanceData: string): readonly Measurement[] {
  if (performanceData === "") return [];
  const used = new Map<string, number>();
  return parsePerformanceData(performanceData).map((datum) => toMeasurement(datum, used));
}

function toMeasurement(datum: PerformanceDatum, used: Map<string, number>): Measurement {
  const { base, factor } = UNITS.get(datum.unit) ?? { base: datum.unit, factor: 1 };
  const [warning = "", critical = "", min = "", max = ""] = datum.limits;
  return {
    label: uniqueLabel(datum.label, used),
    unit: base,
    isCounter: datum.unit === "c",
    value: datum.value === "U" ? null : scale(datum.value, factor),
    bounds: [
      ...rangeBounds(warning, "warning"),
      ...rangeBounds(critical, "critical"),
      ...(min === "" ? [] : [{ kind: "min" as const, value: min }]),
      ...(max === "" ? [] : [{ kind: "max" as const, value: max }]),
    ].map(({ kind, value }) => ({ kind, value: scale(value, factor) })),
  };
}

interface Unit {
  readonly base: string;
  readonly factor: number;
}

/** Units as plugins write them: `KB` is 1000 bytes and `KiB` 1024, as Icinga reads them too; `Mb` would be bits. */
const UNITS: ReadonlyMap<string, Unit> = new Map<string, Unit>([
  ["c", { base: "", factor: 1 }],
  ["%", { base: "ratio", factor: 0.01 }],
  ["ns", { base: "seconds", factor: 1e-9 }],
  ["us", { base: "seconds", factor: 1e-6 }],
  ["µs", { base: "seconds", factor: 1e-6 }],
  ["ms", { base: "seconds", factor: 1e-3 }],
  ["s", { base: "seconds", factor: 1 }],
  ["m", { base: "seconds", factor: 60 }],
  ["h", { base: "seconds", factor: 3600 }],
  ["d", { base: "seconds", factor: 86_400 }],
  ["B", { base: "bytes", factor: 1 }],
  ["kB", { base: "bytes", factor: 1000 }],
  ...["K", "M", "G", "T", "P", "E"].flatMap((prefix, index): [string, Unit][] => [
    [`${prefix}B`, { base: "bytes", factor: 1000 ** (index + 1) }],
    [`${prefix}iB`, { base: "bytes", factor: 1024 ** (index + 1) }],
  ]),
]);

/** By division where the factor is a fraction: 59 ms are 0.059 s, and not 0.059000000000000004. */
function scale(text: string, factor: number): number {
  const value = Number(text);
  return factor >= 1 ? value * factor : value / Math.round(1 / factor);
}

/** The ends of a range `[@]start:end` that are written. A range inside which something is wrong has none here. */
function rangeBounds(
  range: string,
  kind: "warning" | "critical",
): readonly { readonly kind: Bound["kind"]; readonly value: string }[] {
  if (range === "" || range.startsWith("@")) return [];
  const colon = range.indexOf(":");
  const low = colon < 0 ? "" : range.slice(0, colon);
  const high = range.slice(colon + 1);
  return [
    ...(low === "" || low === "~" ? [] : [{ kind: `${kind}_low` as const, value: low }]),
    ...(high === "" ? [] : [{ kind, value: high }]),
  ];
}

function uniqueLabel(label: string, used: Map<string, number>): string {
  let unique = label;
  let number = used.get(label) ?? 1;
  while (used.has(unique)) unique = `${label}_${++number}`;
  used.set(label, number);
  used.set(unique, used.get(unique) ?? 1);
  return unique;
}
