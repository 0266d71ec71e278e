import { run } from "../../src/cli/run.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { waitingFor } from "../../testing/test_notes.ts";

export interface RunHereOptions {
  /** The working directory. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

/** The exit code of the program and its whole output. */
export interface HereEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs `monitor` to its end in this process, which costs a small part of a process of its own. One call waits for the
 * other: a working directory is that of the whole process.
 */
export function runHere(args: readonly string[], options: RunHereOptions): Promise<HereEnd> {
  const own = last.then(() => runInDirectory(args, options));
  last = own.catch(() => {});
  return waitingFor(`the end of monitor ${args.join(" ")}`, own);
}

async function runInDirectory(
  args: readonly string[],
  { directory, environment, stdin = "" }: RunHereOptions,
): Promise<HereEnd> {
  const before = Deno.cwd();
  Deno.chdir(directory);
  try {
    const { TZ } = environment;
    const system = createMemorySystem({ environment, stdin, ...TZ !== undefined && { timeZone: TZ } });
    const code = await run(args, system);
    return { code, stdout: system.stdout.text(), stderr: system.stderr.text() };
  } finally {
    Deno.chdir(before);
  }
}
