import type { System } from "../../domain/system.ts";
import type { ReportSnapshot } from "./snapshot.ts";

/** What a page shows that is not in the state. */
export type PageFacts = Omit<
  ReportSnapshot,
  "checks" | "inactive" | "rows" | "members" | "silences" | "failedReload" | "isKept" | "isPublic"
>;

export function pageFacts(
  facts: Omit<PageFacts, "nowMs" | "hostName" | "timeZone">,
  { clock, hostName, timeZone }: Pick<System, "clock" | "hostName" | "timeZone">,
): PageFacts {
  return { ...facts, nowMs: clock.wallMs(), hostName: hostName(), timeZone: timeZone() };
}
