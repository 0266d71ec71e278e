/**
 * Runs the benchmarks and prints a table: numbers of this machine, now, most of them as ratios to the bare runtime.
 * docs/performance.md tells how to read them.
 *
 *     deno task bench
 *     deno task bench startup requests
 */
import os from "node:os";
import type { Row } from "./row.ts";
import { renderTable } from "./table.ts";

/** The benchmarks by name, in the order of the table. Each is loaded when it runs, so that none weighs on another. */
const BENCHMARKS: Readonly<Record<string, () => Promise<readonly Row[]>>> = {
  startup: async () => await (await import("./startup_bench.ts")).benchStartup(),
  requests: async () => await (await import("./requests_bench.ts")).benchRequests(),
  scripts: async () => await (await import("./scripts_bench.ts")).benchScripts(),
  validate: async () => await (await import("./validate_bench.ts")).benchValidate(),
  wheel: async () => await (await import("./wheel_bench.ts")).benchWheel(),
  store: async () => await (await import("./store_bench.ts")).benchStore(),
  loop: async () => await (await import("./loop_bench.ts")).benchLoop(),
  idle: async () => await (await import("./idle_bench.ts")).benchIdle(),
};

/** Runs the named benchmarks, or all; the answer is the exit code. An aim that is missed is no failure. */
async function runBenchmarks(names: readonly string[]): Promise<number> {
  const known = Object.keys(BENCHMARKS);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    console.error(`bench: error: there is no benchmark "${unknown}", expected some of ${known.join(", ")}`);
    return 64;
  }
  console.log(describeMachine());
  let exitCode = 0;
  for (const name of known) {
    const run = BENCHMARKS[name];
    if (run === undefined || names.length > 0 && !names.includes(name)) continue;
    try {
      console.log(`\n${name}\n${renderTable(await run())}`);
    } catch (error) {
      console.error(`bench: error: ${name}: ${error instanceof Error ? error.message : String(error)}`);
      exitCode = 1;
    }
  }
  console.log(`\n${describeLoad()} at the end`);
  return exitCode;
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
