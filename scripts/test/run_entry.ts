/**
 * Runs an entry in a process of its own, and terminates it when a test hangs: the runtime has no timeout for a test. So
 * each test is noted while it runs (`testing/test_notes.ts`). A slow machine is no fault: a test may take minutes as
 * long as its processes use processor time.
 */
import { stripVTControlCharacters } from "node:util";
import { pathToFileURL } from "node:url";
import { BUNDLE, SOURCE_FLAGS } from "../../testing/source.ts";
import {
  type FailedTest,
  NOTES,
  NOTES_DIRECTORY,
  type TestNote,
  type TestPlace,
} from "../../testing/test_notes.ts";
import { type Entry, PROJECT, sourceOf } from "./entries.ts";
import { killTree, processorSeconds, processorSecondsOf } from "./process_tree.ts";

/** After this time a step hangs, whatever it does. */
const LIMIT_MS = 10 * 60_000;
/** After this time without progress a step hangs; tests themselves wait for two minutes at most. */
const IDLE_LIMIT_MS = 4 * 60_000;
/** Less processor time than this in the time above is no progress, but looking whether something has happened. */
const PROGRESS_SECONDS = 2;
/** Finding the processes costs time, so it is not done for every short step. */
const LOOK_AFTER_MS = 20_000;
const LOOK_EVERY_MS = 1000;
/** How long the pipes may stay open after the end: a process that a test has left may hold them. */
const PIPES_MS = 30_000;
/** The runtime's place of a test whose registration is wrapped. */
const WRAPPER_PLACE = /\.\/tests\/support\/(?:preload|concurrent_tests)\.ts:\d+:\d+/;

/** How many tests ended how. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The end of an entry. */
export interface EntryEnd {
  readonly entry: Entry;
  readonly counts: Counts;
  /** What failed, where and how; empty if everything passed. */
  readonly failures: string;
  /** What the tests themselves printed. */
  readonly output: string;
  /** The tools of each ignored test. */
  readonly ignored: readonly (readonly string[])[];
  readonly seconds: number;
  /** User and system time of its processes; `null` where it isn't known. */
  readonly processorSeconds: number | null;
  /** How often the whole program was started. */
  readonly starts: number;
}

export interface RunOptions {
  /** An empty directory for the files of this entry. */
  readonly directory: string;
  /** The first module of the bundled program. */
  readonly bundle: string;
  /** Options of `deno test`. */
  readonly options: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** Terminates the tests. */
  readonly signal: AbortSignal;
}

/** Runs an entry to its end. */
export async function runEntry(entry: Entry, run: RunOptions): Promise<EntryEnd> {
  const { directory, signal } = run;
  const startedMs = Date.now();
  const child = await start(entry, run);
  const kill = (): void => killTree(child.pid);
  signal.addEventListener("abort", kill);
  const output = [readAll(child.stdout), readAll(child.stderr)];
  const hanging = await untilEndOrHang(child, { directory, startedMs });
  if (hanging !== null) kill();
  const { code } = await child.status;
  const seconds = takeProcessorSeconds();
  const timer = setTimeout(() => output.forEach((pipe) => pipe.cancel()), PIPES_MS);
  const texts = await Promise.all(output.map((pipe) => pipe.text));
  clearTimeout(timer);
  signal.removeEventListener("abort", kill);
  return {
    entry,
    ...hanging === null && !signal.aborted
      ? readEnd({ code, text: texts.join("\n"), directory })
      : readTerminated(hanging ?? "terminated", directory),
    output: outputIn(texts.join("")),
    ignored: readLines(directory, "ignored").map((line) => line.split(" ")),
    seconds: (Date.now() - startedMs) / 1000,
    processorSeconds: seconds,
    starts: readLines(directory, "starts").length,
  };
}

/** Returns what is noted about the tests that run now. */
export function readPresent(directory: string): TestNote | null {
  try {
    return JSON.parse(Deno.readTextFileSync(`${directory}/${NOTES.present}`)) as TestNote;
  } catch {
    // It is being written, or there is none yet.
    return null;
  }
}

async function start(entry: Entry, run: RunOptions): Promise<Deno.ChildProcess> {
  const module = `${run.directory}/tests.js`;
  await Deno.writeTextFile(module, sourceOf(entry));
  const options = [
    "--quiet",
    "--no-check",
    "--allow-all",
    "--preload=tests/support/preload.ts",
    ...run.options,
  ];
  return new Deno.Command(Deno.execPath(), {
    args: ["test", ...SOURCE_FLAGS, ...options, module],
    cwd: PROJECT,
    clearEnv: true,
    env: {
      ...environment(),
      [NOTES_DIRECTORY]: run.directory,
      [BUNDLE]: run.bundle,
      ...run.variables,
      ...entry.variables,
    },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/**
 * The environment of the run, without a proxy that targets on loopback would be requested from, and without the
 * runtime's own stack after each failed run.
 */
function environment(): Readonly<Record<string, string>> {
  const variables = Object.entries(Deno.env.toObject());
  return {
    ...Object.fromEntries(variables.filter(([name]) => !/^(?:https?|all|no)_proxy$/i.test(name))),
    RUST_BACKTRACE: "0",
  };
}

function readAll(
  pipe: ReadableStream<Uint8Array>,
): { readonly text: Promise<string>; cancel(): Promise<void> } {
  const reader = pipe.pipeThrough(new TextDecoderStream()).getReader();
  const read = async (): Promise<string> => {
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return stripVTControlCharacters(text);
      text += value;
    }
  };
  return { text: read(), cancel: () => reader.cancel() };
}

/** Waits for the end of the tests (`null`), or until one of them hangs, and returns how. */
async function untilEndOrHang(
  child: Deno.ChildProcess,
  { directory, startedMs }: { readonly directory: string; readonly startedMs: number },
): Promise<string | null> {
  let last = { sinceMs: 0, progressMs: 0, seconds: 0 };
  for (;;) {
    let timer = 0;
    const pause = new Promise<"look">((resolve) => timer = setTimeout(resolve, LOOK_EVERY_MS, "look"));
    const first = await Promise.race([child.status, pause]);
    clearTimeout(timer);
    if (first !== "look") return null;
    const note = readPresent(directory) ?? { test: null, waits: [], sinceMs: startedMs, layers: {} };
    const nowMs = Date.now();
    if (note.sinceMs !== last.sinceMs) last = { ...last, sinceMs: note.sinceMs, progressMs: note.sinceMs };
    if (nowMs - note.sinceMs < LOOK_AFTER_MS) continue;
    if (nowMs - note.sinceMs > LIMIT_MS) {
      return describe(note, `ended no step for ${LIMIT_MS / 60_000} minutes`);
    }
    const seconds = processorSecondsOf(child.pid);
    if (seconds === null) continue;
    if (Math.abs(seconds - last.seconds) >= PROGRESS_SECONDS) {
      last = { ...last, progressMs: nowMs, seconds };
    } else if (nowMs - last.progressMs > IDLE_LIMIT_MS) {
      return describe(note, `made no progress for ${IDLE_LIMIT_MS / 60_000} minutes`);
    }
  }
}

function describe({ test, waits }: Pick<TestNote, "test" | "waits">, did: string): string {
  if (test === null) return `error: no test ran, and the process ${did}`;
  const waited = waits.length === 0
    ? "it waited for nothing that is noted"
    : `it waited for ${waits.join(", ")}`;
  return `${test}\nerror: it ${did}; ${waited}`;
}

type Outcome = Pick<EntryEnd, "counts" | "failures">;

function readEnd(
  { code, text, directory }: { readonly code: number; readonly text: string; readonly directory: string },
): Outcome {
  const summary = text.split("\n").findLast((line) => /^(ok|FAILED) \| /.test(line));
  // Ignored cases of a test are steps.
  const count = (what: string, steps = ""): number => {
    const [, tests = 0, ignoredSteps = 0] =
      new RegExp(`\\| (?:.*?)(\\d+) ${what}${steps}`).exec(summary ?? "") ?? [];
    return Number(tests) + Number(ignoredSteps);
  };
  const counts = {
    passed: count("passed"),
    failed: count("failed"),
    skipped: count("ignored", "(?: \\((\\d+) step)?"),
  };
  if (code !== 0) {
    const errors = summary === undefined ? text : withPlaces(errorsIn(text), directory);
    return { counts: { ...counts, failed: Math.max(counts.failed, 1) }, failures: errors };
  }
  // Errors that came after the end of their tests.
  const late = readFailed(directory);
  return { counts: { ...counts, failed: late.length }, failures: late.map(textOf).join("\n\n") };
}

/** What had failed before the tests were terminated, and why they were. */
function readTerminated(why: string, directory: string): Outcome {
  const layers = Object.values(readPresent(directory)?.layers ?? {});
  const passed = layers.reduce((sum, layer) => sum + layer.passed, 0);
  const failed = layers.reduce((sum, layer) => sum + layer.failed, 0);
  const failures = [...readFailed(directory).map(textOf), why];
  return { counts: { passed, failed: failed + 1, skipped: 0 }, failures: failures.join("\n\n") };
}

function textOf({ test, place, error }: FailedTest): string {
  return `${test} => ${place}\nerror: ${shortened(error)}`;
}

/** Returns the part of the runtime's output that has the errors. */
function errorsIn(text: string): string {
  const [, errors = text] = /^ ERRORS \n+([^]*?)\n+ FAILURES $/m.exec(text) ?? [];
  return errors;
}

function outputIn(text: string): string {
  return [...text.matchAll(/^------- output -------\n([^]*?)^----- output end -----$/gm)].map(([, own]) =>
    own
  ).join("");
}

function withPlaces(errors: string, directory: string): string {
  const places = readLines(directory, "places").map((line) => JSON.parse(line) as TestPlace);
  const lines = errors.split("\n").map((line) => {
    if (!WRAPPER_PLACE.test(line)) return line;
    const found = places.find(({ test }) =>
      line.startsWith(`${test} => `) || line.startsWith(`${test} ... `)
    );
    return found === undefined ? line : line.replace(WRAPPER_PLACE, found.place);
  });
  return shortened(lines.join("\n"));
}

/** Shortens the places in stacks, and leaves out the runtime's own. */
function shortened(text: string): string {
  return text.replaceAll(pathToFileURL(PROJECT).href, "./").replaceAll(
    /\n +at [^\n]*\(?(?:ext:|\.\/tests\/support\/preload\.ts|\.\/testing\/test_notes\.ts)[^\n]*/g,
    "",
  );
}

function readFailed(directory: string): readonly FailedTest[] {
  return readLines(directory, "failed").map((line) => JSON.parse(line) as FailedTest);
}

function readLines(directory: string, name: keyof typeof NOTES): readonly string[] {
  try {
    return Deno.readTextFileSync(`${directory}/${NOTES[name]}`).split("\n").slice(0, -1);
  } catch {
    return [];
  }
}

let taken = 0;

/** Returns the processor time of the children that have ended since the last call; call it as soon as one has ended. */
export function takeProcessorSeconds(): number | null {
  const seconds = processorSeconds();
  if (seconds === null) return null;
  const own = seconds.children - taken;
  taken = seconds.children;
  return own;
}
