/** Debian's `promtool`, which reads metrics and rules as Prometheus does. */
export interface Verdict {
  readonly code: number;
  /** What it said on both streams. */
  readonly text: string;
}

/** Runs it; a machine without it fails the test. */
export async function promtool(args: readonly string[], stdin = ""): Promise<Verdict> {
  const child = spawn(args);
  const writer = child.stdin.getWriter();
  const [{ code, stdout, stderr }] = await Promise.all([
    child.output(),
    // It may end before it has read all.
    writer.write(new TextEncoder().encode(stdin)).then(() => writer.close()).catch(() => {}),
  ]);
  return { code, text: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

function spawn(args: readonly string[]): Deno.ChildProcess {
  try {
    return new Deno.Command("promtool", { args: [...args], stdin: "piped", stdout: "piped", stderr: "piped" })
      .spawn();
  } catch (error) {
    throw new Error("Cannot run promtool: install it with: apt-get install prometheus", { cause: error });
  }
}
