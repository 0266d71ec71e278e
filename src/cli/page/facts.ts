import type { System } from "../../domain/system.ts";
import type { OpenDocument } from "../document.ts";
import type { PageSnapshot } from "./snapshot.ts";

/** What a page that is written to a path says of itself. */
export function pageFacts(
  { page, source }: Pick<OpenDocument, "page" | "source">,
  system: Pick<System, "clock" | "hostName" | "timeZone">,
  path: string | null,
): Pick<PageSnapshot, "nowMs" | "hostName" | "timeZone" | "documentLabel" | "intervalMs"> {
  return {
    nowMs: system.clock.wallMs(),
    hostName: system.hostName(),
    timeZone: system.timeZone(),
    documentLabel: source.label,
    intervalMs: page !== null && page.path === path ? page.intervalMs : null,
  };
}
