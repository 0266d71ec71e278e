/**
 * Runs the tests, terminates those that hang, and lists the tools of those that were ignored.
 *
 *     deno task test                        # without external tools
 *     deno task test:all                    # a missing tool is a failure, and campaigns have their full size
 *     deno task test tests/cli --filter x   # files, directories and options of `deno test`; tools that are installed
 *     deno task test --seed 7               # the seed of everything random
 *     deno task test --times                # prints the processor time of each layer
 *     deno task test --packages             # prints the Debian packages of all tools
 *     deno task test --paths                # prints the paths of the tools on this machine
 *
 * Each layer is a process, small ones share one (`scripts/test/entries.ts`), as many at a time as there are processors, twice
 * as many for all tests, or `DENO_JOBS`.
 */
import { resolve } from "node:path";
import { CAMPAIGNS, SEED, testSeed } from "../testing/seed.ts";
import {
  CI_PACKAGES,
  missingTools,
  packagesOf,
  TEST_TOOLS,
  tool,
  type ToolName,
  TOOLS,
} from "../testing/tools.ts";
import { bundle } from "./bundle.ts";
import { entriesOf, type Entry, PROJECT } from "./test/entries.ts";
import { printCounts, printInstall, printResult, Progress, type ResultOptions } from "./test/print.ts";
import { type EntryEnd, runEntry, takeProcessorSeconds } from "./test/run_entry.ts";

/** Tests that take half a minute are part of all tests alone. They run after the others, since they measure times. */
const SLOW: Entry = {
  name: "members with faults",
  files: [resolve(PROJECT, "tests/life/members_faults_test.ts")],
  variables: { MEMBER_FAULTS_SECONDS: "30" },
};
/** Options of `deno test` with a value that may be the next argument. */
const OPTIONS_WITH_VALUE = ["--filter"];

interface Options extends ResultOptions {
  readonly paths: readonly string[];
  /** For `deno test`. */
  readonly others: readonly string[];
}

if (Deno.args[0] === "--packages") {
  const names = Object.keys(TOOLS) as ToolName[];
  console.log([...packagesOf(names), ...CI_PACKAGES].sort().join("\n"));
} else if (Deno.args[0] === "--paths") {
  const missing = missingTools();
  const names = (Object.keys(TOOLS) as ToolName[]).filter((name) => !missing.includes(name));
  console.log([...new Set(names.map(tool))].join("\n"));
} else {
  try {
    Deno.exitCode = await runTests(readOptions(Deno.args));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    console.error(`error: ${error.message}`);
    Deno.exitCode = 1;
  }
}

function readOptions(args: readonly string[]): Options {
  let options: Options = { all: false, times: false, seed: testSeed(), paths: [], others: [] };
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [name = "", value] = arg.split(/=(.*)/s);
    const { paths, others } = options;
    if (arg === "--all") options = { ...options, all: true };
    else if (arg === "--times") options = { ...options, times: true };
    else if (name === "--seed") options = { ...options, seed: Number(value ?? rest.shift()) };
    else if (OPTIONS_WITH_VALUE.includes(arg)) {
      options = { ...options, others: [...others, arg, rest.shift() ?? ""] };
    } else if (arg.startsWith("-")) options = { ...options, others: [...others, arg] };
    else options = { ...options, paths: [...paths, arg] };
  }
  if (!Number.isSafeInteger(options.seed)) throw new RangeError("--seed is not a whole number");
  return options;
}

async function runTests(options: Options): Promise<number> {
  const missing = missingTools();
  if (options.all && missing.length > 0) {
    for (const name of missing) console.log(`Missing tool: ${name}`);
    printInstall(missing);
    printCounts({ passed: 0, failed: missing.length, skipped: 0 });
    return 1;
  }
  const startedMs = Date.now();
  const directory = await Deno.makeTempDir({ prefix: "monitor_test_" });
  try {
    const ends = await runEntries(directory, options);
    return printResult(ends, { ...options, seconds: (Date.now() - startedMs) / 1000 });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function runEntries(directory: string, options: Options): Promise<readonly EntryEnd[]> {
  const { all, paths, seed, others } = options;
  const progress = new Progress({ output: paths.length > 0 });
  using stop = stopBySignal();
  // Tests of external tools wait for about half of their time.
  const jobs = Number(Deno.env.get("DENO_JOBS") ?? navigator.hardwareConcurrency * (all ? 2 : 1));
  const pending = [...entriesOf(paths, jobs)];
  const bundled = await bundle(`${directory}/bundle`);
  takeProcessorSeconds();
  const ends: EntryEnd[] = [];
  const runOne = async (entry: Entry): Promise<void> => {
    if (stop.signal.aborted) return;
    const own = await Deno.makeTempDir({ dir: directory });
    progress.start(entry, own);
    const end = await runEntry(entry, {
      directory: own,
      bundle: bundled.main,
      options: others,
      variables: {
        [SEED]: String(seed),
        ...all ? { [CAMPAIGNS]: "full" } : paths.length === 0 && { [TEST_TOOLS]: "none" },
      },
      signal: stop.signal,
    });
    progress.end(end);
    ends.push(end);
  };
  const runNext = async (): Promise<void> => {
    for (let entry = pending.shift(); entry !== undefined; entry = pending.shift()) await runOne(entry);
  };
  await Promise.all(Array.from({ length: Math.max(1, jobs) }, runNext));
  if (all && paths.length === 0) await runOne(SLOW);
  return ends;
}

/** The tests end with their failures so far when this process is told to stop. */
function stopBySignal(): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const names = ["SIGINT", "SIGTERM"] as const;
  const stop = (): void => controller.abort();
  for (const name of names) Deno.addSignalListener(name, stop);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => names.forEach((name) => Deno.removeSignalListener(name, stop)),
  };
}
