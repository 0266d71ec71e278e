/**
 * The real program, run as its users do: from the source, or the executable that `MONITOR_PROGRAM` names. Processes
 * that a test starts here are terminated with the test.
 */
import { monitorCommand, sourceEnvironment } from "../../testing/source.ts";
import { killMarked } from "../support/processes.ts";
import { runHere, type Running, startHere } from "../support/run_here.ts";
import { waitingFor } from "../../testing/test_notes.ts";
import { startChild } from "../../testing/tools.ts";
import { DEADLINE_MS } from "./in_time.ts";
import { collectLines, type Lines } from "./lines.ts";

const PATH = "/usr/local/bin:/usr/bin:/bin";

/** The exit code of a process, and its whole output. */
export interface End {
  /** The exit code; 128 and more where a signal ended it. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running process. */
export interface Program {
  readonly pid: number;
  readonly stdout: Lines;
  readonly stderr: Lines;
  /** Resolves once it has ended. */
  readonly ended: Promise<{ readonly code: number }>;
  signal(name: Deno.Signal): void;
  /** Waits for its end. */
  end(): Promise<End>;
}

export interface StartOptions {
  /** In addition to `PATH` and `HOME`, which is the directory of the test. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** A shell command that runs the program as `"$@"`. @default exec "$@" */
  readonly shell?: string;
  /** Runs the source, whatever else is run, with these flags of the runtime; an executable has its own. */
  readonly permissions?: readonly string[];
  /** It is killed after that time. @default 5 minutes */
  readonly limitMs?: number;
}

/** A temporary directory for one test, and the processes in it. */
export interface Harness {
  /** Absolute. It is the working directory and the `HOME` of the processes. */
  readonly directory: string;
  /** A unique check name; leftover processes of its scripts are found by it, and killed in the end. */
  readonly mark: string;
  /** Writes `monitor.json`, with checks every second and thresholds of 1 by default. */
  writeConfig(checks: Readonly<Record<string, unknown>>, others?: Readonly<Record<string, unknown>>): void;
  /** Writes a script for the shell. */
  writeScript(name: string, text: string): void;
  /** Starts `monitor` with some arguments. */
  start(args: readonly string[], options?: StartOptions): Program;
  /** Runs `monitor` to its end. */
  run(args: readonly string[], options?: StartOptions): Promise<End>;
  /**
   * Runs `monitor` to its end in this process, which costs a small part of a process of its own: nothing but its output,
   * exit code and files is tested. With `MONITOR_PROGRAM` it runs that.
   */
  runHere(args: readonly string[], options?: Pick<StartOptions, "environment" | "stdin">): Promise<End>;
  /** Starts `monitor` in this process, for what needs no process of its own. Its signals are simulated. */
  startHere(args: readonly string[], options?: Pick<StartOptions, "environment">): Program;
}

/** Runs a test on a new harness. */
export async function withHarness(use: (harness: Harness) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "monitor_life_" });
  let mark: string | null = null;
  const children: Deno.ChildProcess[] = [];
  const here: Program[] = [];
  const hereEnvironment = { PATH, HOME: directory };
  const start: Harness["start"] = (args, options = {}) => {
    const child = spawn(args, { ...options, directory });
    children.push(child);
    return followProgram(child);
  };
  try {
    await use({
      directory,
      get mark() {
        return mark ??= `check ${crypto.randomUUID()}`;
      },
      writeConfig: (checks, others = {}) =>
        Deno.writeTextFileSync(
          `${directory}/monitor.json`,
          JSON.stringify({
            defaults: { threshold: 1, schedule: { regular_interval: 1 } },
            checks,
            ...others,
          }),
          // Whatever the umask: the program warns of a config that others may write.
          { mode: 0o644 },
        ),
      writeScript: (name, text) =>
        Deno.writeTextFileSync(`${directory}/${name}`, `#!/bin/sh\n${text}\n`, { mode: 0o755 }),
      start,
      run: (args, options) => start(args, options).end(),
      runHere: (args, options = {}) => {
        const { environment, stdin = "" } = options;
        if (Deno.env.get("MONITOR_PROGRAM") !== undefined) return start(args, options).end();
        return runHere(args, { directory, environment: { ...hereEnvironment, ...environment }, stdin });
      },
      startHere: (args, options = {}) => {
        if (Deno.env.get("MONITOR_PROGRAM") !== undefined) return start(args, options);
        // A config in the working directory is found in that of the whole process alone.
        const environment = { ...hereEnvironment, MONITOR_CONFIG: `${directory}/monitor.json` };
        const own = { directory, environment: { ...environment, ...options.environment } };
        const program = followProgram(startHere(args, own));
        here.push(program);
        return program;
      },
    });
  } finally {
    await Promise.all(children.map(endChild));
    await Promise.all(here.map(endHere));
    if (mark !== null) killMarked(mark);
    await Deno.remove(directory, { recursive: true });
  }
}

function spawn(
  args: readonly string[],
  options: StartOptions & { readonly directory: string },
): Deno.ChildProcess {
  const { directory, environment, stdin, shell, permissions, limitMs } = options;
  const program = monitorCommand(permissions);
  const [path = "", ...rest] = shell === undefined ? program : ["/bin/sh", "-c", shell, "sh", ...program];
  const child = startChild(path, [...rest, ...args], {
    ...limitMs !== undefined && { limitMs },
    cwd: directory,
    clearEnv: true,
    env: {
      ...programEnvironment(directory),
      ...permissions !== undefined && sourceEnvironment(),
      ...environment,
    },
    stdin: stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  });
  if (stdin !== undefined) void feed(child.stdin, stdin);
  return child;
}

/** The environment that `monitor` is run in, which is the same from the source and as an executable. */
export function programEnvironment(home: string): Readonly<Record<string, string>> {
  return { PATH, HOME: home, ...(Deno.env.get("MONITOR_PROGRAM") === undefined && sourceEnvironment()) };
}

async function feed(stdin: WritableStream<Uint8Array>, text: string): Promise<void> {
  const writer = stdin.getWriter();
  try {
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  } catch {
    // It ended without reading.
  }
}

function followProgram(child: Running): Program {
  const stdout = collectLines(child.stdout, () => describe());
  const stderr = collectLines(child.stderr, () => describe());
  const describe = (): string => `stdout:\n${stdout.recent()}\nstderr:\n${stderr.recent()}`;
  return {
    pid: child.pid,
    stdout,
    stderr,
    ended: child.status,
    signal: (name) => child.kill(name),
    end: async () => {
      const timer = setTimeout(() => child.kill("SIGKILL"), DEADLINE_MS);
      const { code } = await waitingFor("the end of monitor", child.status);
      clearTimeout(timer);
      await waitingFor("the end of what monitor prints", Promise.all([stdout.ended, stderr.ended]));
      return { code, stdout: stdout.text(), stderr: stderr.text() };
    },
  };
}

/** The second signal lets no check finish. */
async function endHere(program: Program): Promise<void> {
  program.signal("SIGTERM");
  program.signal("SIGTERM");
  await waitingFor("the end of monitor in this process", program.end());
}

async function endChild(child: Deno.ChildProcess): Promise<void> {
  try {
    child.kill("SIGKILL");
  } catch {
    // It has ended.
  }
  await waitingFor("the end of a killed monitor", child.status);
}
