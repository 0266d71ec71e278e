import { DatabaseSync } from "node:sqlite";
import type { BenchServer } from "./server.ts";
import type { Counter } from "./steady_process.ts";

/** Counts the responses of a server. */
export function serverCounter(server: BenchServer): Counter {
  return () => server.count();
}

/** Counts the operations that the process itself reports. */
export async function ownCounter(ask: () => Promise<string>): Promise<number> {
  return Number(await ask());
}

const POLL_MS = 5;
const COMMIT_WITHIN_MS = 20_000;

/**
 * Counts the runs in the state of a running monitor. It writes them together, once a second, so this waits for the
 * next commit: the difference between two commits is all that was done between them.
 */
export function stateCounter(path: string): Counter {
  return async () => {
    using database = new DatabaseSync(path, { readOnly: true });
    const version = database.prepare("PRAGMA data_version");
    const read = (): number => Number(Object.values(version.get() ?? {})[0]);
    const [seen, deadlineMs] = [read(), performance.now() + COMMIT_WITHIN_MS];
    while (read() === seen) {
      if (performance.now() > deadlineMs) throw new Error("Cannot count runs: the state does not change");
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    const sum = "SELECT sum(runs_ok + runs_unknown + runs_warning + runs_critical) AS runs FROM checks";
    return Number(database.prepare(sum).get()?.["runs"]);
  };
}
