/** The table that a campaign prints. */
import type { Counts, FaultTime } from "./model.ts";

/** The results of all rounds. */
export interface Report {
  add(faults: readonly FaultTime[], counts: Counts): void;
  render(): string;
}

/** Creates a report. */
export function createReport(): Report {
  const faults = new Map<string, { count: number; ms: number }>();
  const totals: Counts[] = [];
  return {
    add: (happened, counts) => {
      totals.push(counts);
      for (const { fault, fromMs, toMs } of happened) {
        const row = faults.get(fault) ?? { count: 0, ms: 0 };
        faults.set(fault, { count: row.count + 1, ms: row.ms + toMs - fromMs });
      }
    },
    render: () => {
      const rows = [...faults].sort().map(([fault, { count, ms }]) => [
        fault,
        String(count),
        (ms / 1_000).toFixed(1),
      ]);
      const sum = (name: keyof Counts): number => totals.reduce((all, counts) => all + counts[name], 0);
      const longest = Math.max(0, ...totals.map(({ longestGapMs }) => longestGapMs));
      return [
        ...align([["fault", "times", "seconds"], ...rows]),
        "",
        ...align([
          ["rounds", String(totals.length)],
          ["problems", String(sum("problems"))],
          ["recoveries", String(sum("recoveries"))],
          ["notifications", String(sum("notifications"))],
          ["duplicates with the same id", String(sum("duplicates"))],
          ["with another id or out of order, while failing open", String(sum("surplus"))],
          ["that say so", String(sum("open"))],
          ["runs of targets", String(sum("served"))],
          ["runs accepted", String(sum("accepted"))],
          ["longest time without a run", `${(longest / 1_000).toFixed(1)} s`],
        ]),
      ].join("\n");
    },
  };
}

function align(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row.map((cell, column) => column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))
      .join("  ")
  );
}
