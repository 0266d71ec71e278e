import { demoChecks, demoDocument, makeHistory } from "../scripts/make_history.ts";
import { openStore } from "./kept_state.ts";
import type { Row } from "./row.ts";
import { compareRuns, measureRuns } from "./run_rows.ts";
import type { Workplace } from "./workplace.ts";

const CHECKS = 1_000;
const FINE_STEP_MS = 3 * 3_600_000;
const ROUNDS = 7;
const PEAK_ROUNDS = 3;

/** What the page of 1,000 checks with 90 days of history takes to a program that reads the same rows of the state. */
export async function benchPage({ programs, folder, effort }: Workplace): Promise<readonly Row[]> {
  const [document, state, page] = [`${folder}/page.json`, `${folder}/page.sqlite`, `${folder}/page.html`];
  await Deno.writeTextFile(document, JSON.stringify(demoDocument(CHECKS)));
  const nowMs = Date.now();
  const store = await openStore(state, nowMs);
  await makeHistory({ store, checks: demoChecks(CHECKS), endMs: nowMs, fineStepMs: FINE_STEP_MS });
  await store.close();
  const { commands } = programs.best;
  const costs = await measureRuns({
    bare: { command: [...commands.bare, "history", state] },
    page: {
      command: [...commands.monitor, "report", "-o", page, "--config", document, "--state", state],
      judge: () => requireItems(page),
    },
  }, { rounds: effort.rounds(ROUNDS), peakRounds: effort.rounds(PEAK_ROUNDS) });
  const bare = { name: "a program that sums up the rows of the state", cost: costs.bare };
  return compareRuns(`a page of ${CHECKS.toLocaleString("en")} checks`, costs.page, bare);
}

async function requireItems(page: string): Promise<void> {
  const count = (await Deno.readTextFile(page)).split("<h3>").length - 1;
  if (count < CHECKS) throw new Error(`Cannot measure: the page has ${count} checks, expected ${CHECKS}`);
}
