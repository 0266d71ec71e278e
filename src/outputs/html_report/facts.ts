import type { ReportFile } from "../../domain/report_file.ts";
import type { System } from "../../domain/system.ts";
import type { ReportSnapshot } from "./snapshot.ts";

export type PageFacts = Pick<
  ReportSnapshot,
  "nowMs" | "hostName" | "timeZone" | "configLabel" | "intervalMs" | "isLive" | "notRunning"
>;

interface PageFactsOptions {
  readonly label: string;
  /** The page that the config keeps fresh; `null`: none, or the config has errors. */
  readonly page: ReportFile | null;
  /** Where this page is written; `null`: to stdout. */
  readonly path: string | null;
  /** Whether anything runs the checks, as far as that is known. */
  readonly notRunning: ReportSnapshot["notRunning"];
}

/** What a page that is written to a path says of itself. */
export function pageFacts(
  { label, page, path, notRunning }: PageFactsOptions,
  system: Pick<System, "clock" | "hostName" | "timeZone">,
): PageFacts {
  return {
    nowMs: system.clock.wallMs(),
    hostName: system.hostName(),
    timeZone: system.timeZone(),
    configLabel: label,
    intervalMs: page !== null && page.path === path ? page.intervalMs : null,
    notRunning,
  };
}

/** What a page that the monitor itself serves says of itself. */
export function livePageFacts(
  { label, intervalMs }: { readonly label: string; readonly intervalMs: number },
  system: Pick<System, "clock" | "hostName" | "timeZone">,
): PageFacts {
  const facts = pageFacts({ label, page: null, path: null, notRunning: null }, system);
  return { ...facts, intervalMs, isLive: true };
}
