import type { Page, Report } from "../../domain/generated/config.ts";
import type { System } from "../../domain/system.ts";
import type { ReportSnapshot } from "./snapshot.ts";

export type PageFacts = Pick<
  ReportSnapshot,
  | "nowMs"
  | "hostName"
  | "timeZone"
  | "configLabel"
  | "text"
  | "intervalMs"
  | "isLive"
  | "isOfOneCheck"
  | "canSignIn"
  | "notRunning"
>;

interface PageFactsOptions {
  readonly label: string;
  /** The page that the config keeps fresh; `null`: none, or the config has errors. */
  readonly page: Report | null;
  /** The words of the config. */
  readonly text: Page | null;
  /** Where this page is written; `null`: to stdout. */
  readonly path: string | null;
  /** Whether any process runs the checks, if known. */
  readonly notRunning: ReportSnapshot["notRunning"];
}

export function pageFacts(
  { label, page, text, path, notRunning }: PageFactsOptions,
  system: Pick<System, "clock" | "hostName" | "timeZone">,
): PageFacts {
  return {
    nowMs: system.clock.wallMs(),
    hostName: system.hostName(),
    timeZone: system.timeZone(),
    configLabel: label,
    text,
    intervalMs: page !== null && page.path === path ? page.intervalMs : null,
    notRunning,
  };
}

interface LivePageOptions {
  readonly label: string;
  readonly text: Page | null;
  readonly intervalMs: number;
  readonly isOfOneCheck: boolean;
  readonly canSignIn: boolean;
}

/** The facts of a page that the endpoint serves. */
export function livePageFacts(
  { label, text, intervalMs, isOfOneCheck, canSignIn }: LivePageOptions,
  system: Pick<System, "clock" | "hostName" | "timeZone">,
): PageFacts {
  const facts = pageFacts({ label, page: null, text, path: null, notRunning: null }, system);
  return { ...facts, intervalMs, isLive: true, isOfOneCheck, canSignIn };
}
