/**
 * Runs the benchmarks and prints tables: numbers of this machine, now, most of them as ratios to the bare runtime.
 * docs/performance.md tells how to read them.
 *
 *     deno task bench
 *     deno task bench startup requests
 *     deno task bench --short rates      only to see that it works
 */
import os from "node:os";
import { parseArgs } from "node:util";
import { endChildren } from "./children.ts";
import { FULL_EFFORT, SHORT_EFFORT } from "./effort.ts";
import { makePrograms } from "./programs.ts";
import type { Row } from "./row.ts";
import { renderTable } from "./table.ts";
import type { Workplace } from "./workplace.ts";

type Benchmark = (workplace: Workplace) => Promise<readonly Row[]>;

/** The benchmarks by name, in the order of the tables. Each is loaded when it runs, so that none weighs on another. */
const BENCHMARKS: Readonly<Record<string, () => Promise<Benchmark>>> = {
  startup: async () => (await import("./startup_bench.ts")).benchStartup,
  rates: async () => (await import("./rates_bench.ts")).benchRates,
  requests: async () => (await import("./requests_bench.ts")).benchRequests,
  scripts: async () => (await import("./scripts_bench.ts")).benchScripts,
  validate: async () => (await import("./validate_bench.ts")).benchValidate,
  wheel: async () => (await import("./wheel_bench.ts")).benchWheel,
  store: async () => (await import("./store_bench.ts")).benchStore,
  idle: async () => (await import("./idle_bench.ts")).benchIdle,
};

/** None takes half as long. */
const TIME_LIMIT_MS = 15 * 60_000;

const OPTIONS = { short: { type: "boolean" } } as const;

/** Runs the named benchmarks, or all; the answer is the exit code. An aim that is missed is no failure. */
async function runBenchmarks(args: readonly string[]): Promise<number> {
  const { values: { short = false }, positionals: names } = parseArgs({
    args: [...args],
    options: OPTIONS,
    allowPositionals: true,
  });
  const known = Object.keys(BENCHMARKS);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    console.error(`bench: error: there is no benchmark "${unknown}", expected some of ${known.join(", ")}`);
    return 64;
  }
  const folder = await Deno.makeTempDir({ prefix: "monitor_bench_" });
  // Whatever anybody writes goes there, and with it.
  Deno.env.set("TMPDIR", folder);
  const stopListening = cleanUpWhenStopped(folder);
  try {
    console.log(describeMachine());
    const workplace = {
      folder,
      programs: await makePrograms(folder),
      effort: short ? SHORT_EFFORT : FULL_EFFORT,
    };
    let exitCode = 0;
    for (const name of known) {
      if (names.length > 0 && !names.includes(name)) continue;
      try {
        console.log(`\n${name}\n${renderTable(await runWithin(TIME_LIMIT_MS, name, workplace))}`);
      } catch (error) {
        console.error(`bench: error: ${name}: ${error instanceof Error ? error.message : String(error)}`);
        exitCode = 1;
      }
    }
    console.log(`\n${describeLoad()} at the end`);
    return exitCode;
  } finally {
    stopListening();
    endChildren();
    await Deno.remove(folder, { recursive: true });
  }
}

async function runWithin(limitMs: number, name: string, workplace: Workplace): Promise<readonly Row[]> {
  const benchmark = await BENCHMARKS[name]?.();
  // What waits for a process fails when that ends.
  const timer = setTimeout(endChildren, limitMs);
  try {
    return await benchmark?.(workplace) ?? [];
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

function describeMachine(): string {
  const model = os.cpus()[0]?.model ?? "unknown processor";
  return [
    `Deno ${Deno.version.deno}, ${Deno.build.target}, ${navigator.hardwareConcurrency} × ${model}`,
    `${describeLoad()} at the start; ratios of a busy machine say little`,
  ].join("\n");
}

function describeLoad(): string {
  return `load average ${Deno.loadavg()[0]?.toFixed(1)}`;
}

if (import.meta.main) Deno.exitCode = await runBenchmarks(Deno.args);
