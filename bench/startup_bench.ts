import { fileURLToPath } from "node:url";
import { bundle } from "../scripts/bundle.ts";
import { compileModule } from "../scripts/compile.ts";
import { measureInTurn, median, millisecondsText } from "./measure.ts";
import type { Row } from "./row.ts";

const ROUNDS = 31;
const PEAK_ROUNDS = 7;

/** The smallest document that runs a check. */
const DOCUMENT = `{
  "defaults": {},
  "checks": { "fine": { "kind": "test", "parameters": { "condition": "ok" } } }
}
`;

/** A program that does nothing. */
const EMPTY_PROGRAM = "export {};\n";

/** Runs a module with the permissions that the executable has. */
const RUN = [
  Deno.execPath(),
  "run",
  "--quiet",
  "--no-config",
  "--no-lock",
  "--no-check",
  "--no-prompt",
  "--allow-read",
  "--allow-write",
  "--allow-net",
  "--allow-run",
  "--allow-env",
  "--allow-sys=uid,hostname",
];

/**
 * How long a whole `check --once` of one `test` check takes against a program that does nothing, without state and
 * with kept state: both programs as modules that Deno runs, and both as executables, where those can be made.
 */
export async function benchStartup(): Promise<readonly Row[]> {
  const folder = await Deno.makeTempDir({ prefix: "monitor_bench_" });
  try {
    const modules = {
      monitor: (await bundle(fileURLToPath(new URL("../dist/bundle", import.meta.url)))).main,
      empty: `${folder}/empty.js`,
    };
    await Deno.writeTextFile(modules.empty, EMPTY_PROGRAM);
    await Deno.writeTextFile(`${folder}/monitor.json`, DOCUMENT);
    const asModules = { monitor: [...RUN, modules.monitor], empty: [...RUN, modules.empty] };
    return [
      ...await compareStarts("bundle run by Deno", asModules, folder),
      ...await compareExecutables(modules, folder),
    ];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Something of the monitor, and the same of the empty program. */
interface Pair<Value> {
  readonly monitor: Value;
  readonly empty: Value;
}

async function compareExecutables(modules: Pair<string>, folder: string): Promise<readonly Row[]> {
  const executables = { monitor: `${folder}/monitor`, empty: `${folder}/empty` };
  try {
    await compileModule(modules.monitor, executables.monitor);
    await compileModule(modules.empty, executables.empty);
  } catch {
    return [{
      name: "executable",
      value: null,
      unit: "×",
      note: "none can be made here: set DENORT_BIN where Deno cannot download what it compiles with",
    }];
  }
  const sizes = { monitor: await sizeOf(executables.monitor), empty: await sizeOf(executables.empty) };
  return [
    {
      name: "executable, size",
      value: sizes.monitor / sizes.empty,
      unit: "×",
      note: `${megabytesText(sizes.monitor)} to ${megabytesText(sizes.empty)} of an empty program`,
    },
    ...await compareStarts(
      "executable",
      { monitor: [executables.monitor], empty: [executables.empty] },
      folder,
    ),
    await comparePeaks(executables, folder),
  ];
}

async function comparePeaks(executables: Pair<string>, folder: string): Promise<Row> {
  const name = "executable, peak memory of check --once --state none";
  const checkOnce = [
    executables.monitor,
    ...["check", "--once", "--config", `${folder}/monitor.json`, "--state", "none"],
  ];
  try {
    const samples = await measureInTurn(PEAK_ROUNDS, {
      empty: () => peakOf([executables.empty]),
      monitor: () => peakOf(checkOnce),
    });
    const peaks = { monitor: median(samples.monitor), empty: median(samples.empty) };
    return {
      name,
      value: peaks.monitor / peaks.empty,
      unit: "×",
      note: `${megabytesText(peaks.monitor)} to ${megabytesText(peaks.empty)} of an empty program`,
    };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { name, value: null, unit: "×", note: "there is no /usr/bin/time: apt-get install time" };
  }
}

/** Runs a program to its end; the answer is the most memory that was resident at a time, in bytes. */
async function peakOf(command: readonly string[]): Promise<number> {
  const { stderr } = await new Deno.Command("/usr/bin/time", {
    args: ["--format=%M", ...command],
    stdin: "null",
    stdout: "null",
  }).output();
  const kibibytes = new TextDecoder().decode(stderr).trim().split("\n").at(-1);
  return Number(kibibytes) * 1024;
}

async function sizeOf(path: string): Promise<number> {
  return (await Deno.stat(path)).size;
}

function megabytesText(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Takes the commands as far as to the program; the folder holds the document. */
async function compareStarts(
  form: string,
  commands: Pair<readonly string[]>,
  folder: string,
): Promise<readonly Row[]> {
  const checkOnce = [...commands.monitor, "check", "--once", "--config", `${folder}/monitor.json`];
  const samples = await measureInTurn(ROUNDS, {
    empty: () => timeToEnd(commands.empty),
    withoutState: () => timeToEnd([...checkOnce, "--state", "none"]),
    withState: () => timeToEnd([...checkOnce, "--state", `${folder}/state.sqlite`]),
  });
  const emptyMs = median(samples.empty);
  const row = (name: string, monitorMs: number): Row => ({
    name: `${form}, ${name}`,
    value: monitorMs / emptyMs,
    unit: "×",
    note: `${millisecondsText(monitorMs)} to ${millisecondsText(emptyMs)} of an empty program`,
  });
  return [
    { ...row("check --once --state none", median(samples.withoutState)), aim: 1.5 },
    row("check --once with kept state", median(samples.withState)),
  ];
}

/** Runs a program to its end; the answer is how long that took, in milliseconds. */
async function timeToEnd([program = "", ...args]: readonly string[]): Promise<number> {
  const startedMs = performance.now();
  const { success, stderr } = await new Deno.Command(program, { args, stdin: "null" }).output();
  const durationMs = performance.now() - startedMs;
  if (!success) {
    throw new Error(`Cannot measure "${program}": it failed: ${new TextDecoder().decode(stderr).trim()}`);
  }
  return durationMs;
}
