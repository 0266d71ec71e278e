/** What a person sees of a run: a line for each layer while it runs, then the failures, the ignored tests and the sums. */
import type { LayerNote } from "../../testing/test_notes.ts";
import { packagesOf, type ToolName } from "../../testing/tools.ts";
import type { Entry } from "./entries.ts";
import { processorSeconds } from "./process_tree.ts";
import { type Counts, type EntryEnd, readPresent } from "./run_entry.ts";

const SHOW_EVERY_MS = 1000;
const NAME_COLUMNS = 14;
const isTerminal = Deno.stdout.isTerminal();
const isColored = isTerminal && !Deno.noColor;

/** Prints a line for each layer once its tests have ended, and on a terminal those that run. */
export class Progress {
  readonly #running = new Map<Entry, RunningEntry>();
  readonly #showsOutput: boolean;
  #timer: number | null = null;

  /** With `output`, also shows what tests print. */
  constructor({ output }: { readonly output: boolean }) {
    this.#showsOutput = output;
  }

  /** Shows an entry whose notes are in a directory. */
  start(entry: Entry, directory: string): void {
    this.#running.set(entry, { directory, printed: 0 });
    this.#timer ??= setInterval(() => this.#show(), SHOW_EVERY_MS);
  }

  end({ entry, output }: EntryEnd): void {
    const running = this.#running.get(entry);
    this.#clear();
    if (this.#showsOutput) write(output);
    if (running !== undefined) printLayers(running, layersOf(running));
    this.#running.delete(entry);
    if (this.#running.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #show(): void {
    const all = [...this.#running.values()].map((running) => ({ running, layers: layersOf(running) }));
    this.#clear();
    for (const { running, layers } of all) printLayers(running, layers.slice(0, -1));
    if (!isTerminal) return;
    const present = all.flatMap(({ layers }) => layers.slice(-1)).map(([name, { passed }]) =>
      `${name} ${passed}`
    );
    write(`running: ${present.join(", ")}`.slice(0, Deno.consoleSize().columns - 1));
  }

  #clear(): void {
    if (isTerminal) write("\r\x1b[K");
  }
}

interface RunningEntry {
  /** Has the notes of its tests. */
  readonly directory: string;
  /** How many of its layers have a line. */
  printed: number;
}

type Layers = readonly (readonly [name: string, layer: LayerNote])[];

function layersOf({ directory }: RunningEntry): Layers {
  return Object.entries(readPresent(directory)?.layers ?? {});
}

function printLayers(running: RunningEntry, ended: Layers): void {
  for (const [name, { passed, failed, seconds }] of ended.slice(running.printed)) {
    const failures = failed > 0 ? `, ${colored("31", `${failed} failed`)}` : "";
    console.log(`${name.padEnd(NAME_COLUMNS)}  ${passed} passed${failures}  (${seconds.toFixed(0)} s)`);
  }
  running.printed = Math.max(running.printed, ended.length);
}

export interface ResultOptions {
  /** Whether the run was that of all tests. */
  readonly all: boolean;
  /** Whether to print processor times. */
  readonly times: boolean;
  readonly seed: number;
}

/** Prints how the entries have ended and how to repeat what failed; returns the exit code. */
export function printResult(
  ends: readonly EntryEnd[],
  options: ResultOptions & { readonly seconds: number },
): number {
  if (options.times) printTimes(ends);
  const failures = ends.map((end) => end.failures).filter((text) => text !== "");
  if (failures.length > 0) {
    console.log(`\n${colored("1;31", "FAILED")}\n\n${failures.join("\n\n")}\n`);
    printRepeat(failures.join("\n"), options);
  }
  printIgnored(ends.flatMap(({ ignored }) => ignored));
  const processor = processorSeconds();
  const processorText = processor === null
    ? ""
    : `, ${(processor.own + processor.children).toFixed(0)} s of processor time`;
  console.log(`\n${options.seconds.toFixed(0)} s${processorText}`);
  const total = (name: keyof Counts): number => sum(ends.map(({ counts }) => counts[name]));
  const counts = { passed: total("passed"), failed: total("failed"), skipped: total("skipped") };
  printCounts(counts);
  const hasRun = sum(Object.values(counts)) > 0;
  if (!hasRun) console.log("error: no test has that name: --filter takes a part of one");
  return counts.failed > 0 || !hasRun ? 1 : 0;
}

export function printCounts({ passed, failed, skipped }: Counts): void {
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
}

export function printInstall(names: readonly ToolName[]): void {
  if (names.length > 0) console.log(`\nInstall them: sudo apt-get install ${packagesOf(names).join(" ")}`);
}

function printTimes(ends: readonly EntryEnd[]): void {
  console.log("\nProcessor time, starts of the whole program:");
  for (const { entry, processorSeconds, starts } of ends) {
    const seconds = processorSeconds?.toFixed(1) ?? "?";
    console.log(`  ${entry.name.padEnd(NAME_COLUMNS)}${seconds.padStart(7)} s${String(starts).padStart(6)}`);
  }
  console.log(`  ${sum(ends.map(({ starts }) => starts))} starts in all`);
}

function printRepeat(failures: string, { all, seed }: ResultOptions): void {
  const places = failures.matchAll(/(?: => \.\/|^import of )(tests\/(?!support\/)[^\s:]+)/gm);
  const files = [...places].map(([, file]) => file ?? "");
  if (files.length === 0) return;
  const task = all ? "test:all" : "test";
  console.log(`Repeat it: deno task ${task} --seed ${seed} ${[...new Set(files)].join(" ")}`);
}

function printIgnored(ignored: readonly (readonly string[])[]): void {
  if (ignored.length === 0) return;
  const names = [...new Set(ignored.flat())].sort();
  console.log(`\nIgnored tests of external tools: ${ignored.length} (${names.join(", ")})`);
  console.log("They run in: deno task test:all");
}

function colored(code: string, text: string): string {
  return isColored ? `\x1b[${code}m${text}\x1b[0m` : text;
}

function write(text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let rest = bytes; rest.length > 0;) rest = rest.subarray(Deno.stdout.writeSync(rest));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
