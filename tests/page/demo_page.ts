import { writeReport } from "../../src/outputs/html_report/write_report.ts";
import type { Store } from "../../src/domain/store.ts";
import { openSqliteStore } from "../../src/state/sqlite/sqlite_store.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { createStoreFiles } from "../../src/system/store_files.ts";
import { demoChecks, makeHistory } from "../../scripts/make_history.ts";
import { HOUR_MS } from "../../src/shared/time_units.ts";

/** The moment of the demonstration: 2026-01-31T10:00:00Z. */
export const NOW_MS = Date.UTC(2026, 0, 31, 10);

/** Creates a history of 90 days in a real state, with its own clock. */
export async function withDemo(
  count: number,
  use: (
    demo: { readonly store: Store; readonly directory: string; page(): Promise<string> },
  ) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "monitor_page_" });
  const { store } = await openSqliteStore(`${directory}/state.sqlite`, {
    files: createStoreFiles(createRealClock()),
    userId: Deno.uid(),
    nowMs: NOW_MS,
    access: "own",
  });
  const checks = demoChecks(count);
  const facts = {
    nowMs: NOW_MS,
    hostName: "demo.example",
    timeZone: "Europe/Berlin",
    configLabel: "/etc/monitor/monitor.jsonc",
    intervalMs: 60_000,
    text: null,
    notRunning: null,
  };
  try {
    await makeHistory({ store, checks, endMs: NOW_MS, fineStepMs: count > 100 ? 3 * HOUR_MS : HOUR_MS });
    await use({
      store,
      directory,
      page: () => writeReport({ store, checks, isWhole: true, facts, clock: createRealClock() }),
    });
  } finally {
    await store.close();
    await Deno.remove(directory, { recursive: true });
  }
}
