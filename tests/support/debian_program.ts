/** A program of Debian that a test talks to. A machine without it fails the test. */
export interface DebianProgram {
  readonly name: string;
  /** The package that it is in. */
  readonly package: string;
}

/** What a program made of its arguments and its input. */
export interface DebianEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a program is run. */
export interface DebianRunOptions {
  /** @default nothing */
  readonly stdin?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs it to its end. */
export async function runDebianProgram(
  program: DebianProgram,
  args: readonly string[],
  { stdin = "", environment = {} }: DebianRunOptions = {},
): Promise<DebianEnd> {
  const child = startDebianProgram(program, {
    args: [...args],
    env: environment,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  });
  const writer = child.stdin.getWriter();
  const [{ code, stdout, stderr }] = await Promise.all([
    child.output(),
    // It may end before it has read all.
    writer.write(new TextEncoder().encode(stdin)).then(() => writer.close()).catch(() => {}),
  ]);
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/**
 * Starts it.
 *
 * @throws {Error} If it is not installed; the message says how to.
 */
export function startDebianProgram(
  { name, package: from }: DebianProgram,
  options: Deno.CommandOptions,
): Deno.ChildProcess {
  try {
    return new Deno.Command(name, options).spawn();
  } catch (error) {
    throw new Error(`Cannot run ${name}: install it with: apt-get install ${from}`, { cause: error });
  }
}
