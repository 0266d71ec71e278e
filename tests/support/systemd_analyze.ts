import { type ChildEnd, runChild, tool } from "../../testing/tools.ts";

/** What `systemd-analyze` says of units; no systemd need run. */
export function systemdAnalyze(args: readonly string[]): Promise<ChildEnd> {
  return runChild(tool("systemd-analyze"), args, {
    env: { SYSTEMD_PAGER: "", SYSTEMD_COLORS: "0" },
  });
}
