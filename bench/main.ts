/**
 * Runs the benchmarks and prints tables: numbers of this machine, now, most of them as ratios to the bare runtime.
 * docs/performance.md tells how to read them.
 *
 *     deno task bench
 *     deno task bench startup requests
 *     deno task bench --keep             the numbers of a quiet machine, for the project
 *     deno task bench --short rates      only to see that it works
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { endChildren } from "./children.ts";
import { FULL_EFFORT, SHORT_EFFORT } from "./effort.ts";
import { describeMachine, type Machine, machineText } from "./machine.ts";
import { makePrograms } from "./programs.ts";
import { addResults, type BenchmarkResult, compareRows, isSameMachine, readResults } from "./results.ts";
import type { Row } from "./row.ts";
import { renderTable } from "./table.ts";
import type { Workplace } from "./workplace.ts";

type Benchmark = (workplace: Workplace) => Promise<readonly Row[]>;

/** The benchmarks by name, in the order of the tables. Each is loaded when it runs, so that none weighs on another. */
const BENCHMARKS: Readonly<Record<string, () => Promise<Benchmark>>> = {
  startup: async () => (await import("./startup_bench.ts")).benchStartup,
  rates: async () => (await import("./rates_bench.ts")).benchRates,
  minute: async () => (await import("./minute_bench.ts")).benchMinute,
  growth: async () => (await import("./growth_bench.ts")).benchGrowth,
  requests: async () => (await import("./requests_bench.ts")).benchRequests,
  scripts: async () => (await import("./scripts_bench.ts")).benchScripts,
  status: async () => (await import("./status_bench.ts")).benchStatus,
  page: async () => (await import("./page_bench.ts")).benchPage,
  outbox: async () => (await import("./outbox_bench.ts")).benchOutbox,
  validate: async () => (await import("./validate_bench.ts")).benchValidate,
  wheel: async () => (await import("./wheel_bench.ts")).benchWheel,
  store: async () => (await import("./store_bench.ts")).benchStore,
  idle: async () => (await import("./idle_bench.ts")).benchIdle,
};

/** None takes so long; the longest, `rates`, some ten minutes. */
const TIME_LIMIT_MS = 40 * 60_000;

const OPTIONS = {
  short: { type: "boolean" },
  keep: { type: "boolean" },
  help: { type: "boolean" },
} as const;

const USAGE = `deno task bench [--short | --keep] [NAME...]

Benchmarks, all unless some are named: ${Object.keys(BENCHMARKS).join(", ")}

  --short   only to see that it works: the numbers say nothing
  --keep    the numbers become those of the project, in bench/results.json

docs/performance.md tells how to read what is printed.`;

const PROJECT = new URL("..", import.meta.url);
/** What this machine found last; not part of the project. */
const OWN_RESULTS = fileURLToPath(new URL("dist/bench_results.json", PROJECT));
/** What a quiet machine found, for those that have nothing of their own yet. */
const REFERENCE_RESULTS = fileURLToPath(new URL("bench/results.json", PROJECT));

/** Runs the named benchmarks, or all; the answer is the exit code. An aim that is missed is no failure. */
async function runBenchmarks(args: readonly string[]): Promise<number> {
  const { values: { short = false, keep = false, help = false }, positionals: names } = parseArgs({
    args: [...args],
    options: OPTIONS,
    allowPositionals: true,
  });
  if (help) {
    console.log(USAGE);
    return 0;
  }
  const known = Object.keys(BENCHMARKS);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Error(`there is no benchmark "${unknown}", expected some of ${known.join(", ")}`);
  }
  if (short && keep) throw new Error("--short measures nothing that could be kept: use --keep without it");
  const earlier = { ...await readResults(REFERENCE_RESULTS), ...await readResults(OWN_RESULTS) };
  const folder = await Deno.makeTempDir({ prefix: "monitor_bench_" });
  // Whatever anybody writes goes there, and with it.
  Deno.env.set("TMPDIR", folder);
  const stopListening = cleanUpWhenStopped(folder);
  try {
    const programs = await makePrograms(folder);
    const machine = describeMachine(programs.best.form);
    const effort = short ? SHORT_EFFORT : FULL_EFFORT;
    const places = short ? [] : [OWN_RESULTS, ...(keep ? [REFERENCE_RESULTS] : [])];
    console.log(`${machineText(machine)}\n${loadText()} at the start; ratios of a busy machine say little`);
    if (short) console.log("a short run: the numbers say nothing, so they are held against nothing");
    let exitCode = 0;
    for (const name of known) {
      if (names.length > 0 && !names.includes(name)) continue;
      try {
        const loadAverage = Deno.loadavg()[0] ?? NaN;
        const found = await runWithin(TIME_LIMIT_MS, name, { folder, programs, effort });
        const rows = short ? found.map(({ aim: _aim, ...row }) => row) : found;
        const before = short ? null : earlier[name] ?? null;
        console.log(`\n${name}${earlierText(before, machine)}`);
        console.log(renderTable(compareRows(rows, before, machine)));
        const measuredAt = new Date().toISOString();
        for (const path of places) {
          await addResults(path, {
            [name]: { measuredAt, machine, loadAverage, rows },
          });
        }
      } catch (error) {
        console.error(`bench: error: ${name}: ${messageOf(error)}`);
        exitCode = 1;
      }
    }
    console.log(`\n${loadText()} at the end`);
    return exitCode;
  } finally {
    stopListening();
    endChildren();
    await Deno.remove(folder, { recursive: true });
  }
}

function earlierText(before: BenchmarkResult | null, machine: Machine): string {
  if (before === null) return "";
  const where = isSameMachine(before.machine, machine)
    ? ""
    : " on another machine, of which only ratios say something";
  return `, beside ${before.measuredAt.slice(0, 10)}${where}`;
}

async function runWithin(limitMs: number, name: string, workplace: Workplace): Promise<readonly Row[]> {
  const benchmark = await BENCHMARKS[name]?.();
  let isLate = false;
  // What waits for a process fails when that ends.
  const timer = setTimeout(() => {
    isLate = true;
    endChildren();
  }, limitMs);
  try {
    return await benchmark?.(workplace) ?? [];
  } catch (error) {
    if (isLate) throw new Error(`it was not done after ${limitMs / 60_000} minutes`);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Nothing is left behind by a benchmark that is stopped either. */
function cleanUpWhenStopped(folder: string): () => void {
  const stop = (): void => {
    endChildren();
    Deno.removeSync(folder, { recursive: true });
    Deno.exit(130);
  };
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) Deno.addSignalListener(signal, stop);
  return () => signals.forEach((signal) => Deno.removeSignalListener(signal, stop));
}

function loadText(): string {
  return `load average ${Deno.loadavg()[0]?.toFixed(1)}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

if (import.meta.main) {
  try {
    Deno.exitCode = await runBenchmarks(Deno.args);
  } catch (error) {
    console.error(`bench: error: ${messageOf(error)}`);
    Deno.exitCode = 64;
  }
}
