/** Debian's `promtool`, which reads metrics and rules as Prometheus does. */
import { runChild, tool } from "../../testing/tools.ts";

/** The result of promtool. */
export interface Verdict {
  readonly code: number;
  /** The output on both streams. */
  readonly text: string;
}

/** Runs it. */
export async function promtool(args: readonly string[], stdin = ""): Promise<Verdict> {
  const { code, stdout, stderr } = await runChild(tool("promtool"), args, { stdin });
  return { code, text: stdout + stderr };
}
