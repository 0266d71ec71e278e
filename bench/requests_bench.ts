import { compareLoads, type Comparison } from "./compare_loads.ts";
import type { Row } from "./row.ts";
import { startServer } from "./server.ts";
import type { Workplace } from "./workplace.ts";

/** What one pass over many requests takes to a `fetch` loop that asks the same, each over a fresh connection. */
export async function benchRequests({ effort }: Workplace): Promise<readonly Row[]> {
  await using server = await startServer();
  const rows: Row[] = [];
  for (const comparison of COMPARISONS) {
    rows.push(
      ...await compareLoads({
        ...comparison,
        rounds: effort.rounds(comparison.rounds),
        target: server.address,
      }),
    );
  }
  return rows;
}

const COMPARISONS: readonly Omit<Comparison, "target">[] = [
  {
    name: "2,000 requests",
    monitor: "monitor_requests",
    bare: [
      { load: "bare_requests", name: "a bare fetch loop", aim: 1.25 },
      { load: "bare_requests_with_time_limit", name: "one with a time limit" },
    ],
    count: 2000,
    rounds: 7,
  },
  {
    name: "2,000 requests that read the body",
    monitor: "monitor_requests_for_body",
    bare: [{ load: "bare_requests_for_body", name: "a bare fetch loop" }],
    count: 2000,
    rounds: 7,
  },
];
