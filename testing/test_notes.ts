/**
 * Notes the running test and its pending operation, in files that the test runner (`scripts/test.ts`) reads: the
 * runtime has no timeout for a test, so the runner terminates one that hangs, and prints the note and the failures so
 * far.
 *
 * Without the runner nothing is written. The file of the present test is opened by `startNotes()`, before any test, and
 * stays open: a test may have no permission to write.
 */

/** The note: the present test, its steps and waits from the outside in, and the progress of this process. */
export interface TestNote {
  /** `null` between two tests. */
  readonly test: string | null;
  readonly waits: readonly string[];
  /** Wall time at which the test, or the pause after one, began, or at which a step of it last ended. */
  readonly sinceMs: number;
  /** The layers whose tests have begun, in their order; the last one may have more. */
  readonly layers: Readonly<Record<string, LayerNote>>;
}

/** The tests of a layer, a directory below `tests/`, that have ended. */
export interface LayerNote {
  readonly passed: number;
  readonly failed: number;
  /** Wall time of these tests. */
  readonly seconds: number;
}

/** Where a test is: the runtime reports the module that wraps `Deno.test` as its place. */
export interface TestPlace {
  readonly test: string;
  /** `./tests/cli/check_test.ts:12:6` */
  readonly place: string;
}

/** A failed test or step. */
export interface FailedTest extends TestPlace {
  /** The error with its stack. */
  readonly error: string;
}

/** The environment variable that names the directory of the notes. */
export const NOTES_DIRECTORY = "MONITOR_TEST_NOTES";

/** The files of the notes. */
export const NOTES = {
  /** The present note. */
  present: "present.json",
  /** The places of all tests, a JSON line each. */
  places: "places",
  /** The failed tests and steps, a JSON line each. */
  failed: "failed",
  /** The tools of each ignored test, a line each. */
  ignored: "ignored",
  /** A line for each start of the whole program. */
  starts: "starts",
} as const;

let directory: string | undefined;
let file: Deno.FsFile | null = null;
const waits: string[] = [];
let hasFailed = false;
/** As long as the longest note. */
let longest = new Uint8Array();
const SPACE = 32;
let state: Omit<TestNote, "waits"> = { test: null, sinceMs: Date.now(), layers: {} };

/** Begins the notes of this process, if the test runner has started it. */
export function startNotes(): void {
  directory = Deno.env.get(NOTES_DIRECTORY);
  if (directory === undefined) return;
  file = Deno.openSync(`${directory}/${NOTES.present}`, { write: true, create: true, truncate: true });
}

/** Notes that a test is ignored because these tools are missing. */
export function noteIgnored(missing: readonly string[]): void {
  append("ignored", missing.join(" "));
}

/** Notes where a test is. */
export function notePlace(place: TestPlace): void {
  append("places", JSON.stringify(place));
}

/** Notes a start of the whole program. */
export function noteStart(): void {
  append("starts", "");
}

/** Notes that a test or one of its steps has failed. */
export function noteFailed(failed: FailedTest): void {
  hasFailed = true;
  append("failed", JSON.stringify(failed));
}

function append(name: keyof typeof NOTES, line: string): void {
  if (directory === undefined) return;
  try {
    Deno.writeTextFileSync(`${directory}/${NOTES[name]}`, `${line}\n`, { append: true });
  } catch (error) {
    // A test with fewer permissions; its own error matters more.
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
  }
}

/** Runs a test and notes it. */
export async function notingTest<T>({ test, place }: TestPlace, run: () => T | Promise<T>): Promise<T> {
  hasFailed = false;
  const beganMs = Date.now();
  const layer = /^\.\/tests\/([^/]+)\//.exec(place)?.[1] ?? place;
  const { passed, failed, seconds } = state.layers[layer] ?? { passed: 0, failed: 0, seconds: 0 };
  note({ test, sinceMs: beganMs, layers: { ...state.layers, [layer]: { passed, failed, seconds } } });
  try {
    return await run();
  } finally {
    const endedMs = Date.now();
    const ended = {
      passed: passed + Number(!hasFailed),
      failed: failed + Number(hasFailed),
      seconds: seconds + (endedMs - beganMs) / 1000,
    };
    note({ test: null, sinceMs: endedMs, layers: { ...state.layers, [layer]: ended } });
  }
}

/** Awaits something, and notes that the present test waits for it. */
export function waitingFor<T>(what: string, wait: Promise<T>): Promise<T> {
  return noting(what, wait, () => ({}));
}

/** Runs a step of the present test and notes it. */
export function notingStep<T>(step: string, run: () => Promise<T>): Promise<T> {
  return noting(`step "${step}"`, run(), () => ({ sinceMs: Date.now() }));
}

async function noting<T>(what: string, wait: Promise<T>, atEnd: () => Partial<typeof state>): Promise<T> {
  waits.push(what);
  note({});
  try {
    return await wait;
  } finally {
    waits.splice(waits.lastIndexOf(what), 1);
    note(atEnd());
  }
}

function note(change: Partial<typeof state>): void {
  state = { ...state, ...change };
  if (file === null) return;
  const bytes = new TextEncoder().encode(JSON.stringify({ ...state, waits } satisfies TestNote));
  // Spaces instead of the rest of a longer note: to cut the file costs as much as to write it.
  if (bytes.length > longest.length) longest = new Uint8Array(bytes.length);
  longest.fill(SPACE).set(bytes);
  file.seekSync(0, Deno.SeekMode.Start);
  file.writeSync(longest);
}
