import { megabytesText } from "./measure.ts";
import type { Programs } from "./programs.ts";
import type { Row } from "./row.ts";
import { compareRuns, measureRuns, type RunCost, type RunRounds, type RunSubject } from "./run_rows.ts";
import type { Workplace } from "./workplace.ts";

const ROUNDS = 31;
const PEAK_ROUNDS = 7;

/** 30 and 55 ms more than an empty program that takes 54. */
const AIMS: Readonly<Record<string, number>> = {
  "check --once --state none": 1.55,
  "check --once with kept state": 2,
};

/** The arguments of what is started. */
function startsWith(config: string): Readonly<Record<string, readonly string[]>> {
  return {
    "--version": ["--version"],
    "validate": ["validate", "--config", config],
    "check --once --state none": ["check", "--once", "--config", config, "--state", "none"],
    "check --once with kept state": ["check", "--once", "--config", config],
  };
}

/** The smallest config that runs a check. */
const DOCUMENT = `{
  "state": "startup.sqlite",
  "defaults": {},
  "checks": { "fine": { "kind": "test", "parameters": { "condition": "ok" } } }
}
`;

/**
 * Compares starts of the program, such as a whole `check --once` of one `test` check, with those of a program that does
 * nothing: both programs as modules that Deno runs, and both as executables, if those can be built. Executables are also
 * compared with another one, if it is given.
 */
export async function benchStartup(
  { programs, directory, effort, against }: Workplace,
): Promise<readonly Row[]> {
  const place = { directory, rounds: effort.rounds(ROUNDS), peakRounds: effort.rounds(PEAK_ROUNDS) };
  const rows = await compareStarts(programs.modules, place, null);
  if (programs.executables === null) {
    const note = "none can be made here: set DENORT_BIN where Deno cannot download what it compiles with";
    return [...rows, { name: "executable", value: null, unit: "×", note }];
  }
  return [
    ...rows,
    ...await compareStarts(programs.executables, place, against),
    await compareSizes(programs.executables),
  ];
}

interface Place extends RunRounds {
  readonly directory: string;
}

async function compareStarts(
  { form, commands }: Programs,
  place: Place,
  against: string | null,
): Promise<readonly Row[]> {
  const subjectsOf = async (command: readonly string[], prefix = ""): Promise<Record<string, RunSubject>> => {
    const config = `${await Deno.makeTempDir({ dir: place.directory })}/startup.json`;
    await Deno.writeTextFile(config, DOCUMENT);
    const starts = Object.entries(startsWith(config));
    return Object.fromEntries(
      starts.map(([name, args]) => [prefix + name, { command: [...command, ...args] }]),
    );
  };
  const own = await subjectsOf(commands.monitor);
  const other = against === null ? {} : await subjectsOf([against], BEFORE);
  const { empty, ...costs } = await measureRuns(
    { empty: { command: commands.empty }, ...own, ...other },
    place,
  );
  return Object.keys(own).flatMap((name) => {
    const { [name]: cost, [BEFORE + name]: before } = costs as Readonly<Record<string, RunCost>>;
    if (cost === undefined) return [];
    const aim = form === "executable" ? AIMS[name] : undefined;
    const rowsTo = (other: Parameters<typeof compareRuns>[2]): readonly Row[] =>
      compareRuns(`${form}, ${name}`, cost, other);
    return [
      ...rowsTo({ name: "an empty program", cost: empty, ...aim !== undefined && { aim } }),
      ...against !== null && before !== undefined ? rowsTo({ name: against, cost: before }) : [],
    ];
  });
}

const BEFORE = "before: ";

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
