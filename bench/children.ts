/** The processes that benchmarks start. They are ended by their own id, and no others. */
import { runArguments } from "../testing/source.ts";

const running = new Set<Deno.ChildProcess>();

/** Starts a process that {@linkcode endChildren} terminates unless it has exited. */
export function startChild(
  [program = "", ...args]: readonly string[],
  options: Deno.CommandOptions = {},
): Deno.ChildProcess {
  const child = new Deno.Command(program, { stdin: "null", ...options, args }).spawn();
  running.add(child);
  const forget = (): void => void running.delete(child);
  child.status.then(forget, forget);
  return child;
}

/** Runs a module of the project with this Deno, with all permissions, and returns its output. */
export async function askModule(path: string | undefined, args: readonly string[]): Promise<string> {
  const child = startChild(
    [Deno.execPath(), ...runArguments(), path ?? "", ...args],
    { stdout: "piped", stderr: "inherit" },
  );
  const printed = await new Response(child.stdout).text();
  if (!(await child.status).success) throw new Error(`Cannot measure with "${path}": it failed`);
  return printed;
}

/** Asks a child to end, ends it if it does not within some time, and comes back when it is gone. */
export async function endChild(child: Deno.ChildProcess, graceMs: number): Promise<void> {
  sendSignal(child, "SIGTERM");
  const timer = setTimeout(() => sendSignal(child, "SIGKILL"), graceMs);
  await child.status;
  clearTimeout(timer);
}

/** Ends all that still run. */
export function endChildren(): void {
  for (const child of running) sendSignal(child, "SIGKILL");
}

function sendSignal(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch (error) {
    // It has ended meanwhile.
    if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
  }
}
