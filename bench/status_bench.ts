import { checkNames, makeDocument, requestCheck } from "./documents.ts";
import { keepChecks } from "./kept_state.ts";
import type { Row } from "./row.ts";
import { compareRuns, measureRuns } from "./run_rows.ts";
import type { Workplace } from "./workplace.ts";

const CHECKS = 10_000;
/** Long enough that none is overdue meanwhile. */
const INTERVAL_SECONDS = 3_600;
const ROUNDS = 11;
const PEAK_ROUNDS = 3;

/** What `status` over 10,000 checks takes to a program that reads the same rows and prints as many lines. */
export async function benchStatus({ programs, folder, effort }: Workplace): Promise<readonly Row[]> {
  const [document, state] = [`${folder}/status.json`, `${folder}/status.sqlite`];
  const text = makeDocument({
    check: requestCheck("http://127.0.0.1/"),
    count: CHECKS,
    intervalSeconds: INTERVAL_SECONDS,
  });
  await Deno.writeTextFile(document, text);
  await keepChecks(state, { names: checkNames(CHECKS), intervalMs: INTERVAL_SECONDS * 1000 });
  const { commands } = programs.best;
  const status = [...commands.monitor, "status", "--config", document, "--state", state];
  const costs = await measureRuns({
    bare: { command: [...commands.bare, "checks", state], judge: requireLines },
    pretty: { command: status, judge: requireLines },
    json: { command: [...status, "--format", "json"], judge: requireJson },
  }, { rounds: effort.rounds(ROUNDS), peakRounds: effort.rounds(PEAK_ROUNDS) });
  const bare = { name: "a program that prints the rows of the state", cost: costs.bare };
  const name = `status over ${CHECKS.toLocaleString("en")} checks`;
  return [
    ...compareRuns(name, costs.pretty, bare),
    ...compareRuns(`${name}, --format json`, costs.json, bare),
  ];
}

function requireLines(output: string): Promise<void> {
  return requireCount(output.split("\n").length - 1);
}

function requireJson(output: string): Promise<void> {
  const { checks } = JSON.parse(output) as { readonly checks: readonly unknown[] };
  return requireCount(checks.length);
}

function requireCount(count: number): Promise<void> {
  if (count < CHECKS) {
    throw new Error(`Cannot measure: there are ${count} checks, expected ${CHECKS}`);
  }
  return Promise.resolve();
}
