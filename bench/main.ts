/**
 * Runs the benchmarks and prints tables: numbers of this machine, now, most of them as ratios to the bare runtime.
 * docs/concepts/performance.md explains them.
 *
 *     deno task bench
 *     deno task bench startup rates
 *     deno task bench --short rates      only to see that it works
 *     deno task bench --seconds 60 peers
 *     deno task bench --against /usr/bin/monitor startup
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { endChildren } from "./children.ts";
import { FULL_EFFORT, SHORT_EFFORT } from "./effort.ts";
import { describeMachine, machineText } from "./machine.ts";
import { makePrograms } from "./programs.ts";
import type { Row } from "./row.ts";
import { renderTable } from "./table.ts";
import type { Workplace } from "./workplace.ts";

type Benchmark = (workplace: Workplace) => Promise<readonly Row[]>;

/** The benchmarks by name, in the order of the tables. Each is loaded when it runs, so that none weighs on another. */
const BENCHMARKS: Readonly<Record<string, () => Promise<Benchmark>>> = {
  startup: async () => (await import("./startup_bench.ts")).benchStartup,
  rates: async () => (await import("./rates_bench.ts")).benchRates,
  kinds: async () => (await import("./kinds_bench.ts")).benchKinds,
  minute: async () => (await import("./minute_bench.ts")).benchMinute,
  shared: async () => (await import("./shared_bench.ts")).benchShared,
  page: async () => (await import("./page_bench.ts")).benchPage,
  agents: async () => (await import("./agents_bench.ts")).benchAgents,
  peers: async () => (await import("./peers_bench.ts")).benchPeers,
};

/** Longer than any benchmark; the longest, `rates`, takes some ten minutes. */
const TIMEOUT_MS = 40 * 60_000;

const OPTIONS = {
  short: { type: "boolean" },
  seconds: { type: "string" },
  against: { type: "string" },
  help: { type: "boolean" },
} as const;

const USAGE = `deno task bench [--short] [--seconds N] [--against PATH] [NAME...]

Benchmarks, all unless some are named: ${Object.keys(BENCHMARKS).join(", ")}

  --short      only to see that it works: the numbers say nothing
  --seconds N  duration of each measurement, and of the warm-up before it
               (default: chosen by the benchmark)
  --against PATH
               an executable of monitor: startup also compares with its starts

docs/concepts/performance.md tells how to read what is printed.`;

/** Runs the named benchmarks, or all; returns the exit code. A missed aim is no failure. */
async function runBenchmarks(args: readonly string[]): Promise<number> {
  const { values: { short = false, seconds, against = null, help = false }, positionals: names } = parseArgs({
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
  if (seconds !== undefined && !(Number(seconds) > 0)) {
    throw new Error(`--seconds is "${seconds}", expected a positive number`);
  }
  const directory = await Deno.makeTempDir({ prefix: "monitor_bench_" });
  // All temporary files are created there, and deleted with it.
  Deno.env.set("TMPDIR", directory);
  const stopListening = cleanUpWhenStopped(directory);
  try {
    const programs = await makePrograms(directory);
    const machine = describeMachine(programs.best.form);
    const usual = short ? SHORT_EFFORT : FULL_EFFORT;
    const effort = seconds === undefined ? usual : { ...usual, seconds: () => Number(seconds) };
    console.log(`${machineText(machine)}\n${loadText()} at the start; ratios of a busy machine say little`);
    if (short) console.log("a short run: the numbers mean nothing");
    let exitCode = 0;
    for (const name of known) {
      if (names.length > 0 && !names.includes(name)) continue;
      try {
        const found = await runWithin(TIMEOUT_MS, name, {
          directory,
          programs,
          effort,
          against: against && resolve(against),
        });
        const rows = short ? found.map(({ aim: _aim, ...row }) => row) : found;
        console.log(`\n${name}\n${renderTable(rows)}`);
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
    await Deno.remove(directory, { recursive: true });
  }
}

async function runWithin(limitMs: number, name: string, workplace: Workplace): Promise<readonly Row[]> {
  const benchmark = await BENCHMARKS[name]?.();
  let isLate = false;
  // Everything that waits for a process fails when that is terminated.
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
function cleanUpWhenStopped(directory: string): () => void {
  const stop = (): void => {
    endChildren();
    Deno.removeSync(directory, { recursive: true });
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
