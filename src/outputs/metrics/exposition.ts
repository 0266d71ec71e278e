import { printable } from "../../shared/printable.ts";

type MetricType = "gauge" | "counter";

export interface Family {
  /** After Prometheus' conventions: base units, `_total` for counters. */
  readonly name: string;
  /** A gauge goes up and down, a counter only up. */
  readonly type: MetricType;
  readonly help: string;
}

/** Prometheus' text format, version 0.0.4, or OpenMetrics 1.0. */
export type MetricsFormat = "prometheus" | "openmetrics";

export interface Exposition {
  /**
   * Adds samples to a family; one without samples is omitted. Labels are those that `labelText` returned. Of two
   * samples in one call with the same labels the first stays, since a file with both is rejected as a whole; the
   * caller ensures that two calls share none. A value that is not a number is omitted.
   */
  add(family: Family, samples: Iterable<Sample>): void;
  text(): string;
}

/** Labels, as `labelText` makes them, and a value. */
export type Sample = readonly [labels: string, value: number];

/** Begins an empty text, every sample of which gets some labels, as `labelText` makes them. */
export function createExposition(format: MetricsFormat, commonLabels = ""): Exposition {
  const isOpen = format === "openmetrics";
  const blocks = new Map<string, string[]>();
  return {
    add: ({ name, type, help }, samples) => {
      const seen = new Set<string>();
      // In OpenMetrics the suffix belongs to the sample, not to the family.
      const family = isOpen && type === "counter" ? name.replace(/_total$/, "") : name;
      const lines = blocks.get(name) ?? [`# HELP ${family} ${help}\n# TYPE ${family} ${type}\n`];
      for (const [labels, value] of samples) {
        if (!Number.isFinite(value) || seen.has(labels)) continue;
        seen.add(labels);
        const all = labels === "" || commonLabels === ""
          ? labels + commonLabels
          : `${labels},${commonLabels}`;
        lines.push(`${name}${all === "" ? "" : `{${all}}`} ${value}\n`);
      }
      if (lines.length > 1) blocks.set(name, lines);
    },
    text: () => [...blocks.values()].map((lines) => lines.join("")).join("") + (isOpen ? "# EOF\n" : ""),
  };
}

/**
 * A label in the text. Line breaks stay, as the escapes of the format; other control characters and lone surrogates,
 * which no reader accepts, are shown as by `printable`.
 */
export function labelText(name: string, value: string): string {
  return `${name}="${PLAIN.test(value) ? value : escapeValue(value)}"`;
}

/** Most names: nothing in them is escaped. */
const PLAIN = /^[ !#-[\]-~]*$/;

function escapeValue(value: string): string {
  return value.split("\n").map(printable).join("\n")
    .replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
