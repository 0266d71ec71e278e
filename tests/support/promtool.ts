/** Debian's `promtool`, which reads metrics and rules as Prometheus does. */
import { runDebianProgram } from "./debian_program.ts";

/** What it made of them. */
export interface Verdict {
  readonly code: number;
  /** What it said on both streams. */
  readonly text: string;
}

/** Runs it. */
export async function promtool(args: readonly string[], stdin = ""): Promise<Verdict> {
  const program = { name: "promtool", package: "prometheus" };
  const { code, stdout, stderr } = await runDebianProgram(program, args, { stdin });
  return { code, text: stdout + stderr };
}
