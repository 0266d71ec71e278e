import { type DebianEnd, runDebianProgram } from "./debian_program.ts";

/** What `systemd-analyze` says of units; no systemd need run. */
export function systemdAnalyze(args: readonly string[]): Promise<DebianEnd> {
  return runDebianProgram({ name: "systemd-analyze", package: "systemd" }, args, {
    environment: { SYSTEMD_PAGER: "", SYSTEMD_COLORS: "0" },
  });
}
