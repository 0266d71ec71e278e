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

export function pageFacts(
  facts: Omit<PageFacts, "nowMs" | "hostName" | "timeZone">,
  { clock, hostName, timeZone }: Pick<System, "clock" | "hostName" | "timeZone">,
): PageFacts {
  return { ...facts, nowMs: clock.wallMs(), hostName: hostName(), timeZone: timeZone() };
}
