/**
 * Notes the running test and its pending operation, in a file that the test runner (`scripts/test.ts`) reads: the
 * runtime has no timeout for a test, so the runner terminates one that hangs and prints the note.
 *
 * Every test module runs in its own worker and writes its own file. Without the runner nothing is written. The file
 * is opened by `startNotes()`, before any test, and stays open: a test may have no permission to write.
 */

/** The note: the present test, its steps and waits from the outside in, and the progress of this module. */
export interface TestNote {
  /** `null` between two tests. */
  readonly test: string | null;
  readonly waits: readonly string[];
  /** Wall time at which the test, or the pause after one, began, or at which a step of it last ended. */
  readonly sinceMs: number;
  readonly passed: number;
  readonly failed: number;
}

/** A test that failed: the runtime reports the module that wraps `Deno.test` as its location. */
export interface FailedTest {
  readonly test: string;
  /** `./tests/cli/check_test.ts:12:6` */
  readonly place: string;
}

/** The environment variable that names the directory of the notes. */
export const NOTES_DIRECTORY = "MONITOR_TEST_NOTES";

let directory: string | undefined;
let file: Deno.FsFile | null = null;
const waits: string[] = [];
let hasFailed = false;
let state = { test: null as string | null, sinceMs: Date.now(), passed: 0, failed: 0 };

/** Begins the notes of this module, if the test runner has started it. */
export function startNotes(): void {
  directory = Deno.env.get(NOTES_DIRECTORY);
  if (directory === undefined) return;
  file = Deno.openSync(`${directory}/${crypto.randomUUID()}.json`, { write: true, createNew: true });
}

/** Notes that a test is ignored because these tools are missing. */
export function noteIgnored(missing: readonly string[]): void {
  if (directory !== undefined) {
    Deno.writeTextFileSync(`${directory}/ignored`, `${missing.join(" ")}\n`, { append: true });
  }
}

/** Notes that a test or one of its steps has failed. */
export function noteFailed(failed: FailedTest): void {
  hasFailed = true;
  if (directory === undefined) return;
  Deno.writeTextFileSync(`${directory}/failed`, `${JSON.stringify(failed)}\n`, { append: true });
}

/** Runs a test and notes it. */
export async function notingTest<T>(test: string, run: () => T | Promise<T>): Promise<T> {
  hasFailed = false;
  note({ test, sinceMs: Date.now() });
  try {
    return await run();
  } finally {
    const { passed, failed } = state;
    note({ test: null, sinceMs: Date.now(), ...hasFailed ? { failed: failed + 1 } : { passed: passed + 1 } });
  }
}

/** Awaits something, and notes that the present test waits for it. */
export async function waitingFor<T>(what: string, wait: Promise<T>): Promise<T> {
  waits.push(what);
  note({});
  try {
    return await wait;
  } finally {
    waits.splice(waits.lastIndexOf(what), 1);
    note({});
  }
}

/** Runs a step of the present test and notes it. */
export async function notingStep<T>(step: string, run: () => Promise<T>): Promise<T> {
  try {
    return await waitingFor(`step "${step}"`, run());
  } finally {
    note({ sinceMs: Date.now() });
  }
}

function note(change: Partial<typeof state>): void {
  state = { ...state, ...change };
  if (file === null) return;
  const bytes = new TextEncoder().encode(JSON.stringify({ ...state, waits } satisfies TestNote));
  file.truncateSync(0);
  file.seekSync(0, Deno.SeekMode.Start);
  file.writeSync(bytes);
}
