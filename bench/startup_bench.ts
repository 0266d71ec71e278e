import { megabytesText } from "./measure.ts";
import type { Programs } from "./programs.ts";
import type { Row } from "./row.ts";
import { compareRuns, measureRuns, type RunRounds } from "./run_rows.ts";
import type { Workplace } from "./workplace.ts";

const ROUNDS = 31;
const PEAK_ROUNDS = 7;
/** 30 and 55 ms more than an empty program that takes 54. */
const AIMS = { withoutState: 1.55, withState: 2 };

/** The smallest config that runs a check. */
const DOCUMENT = `{
  "defaults": {},
  "checks": { "fine": { "kind": "test", "parameters": { "condition": "ok" } } }
}
`;

/**
 * Compares a whole `check --once` of one `test` check with a program that does nothing, without state and with kept
 * state: both programs as modules that Deno runs, and both as executables, if those can be built.
 */
export async function benchStartup({ programs, directory, effort }: Workplace): Promise<readonly Row[]> {
  const place = { directory, rounds: effort.rounds(ROUNDS), peakRounds: effort.rounds(PEAK_ROUNDS) };
  await Deno.writeTextFile(`${directory}/startup.json`, DOCUMENT);
  const rows = await compareStarts(programs.modules, place);
  if (programs.executables === null) {
    const note = "none can be made here: set DENORT_BIN where Deno cannot download what it compiles with";
    return [...rows, { name: "executable", value: null, unit: "×", note }];
  }
  return [
    ...rows,
    ...await compareStarts(programs.executables, place, AIMS),
    await compareSizes(programs.executables),
  ];
}

interface Place extends RunRounds {
  readonly directory: string;
}

async function compareStarts(
  { form, commands }: Programs,
  place: Place,
  aims: Partial<typeof AIMS> = {},
): Promise<readonly Row[]> {
  const { directory } = place;
  const checkOnce = [...commands.monitor, "check", "--once", "--config", `${directory}/startup.json`];
  const costs = await measureRuns({
    empty: { command: commands.empty },
    withoutState: { command: [...checkOnce, "--state", "none"] },
    withState: { command: [...checkOnce, "--state", `${directory}/startup.sqlite`] },
  }, place);
  const emptyWith = (aim: number | undefined): Parameters<typeof compareRuns>[2] => ({
    name: "an empty program",
    cost: costs.empty,
    ...(aim !== undefined && { aim }),
  });
  return [
    ...compareRuns(`${form}, check --once --state none`, costs.withoutState, emptyWith(aims.withoutState)),
    ...compareRuns(`${form}, check --once with kept state`, costs.withState, emptyWith(aims.withState)),
  ];
}

async function compareSizes({ commands }: Programs): Promise<Row> {
  const [monitor, empty] = [await sizeOf(commands.monitor), await sizeOf(commands.empty)];
  return {
    name: "executable, size",
    value: monitor / empty,
    unit: "×",
    note: `${megabytesText(monitor)} to ${megabytesText(empty)} of an empty program`,
  };
}

async function sizeOf([path = ""]: readonly string[]): Promise<number> {
  return (await Deno.stat(path)).size;
}
