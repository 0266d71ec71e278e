/**
 * The least code that does the same work at the same rate as a watching monitor: a timer that starts the next piece
 * of work when it is due, evenly spread. It keeps nothing and ends nothing that hangs.
 */

/** The repeated operation, on a URL or a command. */
export type RateWork = (target: string) => Promise<void>;

/** The pieces of work by name. */
export const RATE_WORK = {
  requests: bareRequest((response) => response.body?.cancel()),
  requests_for_body: bareRequest((response) => response.text()),
  scripts: bareScript,
  scripts_in_groups: bareScriptInGroup,
} satisfies Record<string, RateWork>;

/** How often a piece of work is done. */
export interface Rate {
  /** How often in a second. */
  readonly perSecond: number;
  /** Maximum number of operations in progress; further ones wait. */
  readonly atATime: number;
}

/** Works until the process is ended. At SIGUSR1 it prints how many pieces are done. */
export function workAtRate(work: RateWork, target: string, { perSecond, atATime }: Rate): void {
  const beganMs = performance.now();
  let started = 0;
  let done = 0;
  let isFull = false;
  const finish = (): void => {
    done++;
    // No timer goes while nothing more may be started.
    if (isFull) next();
  };
  console.log("working");
  const next = (): void => {
    // The runtime's timers are whole milliseconds apart, so several pieces may be due.
    const due = 1 + Math.floor((performance.now() - beganMs) * perSecond / 1000);
    for (; started < due && started - done < atATime; started++) work(target).then(finish, fail);
    isFull = started < due;
    if (!isFull) setTimeout(next, Math.max(0, beganMs + started * 1000 / perSecond - performance.now()));
  };
  Deno.addSignalListener("SIGUSR1", () => console.log(done));
  next();
}

function fail(error: unknown): void {
  console.error(`bare: error: ${error instanceof Error ? error.message : String(error)}`);
  Deno.exit(1);
}

/** Sends a request over a new connection, and reads the requested part of the response. */
function bareRequest(read: (response: Response) => Promise<unknown> | undefined): RateWork {
  let client: Deno.HttpClient | null = null;
  return async (target) => {
    client ??= Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const response = await fetch(target, { client });
    await read(response);
    if (response.status !== 200) throw new Error(`${target} answered ${response.status}`);
  };
}

/** Runs a command and reads its exit code. */
async function bareScript(target: string): Promise<void> {
  const { code } = await new Deno.Command(target).output();
  if (code !== 0) throw new Error(`${target} ended with code ${code}`);
}

/** Runs a command in its own process group, without which its leftover processes could not be terminated. */
async function bareScriptInGroup(target: string): Promise<void> {
  // `output()` keeps more memory, and a process with more memory takes longer to fork.
  const child = new Deno.Command(target, { detached: true, stdin: "null", stdout: "piped", stderr: "piped" })
    .spawn();
  const [{ code }] = await Promise.all([child.status, drain(child.stdout), drain(child.stderr)]);
  if (code !== 0) throw new Error(`${target} ended with code ${code}`);
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<void> {
  const reader = stream.getReader();
  while (!(await reader.read()).done);
}
