import { type ChildEnd, runChild, tool } from "../../testing/tools.ts";

/** Returns the output of `systemd-analyze` for units; systemd need not run. */
export function systemdAnalyze(args: readonly string[]): Promise<ChildEnd> {
  return runChild(tool("systemd-analyze"), args, { env: { SYSTEMD_PAGER: "", SYSTEMD_COLORS: "0" } });
}
